//! The objects of an account, and their lists.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    error::Error,
    form::{Form, int},
};
use crate::payments::seconds;

/// How long an authorization lasts unless a test says something else.
const WEEK: i64 = 7 * 24 * 60 * 60;

const DEFAULT_PAGE: usize = 10;

const MAX_PAGE: usize = 100;

pub(super) struct Account {
    /// The URL of the stand-in, without a trailing slash.
    pub(super) url: String,
    /// Whether cards allow several captures.
    pub(super) offers_multicapture: bool,
    /// Whether refunds stay `pending`.
    pub(super) refunds_pend: bool,
    /// How many seconds an authorization lasts.
    pub(super) authorizations_last: i64,
    /// Where events go. `None`: only to the list of events.
    pub(super) webhook: Option<UnboundedSender<Value>>,
    /// The card numbers of PaymentMethods, which no object contains.
    pub(super) numbers: BTreeMap<String, String>,
    /// By ID. IDs begin with the prefix of their kind, and are in the order of their creation.
    objects: BTreeMap<String, Value>,
}

impl Account {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            offers_multicapture: false,
            refunds_pend: false,
            authorizations_last: WEEK,
            webhook: None,
            numbers: BTreeMap::new(),
            objects: BTreeMap::new(),
        }
    }

    /// Adds an object, and returns its ID.
    pub(super) fn insert(&mut self, prefix: &str, mut object: Value) -> String {
        let id = format!("{prefix}_{:024}", self.objects.len());
        object["id"] = json!(id);
        object["created"] = json!(seconds());
        object["livemode"] = json!(false);
        self.objects.insert(id.clone(), object);
        id
    }

    pub(super) fn object(&self, id: &str) -> Result<&Value, Error> {
        self.objects.get(id).ok_or_else(|| Error::missing(id))
    }

    /// Changes members of an object. Returns the object.
    pub(super) fn change(&mut self, id: &str, members: Value) -> Result<Value, Error> {
        let object = self.objects.get_mut(id).ok_or_else(|| Error::missing(id))?;
        let Value::Object(members) = members else { panic!("no members: {members}") };
        object.as_object_mut().expect("is an object").extend(members);
        Ok(object.clone())
    }

    /// Adds an event about an object as it is now.
    pub(super) fn emit(&mut self, kind: &str, object: &str) -> Result<(), Error> {
        let object = self.object(object)?.clone();
        self.emit_about(kind, object);
        Ok(())
    }

    pub(super) fn emit_about(&mut self, kind: &str, object: Value) {
        let event = json!({
            "object": "event",
            "api_version": "2024-06-20",
            "type": kind,
            "data": { "object": object },
            "pending_webhooks": 0,
            "request": { "id": null, "idempotency_key": null },
        });
        let id = self.insert("evt", event);
        if let Some(webhook) = &self.webhook {
            // The service may be gone.
            let _ = webhook.send(self.objects[&id].clone());
        }
    }

    /// Books an amount and a fee in this reporting category. Returns the ID of the balance transaction.
    pub(super) fn book(
        &mut self,
        category: &str,
        source: &str,
        (amount, fee): (i64, i64),
    ) -> String {
        let currency = self.objects[source]["currency"].clone();
        let kind = match category {
            "dispute" | "dispute_reversal" => "adjustment",
            "partial_capture_reversal" => "refund",
            category => category,
        };
        let booked = json!({
            "object": "balance_transaction",
            "type": kind,
            "reporting_category": category,
            "source": source,
            "amount": amount,
            "fee": fee,
            "net": amount - fee,
            "currency": currency,
            "status": "available",
        });
        self.insert("txn", booked)
    }

    /// All objects with this prefix, the oldest first.
    pub(super) fn all(&self, prefix: &str) -> impl DoubleEndedIterator<Item = &Value> {
        // The character after the underscore.
        let range = format!("{prefix}_")..format!("{prefix}`");
        self.objects.range(range).map(|(_, object)| object)
    }

    pub(super) fn forget(&mut self, prefix: &str) {
        self.objects.retain(|id, _| id.split_once('_').is_none_or(|(kind, _)| kind != prefix));
    }

    /// A page of the objects with this prefix, the newest first. A parameter without a meaning of its
    /// own is a member that the objects must have.
    pub(super) fn list(&self, prefix: &str, query: &Form) -> Result<Value, Error> {
        let limit = match query.number("limit")? {
            None => DEFAULT_PAGE,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=MAX_PAGE).contains(limit))
                .ok_or_else(|| Error::invalid("parameter_invalid_integer", "limit", "1 to 100"))?,
        };
        let matching = || self.all(prefix).filter(|object| query.matches(object));
        let mut page: Vec<_> = match (query.get("starting_after"), query.get("ending_before")) {
            (Some(_), Some(_)) => return Err(Error::unknown("ending_before")),
            (Some(after), None) => {
                self.object(after)?;
                matching()
                    .rev()
                    .filter(|it| it["id"].as_str() < Some(after))
                    .take(limit + 1)
                    .collect()
            }
            // The objects right before this one in the list, which are newer.
            (None, Some(before)) => {
                self.object(before).map_err(|_| Error::aged_out(before))?;
                matching().filter(|it| it["id"].as_str() > Some(before)).take(limit + 1).collect()
            }
            (None, None) => matching().rev().take(limit + 1).collect(),
        };
        let has_more = page.len() > limit;
        page.truncate(limit);
        if query.get("ending_before").is_some() {
            page.reverse();
        }
        Ok(json!({ "object": "list", "data": page, "has_more": has_more }))
    }

    /// Replaces the ID at this path of an object with the object that has it.
    pub(super) fn expand(&self, object: &mut Value, path: &str) {
        let (name, rest) =
            path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let Some(member) = object.get_mut(name) else { return };
        if let Some(found) = member.as_str().and_then(|id| self.objects.get(id)) {
            *member = found.clone();
        }
        match (member, rest) {
            (Value::Array(items), Some(rest)) => {
                items.iter_mut().for_each(|item| self.expand(item, rest));
            }
            (member, Some(rest)) => self.expand(member, rest),
            (_, None) => {}
        }
    }

    /// The sum of a member of all objects with this prefix that belong to a PaymentIntent.
    pub(super) fn sum(
        &self,
        prefix: &str,
        intent: &str,
        name: &str,
        counts: impl Fn(&str) -> bool,
    ) -> i64 {
        let of_intent = self.all(prefix).filter(|object| object["payment_intent"] == intent);
        let counted = of_intent.filter(|object| object["status"].as_str().is_some_and(&counts));
        counted.map(|object| int(object, name)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(account: &Account, query: &str) -> (Vec<String>, bool) {
        let list = account.list("evt", &Form::parse(query)).expect("a list");
        let kinds = list["data"].as_array().expect("a list").iter();
        let kinds = kinds.map(|event| event["type"].as_str().expect("text").to_owned()).collect();
        (kinds, list["has_more"] == true)
    }

    #[test]
    fn a_list_is_read_in_both_directions() {
        let mut account = Account::new(String::new());
        for kind in ["a", "b", "c", "d", "e"] {
            account.emit_about(kind, json!({}));
        }
        let ids: Vec<_> = account.all("evt").map(|it| it["id"].as_str().expect("text")).collect();
        let [_, b, _, d, e] = ids[..] else { panic!("{ids:?}") };
        for (query, kinds, has_more) in [
            ("", "edcba", false),
            ("limit=2", "ed", true),
            (&format!("limit=2&starting_after={d}"), "cb", true),
            (&format!("limit=2&starting_after={b}"), "a", false),
            (&format!("limit=2&ending_before={b}"), "dc", true),
            (&format!("limit=2&ending_before={d}"), "e", false),
            (&format!("limit=2&ending_before={e}"), "", false),
            ("limit=2&types[]=b&types[]=d&types[]=a", "db", true),
            ("type=c", "c", false),
            ("created[gte]=4000000000", "", false),
        ] {
            let expected = kinds.chars().map(String::from).collect();
            assert_eq!(page(&account, query), (expected, has_more), "{query}");
        }
        assert!(account.list("evt", &Form::parse("limit=101")).is_err());
    }
}
