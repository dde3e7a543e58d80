//! The webhooks of an app, and what was sent to them.

use std::borrow::Cow;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use payments_domain::{
    Delivery, DisableReason, EventType, EventTypes, Id, MAX_RECORDED_ATTEMPTS, PageQuery, Webhook,
    WebhookDetails, WebhookSecret, WebhookUpdate, WebhookUrl,
    actions::{CreateWebhook, DeleteWebhook, ReplayWebhook, RotateWebhook, UpdateWebhook},
    write::AttemptRow,
};

use super::{
    confirm::ConfirmPage,
    developers::{self, AppForm, AtApp, SecretPage, app_page},
    form::{Form, key},
    path::Ids,
    payments::time,
    search::beginning,
    view::{self, Field},
    visitor::AtMerchant,
};
use crate::{
    app::{self, now},
    language::Language,
    web::{Error, json::test_message},
};

/// The part of a form with the address and the events of a webhook.
#[derive(Default)]
pub(super) struct Endpoint<'a> {
    pub(super) url: Cow<'a, str>,
    pub(super) types: EventTypes,
    /// Whether the address is not allowed.
    pub(super) is_wrong: bool,
}

impl Endpoint<'_> {
    /// Reads the part. `Err` if the address is not allowed.
    fn read(form: &Form) -> Result<(WebhookUrl, EventTypes), Self> {
        let url = form.text("url");
        let types = form.body.read(|fields| fields.texts("types", str::parse::<EventType>));
        let types: EventTypes = types.ok().flatten().unwrap_or_default();
        match form.at.payments().webhook_url(&url) {
            Ok(url) => Ok((url, types)),
            Err(_) => Err(Self { url: url.into(), types, is_wrong: true }),
        }
    }

    pub(super) fn field<'a>(&'a self, language: &'a Language) -> Field<'a> {
        Field {
            name: "url",
            label: language.webhook_url(),
            value: &self.url,
            attributes: "type=\"url\" autocomplete=\"off\" required maxlength=\"2048\"",
            hint: None,
            error: self.is_wrong.then(|| language.webhook_url_error()),
        }
    }

    /// All types, each with whether it is chosen.
    pub(super) fn choices(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let name = |kind: EventType| kind.name();
        EventType::ALL.into_iter().map(name).map(|name| (name, self.has(name)))
    }

    fn has(&self, name: &str) -> bool {
        self.types.names().any(|chosen| chosen == name)
    }
}

/// Whether a webhook is disabled, and why.
pub(super) fn state<'a>(language: &'a Language, webhook: &Webhook) -> Cow<'a, str> {
    match webhook.disabled {
        None => language.enabled(),
        Some(DisableReason::Request) => language.disabled(),
        Some(DisableReason::Failures) => language.disabled_failures(),
        Some(DisableReason::Gone) => language.disabled_gone(),
    }
}

#[derive(Template)]
#[template(path = "desk/webhook.html")]
struct WebhookPage<'a> {
    at: &'a AtMerchant,
    webhook: &'a Webhook,
    endpoint: Endpoint<'a>,
    deliveries: &'a [AttemptRow],
    /// What came of a test.
    tested: Option<Delivery>,
    /// Whether the day was none.
    wrong_day: bool,
}

impl WebhookPage<'_> {
    fn path(&self) -> String {
        format!("{}{}", self.at.path(), webhook_page(self.webhook))
    }

    fn delivery(&self, Delivery { outcome, duration }: &Delivery) -> String {
        let language = self.at.language;
        let result = if outcome.is_delivered() { language.delivered() } else { language.failed() };
        let reason =
            outcome.status().map_or_else(|| outcome.name().to_owned(), |it| it.to_string());
        format!("{result} ({reason}, {} ms)", duration.as_millis())
    }

    fn day(&self) -> Field<'_> {
        let language = self.at.language;
        Field {
            name: "from",
            label: language.first_day(),
            value: "",
            attributes: "type=\"date\" required",
            hint: Some(language.send_again_hint()),
            error: self.wrong_day.then(|| language.day_error()),
        }
    }
}

/// The page of a webhook, below that of the merchant.
fn webhook_page(webhook: &Webhook) -> String {
    format!("/developers/{}/webhooks/{}", webhook.app, webhook.id)
}

pub(super) async fn create(form: AppForm) -> Result<Response, Error> {
    let (at, app) = (&form.at, &form.app);
    let (url, types) = match Endpoint::read(&form) {
        Ok(read) => read,
        Err(endpoint) => return developers::page(at, app, endpoint, None).await,
    };
    let secret = WebhookSecret::new(form.random());
    let details = Box::new(WebhookDetails { url, types, description: None });
    let action = CreateWebhook { app: app.id, details, secret: secret.clone() };
    let written = form.write(action).await;
    if let Err(app::Error::Invalid(_)) = written {
        let reason = at.language.too_many_webhooks();
        return developers::page(at, app, Endpoint::default(), Some(reason)).await;
    }
    show_secret(&form, written?, &secret).await
}

async fn show_secret(
    form: &AppForm,
    written: app::Written<Webhook>,
    secret: &WebhookSecret,
) -> Result<Response, Error> {
    let secret = secret.expose();
    let secret = form.shows_secret(&written).await?.then_some(secret.as_str());
    let (at, heading) = (&form.at, form.at.language.new_secret());
    let back = webhook_page(&written.outcome);
    Ok(view::page(StatusCode::OK, &SecretPage { at, heading, secret, back }))
}

pub(super) async fn show(at: AtApp, Ids([_, webhook]): Ids<2>) -> Result<Response, Error> {
    let webhook = at.payments().webhook_of_app(at.app.id, webhook).await?;
    page(&at, &webhook, None, Shown::default()).await
}

/// What a page shows beside the webhook.
#[derive(Default)]
struct Shown {
    tested: Option<Delivery>,
    wrong_day: bool,
}

/// `endpoint`: what the user has typed, if it is wrong.
async fn page(
    at: &AtMerchant,
    webhook: &Webhook,
    endpoint: Option<Endpoint<'_>>,
    Shown { tested, wrong_day }: Shown,
) -> Result<Response, Error> {
    let last = PageQuery { limit: MAX_RECORDED_ATTEMPTS, before: None, after: None };
    let deliveries = &*at.payments().deliveries(webhook.id)(last).await?;
    let is_wrong = endpoint.is_some() || wrong_day;
    let status = if is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let endpoint = endpoint.unwrap_or_else(|| Endpoint {
        url: webhook.details.url.as_str().into(),
        types: webhook.details.types.clone(),
        is_wrong: false,
    });
    let page = WebhookPage { at, webhook, endpoint, deliveries, tested, wrong_day };
    Ok(view::page(status, &page))
}

pub(super) async fn update(Ids([_, webhook]): Ids<2>, form: AppForm) -> Result<Response, Error> {
    let (at, app) = (&form.at, form.app.id);
    let webhook = at.payments().webhook_of_app(app, webhook).await?;
    let (url, types) = match Endpoint::read(&form) {
        Ok(read) => read,
        Err(endpoint) => return page(at, &webhook, Some(endpoint), Shown::default()).await,
    };
    let (url, types, enabled) = (Some(url), Some(types), Some(form.text("enabled") == "yes"));
    let update = Box::new(WebhookUpdate { url, types, description: None, enabled });
    form.write(UpdateWebhook { app, webhook: webhook.id, update }).await?;
    Ok(at.at_merchant(&webhook_page(&webhook)))
}

/// Sends a test at each request: it changes nothing.
pub(super) async fn test(Ids([_, webhook]): Ids<2>, form: AppForm) -> Result<Response, Error> {
    let payments = form.at.payments();
    let webhook = payments.webhook_of_app(form.app.id, webhook).await?;
    let tested = Some(payments.test_webhook(&webhook, test_message()).await?);
    page(&form.at, &webhook, None, Shown { tested, wrong_day: false }).await
}

pub(super) async fn rotate(Ids([_, webhook]): Ids<2>, form: AppForm) -> Result<Response, Error> {
    let secret = WebhookSecret::new(form.random());
    let action = RotateWebhook { app: form.app.id, webhook, secret: secret.clone() };
    show_secret(&form, form.write(action).await?, &secret).await
}

pub(super) async fn replay(Ids([_, webhook]): Ids<2>, form: AppForm) -> Result<Response, Error> {
    let (at, app) = (&form.at, form.app.id);
    let webhook = at.payments().webhook_of_app(app, webhook).await?;
    let Some(from) = beginning(&form.text("from"), 0).filter(|from| *from <= now()) else {
        return page(at, &webhook, None, Shown { tested: None, wrong_day: true }).await;
    };
    form.write(ReplayWebhook { app, webhook: webhook.id, after: Id::at(from) }).await?;
    Ok(at.at_merchant(&webhook_page(&webhook)))
}

pub(super) async fn ask(at: AtApp, Ids([_, webhook]): Ids<2>) -> Result<Response, Error> {
    let webhook = at.payments().webhook_of_app(at.app.id, webhook).await?;
    let question = at.language.remove(webhook.details.url.as_str());
    let (hint, action) = (at.language.remove_webhook_hint(), at.language.remove_button());
    Ok(ConfirmPage { at: &at, question, hint, action, back: &webhook_page(&webhook) }.show())
}

pub(super) async fn delete(Ids([_, webhook]): Ids<2>, form: AppForm) -> Result<Response, Error> {
    form.write(DeleteWebhook { app: form.app.id, webhook }).await?;
    Ok(form.at.at_merchant(&app_page(&form.app)))
}
