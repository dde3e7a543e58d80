//! Sockets that nobody reads.

use std::{net::SocketAddr, time::Duration};

use blackbox::raw::{Connection, local};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    time::{Instant, timeout_at},
};

/// What the system receives for a client that does not read.
pub(crate) const RECEIVE_BUFFER: u32 = 4 * 1024;

/// A socket that is never read.
pub(crate) async fn deaf_socket(to: SocketAddr, token: &str) -> TcpStream {
    let request = format!(
        "GET /socket HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let mut connection = Connection::try_from(local(2), to, Some(RECEIVE_BUFFER)).await.unwrap();
    assert_eq!(connection.ask(request).await.status, 101);
    connection.into_stream()
}

/// Sends the longest pings for so long, as fast as the service takes them.
pub(crate) async fn ping(mut socket: TcpStream, lasting: Duration) {
    // Under a mask of zeros, which leaves the payload as it is.
    let ping = [&[0x89, 0xfd, 0, 0, 0, 0][..], &[b'x'; 125]].concat().repeat(100);
    let pinging = async { while socket.write_all(&ping).await.is_ok() {} };
    let _ = timeout_at(Instant::now() + lasting, pinging).await;
}
