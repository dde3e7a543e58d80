//! The portal from outside: a client signs in, honestly answered or not.

#![expect(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

mod binary;
mod client;
mod faults;
mod honest;
mod tls;
