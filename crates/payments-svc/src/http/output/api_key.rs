//! A new API key as callers read it.

use jiff::Timestamp;
use payments_domain::{ApiKey, ApiKeyDetails, Id, Name};
use serde::Serialize;

use crate::web::{as_date, as_text};

#[derive(Serialize)]
pub(in super::super) struct NewApiKeyOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    name: Option<&'a str>,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    /// Null in a repeat.
    key: Option<&'a str>,
}

impl<'a> NewApiKeyOutput<'a> {
    pub(in super::super) fn new(details: &'a ApiKeyDetails, key: Option<&'a ApiKey>) -> Self {
        let ApiKeyDetails { id, name, created, last_used: _ } = details;
        let name = name.as_ref().map(Name::as_str);
        Self { id: *id, name, created: *created, key: key.map(ApiKey::expose) }
    }
}
