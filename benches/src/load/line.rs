//! One connection with one request in flight, in HTTP/1.1 or in Redis's protocol.
//!
//! Requests are written beforehand and only numbered, and replies are only parsed as far as needed to know that they are good and
//! where they end: both protocols cost the client the same, and little, so what differs between two servers is the servers.

use std::{io::Write, net::SocketAddr};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Stands in a [`Call`] for the number of a request, which has as many digits.
pub(crate) const HOLE: &str = "############";

/// A request whose texts hold the [`HOLE`] once.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) enum Call {
    /// A POST of a JSON body.
    Http {
        /// Where to.
        path: String,
        /// The value of the Cookie header.
        cookie: String,
        /// What is sent.
        body: String,
    },
    /// A SET.
    Redis {
        /// Key to set.
        key: String,
        /// Value to set it to.
        value: String,
    },
    /// A Put, which goes through etcd's own client and not over a [`Line`].
    Etcd {
        /// Key to put.
        key: String,
        /// Value to put there.
        value: String,
    },
}

impl Call {
    /// A set of an object by the client with this cookie.
    pub(crate) fn set(cookie: &str, object: String) -> Self {
        Self::Http { path: "/set".to_owned(), cookie: cookie.to_owned(), body: object }
    }
}

/// The bytes of a [`Call`], around the number.
pub(crate) struct Template {
    before: Vec<u8>,
    after: Vec<u8>,
    reply: Reply,
}

/// Gives the size of a reply once it is complete.
type Reply = fn(&[u8]) -> Result<Option<usize>>;

impl Template {
    /// Writes the call down.
    pub(crate) fn new(call: &Call) -> Result<Self> {
        let (text, reply): (_, Reply) = match call {
            Call::Http { path, cookie, body } => (
                format!(
                    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ),
                http_reply,
            ),
            Call::Redis { key, value } => (
                format!(
                    "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n{value}\r\n",
                    key.len(),
                    value.len()
                ),
                redis_reply,
            ),
            Call::Etcd { .. } => bail!("etcd does not speak over a line"),
        };
        let (before, after) = text.split_once(HOLE).context("a call without a hole")?;
        Ok(Self { before: before.into(), after: after.into(), reply })
    }
}

/// A connection.
pub(crate) struct Line {
    stream: TcpStream,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Line {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: Vec::new(), reply: Vec::new() })
    }

    /// Sends the template's request with this number and waits for its reply; gives the size of the reply.
    pub(crate) async fn exchange(&mut self, template: &Template, number: u64) -> Result<usize> {
        self.request.clear();
        self.request.extend_from_slice(&template.before);
        write!(self.request, "{number:0width$}", width = HOLE.len())?;
        self.request.extend_from_slice(&template.after);
        self.stream.write_all(&self.request).await?;
        self.reply.clear();
        loop {
            ensure!(
                self.stream.read_buf(&mut self.reply).await? > 0,
                "the server closed the connection"
            );
            if let Some(size) = (template.reply)(&self.reply)? {
                return Ok(size);
            }
        }
    }
}

fn http_reply(bytes: &[u8]) -> Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes)? else { return Ok(None) };
    let code = response.code.unwrap_or_default();
    ensure!(
        (200..300).contains(&code),
        "status {code}: {}",
        String::from_utf8_lossy(&bytes[head..])
    );
    let length =
        response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let body = match length {
        Some(header) => std::str::from_utf8(header.value)?.parse()?,
        None => {
            ensure!(code == 204, "an answer of unknown length");
            0
        }
    };
    Ok((bytes.len() >= head + body).then_some(head + body))
}

fn redis_reply(bytes: &[u8]) -> Result<Option<usize>> {
    let complete = bytes.ends_with(b"\r\n");
    ensure!(!complete || bytes.starts_with(b"+"), "{}", String::from_utf8_lossy(bytes));
    Ok(complete.then_some(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_last_byte() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
        for end in 1..answer.len() {
            assert_eq!(http_reply(&answer[..end]).unwrap(), None, "{end} bytes");
        }
        assert_eq!(http_reply(answer).unwrap(), Some(answer.len()));
        assert_eq!(http_reply(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(), Some(27));
    }

    #[test]
    fn a_refusal_is_an_error() {
        assert!(http_reply(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(redis_reply(b"-OOM\r\n").is_err());
    }

    #[test]
    fn every_number_makes_a_request_of_the_same_size() {
        let call = Call::Redis { key: format!("k{HOLE}"), value: "v".to_owned() };
        let template = Template::new(&call).unwrap();
        assert_eq!(template.before, b"*3\r\n$3\r\nSET\r\n$13\r\nk");
        assert_eq!(template.after, b"\r\n$1\r\nv\r\n");
    }
}
