//! The stream of a connection, between the kernel and the HTTP library.

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::Connection;
use crate::limits::Permit;

/// Maximum number of bytes per read. The library doubles its buffer whenever a read fills it, and
/// never shrinks it. So this limits the memory that a connection keeps for reading.
pub(super) const READ_STEP: u64 = 8 * 1024 - 1;

/// Bytes of a head that need no permit: the first buffer of the library holds them.
const FREE_HEAD: usize = 8 * 1024;

/// A stream that is read in small steps, and reports each write to its [`Connection`]. It is shared
/// with [`super::Connections`], which checks for a disconnect.
pub(super) struct Stream {
    /// A read needs one system call. A read from a shared stream would need two.
    read: Take<OwnedReadHalf>,
    write: Arc<OwnedWriteHalf>,
    connection: Connection,
    /// Permit for the buffer of the longest head so far, which the library keeps.
    memory: Option<Permit>,
}

impl Stream {
    pub(super) fn new(
        read: OwnedReadHalf,
        write: Arc<OwnedWriteHalf>,
        connection: Connection,
    ) -> Self {
        Self { read: read.take(READ_STEP), write, connection, memory: None }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Takes memory for a head that does not fit into the first buffer. The library doubles a
    /// buffer that is too small.
    fn reserve_head(&mut self, bytes: usize) -> io::Result<()> {
        let head = self.connection.add_head_bytes(bytes);
        if head > FREE_HEAD && !self.connection.heads().grow(&mut self.memory, 2 * head) {
            let reason = "the memory for long request heads is used up";
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, reason));
        }
        Ok(())
    }

    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = (*self.write).as_ref();
        loop {
            ready!(stream.poll_write_ready(context))?;
            match write(stream) {
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
        self.read.set_limit(READ_STEP);
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.read).poll_read(context, buffer))?;
        Poll::Ready(self.reserve_head(buffer.filled().len() - before))
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
        Poll::Ready(SockRef::from((*self.write).as_ref()).shutdown(Shutdown::Write))
    }
}
