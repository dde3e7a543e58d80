//! Sends one request to an endpoint.
//!
//! Before each request, the name is resolved and its addresses are checked, even if a connection to
//! an earlier address is open. A new connection resolves and checks the name again. Connections are
//! kept open for [`KEEP_IDLE`], because a new one costs two further round trips and a TLS handshake.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    str::FromStr as _,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use common::{
    causes::causes,
    files::Files,
    limits::Networks,
    telemetry::trace,
    tls::{self, TlsError},
};
use jiff::Timestamp;
use payments_domain::{
    Delivery, DeliveryOutcome, InvalidWebhookUrl, RetryAfter, WebhookSecrets, WebhookUrl,
};
use reqwest::{
    Client, ClientBuilder, Response,
    dns::{Name, Resolve},
    header::{CONTENT_TYPE, RETRY_AFTER},
    redirect::Policy,
};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, timeout_at},
};
use url::Host;

use super::{
    network::{ForbiddenAddress, PermittedAddresses, Reach},
    signature,
};

/// Timeout of a request, from the resolution of the name to the end of the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept open: less than the five seconds after which common
/// servers close it, because a request on a connection that is just closed fails.
const KEEP_IDLE: Duration = Duration::from_secs(4);

/// At most this many bytes of an answer's body are read, so that the receiver can send a short one
/// without an error. They are not used.
const MAX_ANSWER: usize = 16 * 1024;

const USER_AGENT: &str = "payments-svc";

#[derive(Debug, Clone)]
pub(crate) struct SenderConfig {
    /// Whether http to this machine is allowed.
    pub(crate) insecure: bool,
    /// Networks that are allowed although they are not public.
    pub(crate) networks: Networks,
    /// Additional CA certificates.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Why no webhooks can be sent at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SenderError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the HTTP client for webhooks cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// A message to an endpoint.
pub(crate) struct Message {
    /// The receiver recognises a repeat by it.
    pub(crate) id: String,
    /// JSON.
    pub(crate) body: Bytes,
}

/// An attempt to send a message.
pub(crate) struct Attempt {
    pub(crate) delivery: Delivery,
    pub(crate) retry_after: Option<RetryAfter>,
}

pub(crate) struct Sender {
    /// For https.
    secure: Receiver<Route>,
    /// For http. `None` if it is not allowed.
    local: Option<Route>,
}

/// An HTTP client, and where it may connect to.
#[derive(Clone)]
struct Route {
    client: Client,
    reach: Arc<Reach>,
    resolver: Arc<PermittedAddresses>,
}

impl Sender {
    /// `resolver` finds the addresses of names.
    pub(crate) fn new(
        SenderConfig { insecure, networks, ca_file }: SenderConfig,
        files: &mut Files,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, SenderError> {
        let setting = "PAYMENTS_WEBHOOK_CA_FILE (--webhook-ca-file)";
        let client = move |path: Option<&Path>| {
            let tls = tls::client_config(path, setting)?;
            Ok::<_, SenderError>(Client::builder().tls_backend_preconfigured(tls))
        };
        let local = if insecure {
            Some(Route::new(client(None)?, Reach::Loopback, &resolver)?)
        } else {
            None
        };
        let secure = files.read(setting, ca_file, move |path| {
            let client = client(path)?.https_only(true);
            Ok::<_, SenderError>(Route::new(client, Reach::Public(networks.clone()), &resolver)?)
        })?;
        Ok(Self { secure, local })
    }

    /// Reads the address of a new endpoint. A name is not resolved yet: its addresses are checked
    /// at each delivery.
    pub(crate) fn url(&self, text: &str) -> Result<WebhookUrl, InvalidWebhookUrl> {
        let url = WebhookUrl::new(text, self.local.is_some())?;
        match self.route(&url) {
            Some(_) => Ok(url),
            None => Err(InvalidWebhookUrl::Private),
        }
    }

    /// Sends a message, signed with the secrets that are valid at `now`.
    pub(crate) async fn send(
        &self,
        url: &WebhookUrl,
        signing: (&WebhookSecrets, Timestamp),
        message: Message,
    ) -> Attempt {
        let started = Instant::now();
        let answered = self.answer(url, signing, message, started + TIMEOUT).await;
        let (outcome, retry_after) = answered.unwrap_or_else(|outcome| (outcome, None));
        Attempt { delivery: Delivery { outcome, duration: started.elapsed() }, retry_after }
    }

    /// The answer to a message. The error is the outcome without one.
    async fn answer(
        &self,
        url: &WebhookUrl,
        (secrets, now): (&WebhookSecrets, Timestamp),
        Message { id, body }: Message,
        deadline: Instant,
    ) -> Result<(DeliveryOutcome, Option<RetryAfter>), DeliveryOutcome> {
        let route = self.route(url).ok_or(DeliveryOutcome::AddressForbidden)?;
        let seconds = now.as_second();
        let signature = signature::header(secrets.signing(now), &id, seconds, &body);
        let request = route.client.post(url.as_url().clone());
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .headers(trace::headers())
            .body(body);
        let timed_out = |_| DeliveryOutcome::TimedOut;
        timeout_at(deadline, route.check_name(url)).await.map_err(timed_out)??;
        let answer = timeout_at(deadline, request.send()).await.map_err(timed_out)?;
        let answer = answer.map_err(|error| failure(&error))?;
        let (status, retry_after) = (answer.status().as_u16(), retry_after(&answer));
        // The status counts, even if the body does not arrive in time.
        let _ = timeout_at(deadline, discard(answer)).await;
        Ok((DeliveryOutcome::of_status(status), retry_after))
    }

    /// The client for a URL. `None` if the service must not connect to its address.
    fn route(&self, url: &WebhookUrl) -> Option<Route> {
        let route =
            if url.is_secure() { Some(self.secure.borrow().clone()) } else { self.local.clone() };
        route.filter(|route| route.reach.permits_host(url.as_url()))
    }
}

impl Route {
    fn new(
        builder: ClientBuilder,
        reach: Reach,
        resolver: &Arc<dyn Resolve>,
    ) -> Result<Self, reqwest::Error> {
        let reach = Arc::new(reach);
        let resolver = Arc::clone(resolver);
        let resolver = Arc::new(PermittedAddresses { resolver, reach: Arc::clone(&reach) });
        let client = builder
            .dns_resolver(Arc::clone(&resolver))
            .http1_only()
            .no_proxy()
            .pool_idle_timeout(KEEP_IDLE)
            .redirect(Policy::none())
            .user_agent(USER_AGENT)
            .build()?;
        Ok(Self { client, reach, resolver })
    }

    /// Resolves the name of a URL and checks its addresses. The error is the outcome.
    async fn check_name(&self, url: &WebhookUrl) -> Result<(), DeliveryOutcome> {
        let Some(Host::Domain(name)) = url.as_url().host() else { return Ok(()) };
        let name = Name::from_str(name).map_err(|_| DeliveryOutcome::ConnectionFailed)?;
        match self.resolver.resolve(name).await {
            Ok(_) => Ok(()),
            Err(error) if error.is::<ForbiddenAddress>() => Err(DeliveryOutcome::AddressForbidden),
            Err(_) => Err(DeliveryOutcome::ConnectionFailed),
        }
    }
}

fn retry_after(answer: &Response) -> Option<RetryAfter> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    RetryAfter::of_answer(answer.status().as_u16(), value)
}

async fn discard(mut answer: Response) {
    let mut read = 0;
    while read < MAX_ANSWER
        && let Ok(Some(chunk)) = answer.chunk().await
    {
        read += chunk.len();
    }
}

/// The outcome of a request without an answer.
fn failure(error: &reqwest::Error) -> DeliveryOutcome {
    if causes(error).any(|cause| cause.is::<ForbiddenAddress>()) {
        DeliveryOutcome::AddressForbidden
    } else if causes(error).any(is_tls) {
        DeliveryOutcome::TlsFailed
    } else {
        DeliveryOutcome::ConnectionFailed
    }
}

/// Errors of TLS are inside errors of I/O, which do not have them as their source.
fn is_tls(cause: &(dyn Error + 'static)) -> bool {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inside) => is_tls(inside),
        None => cause.is::<rustls::Error>(),
    }
}

#[cfg(test)]
mod tests;
