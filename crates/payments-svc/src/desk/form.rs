//! Forms that change something, and act once. Each contains a random key, which is made when the form
//! is shown. So a double click, a reload, a step back, or a second tab with the same form does not
//! repeat the action. A changed form is another one.

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use payments_domain::{
    Token,
    write::{Action, Group, KeyedRequest},
};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    Desk,
    code::{THEN, Waiting},
    cookies::Kind,
    view::typed,
    visitor::{AtMerchant, Session},
};
use crate::{
    app::{self, Codes, Written},
    web::Body,
};

/// A form that a user has sent who has typed a code lately. Others type one, and then the browser sends
/// the form again.
pub(super) struct Form {
    pub(super) at: AtMerchant,
    pub(super) body: Body,
    /// A digest of the path and all fields, without those that the page for a code has added.
    digest: [u8; 32],
    session: Token,
}

/// A form of the account of a user who has typed a code lately. Others get what they get for a
/// [`Form`].
pub(super) struct AccountForm(pub(super) Session);

/// A body that a user has sent, most often at a merchant. Their access is read again when it has
/// arrived: it may have been revoked meanwhile.
pub(super) struct Sent<B, A = AtMerchant> {
    pub(super) at: A,
    pub(super) body: B,
    head: Parts,
}

impl<B, A> FromRequest<Desk> for Sent<B, A>
where
    B: FromRequest<Desk> + Send,
    A: FromRequestParts<Desk, Rejection = Response> + Send,
{
    type Rejection = Response;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        A::from_request_parts(&mut parts, desk).await?;
        let mut head = parts.clone();
        let body = B::from_request(Request::from_parts(parts, body), desk).await;
        let body = body.map_err(IntoResponse::into_response)?;
        let at = A::from_request_parts(&mut head, desk).await?;
        Ok(Self { at, body, head })
    }
}

impl FromRequest<Desk> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Response> {
        let Sent::<Body> { at, body, head } = Sent::from_request(request, desk).await?;
        if let Some(detour) = detour(&at, &head, &body, &at.section()) {
            return Err(detour);
        }
        let session = Kind::Session.read(&head.headers, &desk.settings);
        let session = session.ok_or_else(|| at.redirect("sign-in"))?;
        let line = format!("{}\n", head.uri.path());
        let digest = Sha256::new().chain_update(line).chain_update(first_sent(body.as_bytes()));
        Ok(Self { at, body, digest: digest.finalize().into(), session })
    }
}

impl FromRequest<Desk> for AccountForm {
    type Rejection = Response;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Response> {
        let Sent::<Body, Session> { at, body, head } = Sent::from_request(request, desk).await?;
        match detour(&at, &head, &body, &at.account()) {
            None => Ok(Self(at)),
            Some(detour) => Err(detour),
        }
    }
}

/// Leads a user who has typed no code lately to the page for one, which keeps the form. Who has no
/// authenticator sets one up, and then goes on to the path `back`.
fn detour(at: &Session, head: &Parts, body: &Body, back: &str) -> Option<Response> {
    if at.signed_in.codes == Codes::Old {
        return Some(Waiting::new(head.uri.path(), body).page(at));
    }
    at.fresh(back).err().map(IntoResponse::into_response)
}

impl Form {
    /// The idempotency key of the form.
    pub(super) fn keyed(&self) -> Option<KeyedRequest> {
        let (app, request) = (self.at.user(), self.digest);
        Some(KeyedRequest { app, key: hex::encode(request), request })
    }

    /// Executes an action of the user, unless the form did it before. What belongs to others does
    /// not exist for the user.
    pub(super) async fn write<A: Action<Outcome: Group>>(
        &self,
        action: A,
    ) -> Result<Written<A::Outcome>, app::Error> {
        match self.at.payments().write_keyed(self.at.actor(), action, self.keyed()).await {
            Err(app::Error::Forbidden) => Err(app::Error::NotFound),
            written => written,
        }
    }

    /// A random number that is the same if the browser sends the form again in the same session. So
    /// a double click, which loses the first answer, shows the same secret.
    pub(super) fn random(&self) -> [u8; 32] {
        let session = self.session.expose();
        Sha256::new().chain_update(session).chain_update(self.digest).finalize().into()
    }

    /// Whether the answer shows the secret that the form has made: it does so once.
    pub(super) async fn shows_secret<T>(&self, written: &Written<T>) -> Result<bool, app::Error> {
        match self.keyed() {
            Some(keyed) if written.is_replayed => self.at.payments().is_double_click(&keyed).await,
            _ => Ok(true),
        }
    }

    /// A field without the spaces around it. Empty if it is missing.
    pub(super) fn text(&self, name: &'static str) -> String {
        typed(&self.body, name).trim().to_owned()
    }
}

/// The part of a body that the user sent first: what the page for a code adds stands at the end.
fn first_sent(body: &[u8]) -> &[u8] {
    let added = format!("&{THEN}=");
    let at = body.windows(added.len()).position(|part| part == added.as_bytes());
    at.map_or(body, |at| &body[..at])
}

/// The key of a form that is shown.
pub(super) fn key() -> String {
    Uuid::new_v4().simple().to_string()
}
