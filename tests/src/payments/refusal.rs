//! Checks of answers with status 400.

use std::collections::BTreeSet;

use serde_json::Value;

use super::app::text;
use crate::http::Answer;

pub trait Refusal {
    /// Checks that exactly these fields are reported as invalid. Returns the whole array.
    fn names(&self, fields: &[&str]) -> Value;

    /// Checks that the acquirer declined with this code. Returns the id of the failed transaction.
    fn declined(&self, code: i64) -> String;
}

impl Refusal for Answer {
    #[track_caller]
    fn names(&self, fields: &[&str]) -> Value {
        assert_eq!(self.status, 400, "{self:?}");
        let body = self.json();
        let rows = body.as_array().unwrap_or_else(|| panic!("is no array: {self:?}"));
        let named: BTreeSet<_> = rows.iter().filter_map(|row| row["field"].as_str()).collect();
        assert_eq!(named, fields.iter().copied().collect(), "{self:?}");
        body
    }

    #[track_caller]
    fn declined(&self, code: i64) -> String {
        assert_eq!(self.status, 400, "{self:?}");
        let body = self.json();
        assert_eq!(body["code"], code, "{self:?}");
        assert_eq!(body["text"], body["message"], "{self:?}");
        text(&body["transaction"]["id"])
    }
}
