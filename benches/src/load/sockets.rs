//! WebSocket clients of `/socket`, many on one thread. They share the cores with the service,
//! so they only look for the ends of frames, and answer pings.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::load::all;

const TEXT: u8 = 0x1;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Sockets that watch while others set.
#[derive(Deserialize, Serialize)]
pub(crate) struct Sockets {
    pub(crate) address: SocketAddr,
    pub(crate) count: usize,
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

impl Sockets {
    /// Opens a socket for each cookie.
    pub(crate) async fn open(&self, cookies: &[String]) -> Result<Vec<Socket>> {
        let mut sockets = Vec::new();
        for cookie in cookies {
            sockets.push(Socket::open(self.address, cookie).await?);
        }
        Ok(sockets)
    }
}

/// Receives until `work` has ended. Each socket gets a function that takes its pushes.
pub(crate) async fn receive_during<R, T>(
    sockets: Vec<Socket>,
    receiver: impl Fn() -> R,
    work: impl Future<Output = Result<T>>,
) -> Result<T>
where
    R: FnMut(&[u8]) -> Result<()> + Send + 'static,
{
    let mut receivers = JoinSet::new();
    for socket in sockets {
        receivers.spawn(socket.receive(receiver()));
    }
    tokio::select! {
        ended = all(receivers) => ended.and(Err(anyhow!("a socket ended"))),
        worked = work => worked,
    }
}

/// The numbers of pushes.
#[derive(Default)]
pub(crate) struct Pushes {
    pub(crate) expected: AtomicU64,
    pub(crate) arrived: AtomicU64,
}

impl Pushes {
    /// Waits until all have arrived.
    pub(crate) async fn complete(&self) -> Result<()> {
        let complete = async {
            while self.arrived.load(Relaxed) < self.expected.load(Relaxed) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = Duration::from_secs(30);
        timeout(limit, complete).await.context("pushes are missing 30 s after the last set")
    }
}

pub(crate) struct Socket {
    stream: TcpStream,
    /// Bytes that are read, but not parsed yet.
    bytes: Vec<u8>,
}

impl Socket {
    /// Opens `/socket` with this value of the Cookie header.
    async fn open(address: SocketAddr, cookie: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::with_capacity(1 << 14);
        loop {
            ensure!(stream.read_buf(&mut bytes).await? > 0, "/socket: the connection was closed");
            if let Some(head) = upgraded(&bytes)? {
                bytes.drain(..head);
                return Ok(Self { stream, bytes });
            }
        }
    }

    /// Passes all messages to `on_message`, and answers pings.
    async fn receive(mut self, mut on_message: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        loop {
            let mut pongs = Vec::new();
            let parsed = frames(&self.bytes, |opcode, payload| match opcode {
                TEXT => on_message(payload),
                PING => pong(payload, &mut pongs),
                _ => bail!("the service sent a frame with the unexpected opcode {opcode:#x}"),
            })?;
            self.bytes.drain(..parsed);
            if !pongs.is_empty() {
                self.stream.write_all(&pongs).await?;
            }
            let read = self.stream.read_buf(&mut self.bytes).await?;
            ensure!(read > 0, "the service closed a socket");
        }
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
        let whole = [(4, (TEXT, 2)), (6, (PING, 0)), (310, (TEXT, 300))];
        for end in 0..=bytes.len() {
            let mut seen = Vec::new();
            let parsed = frames(&bytes[..end], |opcode, payload| {
                seen.push((opcode, payload.len()));
                Ok(())
            });
            let expected: Vec<_> = whole.iter().filter(|(ends, _)| *ends <= end).collect();
            let frames: Vec<_> = expected.iter().map(|(_, frame)| *frame).collect();
            assert_eq!(seen, frames, "{end} bytes");
            assert_eq!(parsed.unwrap(), expected.last().map_or(0, |(ends, _)| *ends));
        }
    }

    #[test]
    fn a_pong_carries_the_payload_of_its_ping() {
        let mut bytes = Vec::new();
        pong(b"mark", &mut bytes).unwrap();
        assert_eq!(bytes, [0x8A, 0x84, 0, 0, 0, 0, b'm', b'a', b'r', b'k']);
    }
}
