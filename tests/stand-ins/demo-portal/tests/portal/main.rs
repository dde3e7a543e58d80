//! Black-box tests of the portal: a client signs in and checks honest and scripted answers.

#![expect(clippy::unwrap_used, reason = "a failed setup is a failed test")]

mod binary;
mod client;
mod faults;
mod honest;
mod tls;
