//! Apps, and the users of merchants.

use common::sql::row;
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

row! {
    /// A person who is a member of a merchant.
    pub(crate) struct User in "users" {
        key { id: Id = "id" }
        fixed {
            email: Email = "email",
            /// The time of the first invitation.
            created: Timestamp = "created",
        }
    }
}
