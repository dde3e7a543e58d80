//! Apps, and the users of merchants.

use jiff::Timestamp;

use super::{
    id::Id,
    merchant::{Email, Name},
};

/// A program that calls the service with an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct App {
    pub(crate) id: Id,
    pub(crate) name: Option<Name>,
    pub(crate) created: Timestamp,
}

/// A person who is a member of a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: Id,
    pub(crate) email: Email,
    /// The time of the first invitation.
    pub(crate) created: Timestamp,
}
