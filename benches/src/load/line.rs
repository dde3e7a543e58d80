//! A connection with one request in flight, over HTTP/1.1 or the protocol of Redis.
//!
//! The client must cost little and the same for both protocols, so that results differ only because
//! of the servers. Therefore, requests are prepared as templates, into which only a number is
//! written. Replies are parsed only to check their status and to find their end.

use std::{io::Write, net::SocketAddr};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Placeholder in a [`Call`] for the number of a request, padded to the same length, or for the
/// name with that number.
pub(crate) const PLACEHOLDER: &str = "############";

/// A request. Its texts together contain the [`PLACEHOLDER`] at most once.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) enum Call {
    /// A POST with a JSON body. The expected status is 2xx.
    Http {
        path: String,
        /// Lines of the head, each with its line end.
        headers: String,
        body: String,
    },
    /// The command SET.
    Redis { key: String, value: String },
    /// A Put. It needs the client of etcd instead of a [`Line`].
    Etcd { key: String, value: String },
}

impl Call {
    pub(crate) fn post(path: &str, headers: String, body: impl Into<String>) -> Self {
        Self::Http { path: path.to_owned(), headers, body: body.into() }
    }

    /// `POST /set` of objstore-svc. `cookie` is the value of the Cookie header.
    pub(crate) fn set(cookie: &str, object: String) -> Self {
        Self::post("/set", format!("Cookie: {cookie}\r\n"), object)
    }
}

/// The bytes of a [`Call`] before and after the number.
pub(crate) struct Template {
    before: Vec<u8>,
    /// `None` if the call contains no number.
    after: Option<Vec<u8>>,
    /// Names that replace numbers. Empty: numbers are sent.
    names: Vec<String>,
    reply: Reply,
}

/// Checks the status of a reply. Returns whether it is complete.
type Reply = fn(&[u8]) -> Result<bool>;

impl Template {
    /// Prepares a call. With `names`, all of the same length, number n is replaced by name n, modulo
    /// the number of names.
    pub(crate) fn new(call: &Call, names: Vec<String>) -> Result<Self> {
        let length = names.first().map_or(PLACEHOLDER.len(), String::len);
        let (text, reply): (_, Reply) = match call {
            Call::Http { path, headers, body } => {
                let length = body.replacen(PLACEHOLDER, &" ".repeat(length), 1).len();
                let text = format!(
                    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                (text, http_reply)
            }
            Call::Redis { key, value } => {
                let [key_length, value_length] = [key, value].map(String::len);
                let text = format!(
                    "*3\r\n$3\r\nSET\r\n${key_length}\r\n{key}\r\n${value_length}\r\n{value}\r\n"
                );
                (text, redis_reply)
            }
            Call::Etcd { .. } => bail!("a line does not support the protocol of etcd"),
        };
        let (before, after) = match text.split_once(PLACEHOLDER) {
            Some((before, after)) => (before, Some(after.into())),
            None => (text.as_str(), None),
        };
        Ok(Self { before: before.into(), after, names, reply })
    }

    fn name(&self, number: u64) -> Option<&str> {
        let names = u64::try_from(self.names.len()).ok().filter(|&names| names > 0)?;
        Some(&self.names[usize::try_from(number % names).ok()?])
    }
}

/// A connection with reusable buffers.
pub(crate) struct Line {
    stream: TcpStream,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Line {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: Vec::new(), reply: Vec::new() })
    }

    /// Sends the request with this number and waits for its reply. Fails if its status is not the
    /// expected one.
    pub(crate) async fn exchange(&mut self, template: &Template, number: u64) -> Result<()> {
        self.request.clear();
        self.request.extend_from_slice(&template.before);
        if let Some(after) = &template.after {
            match template.name(number) {
                Some(name) => self.request.extend_from_slice(name.as_bytes()),
                None => write!(self.request, "{number:0width$}", width = PLACEHOLDER.len())?,
            }
            self.request.extend_from_slice(after);
        }
        self.stream.write_all(&self.request).await?;
        self.reply.clear();
        loop {
            let read = self.stream.read_buf(&mut self.reply).await?;
            ensure!(read > 0, "the server closed the connection");
            if (template.reply)(&self.reply)? {
                return Ok(());
            }
        }
    }
}

fn http_reply(bytes: &[u8]) -> Result<bool> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes)? else { return Ok(false) };
    let code = response.code.unwrap_or_default();
    let text = || String::from_utf8_lossy(&bytes[head..]);
    ensure!((200..300).contains(&code), "status {code}: {}", text());
    let mut headers = response.headers.iter();
    let body = match headers.find(|header| header.name.eq_ignore_ascii_case("content-length")) {
        Some(length) => std::str::from_utf8(length.value)?.parse()?,
        None => {
            ensure!(code == 204, "the answer has no content-length");
            0
        }
    };
    Ok(bytes.len() >= head + body)
}

fn redis_reply(bytes: &[u8]) -> Result<bool> {
    let complete = bytes.ends_with(b"\r\n");
    ensure!(!complete || bytes.starts_with(b"+"), "{}", String::from_utf8_lossy(bytes));
    Ok(complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_last_byte() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
        for end in 1..answer.len() {
            assert!(!http_reply(&answer[..end]).unwrap(), "{end} bytes");
        }
        assert!(http_reply(answer).unwrap());
        assert!(http_reply(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap());
    }

    #[test]
    fn an_unexpected_status_is_an_error() {
        http_reply(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").unwrap_err();
        redis_reply(b"-OOM\r\n").unwrap_err();
    }

    #[test]
    fn a_template_is_split_at_the_number() {
        let call = Call::Redis { key: format!("k{PLACEHOLDER}"), value: "v".to_owned() };
        let template = Template::new(&call, Vec::new()).unwrap();
        assert_eq!(template.before, b"*3\r\n$3\r\nSET\r\n$13\r\nk");
        assert_eq!(template.after.unwrap(), b"\r\n$1\r\nv\r\n");
    }
}
