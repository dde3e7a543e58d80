//! The client side of `GET /events`.

use reqwest::Response;
use tokio::time::timeout;

use super::Event;
use crate::process::DEADLINE;

/// An open stream of server-sent events.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    /// Text received and not returned yet.
    received: String,
}

/// A block of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    /// An event with its `id`.
    Event(Option<u64>, Event),
    Comment,
}

impl EventStream {
    pub(super) fn new(response: Response) -> Self {
        let media = response.headers().get("content-type").expect("a content type");
        assert_eq!(media, "text/event-stream");
        Self { response, received: String::new() }
    }

    /// The next event with its `id`, without comments.
    pub async fn next(&mut self) -> (Option<u64>, Event) {
        loop {
            if let Block::Event(id, event) = self.next_block().await.expect("the stream goes on") {
                return (id, event);
            }
        }
    }

    /// The next event, without its `id`.
    pub async fn next_event(&mut self) -> Event {
        self.next().await.1
    }

    /// The next block, or `None` if the stream ends first.
    pub async fn next_block(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.received.split_once("\n\n") {
                let block = parse(block);
                self.received = rest.to_owned();
                return Some(block);
            }
            let chunk = timeout(DEADLINE, self.response.chunk()).await.expect("a chunk in time");
            let chunk = chunk.ok().flatten()?;
            self.received.push_str(str::from_utf8(&chunk).expect("messages are not cut"));
        }
    }
}

fn parse(block: &str) -> Block {
    let (mut id, mut kind, mut data) = (None, "", "");
    for line in block.lines() {
        match line.split_once(':').expect("a field") {
            ("", _) => return Block::Comment,
            ("id", value) => id = Some(value.trim().parse().expect("a revision")),
            ("event", value) => kind = value.trim(),
            ("data", value) => data = value.trim(),
            (field, _) => panic!("{field} is not expected"),
        }
    }
    assert!(data.contains(&format!("\"Event\":\"{kind}\"")), "{kind} is not the event of {data}");
    let event = Event::parse(data);
    // While access rules change, a client resumes at an earlier revision.
    assert!(id.is_none_or(|id| id <= event.revision()), "{id:?} is after {data}");
    Block::Event(id, event)
}
