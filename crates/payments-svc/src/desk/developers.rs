//! The apps of a merchant, and the API keys of an app.

use std::{borrow::Cow, ops::Deref};

use askama::Template;
use axum::{
    extract::{FromRequest, FromRequestParts, RawQuery, Request},
    http::{StatusCode, request::Parts},
    response::{IntoResponse as _, Response},
};
use payments_domain::{
    ApiKey, ApiKeyDetails, App, Id, Name, Webhook,
    actions::{CreateApiKey, DeleteApiKey, RevokeApp},
    write::{ApiKeyRow, AppRow, MerchantApp},
};
use uuid::Builder;

use super::{
    Desk,
    confirm::ConfirmPage,
    form::{Form, key},
    list::{PAGE, Page, before},
    path::{Ids, named},
    payments::time,
    view::{self, Field},
    visitor::AtMerchant,
    webhooks::{self, Endpoint},
};
use crate::{app, web::Error};

/// A user at an app of the merchant whose keys and webhooks they may manage. Another app does not
/// exist.
pub(super) struct AtApp {
    at: AtMerchant,
    pub(super) app: App,
}

impl Deref for AtApp {
    type Target = AtMerchant;

    fn deref(&self) -> &AtMerchant {
        &self.at
    }
}

impl FromRequestParts<Desk> for AtApp {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Response> {
        let at = AtMerchant::from_request_parts(parts, desk).await?;
        let app = named(parts, "app").await;
        match managed(app, &at).await {
            Ok(app) => Ok(Self { at, app }),
            Err(error) => Err(Error::from(error).into_response()),
        }
    }
}

/// A form at such an app.
pub(super) struct AppForm {
    form: Form,
    pub(super) app: App,
}

impl Deref for AppForm {
    type Target = Form;

    fn deref(&self) -> &Form {
        &self.form
    }
}

impl FromRequest<Desk> for AppForm {
    type Rejection = Response;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let app = named(&mut parts, "app").await;
        let form = Form::from_request(Request::from_parts(parts, body), desk).await?;
        match managed(app, &form.at).await {
            Ok(app) => Ok(Self { form, app }),
            Err(error) => Err(Error::from(error).into_response()),
        }
    }
}

async fn managed(app: Result<Id, app::Error>, at: &AtMerchant) -> Result<App, app::Error> {
    at.payments().managed_app(at.user(), at.merchant.id, app?).await
}

/// The name of an app, or its ID if it has none.
fn app_name(app: &App) -> String {
    let name = app.name.as_ref().map(Name::as_str).filter(|name| !name.trim().is_empty());
    name.map_or_else(|| app.id.to_string(), str::to_owned)
}

/// The page of an app, below that of the merchant.
pub(super) fn app_page(app: &App) -> String {
    format!("/developers/{}", app.id)
}

#[derive(Template)]
#[template(path = "desk/developers.html")]
struct DevelopersPage<'a> {
    at: &'a AtMerchant,
    /// Each with whether the user may manage it.
    apps: Page<(App, bool)>,
}

#[derive(Template)]
#[template(path = "desk/app.html")]
struct AppPage<'a> {
    at: &'a AtMerchant,
    app: &'a App,
    keys: &'a [ApiKeyDetails],
    webhooks: &'a [Webhook],
    /// The form for a new webhook.
    endpoint: Endpoint<'a>,
    /// Why nothing was done.
    refusal: Option<Cow<'a, str>>,
}

impl AppPage<'_> {
    fn key_field(&self) -> Field<'_> {
        Field {
            name: "name",
            label: self.at.language.key_name(),
            value: "",
            attributes: "autocomplete=\"off\" maxlength=\"255\"",
            hint: None,
            error: None,
        }
    }
}

/// A new secret, which is shown once.
#[derive(Template)]
#[template(path = "desk/secret.html")]
pub(super) struct SecretPage<'a> {
    pub(super) at: &'a AtMerchant,
    pub(super) heading: Cow<'a, str>,
    /// `None` if it was shown before.
    pub(super) secret: Option<&'a str>,
    /// The page of the merchant to return to.
    pub(super) back: String,
}

fn key_name(key: &ApiKeyDetails) -> String {
    key.name.as_ref().map_or_else(|| key.id.to_string(), |name| name.as_str().to_owned())
}

pub(super) async fn list(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let apps = at.payments().apps_of_user(at.user(), at.merchant.id);
    let apps = Page::read(apps, before(query.as_deref()), PAGE, |(app, _)| app.id).await?;
    Ok(view::page(StatusCode::OK, &DevelopersPage { at: &at, apps }))
}

pub(super) async fn ask_app(at: AtMerchant, Ids([app]): Ids<1>) -> Result<Response, Error> {
    let payments = at.payments();
    let member = payments.row::<MerchantApp>(&(at.merchant.id, app)).await?;
    member.ok_or(app::Error::NotFound)?;
    let app = payments.row::<AppRow>(&app).await?.ok_or(app::Error::NotFound)?.app();
    let language = at.language;
    let (question, hint) = (language.remove(app_name(&app)), language.remove_hint());
    let (at, action, back) = (&at, language.remove_button(), "/developers");
    Ok(ConfirmPage { at, question, hint, action, back }.show())
}

pub(super) async fn revoke_app(Ids([app]): Ids<1>, form: Form) -> Result<Response, Error> {
    form.write(RevokeApp { merchant: form.at.merchant.id, app }).await?;
    Ok(form.at.at_merchant("/developers"))
}

pub(super) async fn show(at: AtApp) -> Result<Response, Error> {
    page(&at, &at.app, Endpoint::default(), None).await
}

/// The page of an app. `endpoint`: what the user has typed for a new webhook.
pub(super) async fn page<'a>(
    at: &'a AtMerchant,
    app: &'a App,
    endpoint: Endpoint<'a>,
    refusal: Option<Cow<'a, str>>,
) -> Result<Response, Error> {
    let payments = at.payments();
    let keys = &*Page::read(payments.api_keys(app.id), None, PAGE, |key| key.id).await?.items;
    let webhooks = Page::read(payments.webhooks(app.id), None, PAGE, |webhook| webhook.id).await?;
    let webhooks = &*webhooks.items;
    let is_wrong = refusal.is_some() || endpoint.is_wrong;
    let status = if is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(view::page(status, &AppPage { at, app, keys, webhooks, endpoint, refusal }))
}

pub(super) async fn create(form: AppForm) -> Result<Response, Error> {
    let (at, app, language) = (&form.at, &form.app, form.at.language);
    let refused = async |reason| page(at, app, Endpoint::default(), Some(reason)).await;
    let name = match form.text("name") {
        name if name.is_empty() => None,
        name => match Name::new(&name) {
            Ok(name) => Some(name),
            Err(_) => return refused(language.form_error()).await,
        },
    };
    let random = form.random().first_chunk().copied().unwrap_or_default();
    let secret = Builder::from_random_bytes(random).into_uuid().to_string();
    let new = ApiKey::new(secret.into());
    let action = CreateApiKey { app: app.id, name, digest: new.digest(), replace: false };
    let written = form.write(action).await;
    if let Err(app::Error::Invalid(_)) = written {
        return refused(language.too_many_keys()).await;
    }
    let secret = form.shows_secret(&written?).await?.then(|| new.expose());
    let (heading, back) = (language.key_created(), app_page(app));
    Ok(view::page(StatusCode::OK, &SecretPage { at, heading, secret, back }))
}

pub(super) async fn ask(at: AtApp, Ids([_, key]): Ids<2>) -> Result<Response, Error> {
    let row = at.payments().row::<ApiKeyRow>(&key).await?.filter(|row| row.app == at.app.id);
    let ApiKeyRow { id, name, created, last_used, .. } = row.ok_or(app::Error::NotFound)?;
    let name = key_name(&ApiKeyDetails { id, name, created, last_used });
    let (question, hint) = (at.language.remove(name), at.language.remove_key_hint());
    let (action, back) = (at.language.remove_button(), &*app_page(&at.app));
    Ok(ConfirmPage { at: &at, question, hint, action, back }.show())
}

pub(super) async fn revoke(Ids([_, key]): Ids<2>, form: AppForm) -> Result<Response, Error> {
    let (at, app) = (&form.at, &form.app);
    match form.write(DeleteApiKey { app: app.id, key }).await {
        Err(app::Error::Invalid(_)) => {
            page(at, app, Endpoint::default(), Some(at.language.last_key())).await
        }
        revoked => {
            revoked?;
            Ok(at.at_merchant(&app_page(app)))
        }
    }
}
