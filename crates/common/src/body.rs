//! Request bodies: read whole within limits of size, time and memory, or discarded if no handler
//! reads them.

use std::{
    error::Error,
    future::poll_fn,
    io, iter,
    ops::Deref,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody as _},
    http::Extensions,
};
use bytes::Bytes;
use futures_util::{Stream, stream::try_unfold};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::{
    sync::oneshot,
    time::{Instant, error::Elapsed, timeout, timeout_at},
};
use zeroize::{Zeroize as _, Zeroizing};

use crate::{
    causes::causes,
    limits::{Budget, Permit},
    serve::Connection,
};

/// Timeout for receiving one body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes that a body takes from the budget at a time. The first piece counts as memory of its
/// connection, so short requests succeed even if other bodies use the whole budget.
const PIECE: usize = 4 * 1024;

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body is longer than the limit.
    #[error("the body is longer than {limit} bytes")]
    TooLarge {
        /// Maximum length in bytes.
        limit: usize,
    },
    /// The body did not arrive within [`BODY_TIMEOUT`].
    #[error("the body did not arrive in time")]
    TimedOut,
    /// The memory budget of bodies is used up. Answer with [`no_memory`](crate::error::no_memory).
    #[error("the memory for request bodies is used up")]
    NoMemory,
    /// The framing of the body is invalid.
    #[error("the body could not be read")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// The client disconnected before the end of the body. No answer can reach it.
    #[error("the client disconnected")]
    Gone,
}

impl From<Elapsed> for BodyError {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

/// A body that was read whole. It uses the memory budget of bodies until it is dropped.
#[derive(Debug, Default)]
pub struct BufferedBody {
    bytes: Bytes,
    _permit: Option<Permit>,
}

impl BufferedBody {
    /// Overwrites the bytes with zeros, unless another copy of the buffer exists.
    pub fn wipe(self) {
        if let Ok(mut bytes) = self.bytes.try_into_mut() {
            bytes.as_mut().zeroize();
        }
    }
}

impl Deref for BufferedBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Bytes> for BufferedBody {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, _permit: None }
    }
}

/// Reads a body of at most `limit` bytes, with any framing. `extensions` belong to its request:
/// they contain the [`Connection`], whose budget is used.
pub async fn read(
    extensions: &Extensions,
    body: Body,
    limit: usize,
) -> Result<BufferedBody, BodyError> {
    let budget = extensions.get::<Connection>().map(Connection::bodies);
    match timeout(BODY_TIMEOUT, collect(body, limit, budget)).await {
        Ok(read) => read,
        Err(_) => Err(BodyError::TimedOut),
    }
}

async fn collect(
    mut body: Body,
    limit: usize,
    budget: Option<&Arc<Budget>>,
) -> Result<BufferedBody, BodyError> {
    let is_too_long = body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX);
    if is_too_long {
        return Err(BodyError::TooLarge { limit });
    }
    let Some(first) = next(&mut body).await? else { return Ok(BufferedBody::default()) };
    let mut read = Reading { pieces: Vec::new(), length: 0, permit: None, budget, limit };
    if body.is_end_stream() {
        read.lengthen(first.len())?;
        read.reserve(first.len().saturating_sub(PIECE))?;
        return Ok(BufferedBody { bytes: first, _permit: read.permit });
    }
    read.add(&first)?;
    drop(first);
    while let Some(chunk) = next(&mut body).await? {
        read.add(&chunk)?;
    }
    Ok(read.whole())
}

/// The next bytes of a body. Trailers are ignored.
async fn next(body: &mut Body) -> Result<Option<Bytes>, BodyError> {
    loop {
        match body.frame().await.transpose() {
            Ok(None) => return Ok(None),
            Ok(Some(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Err(error) if is_disconnect(&error) => return Err(BodyError::Gone),
            Err(error) => return Err(BodyError::Broken(error.into())),
        }
    }
}

/// A partly received body. Received bytes are copied, because a slice of a buffer of the HTTP
/// library would keep the whole buffer. All pieces have the same size, because a growing buffer
/// would fragment the memory.
struct Reading<'a> {
    pieces: Vec<Zeroizing<Vec<u8>>>,
    length: usize,
    permit: Option<Permit>,
    budget: Option<&'a Arc<Budget>>,
    limit: usize,
}

impl Reading<'_> {
    fn add(&mut self, mut chunk: &[u8]) -> Result<(), BodyError> {
        self.lengthen(chunk.len())?;
        while !chunk.is_empty() {
            match self.pieces.last_mut().filter(|piece| piece.len() < PIECE) {
                Some(piece) => {
                    let (now, later) = chunk.split_at(chunk.len().min(PIECE - piece.len()));
                    piece.extend_from_slice(now);
                    chunk = later;
                }
                None => {
                    self.reserve(self.pieces.len() * PIECE)?;
                    self.pieces.push(Vec::with_capacity(PIECE).into());
                }
            }
        }
        Ok(())
    }

    fn lengthen(&mut self, by: usize) -> Result<(), BodyError> {
        self.length += by;
        if self.length > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Raises the permit to `bytes`.
    fn reserve(&mut self, bytes: usize) -> Result<(), BodyError> {
        match self.budget.filter(|_| bytes > 0) {
            Some(budget) if !budget.grow(&mut self.permit, bytes) => Err(BodyError::NoMemory),
            _ => Ok(()),
        }
    }

    fn whole(self) -> BufferedBody {
        let mut bytes = Vec::with_capacity(self.length);
        for piece in self.pieces {
            bytes.extend_from_slice(&piece);
        }
        BufferedBody { bytes: bytes.into(), _permit: self.permit }
    }
}

/// Timeout for receiving one upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(120);

/// Timeout for discarding the rest of an upload that is refused. Its memory is in use until then.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// The memory of a long body that its handler reads piece by piece and keeps. The memory is returned
/// when this and the pieces are dropped.
#[derive(Debug, Clone, Default)]
pub struct UploadMemory(Arc<Mutex<Vec<Option<Permit>>>>);

impl UploadMemory {
    /// Raises the permit of each budget to `bytes`. False if one has too little left.
    fn grow(&self, budgets: &[Arc<Budget>], bytes: usize) -> bool {
        let mut permits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        permits.resize_with(budgets.len(), || None);
        budgets.iter().zip(permits.iter_mut()).all(|(budget, permit)| budget.grow(permit, bytes))
    }
}

/// The pieces of a body of at most `limit` bytes. Each takes memory when it arrives, from `own` and
/// from the budget of bodies. A body without memory, or that is too long, is read to ten times the limit
/// and discarded, because most clients read the answer only after that. The pieces then end with an
/// error.
pub fn upload(
    extensions: &Extensions,
    body: Body,
    limit: usize,
    own: &Arc<Budget>,
) -> (impl Stream<Item = Result<Bytes, BodyError>> + Send + 'static + use<>, UploadMemory) {
    let bodies = extensions.get::<Connection>().map(|connection| connection.bodies());
    let budgets: Arc<[_]> = iter::once(own).chain(bodies).cloned().collect();
    let memory = UploadMemory::default();
    let deadline = Instant::now() + UPLOAD_TIMEOUT;
    let begin = (body, 0_usize, memory.clone(), budgets);
    let pieces = try_unfold(begin, move |(mut body, mut length, memory, budgets)| async move {
        let (mut is_kept, mut deadline) = (true, deadline);
        loop {
            let piece = match timeout_at(deadline, next(&mut body)).await {
                Ok(piece) => piece?,
                Err(_) if !is_kept => break,
                Err(elapsed) => return Err(elapsed.into()),
            };
            let Some(piece) = piece else { break };
            length = length.saturating_add(piece.len());
            if is_kept && length <= limit && memory.grow(&budgets, length) {
                return Ok(Some((piece, (body, length, memory, budgets))));
            }
            if is_kept {
                (is_kept, deadline) = (false, deadline.min(Instant::now() + DISCARD_TIMEOUT));
            }
            if length > limit.saturating_mul(10) {
                break;
            }
        }
        match is_kept {
            _ if length > limit => Err(BodyError::TooLarge { limit }),
            true => Ok(None),
            false => Err(BodyError::NoMemory),
        }
    });
    (pieces, memory)
}

/// Whether the connection broke, as opposed to invalid HTTP from the client.
fn is_disconnect(error: &(dyn Error + 'static)) -> bool {
    let disconnects = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
    ];
    causes(error).any(|cause| {
        let incomplete = cause.downcast_ref().is_some_and(hyper::Error::is_incomplete_message);
        let kind = cause.downcast_ref().map(io::Error::kind);
        incomplete || kind.is_some_and(|kind| disconnects.contains(&kind))
    })
}

/// Maximum number of unread bytes of a body that are discarded to keep the connection open.
const REMAINDER: usize = 64 * 1024;

/// Timeout for discarding unread bytes.
const REMAINDER_TIMEOUT: Duration = Duration::from_secs(1);

/// Receives the unread remainder of a body from its handler.
pub(crate) struct Remainder {
    rest: Option<oneshot::Receiver<Unread>>,
    /// Whether the client may wait for `100 Continue` before it sends the body.
    expects_continue: bool,
}

impl Remainder {
    /// Reads the remainder and discards it. False if the connection must be closed instead: the
    /// remainder is too long or too slow, or the client waits for `100 Continue`.
    pub(crate) async fn discard(self) -> bool {
        let Some(Ok(mut rest)) = self.rest.map(|mut rest| rest.try_recv()) else { return true };
        if self.expects_continue && !rest.is_begun {
            return false;
        }
        let discarded = async {
            let mut discarded = 0;
            while let Some(frame) = poll_fn(|context| rest.poll_frame(context)).await {
                discarded += frame.ok()?.data_ref().map_or(0, Bytes::len);
                if discarded > REMAINDER {
                    return None;
                }
            }
            Some(())
        };
        matches!(timeout(REMAINDER_TIMEOUT, discarded).await, Ok(Some(())))
    }
}

/// Wraps a body for a handler. The returned [`Remainder`] receives the unread bytes. Otherwise a
/// request that is rejected before its body is read would leave the body on the connection, and the
/// next request would fail.
pub(crate) fn track(
    body: Incoming,
    connection: &Connection,
    expects_continue: bool,
) -> (Body, Remainder) {
    if body.is_end_stream() {
        return (Body::empty(), Remainder { rest: None, expects_continue });
    }
    let (back, rest) = oneshot::channel();
    let unread = Unread { body, is_begun: false, connection: connection.clone() };
    let tracked = Tracked { unread: Some(unread), back: Some(back) };
    (Body::new(tracked), Remainder { rest: Some(rest), expects_continue })
}

/// A body that is not read to its end. While it waits for the client, the connection counts as
/// idle.
struct Unread {
    body: Incoming,
    /// Whether reading has begun, which makes the HTTP library send `100 Continue`.
    is_begun: bool,
    connection: Connection,
}

type Polled = Poll<Option<Result<Frame<Bytes>, hyper::Error>>>;

impl Unread {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Polled {
        self.is_begun = true;
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Pending => self.connection.set_idle(),
            Poll::Ready(_) => self.connection.set_busy(),
        }
        polled
    }
}

/// A body that is sent to its [`Remainder`] when it is dropped before its end.
struct Tracked {
    unread: Option<Unread>,
    back: Option<oneshot::Sender<Unread>>,
}

impl hyper::body::Body for Tracked {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        let Some(unread) = &mut self.unread else { return Poll::Ready(None) };
        let frame = ready!(unread.poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.unread = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.unread.as_ref().is_none_or(|unread| unread.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.unread.as_ref().map_or(SizeHint::with_exact(0), |unread| unread.body.size_hint())
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if let (Some(unread), Some(back)) = (self.unread.take(), self.back.take())
            && !unread.body.is_end_stream()
        {
            // There is no receiver if the request was cancelled.
            let _ = back.send(unread);
        }
    }
}
