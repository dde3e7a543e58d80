//! HTTP by hand: a connection from a chosen address, which can send malformed or partial requests.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::process::DEADLINE;

/// The loopback address 127.0.0.`last`. Linux accepts all of 127.0.0.0/8 as source addresses.
pub fn local(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, last)
}

/// A GET request.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A POST request with a JSON body. `headers` are whole lines.
pub fn post(path: &str, headers: &str, body: &str) -> String {
    head(path, headers, body.len()) + body
}

/// The head of a POST request that declares a JSON body of `length` bytes. `headers` are whole
/// lines.
pub fn head(path: &str, headers: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {length}\r\n\r\n"
    )
}

pub struct Connection<S = TcpStream> {
    stream: BufReader<S>,
}

/// A complete answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The status line and the header lines.
    pub head: Vec<String>,
    pub body: String,
}

impl Connection {
    pub async fn open(to: SocketAddr) -> Self {
        Self::from(local(1), to).await
    }

    pub async fn from(source: Ipv4Addr, to: SocketAddr) -> Self {
        let connected = timeout(DEADLINE, Self::try_from(source, to, None)).await;
        connected.expect("connects in time").expect("a connection")
    }

    /// Connects from this address. `receives` limits the receive buffer: the bytes that the kernel
    /// accepts before the test reads them.
    pub async fn try_from(
        source: Ipv4Addr,
        to: SocketAddr,
        receives: Option<u32>,
    ) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receives {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind((source, 0).into())?;
        let stream = socket.connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    /// Whether the service is known to have closed the connection. Does not wait.
    pub fn is_closed(&self) -> bool {
        let read = self.stream.get_ref().try_read(&mut [0]);
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// HTTP over a stream that is connected, for example with TLS.
    pub fn over(stream: S) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.expect("can be written");
    }

    /// Sends bytes to a service that may have closed the connection.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let sent = timeout(DEADLINE, self.stream.write_all(bytes.as_ref())).await;
        sent.expect("is sent in time")
    }

    pub async fn reply(&mut self) -> Reply {
        self.try_reply().await.expect("a whole answer")
    }

    /// The next answer, or an error if the connection ends before it is complete.
    pub async fn try_reply(&mut self) -> io::Result<Reply> {
        timeout(DEADLINE, self.read()).await.expect("something happens in time")
    }

    pub async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        self.try_ask(request).await.expect("a whole answer")
    }

    /// The answer to a request, or an error if the connection ends before.
    pub async fn try_ask(&mut self, request: impl AsRef<[u8]>) -> io::Result<Reply> {
        self.try_send(request).await?;
        self.try_reply().await
    }

    /// Waits until the service closes the connection. It must not send anything before.
    pub async fn ended(&mut self) {
        let end = timeout(DEADLINE, self.stream.read_u8()).await.expect("ends in time");
        assert!(end.is_err(), "something comes first");
    }

    /// The stream, for tests that do not read it here.
    pub fn into_stream(self) -> S {
        self.stream.into_inner()
    }

    async fn read(&mut self) -> io::Result<Reply> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut reply = Reply { status, head, body: String::new() };
        let length = reply.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).await?;
        reply.body = String::from_utf8_lossy(&body).into_owned();
        Ok(reply)
    }
}

impl Reply {
    /// The value of a header. The case of the name does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}
