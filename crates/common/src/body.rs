//! Request bodies: read whole within a size and a time, and finished with when nobody read them.

use std::{
    error::Error,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::sync::oneshot;

/// How long a client may take to send one body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body is longer than the limit.
    #[error("the body is longer than {limit} bytes")]
    TooLarge {
        /// The limit it exceeds, in bytes.
        limit: usize,
    },
    /// The body did not arrive within [`BODY_TIMEOUT`].
    #[error("the body did not arrive in time")]
    TimedOut,
    /// Its framing is wrong.
    #[error("the body could not be read")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// The client went away before the end of it. There is nobody to answer.
    #[error("the client went away")]
    Gone,
}

/// Reads a body of at most `limit` bytes, however it is framed.
pub async fn read(body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let whole = Limited::new(body, limit).collect();
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge { limit }),
        Ok(Err(error)) if is_gone(&*error) => Err(BodyError::Gone),
        Ok(Err(error)) => Err(BodyError::Broken(error)),
        Err(_) => Err(BodyError::TimedOut),
    }
}

/// Whether it is the connection that broke, and not the client that speaks no HTTP.
fn is_gone(error: &(dyn Error + 'static)) -> bool {
    let gone = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
    ];
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| {
        let incomplete = cause.downcast_ref().is_some_and(hyper::Error::is_incomplete_message);
        let kind = cause.downcast_ref().map(io::Error::kind);
        incomplete || kind.is_some_and(|kind| gone.contains(&kind))
    })
}

/// Bytes of a body nobody read that are taken from the connection, so that it can serve on.
const LEFTOVER: usize = 64 * 1024;

/// How long such a body may take.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(1);

/// The other end of a body that was given to a handler: what of it was not read comes back here.
pub(crate) struct Leftover(Option<oneshot::Receiver<Incoming>>);

impl Leftover {
    /// Takes the rest of the body from the connection. False when there is too much of it, so that
    /// the connection has to end.
    pub(crate) async fn drain(self) -> bool {
        let Some(Ok(rest)) = self.0.map(|mut back| back.try_recv()) else { return true };
        let drained = Limited::new(rest, LEFTOVER).collect();
        matches!(tokio::time::timeout(LEFTOVER_TIMEOUT, drained).await, Ok(Ok(_)))
    }
}

/// Lends a body to a handler. A request that is refused before its body is read would otherwise
/// leave the body on the connection, and the connection would break under the next request.
pub(crate) fn lend(body: Incoming) -> (Body, Leftover) {
    if body.is_end_stream() {
        return (Body::empty(), Leftover(None));
    }
    let (back, rest) = oneshot::channel();
    (Body::new(Lent { body: Some(body), back: Some(back) }), Leftover(Some(rest)))
}

/// A body that goes back when it is dropped before its end.
struct Lent {
    body: Option<Incoming>,
    back: Option<oneshot::Sender<Incoming>>,
}

impl hyper::body::Body for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = std::task::ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), hyper::body::Body::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(body), Some(back)) = (self.body.take(), self.back.take())
            && !body.is_end_stream()
        {
            // Nobody waits for it when the request itself is gone.
            let _ = back.send(body);
        }
    }
}
