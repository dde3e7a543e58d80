//! Websockets and streams by hand, which are read only when a test asks for it.

use std::{net::SocketAddr, time::Duration};

use blackbox::{
    process::DEADLINE,
    raw::{Connection, local},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};

/// Opcodes of frames.
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

/// The kernel's receive buffer in bytes, for clients that do not read.
pub(crate) const RECEIVE_BUFFER: u32 = 4 * 1024;

/// The upgrade request for a socket.
pub(crate) fn upgrade(token: &str) -> String {
    format!(
        "GET /socket HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// How a client gets changes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Listening {
    Socket,
    Stream,
}

impl Listening {
    pub(crate) const ALL: [Self; 2] = [Self::Socket, Self::Stream];

    /// The request, and the status of its answer.
    pub(crate) fn request(self, token: &str) -> (String, u16) {
        match self {
            Self::Socket => (upgrade(token), 101),
            Self::Stream => {
                let path = "/streams?offset=now&live=sse";
                let head =
                    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}");
                (head + "\r\n\r\n", 200)
            }
        }
    }

    /// Begins to listen, and reads nothing more.
    pub(crate) async fn deaf(self, to: SocketAddr, token: &str) -> TcpStream {
        let buffer = Some(RECEIVE_BUFFER);
        let mut connection = Connection::try_from(local(2), to, buffer).await.unwrap();
        let (request, status) = self.request(token);
        assert_eq!(connection.ask(request).await.status, status);
        connection.into_stream()
    }
}

/// Opens a socket that is read only by [`next_frame`].
pub(crate) async fn deaf_socket(to: SocketAddr, token: &str) -> TcpStream {
    Listening::Socket.deaf(to, token).await
}

/// A short frame. Its mask is zero, which leaves the payload unchanged.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0x80 | kind, 0x80 | length, 0, 0, 0, 0], payload].concat()
}

/// The opcode and payload of the next frame, of at most 65,535 bytes.
pub(crate) async fn next_frame(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let reading = async {
        let kind = socket.read_u8().await.unwrap() & 0x0f;
        let length = match socket.read_u8().await.unwrap() {
            126 => socket.read_u16().await.unwrap().into(),
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        socket.read_exact(&mut payload).await.unwrap();
        (kind, payload)
    };
    timeout(DEADLINE, reading).await.unwrap()
}

/// Sends pings of maximum size for this duration, as fast as the service reads them.
pub(crate) async fn ping(mut socket: TcpStream, duration: Duration) {
    let pings = frame(PING, &[b'x'; 125]).repeat(100);
    let pinging = async { while socket.write_all(&pings).await.is_ok() {} };
    let _ = timeout_at(Instant::now() + duration, pinging).await;
}
