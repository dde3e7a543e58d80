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
//! 5. **At most `PORTAL_MAX_RESPONSE` of an answer is read**, and only with status 200. It is read
//!    as it arrives, and only the needed members stay in memory: see `skim.rs`. The HTTP library
//!    holds much more, so few long bodies are read at once ([`LONG_BODIES`]). A call whose body is
//!    too long or cut off still counts as answered.
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
    tls::{self, TlsError},
};
use jiff::Timestamp;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{AUTHORIZATION, HeaderValue},
    multipart::{Form, Part},
    redirect::Policy,
};
use rustls::{ClientConfig, client::Resumption};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{
    sync::{Semaphore, watch::Receiver},
    time::timeout,
};
use url::Url;

use crate::{
    domain::{Campuses, Deviation, Profile, SignIn, local_offset},
    metrics::{ClientOpen, Operation, Samples},
};

mod answer;
mod connects;
mod drift;
mod names;
mod skim;

pub(crate) use answer::{BodyFault, LoginFault, ProfileFault, ReportedFailure};

use answer::{Body, Unusable, login_skimmer, profile_skimmer};
use connects::{Connects, is_closed};
use drift::DriftLog;
use names::SharedLookup;
use skim::{Members, Skimmer};

const CA_SETTING: &str = "PORTAL_CA_FILE (--portal-ca-file)";

/// A body is long from this many bytes on.
const LONG_BODY: u64 = 16 * 1024;

/// Long bodies that are read at once. Meanwhile, the HTTP library holds up to 650 KiB of each.
const LONG_BODIES: usize = 32;

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
}

pub(crate) struct Portal {
    config: PortalConfig,
    tls: Receiver<ClientConfig>,
    names: Arc<SharedLookup>,
    drift: DriftLog,
    long_bodies: Semaphore,
}

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    /// The username or the password is wrong.
    #[error("the portal rejected the credentials")]
    Rejected,
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

/// Why a call to the portal failed. Never contains a part of an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// No URL of the portal is configured.
    #[error("PORTAL_URL is not set")]
    NotConfigured,
    /// The HTTP client could not be built, or the portal sent no answer.
    #[error("no answer")]
    Unreachable(#[source] reqwest::Error),
    #[error("no answer in time")]
    TimedOut,
    /// An unexpected HTTP status.
    #[error("status {0}")]
    Status(StatusCode),
    /// The body of the answer to the login is not as expected.
    #[error("unexpected answer: {0}")]
    Login(LoginFault),
    /// The body reports that the profile could not be fetched.
    #[error("unexpected answer: {0}")]
    Profile(ReportedFailure),
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
            names: Arc::default(),
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
        let failed = match &read {
            Err(SignInError::ProfileParse(fault)) => &[fault.deviation()][..],
            _ => &[],
        };
        let deviations = read.as_ref().map_or(failed, |signed_in| &signed_in.deviations);
        samples.anomalies(deviations.iter().map(|deviation| deviation.anomaly));
        self.drift.report(deviations);
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
        match answer.map_err(SignInError::Login)? {
            (StatusCode::OK, body) => Ok(body),
            (StatusCode::UNAUTHORIZED, _) => Err(SignInError::Rejected),
            (other, _) => Err(SignInError::Login(Fault::Status(other))),
        }
    }

    async fn profile(&self, bearer: &HeaderValue) -> Result<SignedIn, SignInError> {
        let answer =
            self.call(Operation::ProfileFetch, profile_skimmer(), self.dispatch(bearer)).await;
        let body = match answer.map_err(SignInError::ProfileFetch)? {
            (StatusCode::OK, body) => body,
            (other, _) => return Err(SignInError::ProfileFetch(Fault::Status(other))),
        };
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
        self.client.post(format!("{base}/{path}")).header("X-Client-Type", "MOBILE")
    }

    /// Returns the status and the needed members of an answer. Only a body with status 200 is read.
    async fn call(
        &self,
        operation: Operation,
        skimmer: Skimmer<'_>,
        sending: impl Future<Output = Result<Response, reqwest::Error>>,
    ) -> Result<(StatusCode, Body), Fault> {
        let Portal { config, long_bodies, .. } = self.portal;
        let call = self.samples.call(operation);
        let exchange = async {
            let response = sending.await?;
            let status = response.status();
            let body = match status {
                StatusCode::OK => read(response, skimmer, config.max_response, long_bodies).await,
                _ => Ok(Members::new()),
            };
            Ok((status, body))
        };
        match timeout(config.timeout, exchange).await {
            Ok(Ok((status, body))) => {
                call.answered(status.as_u16());
                Ok((status, body))
            }
            Ok(Err(error)) => {
                call.failed();
                Err(Fault::Unreachable(error))
            }
            Err(_) => {
                call.failed();
                Err(Fault::TimedOut)
            }
        }
    }
}

/// Reads at most `limit` bytes of a body. Waits for a permit when it is long.
async fn read(
    mut response: Response,
    mut skimmer: Skimmer<'_>,
    limit: u64,
    long_bodies: &Semaphore,
) -> Body {
    let announced = response.content_length().unwrap_or(0);
    let (mut length, mut permit) = (0_u64, None);
    loop {
        if permit.is_none() && announced.max(length) >= LONG_BODY {
            permit = long_bodies.acquire().await.ok();
        }
        let chunk = response.chunk().await.map_err(|_| BodyFault::CutOff)?;
        let Some(chunk) = chunk else { break };
        length = length.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        if length > limit {
            return Err(BodyFault::TooLarge);
        }
        skimmer.push(&chunk)?;
    }
    Ok(skimmer.finish()?)
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

#[cfg(test)]
mod tests {
    use std::{future::pending, iter, sync::LazyLock};

    use futures_util::{FutureExt as _, StreamExt as _, future, stream};
    use reqwest::Body as Sent;

    use super::{skim::Needed, *};

    static NEEDED: LazyLock<[Needed; 1]> = LazyLock::new(|| [Needed::value("kept")]);

    /// An answer with so many chunks of 4 KiB. Without an end, more may follow.
    fn answer(chunks: usize, has_end: bool) -> Response {
        let start = iter::once(Bytes::from_static(br#"{"kept":1,"long":""#));
        let filler = iter::repeat_n(Bytes::from(vec![b'x'; 4096]), chunks);
        let sent = stream::iter(start.chain(filler)).map(Ok::<_, std::io::Error>);
        let end = if has_end {
            future::ready(Ok(Bytes::from_static(br#""}"#))).left_future()
        } else {
            pending().right_future()
        };
        let body = Sent::wrap_stream(sent.chain(stream::once(end)));
        Response::from(http::Response::new(body))
    }

    fn read_with(
        long_bodies: &Semaphore,
        answer: Response,
    ) -> impl Future<Output = Body> + use<'_> {
        read(answer, Skimmer::new(&*NEEDED), 1 << 20, long_bodies)
    }

    #[tokio::test]
    async fn a_long_body_waits_while_others_are_read() {
        let long_bodies = Semaphore::new(1);
        let mut first = Box::pin(read_with(&long_bodies, answer(5, false)));
        assert!(first.as_mut().now_or_never().is_none());
        assert_eq!(long_bodies.available_permits(), 0);
        let mut second = Box::pin(read_with(&long_bodies, answer(5, true)));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(read_with(&long_bodies, answer(3, true)).now_or_never().unwrap().is_ok());
        drop(first);
        assert!(second.now_or_never().unwrap().is_ok());
        assert_eq!(long_bodies.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_body_with_an_announced_length_waits_before_it_is_read() {
        let announced = |length: usize| {
            let text = format!(r#"{{"kept":"{}"}}"#, "x".repeat(length));
            Response::from(http::Response::new(Sent::from(text)))
        };
        let none = Semaphore::new(0);
        assert!(read_with(&none, announced(1 << 10)).now_or_never().unwrap().is_ok());
        let mut waiting = Box::pin(read_with(&none, announced(32 << 10)));
        assert!(waiting.as_mut().now_or_never().is_none());
        none.add_permits(1);
        assert!(waiting.now_or_never().unwrap().is_ok());
    }
}
