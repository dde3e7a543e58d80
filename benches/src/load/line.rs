//! A connection with one request in flight, over HTTP/1.1 or the protocol of Redis.
//!
//! The client must cost little and the same for both protocols, so that results differ only because
//! of the servers. Therefore, requests are prepared as templates, into which only a number is
//! written. Replies are parsed only to check their status and to find their end.

use std::{fs, io::Write, net::SocketAddr, path::Path};

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
    /// The expected status is 2xx.
    Get {
        path: String,
        /// Lines of the head, each with its line end.
        headers: String,
    },
    /// A POST with an invalid JSON body. The expected status is 400.
    Refused { path: String, body: String },
    /// The command SET.
    Redis { key: String, value: String },
    /// A Put. It needs the client of etcd instead of a [`Line`].
    Etcd { key: String, value: String },
}

impl Call {
    /// `POST /set` of objstore-svc. `cookie` is the value of the Cookie header.
    pub(crate) fn set(cookie: &str, object: String) -> Self {
        let headers = format!("Cookie: {cookie}\r\n");
        Self::Http { path: "/set".to_owned(), headers, body: object }
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

/// Checks a reply. Returns its size in bytes, or `None` while it is incomplete.
type Reply = fn(&[u8]) -> Result<Option<usize>>;

impl Template {
    /// Prepares a call. `names` is a file with one name per line, all of the same length. With
    /// `names`, number n is replaced by name n, modulo the number of names.
    pub(crate) fn new(call: &Call, names: Option<&Path>) -> Result<Self> {
        let names = names.map(fs::read_to_string).transpose()?.unwrap_or_default();
        let names: Vec<_> = names.lines().map(str::to_owned).collect();
        let length = names.first().map_or(PLACEHOLDER.len(), String::len);
        let (text, reply): (_, Reply) = match call {
            Call::Http { path, headers, body } => (post(path, headers, body, length), http_reply),
            Call::Get { path, headers } => {
                (format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n"), http_reply)
            }
            Call::Refused { path, body } => (post(path, "", body, length), http_refusal),
            Call::Redis { key, value } => (
                format!(
                    "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n{value}\r\n",
                    key.len(),
                    value.len()
                ),
                redis_reply,
            ),
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

/// Returns the text of a POST. `name_length` is the number of bytes that will replace the
/// placeholder, if it is in the body.
fn post(path: &str, headers: &str, body: &str, name_length: usize) -> String {
    let length = body.replacen(PLACEHOLDER, &" ".repeat(name_length), 1).len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
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

    /// Sends the request with this number and waits for its reply. Returns the size of the reply in
    /// bytes. Fails if its status is not the expected one.
    pub(crate) async fn exchange(&mut self, template: &Template, number: u64) -> Result<usize> {
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
    http_answer(bytes, |code| (200..300).contains(&code))
}

fn http_refusal(bytes: &[u8]) -> Result<Option<usize>> {
    http_answer(bytes, |code| code == 400)
}

fn http_answer(bytes: &[u8], is_expected: fn(u16) -> bool) -> Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes)? else { return Ok(None) };
    let code = response.code.unwrap_or_default();
    ensure!(is_expected(code), "status {code}: {}", String::from_utf8_lossy(&bytes[head..]));
    let length =
        response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let body = match length {
        Some(header) => std::str::from_utf8(header.value)?.parse()?,
        None => {
            ensure!(code == 204, "the answer has no content-length");
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
    fn an_unexpected_status_is_an_error() {
        let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        assert!(http_reply(refusal).is_err() && http_refusal(refusal).is_ok());
        assert!(http_reply(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(redis_reply(b"-OOM\r\n").is_err());
    }

    #[test]
    fn a_template_is_split_at_the_number() {
        let call = Call::Redis { key: format!("k{PLACEHOLDER}"), value: "v".to_owned() };
        let template = Template::new(&call, None).unwrap();
        assert_eq!(template.before, b"*3\r\n$3\r\nSET\r\n$13\r\nk");
        assert_eq!(template.after.unwrap(), b"\r\n$1\r\nv\r\n");
    }
}
