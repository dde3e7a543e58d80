//! The academic portal, called as its mobile app does.
//!
//! Before a change, know:
//! 1. **The portal is undocumented and may change without notice.** `answer.rs` accepts only the
//!    known answers. Anything else is an error, never a guess.
//! 2. **Sign-ins share only the parsed root certificates and the portal's addresses.** Each one has
//!    a separate HTTP client, which is dropped at its end, so no cookie or connection of one
//!    sign-in reaches another. TLS sessions are not resumed: a resumed session would link two
//!    sign-ins, for the portal and for anyone who listens on the network. Both calls of one sign-in
//!    use the same connection, or two if the HTTP library does not have the first one back yet.
//! 3. **Credentials go only to `PORTAL_URL`.** Redirects are not followed, and proxies from the
//!    environment are ignored. The credentials of a form are wiped after they are sent.
//! 4. **Only the request for a profile is repeated**, once, if the portal has closed the connection
//!    of the login before it answered. It changes nothing at the portal. `PORTAL_TIMEOUT` limits
//!    each call with its repeat, from connecting to the last byte.
//! 5. **At most `PORTAL_MAX_RESPONSE` of an answer is read**, and only with status 200 or 401. It is
//!    read as it arrives, and only the needed members stay in memory: see `body.rs` and `skim.rs`.
//!    The HTTP library holds much more, so few long bodies are read at once ([`LONG_BODIES`]). A
//!    call whose body is too long or cut off still counts as answered.
//! 6. **Every call is recorded in [`Samples`]**, also if the caller disconnects and the future is
//!    dropped: see [`crate::metrics`].
//! 7. **Errors never contain a part of an answer**, because they are logged.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use common::{
    files::Files,
    names::Names,
    telemetry::trace,
    tls::{self, TlsError},
};
use jiff::Timestamp;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderValue},
    multipart::{Form, Part},
    redirect::Policy,
};
use rustls::{ClientConfig, client::Resumption};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{
    sync::{Semaphore, watch::Receiver},
    time::{Instant, timeout_at},
};
use url::Url;

use crate::{
    domain::{Campuses, Deviation, Profile, SignIn, local_offset},
    metrics::{ClientOpen, Operation, Samples},
};

mod answer;
mod body;
mod connects;
mod drift;
mod fault;
mod skim;

pub(crate) use answer::{LoginFault, ProfileFault};
pub(crate) use body::BodyFault;
pub(crate) use fault::Fault;

use answer::{Unusable, login_skimmer, profile_skimmer};
use body::{Body, LONG_BODIES, read};
use connects::{Connects, is_closed};
use drift::DriftLog;
use fault::pause;
use skim::{Members, Skimmer};

const CA_SETTING: &str = "PORTAL_CA_FILE (--portal-ca-file)";

/// The maximum number of look-ups of the portal's name at once. All sign-ins share one: there is a
/// second one only if the first hangs.
const LOOKUPS: usize = 4;

/// Most headers of an answer that are read. The HTTP library accepts 100 by default.
const MAX_HEADERS: usize = 1_000;

#[derive(Debug, Clone)]
pub(crate) struct PortalConfig {
    /// Base URL; without one, nobody can sign in.
    pub(crate) url: Option<Url>,
    /// Timeout of one call, from connecting to the last byte.
    pub(crate) timeout: Duration,
    /// Limit of an answer, in bytes.
    pub(crate) max_response: u64,
    /// Institutes whose students can sign in, in the format of the portal.
    pub(crate) institutes: String,
    pub(crate) campuses: Campuses,
    /// Whether the portal gets the trace of a sign-in.
    pub(crate) sends_trace: bool,
}

pub(crate) struct Portal {
    config: PortalConfig,
    tls: Receiver<ClientConfig>,
    names: Arc<Names>,
    drift: DriftLog,
    long_bodies: Semaphore,
}

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    /// The username or the password is wrong.
    #[error("the portal rejected the credentials")]
    Rejected,
    /// The answer is 401, but its body is not a JSON object. Perhaps a firewall has answered in
    /// place of the portal, so the credentials may be right.
    #[error("the answer rejected the credentials, but is not the portal's")]
    Doubtful(#[source] BodyFault),
    /// The portal could not be reached, or answered the login unexpectedly.
    #[error("the login failed")]
    Login(#[source] Fault),
    /// The portal could not be reached again, or answered the request for the profile unexpectedly.
    #[error("the profile could not be fetched")]
    ProfileFetch(#[source] Fault),
    /// The answer of the portal has no usable profile.
    #[error("the portal sent no usable profile")]
    ProfileParse(#[source] ProfileFault),
}

/// A successful sign-in.
#[derive(Debug)]
pub(crate) struct SignedIn {
    /// `None` if the caller wants no profile.
    pub(crate) profile: Option<Profile>,
    /// Differences from a known profile.
    pub(crate) deviations: Vec<Deviation>,
}

impl Portal {
    /// Trusts the usual root certificates and the ones in `ca_file`.
    pub(crate) fn new(
        config: PortalConfig,
        ca_file: Option<PathBuf>,
        files: &mut Files,
    ) -> Result<Self, TlsError> {
        Ok(Self {
            config,
            tls: files.read(CA_SETTING, ca_file, client_config)?,
            names: Arc::new(Names::new("lookups", LOOKUPS)),
            drift: DriftLog::default(),
            long_bodies: Semaphore::new(LONG_BODIES),
        })
    }

    /// Signs a user in, and fetches the profile if the caller wants it. Records every call in
    /// `samples`, also if this future is dropped.
    pub(crate) async fn sign_in(
        &self,
        sign_in: &SignIn,
        samples: &Samples,
    ) -> Result<SignedIn, SignInError> {
        let calls = self.begin(samples).map_err(SignInError::Login)?;
        let body = calls.login(sign_in).await?;
        let unexpected = |fault| SignInError::Login(Fault::Login(fault));
        let signed_in = answer::signed_in(body).map_err(unexpected)?;
        let Some(fields) = sign_in.profile else {
            return Ok(SignedIn { profile: None, deviations: Vec::new() });
        };
        let bearer = signed_in.bearer().map_err(unexpected)?;
        samples.profile_fetched(!fields.is_all());
        let read = calls.profile(&bearer).await;
        let fault = match &read {
            Err(SignInError::ProfileParse(fault)) => Some(*fault),
            _ => None,
        };
        let failed = fault.map(ProfileFault::deviation);
        let deviations = read.as_ref().map_or(failed.as_slice(), |signed_in| &signed_in.deviations);
        samples.anomalies(deviations.iter().map(|deviation| deviation.anomaly));
        self.drift.report(deviations, fault);
        read
    }

    fn begin<'a>(&'a self, samples: &'a Samples) -> Result<SignInCalls<'a>, Fault> {
        let url = self.config.url.as_ref().ok_or(Fault::NotConfigured)?;
        let connects = Connects::default();
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.borrow().clone())
            .dns_resolver(Arc::clone(&self.names))
            .connector_layer(connects.clone())
            .http1_only()
            .http1_max_headers(MAX_HEADERS)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .no_proxy()
            .redirect(Policy::none())
            .build()
            .map_err(Fault::Unreachable)?;
        let client_open = samples.client();
        Ok(SignInCalls { portal: self, url, samples, client, connects, _client_open: client_open })
    }
}

/// Resumption is off, because a resumed TLS session would link two sign-ins.
fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let mut config = tls::client_config(ca_file, CA_SETTING)?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The requests of one sign-in to the portal. The HTTP client is made for it and dropped with it,
/// so that sign-ins share no state. Both requests use its connection.
struct SignInCalls<'a> {
    portal: &'a Portal,
    url: &'a Url,
    samples: &'a Samples,
    client: Client,
    connects: Connects,
    _client_open: ClientOpen,
}

impl SignInCalls<'_> {
    /// The names and constants of both forms are those that the mobile app sends.
    async fn login(&self, sign_in: &SignIn) -> Result<Body, SignInError> {
        let form = Form::new()
            .part("userName", secret_part(&sign_in.username))
            .part("password", secret_part(&sign_in.password))
            .text("j_appId", "YES")
            .text("instId", self.portal.config.institutes.clone());
        let request = self.post("MAcademy/mobile/mobilelogin/auth").multipart(form);
        let answer = self.call(Operation::Login, login_skimmer(), request.send()).await;
        let Answer { status, retry_after, body } = answer.map_err(SignInError::Login)?;
        match (status, body) {
            (StatusCode::OK, body) => Ok(body),
            (StatusCode::UNAUTHORIZED, Ok(_)) => Err(SignInError::Rejected),
            (StatusCode::UNAUTHORIZED, Err(fault)) => {
                self.portal.drift.report_rejection(fault);
                Err(SignInError::Doubtful(fault))
            }
            (status, _) => Err(SignInError::Login(Fault::Status { status, retry_after })),
        }
    }

    async fn profile(&self, bearer: &HeaderValue) -> Result<SignedIn, SignInError> {
        let answer =
            self.call(Operation::ProfileFetch, profile_skimmer(), self.dispatch(bearer)).await;
        let Answer { status, retry_after, body } = answer.map_err(SignInError::ProfileFetch)?;
        if status != StatusCode::OK {
            return Err(SignInError::ProfileFetch(Fault::Status { status, retry_after }));
        }
        let today = local_offset().to_datetime(Timestamp::now()).date();
        match answer::profile(body, &self.portal.config.campuses, today) {
            Ok((profile, deviations)) => Ok(SignedIn { profile: Some(profile), deviations }),
            Err(Unusable::Failed(fault)) => Err(SignInError::ProfileFetch(Fault::Profile(fault))),
            Err(Unusable::NoProfile(fault)) => Err(SignInError::ProfileParse(fault)),
        }
    }

    /// Requests a profile. Repeats the request once on a new connection, if the portal closes the
    /// connection of the login before it answers.
    async fn dispatch(&self, bearer: &HeaderValue) -> Result<Response, reqwest::Error> {
        let send = || {
            let form = Form::new().text("action", "27").text("mode", "1").text("menuId", "11172");
            let request = self.post("MAcademy/mobile/dispatcher");
            request.header(AUTHORIZATION, bearer.clone()).multipart(form).send()
        };
        let before = self.connects.count();
        match send().await {
            Err(error) if self.connects.count() == before && is_closed(&error) => {
                tracing::debug!("the portal closed the connection: the request is repeated");
                send().await
            }
            sent => sent,
        }
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let base = self.url.as_str().trim_end_matches('/');
        let request = self.client.post(format!("{base}/{path}"));
        let request = request.header("X-Client-Type", "MOBILE").header(ACCEPT_ENCODING, "identity");
        if self.portal.config.sends_trace { request.headers(trace::headers()) } else { request }
    }

    /// Sends a request and reads the answer.
    async fn call(
        &self,
        operation: Operation,
        skimmer: Skimmer<'_>,
        sending: impl Future<Output = Result<Response, reqwest::Error>>,
    ) -> Result<Answer, Fault> {
        let call = self.samples.call(operation);
        let deadline = Instant::now() + self.portal.config.timeout;
        let answer = async {
            let response = timeout_at(deadline, sending).await.map_err(|_| Fault::TimedOut)?;
            let response = response.map_err(Fault::Unreachable)?;
            let status = response.status();
            let retry_after = pause(status, response.headers(), Timestamp::now());
            let body = match timeout_at(deadline, self.body(response, skimmer)).await {
                Ok(body) => body,
                // Its status is enough.
                Err(_) if status == StatusCode::UNAUTHORIZED => Err(BodyFault::CutOff),
                Err(_) => return Err(Fault::TimedOut),
            };
            Ok(Answer { status, retry_after, body })
        };
        let answer = answer.await;
        match &answer {
            Ok(Answer { status, .. }) => call.answered(status.as_u16()),
            Err(_) => call.failed(),
        }
        answer
    }

    /// Reads the needed members. A 401 has none, but must be a JSON object. Of an answer with any
    /// other status than 200, nothing is read.
    async fn body(&self, response: Response, skimmer: Skimmer<'_>) -> Body {
        let Portal { config, long_bodies, .. } = self.portal;
        let skimmer = match response.status() {
            StatusCode::OK => skimmer,
            StatusCode::UNAUTHORIZED => Skimmer::new(&[]),
            _ => return Ok(Members::new()),
        };
        read(response, skimmer, config.max_response, long_bodies).await
    }
}

/// The part of an answer that is read.
struct Answer {
    status: StatusCode,
    /// Seconds that callers should wait.
    retry_after: Option<u64>,
    body: Body,
}

/// A form field that is wiped after it is sent.
fn secret_part(secret: &SecretString) -> Part {
    struct Wiped(SecretString);

    impl AsRef<[u8]> for Wiped {
        fn as_ref(&self) -> &[u8] {
            self.0.expose_secret().as_bytes()
        }
    }

    Part::stream(Bytes::from_owner(Wiped(secret.clone())))
}
