//! The outermost layer of every service: it counts, times, identifies and logs requests.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::FutureExt as _;
use tower::{Layer, Service};
use uuid::Uuid;

use super::trace::{self, Trace};
use crate::error::Cause;

/// Header with the ID of a request, in requests and in responses.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers that stop browsers from sniffing, framing, running or caching a response.
const SECURITY: [(HeaderName, HeaderValue); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Maximum length of a request ID from a caller, in characters.
const MAX_REQUEST_ID: usize = 128;

/// Method and route of a request as metric labels. Clients cannot create new values.
#[derive(Debug, Clone, Copy)]
pub struct RequestLine<'a> {
    /// The name of the method, or `<other>`.
    pub method: &'static str,
    /// The route's template without a slash at its end, or `<unmatched>`.
    pub route: &'a str,
}

/// Request metrics of a service.
pub trait Meter: Send + Sync + 'static {
    /// A request in flight. It is dropped without [`answered`](Self::answered) if its client
    /// disconnects.
    type Exchange: Send + 'static;

    /// Called when a request arrives.
    fn arrived(&self, line: RequestLine<'_>, request: &mut Request) -> Self::Exchange;

    /// Called when the response starts, `latency` after the arrival.
    fn answered(
        &self,
        exchange: Self::Exchange,
        line: RequestLine<'_>,
        response: &Response,
        latency: Duration,
    );

    /// Called when the HTTP library has rejected a request that it could not parse, with this
    /// status.
    fn refused(&self, status: StatusCode);
}

impl RequestLine<'_> {
    /// A request that could not be parsed.
    pub const UNPARSED: Self = Self { method: "<other>", route: "<unmatched>" };
}

/// Counts, times and identifies each request, and runs its handler in its trace. Logs an error if
/// the response has a [`Cause`], otherwise at level debug. It changes responses only by adding the request ID and security
/// headers, and answers for a handler that panicked.
pub struct Observe<M> {
    meter: Arc<M>,
    panicked: fn() -> Response,
}

impl<M> Clone for Observe<M> {
    fn clone(&self) -> Self {
        Self { meter: Arc::clone(&self.meter), panicked: self.panicked }
    }
}

impl<M: Meter> Observe<M> {
    /// Counts with `meter`. `panicked` makes the response for a handler that panicked.
    pub fn new(meter: impl Into<Arc<M>>, panicked: fn() -> Response) -> Self {
        Self { meter: meter.into(), panicked }
    }

    fn finish(&self, request: Observed, exchange: M::Exchange, mut response: Response) -> Response {
        let latency = request.started.elapsed();
        self.meter.answered(exchange, request.line(), &response, latency);
        let cause = response.extensions_mut().remove::<Cause>();
        if cause.is_some() || tracing::enabled!(tracing::Level::DEBUG) {
            log(&request, response.status(), latency, cause);
        }
        let headers = response.headers_mut();
        headers.insert(REQUEST_ID, request.request_id);
        secure(headers);
        response
    }
}

impl<M, S> Layer<S> for Observe<M> {
    type Service = Observing<M, S>;

    fn layer(&self, inner: S) -> Observing<M, S> {
        Observing { inner, observe: self.clone() }
    }
}

/// A service that [`Observe`] wraps.
pub struct Observing<M, S> {
    inner: S,
    observe: Observe<M>,
}

impl<M, S: Clone> Clone for Observing<M, S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), observe: self.observe.clone() }
    }
}

/// Facts about a request from before its handler runs.
struct Observed {
    started: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    request_id: HeaderValue,
}

impl Observed {
    fn line(&self) -> RequestLine<'_> {
        let route = self.route.as_ref().map_or("<unmatched>", MatchedPath::as_str);
        // A route that accepts a slash at the end is one time series. `/` stays.
        let shorter = route.strip_suffix('/').filter(|route| !route.is_empty());
        RequestLine { method: self.method, route: shorter.unwrap_or(route) }
    }
}

impl<M, S> Service<Request> for Observing<M, S>
where
    M: Meter,
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let observed = Observed {
            started: Instant::now(),
            method: known_method(request.method()),
            route: request.extensions().get().cloned(),
            request_id: request_id(request.headers()),
        };
        let trace = Trace::of(request.headers());
        let observe = self.observe.clone();
        let exchange = observe.meter.arrived(observed.line(), &mut request);
        let answering = trace.sync_scope(|| self.inner.call(request));
        let answering = AssertUnwindSafe(answering).catch_unwind();
        Box::pin(trace::scope(Some(trace), async move {
            // As a local variable, it is dropped after the future of the handler if the client
            // disconnects.
            let exchange = exchange;
            let response = match answering.await {
                Ok(Ok(response)) => response,
                Err(_) => (observe.panicked)(),
            };
            Ok(observe.finish(observed, exchange, response))
        }))
    }
}

/// Logs one line per request: an error if the response hides a cause, otherwise at level debug.
fn log(request: &Observed, status: StatusCode, latency: Duration, cause: Option<Cause>) {
    let id = request.request_id.to_str().unwrap_or_default();
    let RequestLine { method, route } = request.line();
    let status = status.as_u16();
    let duration_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    macro_rules! line {
        ($level:ident $(, $cause:ident)?) => {
            tracing::$level!(
                $(cause = %$cause,)?
                request.id = id,
                http.method = method,
                http.route = route,
                http.status = status,
                duration_us,
                "request answered"
            )
        };
    }
    match cause {
        Some(cause) => line!(error, cause),
        None => line!(debug),
    }
}

/// The label of a method. All unknown methods share one label, so that clients cannot create time
/// series.
fn known_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "CONNECT" => "CONNECT",
        "OPTIONS" => "OPTIONS",
        "TRACE" => "TRACE",
        "PATCH" => "PATCH",
        _ => "<other>",
    }
}

/// The client's request ID if it is valid, otherwise a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_valid = |id: &&HeaderValue| {
        (1..=MAX_REQUEST_ID).contains(&id.len())
            && id
                .as_bytes()
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
    };
    match headers.get(REQUEST_ID).filter(is_valid) {
        Some(id) => id.clone(),
        None => {
            let mut text = Uuid::encode_buffer();
            let id = Uuid::new_v4().hyphenated().encode_lower(&mut text);
            HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
        }
    }
}

/// Adds [`SECURITY`]. Headers that the handler has set are kept.
fn secure(headers: &mut HeaderMap) {
    for (name, value) in SECURITY {
        headers.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(sent: &'static str) -> String {
        let headers = HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_static(sent))]);
        request_id(&headers).to_str().unwrap().to_owned()
    }

    #[test]
    fn invalid_request_ids_are_replaced() {
        assert_eq!(id_for("Trace_1.a-b"), "Trace_1.a-b");
        for invalid in ["", "two words", "semi;colon", "quote\"", "slash/"] {
            let made = id_for(invalid);
            assert!(Uuid::try_parse(&made).is_ok(), "{invalid:?} became {made:?}");
        }
    }

    #[test]
    fn headers_of_the_handler_are_kept() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        secure(&mut headers);
        assert_eq!(headers[header::CACHE_CONTROL], "max-age=60");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
