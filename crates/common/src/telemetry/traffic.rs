//! HTTP metrics for services that have no meter of their own.

use std::time::Duration;

use axum::{extract::Request, http::StatusCode, response::Response};
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, exponential_buckets,
};

use super::observe::{Meter, RequestLine};

/// Counts and latencies of requests. The registry adds the prefix of the service to the names.
pub struct Traffic {
    requests: IntCounterVec,
    seconds: HistogramVec,
    in_flight: IntGauge,
}

impl Traffic {
    /// Creates the metrics and registers them.
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

    fn count(&self, line: RequestLine<'_>, status: StatusCode, latency: Duration) {
        self.requests.with_label_values(&[line.method, line.route, status.as_str()]).inc();
        self.seconds.with_label_values(&[line.route]).observe(latency.as_secs_f64());
    }
}

/// A request in flight. Dropping it lowers the gauge, also if the client disconnects.
pub struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Meter for Traffic {
    type Exchange = InFlight;

    fn arrived(&self, _: RequestLine<'_>, _: &mut Request) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    fn answered(&self, _: InFlight, line: RequestLine<'_>, response: &Response, latency: Duration) {
        self.count(line, response.status(), latency);
    }

    fn refused(&self, status: StatusCode) {
        self.count(RequestLine::UNPARSED, status, Duration::ZERO);
    }
}
