//! One connection with one request in flight, in HTTP/1.1 or in Redis's protocol.
//!
//! Requests are written beforehand and only numbered, and replies are only parsed as far as needed to know that they are good and
//! where they end: both protocols cost the client the same, and little, so what differs between two servers is the servers.

use std::{fs, io::Write, net::SocketAddr, path::Path};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Stands in a [`Call`] for the number of a request, which has as many digits, or for the name with that number.
pub(crate) const HOLE: &str = "############";

/// A request whose texts may hold the [`HOLE`] once.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) enum Call {
    /// A POST of a JSON body.
    Http {
        /// Where to.
        path: String,
        /// Lines of the head, each with its end.
        headers: String,
        /// What is sent.
        body: String,
    },
    /// A GET.
    Get {
        /// Where to.
        path: String,
        /// Lines of the head, each with its end.
        headers: String,
    },
    /// A POST of a JSON body that breaks rules, to be answered with 400.
    Refused {
        /// Where to.
        path: String,
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
        let headers = format!("Cookie: {cookie}\r\n");
        Self::Http { path: "/set".to_owned(), headers, body: object }
    }
}

/// The bytes of a [`Call`], around the number.
pub(crate) struct Template {
    before: Vec<u8>,
    /// None when there is no number.
    after: Option<Vec<u8>>,
    /// What the numbers stand for, if they stand for names.
    names: Vec<String>,
    reply: Reply,
}

/// Gives the size of a reply once it is complete.
type Reply = fn(&[u8]) -> Result<Option<usize>>;

impl Template {
    /// Writes the call down. With `names`, a file of texts of one length, one a line, a number stands for one of them.
    pub(crate) fn new(call: &Call, names: Option<&Path>) -> Result<Self> {
        let names = names.map(fs::read_to_string).transpose()?.unwrap_or_default();
        let names: Vec<_> = names.lines().map(str::to_owned).collect();
        let hole = names.first().map_or(HOLE.len(), String::len);
        let (text, reply): (_, Reply) = match call {
            Call::Http { path, headers, body } => (post(path, headers, body, hole), http_reply),
            Call::Get { path, headers } => {
                (format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n"), http_reply)
            }
            Call::Refused { path, body } => (post(path, "", body, hole), http_refusal),
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
        let (before, after) = match text.split_once(HOLE) {
            Some((before, after)) => (before, Some(after.into())),
            None => (text.as_str(), None),
        };
        Ok(Self { before: before.into(), after, names, reply })
    }
}

impl Template {
    fn name(&self, number: u64) -> Option<&str> {
        let names = u64::try_from(self.names.len()).ok().filter(|&names| names > 0)?;
        Some(&self.names[usize::try_from(number % names).ok()?])
    }
}

/// A request whose hole, if it is in the body, will be filled with so many bytes.
fn post(path: &str, headers: &str, body: &str, hole: usize) -> String {
    let length = body.replacen(HOLE, &" ".repeat(hole), 1).len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
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
        if let Some(after) = &template.after {
            match template.name(number) {
                Some(name) => self.request.extend_from_slice(name.as_bytes()),
                None => write!(self.request, "{number:0width$}", width = HOLE.len())?,
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

fn http_answer(bytes: &[u8], good: fn(u16) -> bool) -> Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes)? else { return Ok(None) };
    let code = response.code.unwrap_or_default();
    ensure!(good(code), "status {code}: {}", String::from_utf8_lossy(&bytes[head..]));
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
    fn a_refusal_is_an_error_where_none_is_wanted() {
        let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        assert!(http_reply(refusal).is_err() && http_refusal(refusal).is_ok());
        assert!(http_reply(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(redis_reply(b"-OOM\r\n").is_err());
    }

    #[test]
    fn every_number_makes_a_request_of_the_same_size() {
        let call = Call::Redis { key: format!("k{HOLE}"), value: "v".to_owned() };
        let template = Template::new(&call, None).unwrap();
        assert_eq!(template.before, b"*3\r\n$3\r\nSET\r\n$13\r\nk");
        assert_eq!(template.after.unwrap(), b"\r\n$1\r\nv\r\n");
    }
}
