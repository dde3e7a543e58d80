//! Apps, and the users of merchants.

use jiff::Timestamp;
use sql::{group, row};

use super::{
    actor::Actor,
    id::Id,
    merchant::{Email, Name},
};

group! {
    /// A program that calls the service with an API key.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct App {
        id: Id = "id",
        name: Option<Name> = "name",
        created: Timestamp = "created",
    }
}

impl App {
    pub fn actor(&self) -> Actor {
        Actor::app(self.id)
    }
}

row! {
    /// A person who is a member of a merchant.
    pub struct User in "users" {
        key { id: Id = "id" }
        fixed {
            email: Email = "email",
            /// The time of the first invitation.
            created: Timestamp = "created",
        }
    }
}
