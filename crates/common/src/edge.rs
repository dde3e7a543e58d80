//! The checks that every request passes before its handler: how its host and its body are named.
//!
//! HTTP/1.1 requires exactly one valid `Host`; HTTP/1.0 may have none. The authority of an absolute
//! target replaces it. So behind [`Admit`] the header `Host` is the effective host of the request,
//! and [`Host::of`] reads it. A request to a host name that is not in `ALLOWED_HOSTS` is refused,
//! because a web page can point its own name at this service (DNS rebinding), and is then of the
//! same origin. An IP address always passes: rebinding needs a name.
//!
//! [`Admit`] is inside [`Observe`](crate::telemetry::Observe), which counts its refusals under the
//! route of the request. A request that passes costs no allocation.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, Version, header},
    response::Response,
};
use futures_util::future::Either;
use tower::{Layer, Service};

use crate::throttle::Throttle;

mod hosts;

pub use hosts::{AllowedHosts, Host, InvalidHostName};

/// Paths for operators. Load balancers and Prometheus may call them by any name.
const EXEMPT: [&str; 3] = ["/health", "/ready", "/metrics"];

/// Why the layer has refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `Host` is missing, repeated or invalid.
    #[error("the request must have one Host header with a valid host")]
    Host,
    /// The host is not in `ALLOWED_HOSTS`.
    #[error(
        "this service does not answer to this host name: the operator can add it to ALLOWED_HOSTS"
    )]
    HostNotAllowed,
    /// The body is chunked twice.
    #[error("Transfer-Encoding must name chunked once")]
    RepeatedCoding,
    /// The body has a coding other than chunked.
    #[error("Transfer-Encoding must be chunked: this service decodes nothing else")]
    UnknownCoding,
}

impl Refusal {
    /// The status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::RepeatedCoding => StatusCode::BAD_REQUEST,
            Self::HostNotAllowed => StatusCode::MISDIRECTED_REQUEST,
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
        }
    }

    /// The stable name of the error, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "invalid_host",
            Self::HostNotAllowed => "host_not_allowed",
            Self::RepeatedCoding | Self::UnknownCoding => "invalid_transfer_encoding",
        }
    }
}

/// The hosts of a service, and one warning a minute for all its listeners.
pub struct Edge {
    hosts: AllowedHosts,
    warnings: Throttle,
}

impl Edge {
    /// Answers to `hosts`.
    pub fn new(hosts: AllowedHosts) -> Self {
        Self { hosts, warnings: Throttle::new(Duration::from_secs(60)) }
    }

    /// Checks a request, and replaces `Host` by the authority of an absolute target.
    fn check(&self, request: &mut Request) -> Result<(), Refusal> {
        check_coding(request.headers())?;
        check_host(request.version(), request.headers())?;
        if let Some(authority) = request.uri().authority() {
            let host = HeaderValue::from_str(authority.as_str()).map_err(|_| Refusal::Host)?;
            request.headers_mut().insert(header::HOST, host);
            check_host(Version::HTTP_11, request.headers())?;
        }
        let Some(host) = Host::of(request.headers()) else { return Ok(()) };
        if self.hosts.contains(host) || EXEMPT.contains(&request.uri().path()) {
            return Ok(());
        }
        if self.warnings.try_acquire() {
            tracing::warn!(http.host = host.shown(), "refused a host that is not in ALLOWED_HOSTS");
        }
        Err(Refusal::HostNotAllowed)
    }
}

/// HTTP/1.1 needs one valid `Host`, HTTP/1.0 at most one.
fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_valid = match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(_), None) => Host::of(headers).is_some(),
        (Some(_), Some(_)) => false,
    };
    is_valid.then_some(()).ok_or(Refusal::Host)
}

/// `chunked` alone, in one header, is the only coding that the HTTP library decodes.
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(first) = values.next() else { return Ok(()) };
    if values.next().is_none() && is_chunked(first.as_bytes()) {
        return Ok(());
    }
    let values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let mut codings = values.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    Err(if codings.all(is_chunked) { Refusal::RepeatedCoding } else { Refusal::UnknownCoding })
}

fn is_chunked(coding: &[u8]) -> bool {
    coding.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

/// The layer that refuses what [`Edge`] does not accept.
#[derive(Clone)]
pub struct Admit {
    edge: Arc<Edge>,
    refused: fn(Refusal) -> Response,
}

impl Admit {
    /// `refused` makes the response to a request that is refused.
    pub fn new(edge: Arc<Edge>, refused: fn(Refusal) -> Response) -> Self {
        Self { edge, refused }
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        let mut response = (self.refused)(refusal);
        if matches!(refusal, Refusal::RepeatedCoding | Refusal::UnknownCoding) {
            // A proxy may see another end of this body.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl<S> Layer<S> for Admit {
    type Service = Admitting<S>;

    fn layer(&self, inner: S) -> Admitting<S> {
        Admitting { inner, admit: self.clone() }
    }
}

/// A service that [`Admit`] wraps.
#[derive(Clone)]
pub struct Admitting<S> {
    inner: S,
    admit: Admit,
}

impl<S> Service<Request> for Admitting<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<S::Future, Ready<Result<Response, Infallible>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.admit.edge.check(&mut request) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(refusal) => Either::Right(ready(Ok(self.admit.refuse(refusal)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coding(values: &[&'static str]) -> Result<(), Refusal> {
        let name = |value| (header::TRANSFER_ENCODING, HeaderValue::from_static(value));
        check_coding(&values.iter().map(|&value| name(value)).collect())
    }

    #[test]
    fn chunked_alone_is_the_only_transfer_coding() {
        for good in [&[][..], &["chunked"], &["Chunked "]] {
            assert_eq!(coding(good), Ok(()), "{good:?}");
        }
        for twice in [&["chunked, chunked"][..], &["chunked", "chunked"]] {
            assert_eq!(coding(twice), Err(Refusal::RepeatedCoding), "{twice:?}");
        }
        for unknown in [
            &["gzip, chunked"][..],
            &["identity, chunked"],
            &["identity"],
            &["gzip", "chunked"],
            &["chunked;q=1"],
            &["chunked,"],
            &[""],
        ] {
            assert_eq!(coding(unknown), Err(Refusal::UnknownCoding), "{unknown:?}");
        }
    }
}
