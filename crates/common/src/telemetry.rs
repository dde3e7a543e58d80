//! Logs, request identities and request metrics: what is seen of a service from outside.

use std::{
    convert::Infallible,
    io::{self, IsTerminal as _},
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::FutureExt as _;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, exponential_buckets,
};
use tower::{Layer, Service};
use tracing_subscriber::EnvFilter;
use uuid::Uuid;

use crate::{
    config::{LogFormat, ServerConfig},
    error::Cause,
};

/// The header that names a request, in and out.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is taken over from a client, in characters.
const MAX_REQUEST_ID: usize = 128;

/// Starts logging to standard output and sends panics there too.
pub fn init(config: &ServerConfig) {
    let filter = EnvFilter::new(&config.rust_log);
    let lines = tracing_subscriber::fmt().with_env_filter(filter);
    let text = match config.log_format {
        LogFormat::Auto => io::stdout().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    if text {
        lines.with_ansi(io::stdout().is_terminal()).init();
    } else {
        lines.json().flatten_event(true).init();
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            message = "panic",
            panic.place = place,
            panic.cause = panic.payload_as_str()
        );
    }));
}

/// What every service measures of its HTTP traffic. Names carry the service's prefix.
pub struct Traffic {
    requests: IntCounterVec,
    seconds: HistogramVec,
    in_flight: IntGauge,
}

impl Traffic {
    /// Makes the families and registers them.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let requests = IntCounterVec::new(
            Opts::new("http_requests_total", "Requests answered, by method, route and status."),
            &["method", "route", "status"],
        )?;
        let seconds = HistogramVec::new(
            HistogramOpts::new(
                "http_request_duration_seconds",
                "Time from receipt to the start of the response, by route.",
            )
            .buckets(exponential_buckets(0.000_25, 4.0, 9)?),
            &["route"],
        )?;
        let in_flight = IntGauge::new("http_requests_in_flight", "Requests being answered.")?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(in_flight.clone()))?;
        Ok(Self { requests, seconds, in_flight })
    }
}

/// Lowers the gauge however a request ends.
struct InFlight<'a>(&'a IntGauge);

impl<'a> InFlight<'a> {
    fn enter(gauge: &'a IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The outermost layer: counts, times, names and, where a request failed, logs it. It decides
/// nothing but headers that no handler cares for, and what a client is told of a panic.
#[derive(Clone)]
pub struct Observe {
    traffic: Arc<Traffic>,
    panicked: fn() -> Response,
}

impl Observe {
    /// A layer that counts into `traffic` and answers for a handler that panicked.
    pub fn new(traffic: Traffic, panicked: fn() -> Response) -> Self {
        Self { traffic: Arc::new(traffic), panicked }
    }

    fn finish(&self, request: &Observed, mut response: Response) -> Response {
        let Observed { started, method, route, request_id } = request;
        let route = route.as_ref().map_or("<unmatched>", MatchedPath::as_str);
        let status = response.status();
        self.traffic.requests.with_label_values(&[method, route, status.as_str()]).inc();
        self.traffic.seconds.with_label_values(&[route]).observe(started.elapsed().as_secs_f64());
        let cause = response.extensions_mut().remove::<Cause>();
        if cause.is_some() || tracing::enabled!(tracing::Level::DEBUG) {
            log(request_id, method, route, status, *started, cause);
        }
        let headers = response.headers_mut();
        headers.reserve(8);
        headers.insert(REQUEST_ID, request_id.clone());
        secure(headers);
        response
    }
}

impl<S> Layer<S> for Observe {
    type Service = Observing<S>;

    fn layer(&self, inner: S) -> Observing<S> {
        Observing { inner, observe: self.clone() }
    }
}

/// A service under the eyes of [`Observe`].
#[derive(Clone)]
pub struct Observing<S> {
    inner: S,
    observe: Observe,
}

/// What is known of a request before it is answered.
struct Observed {
    started: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    request_id: HeaderValue,
}

impl<S> Service<Request> for Observing<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let observed = Observed {
            started: Instant::now(),
            method: known_method(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            request_id: request_id(request.headers()),
        };
        let observe = self.observe.clone();
        let answering = AssertUnwindSafe(self.inner.call(request)).catch_unwind();
        Box::pin(async move {
            let in_flight = InFlight::enter(&observe.traffic.in_flight);
            let response = match answering.await {
                Ok(Ok(response)) => response,
                Err(_) => (observe.panicked)(),
            };
            drop(in_flight);
            Ok(observe.finish(&observed, response))
        })
    }
}

/// The one line of a request: an error where the client was not told what went wrong.
fn log(
    request_id: &HeaderValue,
    method: &str,
    route: &str,
    status: StatusCode,
    started: Instant,
    cause: Option<Cause>,
) {
    let id = request_id.to_str().unwrap_or_default();
    let status = status.as_u16();
    let duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    macro_rules! line {
        ($level:ident $(, $cause:ident)?) => {
            tracing::$level!(
                request.id = id,
                http.method = method,
                http.route = route,
                http.status = status,
                duration_us,
                $(cause = %$cause,)?
                "request answered"
            )
        };
    }
    match cause {
        Some(cause) => line!(error, cause),
        None => line!(debug),
    }
}

/// The methods that name themselves in a metric; any other is one label, so that clients cannot
/// make series.
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

/// The client's request id when it is sane, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let sane = |id: &&HeaderValue| {
        (1..=MAX_REQUEST_ID).contains(&id.len())
            && id
                .as_bytes()
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
    };
    match headers.get(REQUEST_ID).filter(sane) {
        Some(id) => id.clone(),
        None => {
            let mut text = Uuid::encode_buffer();
            let id = Uuid::new_v4().hyphenated().encode_lower(&mut text);
            HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
        }
    }
}

/// Headers for browsers that come across an API: nothing to sniff, frame, run or remember. A
/// handler that sets one of them keeps its own.
fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
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
    fn a_sane_request_id_is_kept_and_any_other_replaced() {
        assert_eq!(id_for("Trace_1.a-b"), "Trace_1.a-b");
        for odd in ["", "two words", "semi;colon", "quote\"", "slash/"] {
            let made = id_for(odd);
            assert!(Uuid::try_parse(&made).is_ok(), "{odd:?} became {made:?}");
        }
    }

    #[test]
    fn headers_a_handler_set_are_kept() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        secure(&mut headers);
        assert_eq!(headers[header::CACHE_CONTROL], "max-age=60");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
