//! The settings of the payment page.

use std::{borrow::Cow, sync::Arc};

use axum::http::HeaderValue;
use payments_domain::Scheme;
use url::Url;

use super::{language::Language, view};
use crate::receipt_links::ReceiptLinks;

pub(crate) struct Settings {
    /// The public URL of the page. Ends with a slash.
    pub(super) url: String,
    /// The path of the page, as browsers see it.
    pub(super) path: String,
    /// Whether browsers reach the page with TLS.
    pub(super) is_secure: bool,
    /// The schemes that the card form shows.
    pub(super) schemes: Vec<Scheme>,
    /// The terms, the privacy policy and the accessibility statement.
    links: [Option<Url>; 3],
    /// `None`: the page of a live merchant has fields for the card itself.
    pub(super) tokenizer: Option<Tokenizer>,
    /// `None`: payers get no receipts by mail.
    pub(super) receipts: Option<Arc<ReceiptLinks>>,
}

/// The acquirer's script, which puts a field for the card into the page and gives a token for it. So
/// the service does not receive card numbers.
pub(crate) struct Tokenizer {
    /// The public key for the script.
    pub(super) key: String,
    pub(super) script_url: String,
    /// The Content Security Policy of a page with the script.
    pub(super) policy: HeaderValue,
}

impl Tokenizer {
    /// `api_url` is the URL to which the script sends the card.
    pub(crate) fn new(key: String, script_url: &Url, api_url: &Url) -> Self {
        let [script, api] = [script_url, api_url].map(|url| url.origin().ascii_serialization());
        Self {
            key,
            script_url: script_url.to_string(),
            policy: view::policy(Some((&script, &api))),
        }
    }
}

impl Settings {
    /// `url` is the public URL of the page, `links` are those to the terms, the privacy policy and the
    /// accessibility statement.
    pub(crate) fn new(url: &str, schemes: Vec<Scheme>, links: [Option<Url>; 3]) -> Self {
        let url = format!("{}/", url.trim_end_matches('/'));
        let parsed = Url::parse(&url).ok();
        let path = parsed.as_ref().map_or("/", Url::path).to_owned();
        let is_secure = parsed.is_some_and(|url| url.scheme() == "https");
        let (tokenizer, receipts) = (None, None);
        Self { url, path, is_secure, schemes, links, tokenizer, receipts }
    }

    /// The links below each page, with their texts.
    pub(super) fn links(&self, language: &'static Language) -> Vec<(Cow<'static, str>, &Url)> {
        let texts = [language.terms(), language.privacy(), language.accessibility()];
        let links = texts.into_iter().zip(&self.links);
        links.filter_map(|(text, url)| Some((text, url.as_ref()?))).collect()
    }

    pub(crate) fn with_receipts(self, receipts: Option<Arc<ReceiptLinks>>) -> Self {
        Self { receipts, ..self }
    }

    pub(crate) fn with_tokenizer(self, tokenizer: Tokenizer) -> Self {
        Self { tokenizer: Some(tokenizer), ..self }
    }
}
