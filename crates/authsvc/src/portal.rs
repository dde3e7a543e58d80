//! The academic portal, called as its mobile app does.
//!
//! Before a change, know:
//! 1. **The portal is undocumented and may change without notice.** `answer.rs` accepts only the
//!    known answers. Anything else is an error, never a guess.
//! 2. **Sign-ins share only the parsed root certificates.** Each one has a separate HTTP client,
//!    which is dropped at its end, so no cookie or connection of one sign-in reaches
//!    another. TLS sessions are not resumed: a resumed session would link two sign-ins, for the
//!    portal and for anyone who listens on the network. Both calls of one sign-in use the same
//!    connection.
//! 3. **Credentials go only to `PORTAL_URL`.** Redirects are not followed, and proxies from the
//!    environment are ignored. The credentials of a form are wiped after they are sent.
//! 4. **No call is repeated.** `PORTAL_TIMEOUT` limits each call, from connecting to the last byte.
//! 5. **At most 1 MiB of an answer is read**, and only with status 200. A body that is too long or
//!    cut off counts as empty. The call then still counts as answered, and parsing the empty body
//!    fails.
//! 6. **Every call is recorded in [`Samples`]**, also if the caller disconnects and the future is
//!    dropped: see [`crate::metrics`].
//! 7. **Errors never contain a part of an answer**, because they are logged.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use common::tls::{self, TlsError};
use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{AUTHORIZATION, HeaderValue},
    multipart::{Form, Part},
    redirect::Policy,
};
use rustls::{ClientConfig, client::Resumption};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;
use url::Url;

use crate::{
    domain::{Anomaly, Campuses, Profile, SignIn},
    metrics::{ClientOpen, Operation, Samples},
};

mod answer;

use answer::Unusable;

/// Limit of an answer, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct PortalConfig {
    /// Base URL; without one, nobody can sign in.
    pub(crate) url: Option<Url>,
    /// Timeout of one call, from connecting to the last byte.
    pub(crate) timeout: Duration,
    /// Institutes whose students can sign in, in the format of the portal.
    pub(crate) institutes: String,
    pub(crate) campuses: Campuses,
}

/// Trusts the usual root certificates and the ones in `ca_file`. Disables the resumption of TLS
/// sessions, because a resumed session would link two sign-ins.
pub(crate) fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let mut config = tls::client_config(ca_file, "PORTAL_CA_FILE (--portal-ca-file)")?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

pub(crate) struct Portal {
    config: PortalConfig,
    /// Has the parsed root certificates, and no state of a sign-in.
    tls: ClientConfig,
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
    ProfileParse,
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
    /// The body is not as expected.
    #[error("unexpected answer: {0}")]
    Unexpected(&'static str),
}

impl Portal {
    pub(crate) fn new(config: PortalConfig, tls: ClientConfig) -> Self {
        Self { config, tls }
    }

    /// Signs a user in, and fetches the profile if the caller wants it. Records every call in
    /// `samples`, also if this future is dropped.
    pub(crate) async fn sign_in(
        &self,
        sign_in: &SignIn,
        samples: &Samples,
    ) -> Result<Option<Profile>, SignInError> {
        let calls = self.begin(samples).map_err(SignInError::Login)?;
        let body = calls.login(sign_in).await?;
        let unexpected = |reason| SignInError::Login(Fault::Unexpected(reason));
        let signed_in = answer::signed_in(&body).map_err(unexpected)?;
        let Some(fields) = sign_in.profile else { return Ok(None) };
        let bearer = signed_in.bearer().map_err(unexpected)?;
        samples.profile_fetched(!fields.is_all());
        calls.profile(bearer).await.map(Some)
    }

    fn begin<'a>(&'a self, samples: &'a Samples) -> Result<SignInCalls<'a>, Fault> {
        let url = self.config.url.as_ref().ok_or(Fault::NotConfigured)?;
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .http1_only()
            .no_proxy()
            .redirect(Policy::none())
            .build()
            .map_err(Fault::Unreachable)?;
        let client_open = samples.client();
        Ok(SignInCalls { config: &self.config, url, samples, client, _client_open: client_open })
    }
}

/// The requests of one sign-in to the portal. The HTTP client is made for it and dropped with it,
/// so that sign-ins share no state. Both requests use its connection.
struct SignInCalls<'a> {
    config: &'a PortalConfig,
    url: &'a Url,
    samples: &'a Samples,
    client: Client,
    _client_open: ClientOpen,
}

impl SignInCalls<'_> {
    /// The names and constants of both forms are those that the mobile app sends.
    async fn login(&self, sign_in: &SignIn) -> Result<Vec<u8>, SignInError> {
        let form = Form::new()
            .part("userName", secret_part(&sign_in.username))
            .part("password", secret_part(&sign_in.password))
            .text("j_appId", "YES")
            .text("instId", self.config.institutes.clone());
        let request = self.post("MAcademy/mobile/mobilelogin/auth").multipart(form);
        match self.call(Operation::Login, request).await.map_err(SignInError::Login)? {
            (StatusCode::OK, body) => Ok(body),
            (StatusCode::UNAUTHORIZED, _) => Err(SignInError::Rejected),
            (other, _) => Err(SignInError::Login(Fault::Status(other))),
        }
    }

    async fn profile(&self, bearer: HeaderValue) -> Result<Profile, SignInError> {
        let form = Form::new().text("action", "27").text("mode", "1").text("menuId", "11172");
        let request = self.post("MAcademy/mobile/dispatcher").header(AUTHORIZATION, bearer);
        let answer = self.call(Operation::ProfileFetch, request.multipart(form)).await;
        let body = match answer.map_err(SignInError::ProfileFetch)? {
            (StatusCode::OK, body) => body,
            (other, _) => return Err(SignInError::ProfileFetch(Fault::Status(other))),
        };
        match answer::profile(&body, &self.config.campuses) {
            Ok((profile, anomalies)) => {
                self.samples.anomalies(anomalies);
                Ok(profile)
            }
            Err(Unusable::Failed(reason)) => {
                Err(SignInError::ProfileFetch(Fault::Unexpected(reason)))
            }
            Err(Unusable::NoProfile) => {
                self.samples.anomalies([Anomaly::ResponseStructure]);
                Err(SignInError::ProfileParse)
            }
        }
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let base = self.url.as_str().trim_end_matches('/');
        self.client.post(format!("{base}/{path}")).header("X-Client-Type", "MOBILE")
    }

    /// Returns the status and the body of an answer. The body is empty if the status is not 200, or
    /// if it is too long or cut off.
    async fn call(
        &self,
        operation: Operation,
        request: RequestBuilder,
    ) -> Result<(StatusCode, Vec<u8>), Fault> {
        let call = self.samples.call(operation);
        let exchange = async {
            let response = request.send().await?;
            let status = response.status();
            let body = if status == StatusCode::OK { read(response).await } else { None };
            Ok((status, body.unwrap_or_default()))
        };
        match timeout(self.config.timeout, exchange).await {
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

async fn read(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
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
