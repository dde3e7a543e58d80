//! The academic portal: somebody else's machine, spoken to as its mobile app does.

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

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 1024 * 1024;

/// What the portal is called with.
#[derive(Debug, Clone)]
pub(crate) struct PortalConfig {
    /// Its base address; without one, nobody can sign in.
    pub(crate) url: Option<Url>,
    /// How long one call may take, from connecting to the last byte.
    pub(crate) timeout: Duration,
    /// The institutes whose students may sign in, as the portal wants them.
    pub(crate) institutes: String,
    /// The campuses that have a number.
    pub(crate) campuses: Campuses,
}

/// A configuration that trusts the usual roots and those in `ca_file`, and resumes no session: a
/// resumed one would tell the portal, and who listens, that two sign-ins come from one place.
pub(crate) fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let mut config = tls::client_config(ca_file, "PORTAL_CA_FILE (--portal-ca-file)")?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The portal.
pub(crate) struct Portal {
    config: PortalConfig,
    /// Roots parsed once; nothing of a sign-in is kept in it.
    tls: ClientConfig,
}

/// Why somebody could not be signed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    /// The portal does not know these credentials.
    #[error("the portal rejected the credentials")]
    Rejected,
    /// The portal could not be reached, or did not answer the login as it should.
    #[error("the login failed")]
    Login(#[source] Fault),
    /// The portal could not be reached again, or did not answer the request for the profile as it
    /// should.
    #[error("the profile could not be fetched")]
    ProfileFetch(#[source] Fault),
    /// What the portal sent is no profile.
    #[error("the portal's profile is none")]
    ProfileParse,
}

/// What was wrong about an answer of the portal. Never holds any of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// No address of a portal is configured.
    #[error("PORTAL_URL is not set")]
    NotConfigured,
    /// No client could be made, or no answer had.
    #[error("no answer")]
    Unreachable(#[source] reqwest::Error),
    /// The answer took too long.
    #[error("no answer in time")]
    TimedOut,
    /// Another status than what is expected.
    #[error("status {0}")]
    Status(StatusCode),
    /// An answer that does not say what it should.
    #[error("unexpected answer: {0}")]
    Unexpected(&'static str),
}

impl Portal {
    /// A portal that is called as `config` says, over connections secured by `tls`.
    pub(crate) fn new(config: PortalConfig, tls: ClientConfig) -> Self {
        Self { config, tls }
    }

    /// Signs somebody in, and fetches the profile if it is wanted. Every call is noted in
    /// `samples`, also when this is dropped half way.
    pub(crate) async fn sign_in(
        &self,
        sign_in: &SignIn,
        samples: &Samples,
    ) -> Result<Option<Profile>, SignInError> {
        let conversation = self.converse(samples).map_err(SignInError::Login)?;
        let body = conversation.login(sign_in).await?;
        let answered = |what| SignInError::Login(Fault::Unexpected(what));
        let signed_in = answer::signed_in(&body).map_err(answered)?;
        let Some(fields) = sign_in.profile else { return Ok(None) };
        let bearer = signed_in.bearer().map_err(answered)?;
        samples.filtered(!fields.is_all());
        conversation.profile(bearer).await.map(Some)
    }

    fn converse<'a>(&'a self, samples: &'a Samples) -> Result<Conversation<'a>, Fault> {
        let url = self.config.url.as_ref().ok_or(Fault::NotConfigured)?;
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .http1_only()
            .no_proxy()
            .redirect(Policy::none())
            .build()
            .map_err(Fault::Unreachable)?;
        let client_open = samples.client();
        Ok(Conversation { config: &self.config, url, samples, client, _client_open: client_open })
    }
}

/// The calls of one sign-in. Its client is made for it and dropped with it, so nothing of one
/// sign-in is seen by another; its connection serves both calls.
struct Conversation<'a> {
    config: &'a PortalConfig,
    url: &'a Url,
    samples: &'a Samples,
    client: Client,
    _client_open: ClientOpen,
}

impl Conversation<'_> {
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
        let answered = self.call(Operation::ProfileFetch, request.multipart(form)).await;
        let body = match answered.map_err(SignInError::ProfileFetch)? {
            (StatusCode::OK, body) => body,
            (other, _) => return Err(SignInError::ProfileFetch(Fault::Status(other))),
        };
        match answer::profile(&body, &self.config.campuses) {
            Ok((profile, anomalies)) => {
                self.samples.odd(anomalies);
                Ok(profile)
            }
            Err(Unusable::Refused(what)) => Err(SignInError::ProfileFetch(Fault::Unexpected(what))),
            Err(Unusable::NoProfile) => {
                self.samples.odd([Anomaly::ResponseStructure]);
                Err(SignInError::ProfileParse)
            }
        }
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let base = self.url.as_str().trim_end_matches('/');
        self.client.post(format!("{base}/{path}")).header("X-Client-Type", "MOBILE")
    }

    /// The status and the body of an answer. A body that is too long, or cut off, is as good as
    /// none; and so is that of an error.
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

/// A field of a form that is wiped once it is sent.
fn secret_part(secret: &SecretString) -> Part {
    struct Wiped(SecretString);

    impl AsRef<[u8]> for Wiped {
        fn as_ref(&self) -> &[u8] {
            self.0.expose_secret().as_bytes()
        }
    }

    Part::stream(Bytes::from_owner(Wiped(secret.clone())))
}
