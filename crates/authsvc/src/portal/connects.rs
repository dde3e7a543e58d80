//! Counts connections, to know whether a request used the connection of an earlier one.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use common::causes::causes;
use tower::{Layer, Service};

/// The number of connections that one client has opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Connects(Arc<AtomicUsize>);

impl Connects {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S> Layer<S> for Connects {
    type Service = CountConnects<S>;

    fn layer(&self, inner: S) -> CountConnects<S> {
        CountConnects { inner, connects: self.clone() }
    }
}

/// A connector that counts its connections.
#[derive(Debug, Clone)]
pub(super) struct CountConnects<S> {
    inner: S,
    connects: Connects,
}

impl<S: Service<R>, R> Service<R> for CountConnects<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.connects.0.fetch_add(1, Ordering::Relaxed);
        self.inner.call(request)
    }
}

/// Whether a request failed because the other side closed the connection before it answered.
pub(super) fn is_closed(error: &reqwest::Error) -> bool {
    causes(error).any(|error| {
        let is_incomplete = |error: &hyper::Error| error.is_incomplete_message();
        let is_lost = |error: &io::Error| {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        };
        error.downcast_ref().is_some_and(is_incomplete) || error.downcast_ref().is_some_and(is_lost)
    })
}
