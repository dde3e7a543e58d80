//! The stream of a connection, between the kernel and the HTTP library.

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::BufMut as _;
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::Connection;
use crate::limits::Permit;

/// Bytes read at once. The library doubles its buffer whenever a read fills it and gives nothing
/// back, so this bounds the memory that a connection keeps for reading.
pub(super) const READ_STEP: usize = 8 * 1024 - 1;

/// Bytes of a head that are free: the library's first buffer holds them.
const FREE_HEAD: usize = 8 * 1024;

/// A stream that is read in small steps and notes when its client takes something. It is shared
/// with [`super::Connections`], which looks for its end.
pub(super) struct Stream {
    stream: Arc<TcpStream>,
    connection: Connection,
    /// For the buffer of the longest head so far, which the library keeps.
    memory: Option<Permit>,
}

impl Stream {
    pub(super) fn new(stream: Arc<TcpStream>, connection: Connection) -> Self {
        Self { stream, connection, memory: None }
    }

    /// Takes memory for a head that needs more than the first buffer. The library doubles a buffer
    /// that is too small.
    fn note_read(&mut self, bytes: usize) -> io::Result<()> {
        let head = self.connection.read(bytes);
        if head > FREE_HEAD && !self.connection.heads().raise(&mut self.memory, 2 * head) {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "no memory for a long head"));
        }
        Ok(())
    }

    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match write(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => {
                    self.connection.wrote();
                    return Poll::Ready(written);
                }
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read_buf(&mut (&mut *buffer).limit(READ_STEP)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.and_then(|bytes| self.note_read(bytes))),
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.stream).shutdown(Shutdown::Write))
    }
}
