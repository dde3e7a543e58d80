//! Who sends a request, which handlers take as an argument: a visitor, a user who is signed in, or a
//! user at one of their merchants. Each page keeps it in the field `at`.

use std::{borrow::Cow, convert::Infallible, ops::Deref, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use payments_domain::{Actor, Currency, Id, Merchant, Money, Token};

use super::{Desk, cookies::Kind, next, path::named, view::VERSION};
use crate::{
    app::{self, Codes, Payments, SignedIn},
    language::Language,
    web::{Error, page::see_other},
};

/// Anybody.
pub(super) struct Visitor {
    pub(super) desk: Desk,
    pub(super) language: &'static Language,
}

impl FromRequestParts<Desk> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Infallible> {
        Ok(Self { desk: desk.clone(), language: Language::of(None, &parts.headers) })
    }
}

impl Visitor {
    /// The path of the desk, with a slash at the end.
    pub(super) fn home(&self) -> &str {
        &self.desk.settings.path
    }

    /// The version of the style sheets.
    pub(super) fn version(&self) -> &'static str {
        &VERSION
    }

    pub(super) fn session(self, signed_in: SignedIn) -> Session {
        Session { visitor: self, signed_in }
    }

    /// Redirects the browser to a page of the desk.
    pub(super) fn redirect(&self, page: &str) -> Response {
        see_other(&format!("{}{page}", self.home()))
    }

    /// The session that the browser has.
    pub(super) async fn signed_in(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<SignedIn>, app::Error> {
        match Kind::Session.read(headers, &self.desk.settings) {
            Some(token) => self.desk.payments.signed_in(&token).await,
            None => Ok(None),
        }
    }

    /// Lets the browser keep the session, or forget it.
    pub(super) fn set_session(&self, token: Option<&Token>, mut response: Response) -> Response {
        if let Some(cookie) = Kind::Session.set(token, &self.desk.settings) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// A user who is signed in. Others are led to the page for the address or the code.
pub(super) struct Session {
    visitor: Visitor,
    pub(super) signed_in: SignedIn,
}

impl Deref for Session {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

/// A user who may still have to type a code.
pub(super) struct AnySession(pub(super) Session);

impl FromRequestParts<Desk> for AnySession {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Response> {
        let Ok(visitor) = Visitor::from_request_parts(parts, desk).await;
        match visitor.signed_in(&parts.headers).await {
            Ok(Some(signed_in)) => Ok(Self(visitor.session(signed_in))),
            Ok(None) => Err(visitor.redirect("sign-in")),
            Err(error) => Err(Error::from(error).into_response()),
        }
    }
}

impl FromRequestParts<Desk> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Response> {
        let AnySession(session) = AnySession::from_request_parts(parts, desk).await?;
        match session.signed_in.codes {
            Codes::Missing => Err(session.redirect("code")),
            _ => Ok(session),
        }
    }
}

/// A user at the merchant that the path names. If the merchant is not theirs, it does not exist for
/// them.
pub(super) struct AtMerchant {
    session: Session,
    pub(super) merchant: Merchant,
    /// The part of the path after the merchant.
    rest: String,
}

impl Deref for AtMerchant {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl FromRequestParts<Desk> for AtMerchant {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Response> {
        let session = Session::from_request_parts(parts, desk).await?;
        match merchant(parts, &session).await {
            Ok(merchant) => {
                let path = parts.uri.path();
                let rest = path.split_once(&merchant.id.to_string()).map(|(_, rest)| rest);
                let rest = rest.unwrap_or_default().to_owned();
                Ok(Self { session, merchant, rest })
            }
            Err(error) => Err(Error::from(error).into_response()),
        }
    }
}

async fn merchant(parts: &mut Parts, session: &Session) -> Result<Merchant, app::Error> {
    let merchant = named(parts, "merchant").await?;
    session.payments().merchant_of_user(session.user(), merchant).await
}

impl Session {
    pub(super) fn user(&self) -> Id {
        self.signed_in.user.id
    }

    pub(super) fn actor(&self) -> Actor {
        Actor::user(self.user())
    }

    pub(super) fn payments(&self) -> &Arc<Payments> {
        &self.desk.payments
    }

    /// The path of the user's account.
    pub(super) fn account(&self) -> String {
        format!("{}account", self.home())
    }

    /// For money and keys: leads a user who has typed no code lately to the page for it, and then to
    /// the path `back`. Who has no authenticator sets one up.
    pub(super) fn fresh(&self, back: &str) -> Result<(), Error> {
        let page = match self.signed_in.codes {
            Codes::Fresh => return Ok(()),
            Codes::NotSetUp => "account",
            Codes::Missing | Codes::Old => "code",
        };
        Err(Error::SeeOther(format!("{}{page}{}", self.home(), next::query(back))))
    }
}

impl AtMerchant {
    /// The path of the merchant's pages.
    pub(super) fn path(&self) -> String {
        format!("{}merchants/{}", self.home(), self.merchant.id)
    }

    /// Redirects the browser to a page of the merchant.
    pub(super) fn at_merchant(&self, page: &str) -> Response {
        see_other(&format!("{}{page}", self.path()))
    }

    /// The path of the section that the page belongs to.
    pub(super) fn section(&self) -> String {
        let name = self.rest.split('/').nth(1).unwrap_or_default();
        format!("{}/{name}", self.path())
    }

    /// The sections of the merchant's pages, with their names.
    pub(super) fn sections(&self) -> [(&'static str, Cow<'_, str>); 9] {
        let language = self.language;
        [
            ("", language.overview()),
            ("/payments", language.payments()),
            ("/balance", language.balance()),
            ("/disputes", language.disputes()),
            ("/links", language.payment_links()),
            ("/people", language.people()),
            ("/developers", language.developers()),
            ("/mails", language.mails()),
            ("/log", language.log()),
        ]
    }

    /// Whether the page belongs to this section.
    pub(super) fn is_in(&self, section: &str) -> bool {
        self.rest.starts_with(section) && section.is_empty() == self.rest.is_empty()
    }

    /// What the operator keeps the merchant from.
    pub(super) fn notice(&self) -> Option<Cow<'_, str>> {
        let standing = &self.merchant.standing;
        if !standing.approved {
            return Some(self.language.not_approved());
        }
        let reason = standing.hold_reason.as_ref();
        standing.held_since.map(|_| {
            let reason = reason.map(|reason| reason.as_str()).unwrap_or_default();
            self.language.merchant_held(reason)
        })
    }

    pub(super) fn currency(&self) -> Currency {
        self.merchant.details.currency
    }

    /// An amount in the currency of the merchant.
    pub(super) fn money(&self, minor: i64) -> String {
        self.language.money(Money { currency: self.currency(), minor })
    }
}
