//! The parameters of a request, from its form or its query.

use std::{convert::Infallible, future::ready};

use futures_util::stream;
use hyper::body::Bytes;
use multer::Multipart;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::error::Error;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) fn parse(text: &str) -> Self {
        let decoded = |text: &str| {
            percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Self(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
    }

    /// The parts of a form with files, and `filename`.
    pub(super) async fn of_parts(kind: &str, body: Bytes) -> Self {
        let boundary = multer::parse_boundary(kind).expect("a form with files has a boundary");
        let body = stream::once(ready(Ok::<_, Infallible>(body)));
        let (mut form, mut pairs) = (Multipart::new(body, boundary), Vec::new());
        while let Some(field) = form.next_field().await.expect("a form is complete") {
            let name = field.name().unwrap_or_default().to_owned();
            pairs.extend(field.file_name().map(|file| ("filename".to_owned(), file.to_owned())));
            let content = field.bytes().await.expect("a form is complete");
            pairs.push((name, String::from_utf8_lossy(&content).into_owned()));
        }
        Self(pairs)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, Error> {
        self.get(name).ok_or_else(|| Error::required(name))
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, Error> {
        let wrong = |_| Error::invalid("parameter_invalid_integer", name, "Invalid integer");
        self.get(name).map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// Refuses parameters with other names. `metadata` allows `metadata[order]`.
    pub(super) fn check(&self, allowed: &[&str]) -> Result<(), Error> {
        let is_unknown = |name: &&String| {
            let outer = name.split('[').next().unwrap_or_default();
            outer != "expand" && !allowed.contains(&outer)
        };
        let unknown = self.0.iter().map(|(name, _)| name).find(is_unknown);
        unknown.map_or(Ok(()), |name| Err(Error::unknown(name)))
    }

    /// The members of an object of the form, such as `metadata[order]`.
    pub(super) fn members(&self, name: &str) -> Map<String, Value> {
        let inside = |(path, value): &(String, String)| {
            let member = path.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
            Some((member.to_owned(), Value::from(value.as_str())))
        };
        self.0.iter().filter_map(inside).collect()
    }

    /// Whether an object of a list has the members that the query asks for.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let types: Vec<_> = self.all("types[]").collect();
        let is_meant = |(name, value): &(String, String)| match name.as_str() {
            "limit" | "starting_after" | "ending_before" | "expand[]" => true,
            "types[]" => object["type"].as_str().is_some_and(|kind| types.contains(&kind)),
            _ => match name.strip_prefix("created[") {
                Some(bound) => is_within(int(object, "created"), bound, value),
                None => object[name] == value.as_str(),
            },
        };
        self.0.iter().all(is_meant)
    }
}

fn is_within(created: i64, bound: &str, limit: &str) -> bool {
    let Ok(limit) = limit.parse::<i64>() else { return false };
    match bound {
        "gte]" => created >= limit,
        "gt]" => created > limit,
        "lte]" => created <= limit,
        "lt]" => created < limit,
        _ => false,
    }
}

/// A number of an object.
pub(super) fn int(object: &Value, name: &str) -> i64 {
    object[name].as_i64().unwrap_or_default()
}
