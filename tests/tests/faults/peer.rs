//! A websocket client by hand: it reads and answers pings only when a test asks for it.

use std::{collections::VecDeque, io};

use blackbox::{
    objstore::{Client, Object, Service},
    process::DEADLINE,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// The kernel's receive buffer in bytes, for peers that do not read.
const RECEIVE_BUFFER: u32 = 16 * 1024;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// An open websocket.
pub(crate) struct Peer {
    stream: BufReader<TcpStream>,
    /// Frames read while waiting for a pong.
    received: VecDeque<Frame>,
}

/// A frame from the service.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Text(String),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close,
}

impl Peer {
    /// Opens a socket of the client.
    pub(crate) async fn connect(service: &Service, client: &Client) -> Self {
        let request = format!(
            "GET /socket HTTP/1.1\r\nHost: localhost\r\nCookie: token={}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            client.token()
        );
        let mut stream = BufReader::new(connect(service).await);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = timeout(DEADLINE, stream.read_line(&mut head)).await.unwrap().unwrap();
            assert!(read > 0, "the connection ended: {head}");
        }
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        Self { stream, received: VecDeque::new() }
    }

    /// The local port of the connection.
    pub(crate) fn port(&self) -> u16 {
        self.stream.get_ref().local_addr().unwrap().port()
    }

    /// The next frame. `None` if the connection has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        match self.received.pop_front() {
            Some(frame) => Some(frame),
            None => self.read().await,
        }
    }

    /// The next push. Pings before it are not answered.
    pub(crate) async fn next_push(&mut self) -> Object {
        loop {
            match self.next().await.expect("the socket is open") {
                Frame::Text(text) => return Object::parse(&text),
                Frame::Ping(_) => {}
                other => panic!("is no push: {other:?}"),
            }
        }
    }

    /// The payload of the next ping, which is not answered.
    pub(crate) async fn next_ping(&mut self) -> Vec<u8> {
        match self.next().await.expect("the socket is open") {
            Frame::Ping(mark) => mark,
            other => panic!("is no ping: {other:?}"),
        }
    }

    /// Answers a ping, if the connection is still open.
    pub(crate) async fn answer(&mut self, mark: &[u8]) {
        // An error here shows again when the connection is read.
        let _ = self.write(PONG, mark).await;
    }

    /// Waits until the service has read all frames sent before.
    pub(crate) async fn settle(&mut self) {
        self.write(PING, b"read?").await.unwrap();
        loop {
            match self.read().await.expect("the socket is open") {
                Frame::Pong(payload) if payload == b"read?" => return,
                other => self.received.push_back(other),
            }
        }
    }

    async fn read(&mut self) -> Option<Frame> {
        let frame = timeout(DEADLINE * 2, self.read_frame()).await.expect("a message in time");
        frame.ok()
    }

    async fn read_frame(&mut self) -> io::Result<Frame> {
        let kind = self.stream.read_u8().await?;
        assert_eq!(kind & 0xf0, 0x80, "messages come in one frame without extensions");
        let length = match self.stream.read_u8().await? {
            126 => self.stream.read_u16().await?.into(),
            127 => self.stream.read_u64().await?,
            length => length.into(),
        };
        let mut payload = vec![0; length.try_into().unwrap()];
        self.stream.read_exact(&mut payload).await?;
        Ok(match kind & 0x0f {
            TEXT => Frame::Text(String::from_utf8(payload).unwrap()),
            PING => Frame::Ping(payload),
            PONG => Frame::Pong(payload),
            CLOSE => Frame::Close,
            kind => panic!("no message is of the kind {kind}"),
        })
    }

    /// Sends a short frame. Its mask is zero, which leaves the payload unchanged.
    async fn write(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let length = u8::try_from(payload.len()).unwrap();
        let mut frame = vec![0x80 | kind, 0x80 | length, 0, 0, 0, 0];
        frame.extend(payload);
        self.stream.write_all(&frame).await
    }
}

/// A connection with a small receive buffer.
pub(crate) async fn connect(service: &Service) -> TcpStream {
    let address = service.url().trim_start_matches("http://").parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(RECEIVE_BUFFER).unwrap();
    socket.connect(address).await.unwrap()
}
