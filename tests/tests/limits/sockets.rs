//! Sockets by hand, which nobody reads unless told to.

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

/// Kinds of frames.
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

/// Bytes that the system receives for a client that does not read.
pub(crate) const RECEIVE_BUFFER: u32 = 4 * 1024;

/// The request for a socket.
pub(crate) fn upgrade(token: &str) -> String {
    format!(
        "GET /socket HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// A socket that is not read by itself.
pub(crate) async fn deaf_socket(to: SocketAddr, token: &str) -> TcpStream {
    let mut connection = Connection::try_from(local(2), to, Some(RECEIVE_BUFFER)).await.unwrap();
    assert_eq!(connection.ask(upgrade(token)).await.status, 101);
    connection.into_stream()
}

/// A short frame, under a mask of zeros, which leaves the payload as it is.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0x80 | kind, 0x80 | length, 0, 0, 0, 0], payload].concat()
}

/// The next frame, which is short, too.
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

/// Sends the longest pings for so long, as fast as the service takes them.
pub(crate) async fn ping(mut socket: TcpStream, lasting: Duration) {
    let pings = frame(PING, &[b'x'; 125]).repeat(100);
    let pinging = async { while socket.write_all(&pings).await.is_ok() {} };
    let _ = timeout_at(Instant::now() + lasting, pinging).await;
}
