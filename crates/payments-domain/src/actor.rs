use sql::{group, named};

use super::id::Id;

named! {
    /// The kind of an [`Actor`].
    pub enum ActorKind {
        /// An app of the merchant.
        App = "app",
        /// A user of the merchant.
        User = "user",
        /// The operator, with a command.
        Operator = "operator",
        /// The acquirer reported it.
        Acquirer = "acquirer",
        /// payments-svc itself, also for a customer who pays.
        System = "system",
    }
}

group! {
    /// Somebody who changes the store.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Actor {
        kind: ActorKind = "actor",
        /// The app or user.
        id: Option<Id> = "actor_id",
    }
}

impl Actor {
    pub const OPERATOR: Self = Self { kind: ActorKind::Operator, id: None };
    pub const ACQUIRER: Self = Self { kind: ActorKind::Acquirer, id: None };
    pub const SYSTEM: Self = Self { kind: ActorKind::System, id: None };

    pub fn app(id: Id) -> Self {
        Self { kind: ActorKind::App, id: Some(id) }
    }

    pub fn user(id: Id) -> Self {
        Self { kind: ActorKind::User, id: Some(id) }
    }
}
