//! Limits on the cost of strangers, slow peers and scripts: memory, connections, sign-ins,
//! registrations. A well-behaved user is served all the while.
//!
//! Everything here is bounded; with `SOAK=1` in the environment it goes on for long.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod addresses;
mod bodies;
mod departures;
mod expectations;
mod figures;
mod heads;
mod load;
mod pings;
mod registrations;
mod room;
mod shortage;
mod sign_ins;
mod sockets;
mod subject;
