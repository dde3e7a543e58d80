//! The client side of `GET /streams`: the read path of Durable Streams, with State messages.

use std::{borrow::Cow, collections::VecDeque};

use percent_encoding::percent_decode_str;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{Key, Object, revision};
use crate::{http::Answer, process::DEADLINE};

/// A message of the State protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A current object of a snapshot, with the revision that set it.
    Insert(u64, Object),
    Update(u64, Object),
    /// The revision, the key, and the cause unless a client has deleted it.
    Delete(u64, Key, Option<String>),
    /// The copy starts over.
    Reset,
    SnapshotStart,
    SnapshotEnd,
}

/// Messages, and where the stream continues after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub changes: Vec<Change>,
    pub offset: String,
    pub up_to_date: bool,
    pub cursor: Option<String>,
}

/// An open response with `live=sse`.
#[derive(Debug)]
pub struct StateStream {
    response: Response,
    /// Text received and not returned yet.
    received: String,
    comments: usize,
    changes: VecDeque<Change>,
}

impl Part {
    /// The part in an answer: 204 has no changes.
    pub fn of(answer: &Answer) -> Self {
        let is_part = [StatusCode::OK, StatusCode::NO_CONTENT].contains(&answer.status);
        assert!(is_part, "{answer:?}");
        let header = |name| answer.header(name).map(str::to_owned);
        Self {
            changes: if answer.status == 204 { Vec::new() } else { parse(answer.text()) },
            offset: header("stream-next-offset").expect("an offset"),
            up_to_date: header("stream-up-to-date").is_some_and(|value| value == "true"),
            cursor: header("stream-cursor"),
        }
    }

    /// The revision whose state a copy has after this part. `None` inside a snapshot.
    pub fn exact(&self) -> Option<u64> {
        exact(&self.offset)
    }
}

/// The revision of an offset outside a snapshot.
pub fn exact(offset: &str) -> Option<u64> {
    let (_, digits) = offset.strip_suffix("_~")?.split_once('_').expect("an epoch");
    Some(u64::from_str_radix(digits, 16).expect("a revision"))
}

impl StateStream {
    pub fn new(response: Response) -> Self {
        let media = response.headers().get("content-type").expect("a content type");
        assert_eq!(media, "text/event-stream");
        Self { response, received: String::new(), comments: 0, changes: VecDeque::new() }
    }

    /// The next change; the service sends one.
    pub async fn next_change(&mut self) -> Change {
        while self.changes.is_empty() {
            let part = self.next().await.expect("the stream goes on");
            self.changes.extend(part.changes);
        }
        self.changes.pop_front().expect("a change")
    }

    /// The next part, or `None` if the stream ends first.
    pub async fn next(&mut self) -> Option<Part> {
        let mut changes = Vec::new();
        loop {
            let block = self.next_block().await?;
            let (mut kind, mut data) = ("", String::new());
            for line in block.lines() {
                match line.split_once(':').expect("a field") {
                    ("", _) => self.comments += 1,
                    ("event", value) => kind = value.trim(),
                    ("data", value) => data += value,
                    (field, _) => panic!("{field} is not expected"),
                }
            }
            match kind {
                "" => {}
                "data" => changes = parse(&data),
                "control" => {
                    let control: Control = serde_json::from_str(&data).expect("a control event");
                    let Control { offset, cursor, up_to_date } = control;
                    return Some(Part { changes, offset, up_to_date, cursor: Some(cursor) });
                }
                _ => panic!("{kind} is not expected"),
            }
        }
    }

    /// The number of comments so far.
    pub fn comments(&self) -> usize {
        self.comments
    }

    async fn next_block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.received.split_once("\n\n") {
                let block = block.to_owned();
                self.received = rest.to_owned();
                return Some(block);
            }
            let chunk = timeout(DEADLINE, self.response.chunk()).await.expect("a chunk in time");
            let chunk = chunk.ok().flatten()?;
            self.received.push_str(str::from_utf8(&chunk).expect("messages are not cut"));
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Control {
    #[serde(rename = "streamNextOffset")]
    offset: String,
    #[serde(rename = "streamCursor")]
    cursor: String,
    #[serde(default, rename = "upToDate")]
    up_to_date: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    r#type: Option<String>,
    key: Option<String>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    headers: Headers<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Headers<'a> {
    control: Option<&'a str>,
    operation: Option<&'a str>,
    txid: Option<&'a str>,
    owner: Option<String>,
    cause: Option<String>,
}

fn parse(text: &str) -> Vec<Change> {
    let all: Vec<Wire<'_>> =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    all.into_iter().map(change).collect()
}

fn change(Wire { r#type, key, value, headers }: Wire<'_>) -> Change {
    let Some(operation) = headers.operation else {
        return match headers.control.expect("an operation or a control") {
            "reset" => Change::Reset,
            "snapshot-start" => Change::SnapshotStart,
            "snapshot-end" => Change::SnapshotEnd,
            control => panic!("{control} is not expected"),
        };
    };
    let text = key.expect("a key");
    let (namespace, name) = text.split_once('/').expect("two parts");
    let [namespace, name] =
        [namespace, name].map(|part| percent_decode_str(part).decode_utf8().expect("UTF-8"));
    let key = Key::new(&r#type.expect("a type"), &namespace, &name);
    let revision = revision(headers.txid.expect("a transaction"));
    if operation == "delete" {
        assert!(value.is_none(), "a deletion has a value");
        return Change::Delete(revision, key, headers.cause);
    }
    let value = value.expect("a value").get();
    let object = Object { owner: headers.owner.expect("an owner"), ..Object::new(&key, value) };
    match operation {
        "insert" => Change::Insert(revision, object),
        "update" => Change::Update(revision, object),
        _ => panic!("{operation} is not expected"),
    }
}

/// The path of the stream of a pattern.
pub fn stream_path(pattern: &Key) -> String {
    let Key { r#type, namespace, name } = pattern;
    let encode =
        |part| percent_encoding::utf8_percent_encode(part, percent_encoding::NON_ALPHANUMERIC);
    let parts = [r#type, namespace, name].map(|part| Cow::from(encode(part)));
    format!("/streams/{}", parts.join("/")).trim_end_matches('/').to_owned()
}
