//! Outcomes of writes, and their stored form.

use std::{any::Any, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};
use sql::{BadCell, ColumnError, Columns, Group, Kind, Param, stored};

use super::KeyState;

/// The result of a write. With an idempotency key it is stored, to answer a repeated request.
pub trait Outcome: Any + fmt::Debug + Send {
    /// The state of the idempotency key after the write.
    fn key_state(&self) -> KeyState;
}

impl<G: Group + fmt::Debug + Send + 'static> Outcome for G {
    fn key_state(&self) -> KeyState {
        KeyState::Answered(StoredOutcome::of(self))
    }
}

/// The outcome of an earlier request as JSON: an object with a member for each column of the group.
/// It never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredOutcome(String);

impl StoredOutcome {
    pub fn of<G: Group>(outcome: &G) -> Self {
        let mut params = Vec::with_capacity(G::COLUMNS.len());
        outcome.params(&mut params);
        let names = G::COLUMNS.iter().map(|(name, _)| (*name).to_owned());
        let members: Map<_, _> = names.zip(params.iter().map(to_json)).collect();
        Self(Value::Object(members).to_string())
    }

    /// Reads the outcome of a request whose outcome has the type `G`.
    pub fn read<G: Group>(&self) -> Result<G, InvalidOutcome> {
        let members: Map<String, Value> = serde_json::from_str(&self.0)?;
        let read = |&(name, kind): &(&str, Kind)| from_json(members.get(name), kind);
        let params: Vec<Param<'_>> = G::COLUMNS.iter().map(read).collect::<Result<_, _>>()?;
        Ok(G::read(&mut Columns::from(params.as_slice()))?)
    }
}

stored! { StoredOutcome(String) }

/// A group as JSON, as [`StoredOutcome`] writes it: for messages between processes of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsJson<G>(pub G);

impl<G: Group> Serialize for AsJson<G> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredOutcome::of(&self.0).serialize(serializer)
    }
}

impl<'de, G: Group> Deserialize<'de> for AsJson<G> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StoredOutcome::deserialize(deserializer)?.read().map(Self).map_err(D::Error::custom)
    }
}

/// A stored outcome cannot be read: another program has changed the database.
#[derive(Debug, thiserror::Error)]
pub enum InvalidOutcome {
    #[error("the stored outcome is not a JSON object")]
    Json(#[from] serde_json::Error),
    #[error("the stored outcome has an invalid member")]
    Member(#[from] BadCell),
    #[error("the stored outcome has an invalid value")]
    Value(#[from] ColumnError),
}

/// Bytes become hexadecimal text.
fn to_json(param: &Param<'_>) -> Value {
    match param {
        Param::Null => Value::Null,
        Param::Bool(flag) => (*flag).into(),
        Param::Int(number) => (*number).into(),
        Param::Text(text) => text.as_ref().into(),
        Param::Bytes(bytes) => hex::encode(bytes).into(),
    }
}

/// A missing member is `NULL`: a version may add columns that may be `NULL`.
fn from_json(member: Option<&Value>, kind: Kind) -> Result<Param<'_>, BadCell> {
    Ok(match (member, kind) {
        (None | Some(Value::Null), _) => Param::Null,
        (Some(Value::Bool(flag)), _) => Param::Bool(*flag),
        (Some(Value::Number(number)), _) => Param::Int(number.as_i64().ok_or(BadCell)?),
        (Some(Value::String(text)), Kind::Bytes | Kind::Uuid) => {
            Param::Bytes(hex::decode(text).map_err(|_| BadCell)?.into())
        }
        (Some(Value::String(text)), _) => Param::Text(text.into()),
        (Some(Value::Array(_) | Value::Object(_)), _) => return Err(BadCell),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ApiKeyDetails, Id,
        actions::{PaymentConcluded, UserAdded},
    };

    fn stored(json: &str) -> StoredOutcome {
        StoredOutcome(json.to_owned())
    }

    #[test]
    fn an_outcome_is_stored_by_the_names_of_its_columns() {
        let (id, error) = (Id::MAX, None);
        let outcome = StoredOutcome::of(&PaymentConcluded { transaction: id, error });
        let json = format!(r#"{{"error":null,"transaction":"{}"}}"#, "ff".repeat(Id::BYTES));
        assert_eq!(outcome, stored(&json));
        assert_eq!(outcome.read::<PaymentConcluded>().unwrap().transaction, id);
        assert_eq!(StoredOutcome::of(&()), stored("{}"));
    }

    #[test]
    fn a_missing_member_is_null() {
        let json = format!(r#"{{"id":"{}","created":5,"new":1}}"#, "00".repeat(Id::BYTES));
        let read: ApiKeyDetails = stored(&json).read().unwrap();
        assert_eq!((read.name, read.last_used), (None, None));
    }

    #[test]
    fn an_outcome_that_cannot_be_read_is_an_error() {
        for json in
            ["", "[]", "{}", r#"{"was_member":true}"#, r#"{"was_member":"yes","is_mailed":true}"#]
        {
            assert!(stored(json).read::<UserAdded>().is_err(), "{json}");
        }
        assert!(stored(r#"{"transaction":"f"}"#).read::<PaymentConcluded>().is_err());
    }
}
