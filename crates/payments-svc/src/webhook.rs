//! Sends events to the endpoints of apps, in the form of the Standard Webhooks specification.
//!
//! An app chooses the address of its endpoint, so the service must not connect to every address:
//! see [`network`].

mod network;
mod sender;
mod signature;

pub(crate) use network::names;
pub(crate) use sender::{Attempt, Message, Sender, SenderConfig, SenderError};
