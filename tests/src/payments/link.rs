//! A payment link, and the requests of a customer who follows it without a browser.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use reqwest::{Method, Url};
use tokio::process::Command;

use super::{Card, Merchant, Service};
use crate::{http::Answer, process};

/// The content type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Signs `$1` with the link secret `$2`.
const SIGN: &str = "printf %s \"$1\" | openssl dgst -sha256 -hmac \"$2\" -r | cut -d ' ' -f 1";

/// Everything but the unreserved characters of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The query parameters of a payment link.
#[derive(Clone, Debug)]
pub struct Link(Vec<(String, String)>);

impl Link {
    /// A link to pay EUR 9.95 to a test merchant.
    pub fn to(merchant: &Merchant) -> Self {
        Self(Vec::new())
            .with("key", &merchant.key)
            .with("test", "1")
            .with("currency", "EUR")
            .with("value", "9.95")
    }

    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        let mut link = self.without(name);
        link.0.push((name.to_owned(), value.to_owned()));
        link
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|(other, _)| other != name);
        self
    }

    /// The link with a signature, made as the documentation of payment links does.
    pub async fn sign(self, secret: &str) -> Self {
        let mut parameters = self.without("signature").0;
        parameters.sort();
        let encode = |(name, value)| format!("{name}={}", percent_encode(value, UNRESERVED));
        let text = parameters.iter().map(|(name, value)| encode((name, value.as_bytes())));
        let text = text.collect::<Vec<_>>().join("&");
        let mut shell = Command::new("sh");
        shell.args(["-c", SIGN, "sh", &text, secret]);
        let signature = process::run(shell).await.stdout;
        let signature = String::from_utf8(signature).expect("text").trim().to_owned();
        Self(parameters).with("signature", &signature)
    }

    /// The path with the query.
    pub fn path(&self) -> String {
        let url = Url::parse_with_params("http://localhost/", &self.0).expect("a link");
        format!("/?{}", url.query().unwrap_or_default())
    }
}

impl Service {
    /// Reads a page of the listener for customers.
    pub async fn show(&self, path: &str) -> Answer {
        self.pos(Method::GET, path).send_undescribed().await
    }

    /// Opens a link with a fixed amount. Returns the path of the form that it redirects to.
    pub async fn open(&self, link: &Link) -> String {
        next(&self.show(&link.path()).await)
    }

    /// Sends a card with the form at `path`.
    pub async fn send_card(&self, path: &str, card: Card) -> Answer {
        let body = format!("number={}&expiry=02+%2F+48&code=739", card.0);
        self.send_form(path, &body).await
    }

    /// Sends a form to a page.
    pub async fn send_form(&self, path: &str, body: &str) -> Answer {
        self.pos(Method::POST, path).body_of(FORM, body).send_undescribed().await
    }

    /// Pays at a link with a card, up to a challenge if there is one. Returns the path of the form
    /// and the page then shown there.
    pub async fn pay_at(&self, link: &Link, card: Card) -> (String, Answer) {
        let form = self.open(link).await;
        let outcome = next(&self.send_card(&form, card).await);
        assert_eq!(outcome.trim_end_matches("&continue=y"), form);
        let page = self.show(&form).await;
        (form, page)
    }
}

/// The path that a 303 answer redirects to, on the same origin.
#[track_caller]
pub fn next(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer:?}");
    let location = answer.header("location").expect("a location");
    let rest = location.strip_prefix("./").unwrap_or_else(|| panic!("redirects to {location}"));
    format!("/{rest}")
}
