//! A WebSocket client of `/socket`, for many sockets on one thread. It parses frames in the buffer
//! into which they were read, and answers pings.

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
    /// The read buffer of all sockets, so that it stays in the processor's cache. They can share it
    /// because bytes are parsed right after a read. It is larger than any partial frame.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 1 << 18]);
}

pub(crate) struct Socket {
    stream: TcpStream,
    /// The beginning of a frame that is still incomplete.
    partial: Vec<u8>,
    /// Pongs that are not sent yet.
    pongs: Vec<u8>,
    /// Number of pings received.
    pub(crate) pings: u64,
}

impl Socket {
    /// Opens `/socket` with this value of the Cookie header.
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
            ensure!(stream.read_buf(&mut answer).await? > 0, "/socket: the connection was closed");
            if let Some(head) = upgraded(&answer)? {
                break head;
            }
        };
        Ok(Self { stream, partial: answer.split_off(head), pongs: Vec::new(), pings: 0 })
    }

    /// Waits for bytes, calls `on_message` for each message that they complete, and answers pings.
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
                Poll::Ready(self.parse(&scratch[..kept + read], &mut on_message))
            })
        })
        .await?;
        if !self.pongs.is_empty() {
            self.stream.write_all(&self.pongs).await?;
            self.pongs.clear();
        }
        Ok(())
    }

    /// Parses `bytes`: the partial frame, followed by the bytes just read.
    fn parse(
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
            _ => bail!("the service sent a frame with the unexpected opcode {opcode:#x}"),
        })?;
        self.partial.clear();
        self.partial.extend_from_slice(&bytes[parsed..]);
        Ok(())
    }
}

/// Returns the size of the answer's head, or `None` while it is incomplete.
fn upgraded(answer: &[u8]) -> Result<Option<usize>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(answer)? else { return Ok(None) };
    ensure!(response.code == Some(101), "/socket: status {:?}", response.code);
    Ok(Some(head))
}

/// Calls `on_frame` with the opcode and the payload of every complete frame. Returns the size of
/// these frames in bytes.
fn frames(bytes: &[u8], mut on_frame: impl FnMut(u8, &[u8]) -> Result<()>) -> Result<usize> {
    let mut parsed = 0;
    while let [first, second, rest @ ..] = &bytes[parsed..] {
        ensure!(
            first & 0xF0 == FINAL && second & MASKED == 0,
            "a frame is fragmented, compressed or masked"
        );
        let (head, length) = match (second, rest) {
            (126, [high, low, ..]) => (4, usize::from(u16::from_be_bytes([*high, *low]))),
            (126, _) => break,
            (127, _) => bail!("a frame is larger than 64 KiB, as no expected push is"),
            (short, _) => (2, usize::from(*short)),
        };
        let Some(payload) = bytes.get(parsed + head..parsed + head + length) else { break };
        on_frame(first & 0x0F, payload)?;
        parsed += head + length;
    }
    Ok(parsed)
}

/// Appends the pong for a ping. Clients must mask frames. A mask of zeros leaves the payload
/// unchanged.
fn pong(payload: &[u8], pongs: &mut Vec<u8>) -> Result<()> {
    pongs.extend_from_slice(&[FINAL | PONG, MASKED | u8::try_from(payload.len())?, 0, 0, 0, 0]);
    pongs.extend_from_slice(payload);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_at_every_split_of_the_bytes() {
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
