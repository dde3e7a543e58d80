//! Limits on what strangers, slow peers and scripts can use: memory, connections, sign-ins,
//! registrations. A well-behaved user is served at all times.
//!
//! All tests are bounded. With `SOAK=1` in the environment they run much longer.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a failed step fails its test")]

mod addresses;
mod bodies;
mod dates;
mod departures;
mod edge;
mod expectations;
mod heads;
mod idle;
mod load;
mod memory;
mod pings;
mod registrations;
mod shortage;
mod sign_ins;
mod signals;
mod sockets;
mod subject;
