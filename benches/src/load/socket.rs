//! The client's end of `/socket`, for many sockets in one thread: frames are parsed where they were read, and pings answered.

use std::{
    cell::RefCell,
    future::poll_fn,
    net::SocketAddr,
    pin::Pin,
    task::{Poll, ready},
};

use anyhow::{Result, bail, ensure};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf},
    net::TcpStream,
};

const TEXT: u8 = 0x1;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

thread_local! {
    /// Bytes are read here and parsed at once, so a thousand sockets share one warm buffer. It is larger than any partial frame.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 1 << 18]);
}

/// An open websocket.
pub(crate) struct Socket {
    stream: TcpStream,
    /// The frame that has begun to arrive.
    partial: Vec<u8>,
    /// Pongs to be sent.
    pongs: Vec<u8>,
    /// Pings that arrived so far.
    pub(crate) pings: u64,
}

impl Socket {
    /// Opens `/socket` for the client with this cookie.
    pub(crate) async fn open(address: SocketAddr, cookie: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        let head = loop {
            ensure!(stream.read_buf(&mut answer).await? > 0, "/socket: closed");
            if let Some(head) = upgraded(&answer)? {
                break head;
            }
        };
        Ok(Self { stream, partial: answer.split_off(head), pongs: Vec::new(), pings: 0 })
    }

    /// Waits for bytes, hands over each message that is complete with them, and answers pings.
    pub(crate) async fn receive(
        &mut self,
        mut on_message: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        poll_fn(|context| {
            SCRATCH.with_borrow_mut(|scratch| {
                let kept = self.partial.len();
                scratch[..kept].copy_from_slice(&self.partial);
                let mut space = ReadBuf::new(&mut scratch[kept..]);
                ready!(Pin::new(&mut self.stream).poll_read(context, &mut space))?;
                let read = space.filled().len();
                Poll::Ready(self.take(&scratch[..kept + read], &mut on_message))
            })
        })
        .await?;
        if !self.pongs.is_empty() {
            self.stream.write_all(&self.pongs).await?;
            self.pongs.clear();
        }
        Ok(())
    }

    /// Takes the partial frame and what was read after it.
    fn take(
        &mut self,
        bytes: &[u8],
        mut on_message: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        ensure!(bytes.len() > self.partial.len(), "the service closed a socket");
        let parsed = frames(bytes, |opcode, payload| match opcode {
            TEXT => on_message(payload),
            PING => {
                self.pings += 1;
                pong(payload, &mut self.pongs)
            }
            _ => bail!("the service sent a frame of kind {opcode:#x}"),
        })?;
        self.partial.clear();
        self.partial.extend_from_slice(&bytes[parsed..]);
        Ok(())
    }
}

/// Size of the answer's head, once it is complete.
fn upgraded(answer: &[u8]) -> Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(answer)? else { return Ok(None) };
    ensure!(response.code == Some(101), "/socket: status {:?}", response.code);
    Ok(Some(head))
}

/// Hands over the opcode and payload of every complete frame; gives how many bytes they take.
fn frames(bytes: &[u8], mut on_frame: impl FnMut(u8, &[u8]) -> Result<()>) -> Result<usize> {
    let mut parsed = 0;
    while let [first, second, rest @ ..] = &bytes[parsed..] {
        ensure!(
            first & 0xF0 == FINAL && second & MASKED == 0,
            "a frame in parts, compressed or masked"
        );
        let (head, length) = match (second, rest) {
            (126, [high, low, ..]) => (4, usize::from(u16::from_be_bytes([*high, *low]))),
            (126, _) => break,
            (127, _) => bail!("a frame is larger than any push of a bench"),
            (short, _) => (2, usize::from(*short)),
        };
        let Some(payload) = bytes.get(parsed + head..parsed + head + length) else { break };
        on_frame(first & 0x0F, payload)?;
        parsed += head + length;
    }
    Ok(parsed)
}

/// Appends the pong to a ping. A client has to mask; with a mask of zeroes the payload stays as it is.
fn pong(payload: &[u8], into: &mut Vec<u8>) -> Result<()> {
    into.extend_from_slice(&[FINAL | PONG, MASKED | u8::try_from(payload.len())?, 0, 0, 0, 0]);
    into.extend_from_slice(payload);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_their_bytes_arrive() {
        let mut bytes =
            vec![FINAL | TEXT, 2, b'h', b'i', FINAL | PING, 0, FINAL | TEXT, 126, 1, 44];
        bytes.extend([b'x'; 300]);
        for end in 0..=bytes.len() {
            let mut seen = Vec::new();
            let parsed = frames(&bytes[..end], |opcode, payload| {
                seen.push((opcode, payload.len()));
                Ok(())
            })
            .unwrap();
            let whole = [(4, (TEXT, 2)), (6, (PING, 0)), (310, (TEXT, 300))];
            let expected: Vec<_> = whole.iter().filter(|(ends, _)| *ends <= end).collect();
            assert_eq!(
                seen,
                expected.iter().map(|(_, frame)| *frame).collect::<Vec<_>>(),
                "{end} bytes"
            );
            assert_eq!(parsed, expected.last().map_or(0, |(ends, _)| *ends), "{end} bytes");
        }
    }

    #[test]
    fn a_pong_carries_the_payload_of_its_ping() {
        let mut bytes = Vec::new();
        pong(b"mark", &mut bytes).unwrap();
        assert_eq!(bytes, [0x8A, 0x84, 0, 0, 0, 0, b'm', b'a', b'r', b'k']);
    }
}
