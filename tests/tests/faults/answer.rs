//! The streamed answer to a find, which a test can read slowly.

use blackbox::{
    objstore::{Client, Key, Service},
    process::DEADLINE,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::peer::connect;

/// An answer whose head was read.
pub(crate) struct Answer {
    stream: BufReader<TcpStream>,
}

impl Answer {
    /// Sends a find. The kernel buffers little of the answer, so a slow reader slows the service
    /// down.
    pub(crate) async fn to_find(service: &Service, client: &Client, pattern: &Key) -> Self {
        let body = pattern.body();
        let request = format!(
            "POST /find HTTP/1.1\r\nHost: localhost\r\nCookie: token={}\r\nContent-Length: {}\r\n\
             \r\n{body}",
            client.token(),
            body.len()
        );
        let mut stream = BufReader::new(connect(service).await);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Self { stream };
        assert_eq!(answer.line().await.as_deref(), Some("HTTP/1.1 200 OK"));
        while !answer.line().await.expect("a whole head").is_empty() {}
        answer
    }

    /// The next chunk of the body. `None` after the last.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = self.line().await.expect("the next chunk");
        let mut chunk = vec![0; usize::from_str_radix(&length, 16).unwrap()];
        timeout(DEADLINE, self.stream.read_exact(&mut chunk)).await.unwrap().unwrap();
        assert_eq!(self.line().await.as_deref(), Some(""));
        Some(chunk).filter(|chunk| !chunk.is_empty())
    }

    /// The local port of the connection.
    pub(crate) fn port(&self) -> u16 {
        self.stream.get_ref().local_addr().unwrap().port()
    }

    /// Reads the rest. Returns whether the answer ends before its last chunk.
    pub(crate) async fn breaks_off(mut self) -> bool {
        let mut rest = Vec::new();
        // The connection may end with a reset.
        let _ = timeout(DEADLINE, self.stream.read_to_end(&mut rest)).await.expect("it ends");
        !rest.ends_with(b"\r\n0\r\n\r\n")
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        timeout(DEADLINE, self.stream.read_line(&mut line)).await.unwrap().ok()?;
        line.strip_suffix("\r\n").map(str::to_owned)
    }
}
