//! Webhooks: the endpoints of an app, to which the service sends events.

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use sql::{Param, group, named, stored};
use url::{Host, Url};
use zeroize::Zeroizing;

use super::{DeliveryOutcome, EventType, Id, Name};

/// The maximum number of endpoints of an app.
pub(crate) const MAX_WEBHOOKS: usize = 20;

/// The maximum length of the address of an endpoint, in bytes.
const MAX_WEBHOOK_URL: usize = 2048;

/// The status with which a receiver says that it wants no further event: 410 Gone.
const GONE: u16 = 410;

/// How long the old secret of an endpoint also signs after a rotation.
const OLD_SECRET_SIGNS: SignedDuration = SignedDuration::from_hours(24);

group! {
    /// An endpoint of an app, without its secrets.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Webhook {
        id: Id = "id",
        app: Id = "app",
        created: Timestamp = "created",
        details: WebhookDetails = ..,
        /// Why the endpoint receives no events. `None` if it is enabled.
        disabled: Option<DisableReason> = "disabled",
    }
}

group! {
    /// The part of an endpoint that its app chooses.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WebhookDetails {
        url: WebhookUrl = "url",
        types: EventTypes = "types",
        description: Option<Name> = "description",
    }
}

/// A change of an endpoint. `None` keeps the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUpdate {
    pub url: Option<WebhookUrl>,
    pub types: Option<EventTypes>,
    pub description: Option<Name>,
    pub enabled: Option<bool>,
}

impl Webhook {
    pub fn update(&mut self, update: &WebhookUpdate) {
        let WebhookUpdate { url, types, description, enabled } = update;
        if let Some(url) = url {
            self.details.url = url.clone();
        }
        if let Some(types) = types {
            self.details.types = types.clone();
        }
        if let Some(description) = description {
            self.details.description = Some(description.clone());
        }
        match enabled {
            Some(true) => self.disabled = None,
            // The first reason stays.
            Some(false) => self.disabled = self.disabled.or(Some(DisableReason::Request)),
            None => {}
        }
    }
}

named! {
    /// Why an endpoint is disabled.
    pub enum DisableReason {
        /// The app requested it.
        Request = "request",
        /// Deliveries have failed for too long.
        Failures = "failures",
        /// The receiver has answered a delivery with [`GONE`].
        Gone = "gone",
    }
}

impl DisableReason {
    /// Whether an attempt that failed disables the endpoint, and why. `next`: the time of the next
    /// attempt, if there is one.
    pub fn after(outcome: DeliveryOutcome, next: Option<Timestamp>) -> Option<Self> {
        match (outcome, next) {
            (DeliveryOutcome::Refused(GONE), _) => Some(Self::Gone),
            (_, None) => Some(Self::Failures),
            (_, Some(_)) => None,
        }
    }
}

/// The events that an endpoint receives. The empty set means all of them, also types of later
/// versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventTypes(BTreeSet<EventType>);
stored! {
    EventTypes as String: |types| Param::Text(types.names().collect::<Vec<_>>().join(",").into()),
        |names| {
            let names = names.split(',').filter(|name| !name.is_empty());
            names.map(EventType::from_name).collect()
        }
}

impl EventTypes {
    pub fn contains(&self, event_type: EventType) -> bool {
        self.0.is_empty() || self.0.contains(&event_type)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|kind| kind.name())
    }
}

impl FromIterator<EventType> for EventTypes {
    fn from_iter<I: IntoIterator<Item = EventType>>(types: I) -> Self {
        Self(types.into_iter().collect())
    }
}

/// The address of an endpoint, in the normal form of URLs: https, or http to this machine; without
/// a user, password and fragment. It may contain secrets of the receiver, so Debug output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);
stored! {
    WebhookUrl as String: |url| Param::Text(url.as_str().into()), |text| Self::stored(&text)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhookUrl {
    #[error(
        "must be an https URL of at most {MAX_WEBHOOK_URL} characters, without a username, a \
         password and a fragment"
    )]
    Form,
    #[error("must be an https URL: this service does not allow http")]
    Insecure,
    #[error("must be an https URL: http is allowed only for localhost")]
    Elsewhere,
    #[error("must not be an address of a private network")]
    Private,
}

impl WebhookUrl {
    /// `insecure`: whether http to this machine is allowed.
    pub fn new(text: &str, insecure: bool) -> Result<Self, InvalidWebhookUrl> {
        let url = Url::parse(text).map_err(|_| InvalidWebhookUrl::Form)?;
        let is_plain =
            url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        let is_short = text.len().max(url.as_str().len()) <= MAX_WEBHOOK_URL;
        let is_allowed = is_plain && is_short && !text.contains(char::is_control);
        match url.scheme() {
            "https" if is_allowed => Ok(Self(url)),
            "http" if is_allowed && !insecure => Err(InvalidWebhookUrl::Insecure),
            "http" if is_allowed && is_local(&url) => Ok(Self(url)),
            "http" if is_allowed => Err(InvalidWebhookUrl::Elsewhere),
            _ => Err(InvalidWebhookUrl::Form),
        }
    }

    pub fn stored(text: &str) -> Option<Self> {
        Url::parse(text).ok().map(Self)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookUrl")
    }
}

/// A key that signs requests to an endpoint. The store keeps it as it is, because the service must
/// sign with it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Zeroizing<Vec<u8>>);
stored! {
    WebhookSecret as Vec<u8>: |secret| Param::Bytes(secret.as_bytes().into()), Self::stored
}

impl WebhookSecret {
    /// The number of random bytes of a new secret. The Standard Webhooks specification allows 24 to
    /// 64.
    pub const BYTES: usize = 32;

    pub fn new(random: [u8; Self::BYTES]) -> Self {
        Self(random.to_vec().into())
    }

    pub fn stored(bytes: Vec<u8>) -> Option<Self> {
        (24..=64).contains(&bytes.len()).then(|| Self(bytes.into()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text that the receiver configures: `whsec_` and base64.
    pub fn expose(&self) -> Zeroizing<String> {
        let encoded = Zeroizing::new(STANDARD.encode(&*self.0));
        Zeroizing::new(["whsec_", &encoded].concat())
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookSecret")
    }
}

group! {
    /// The secrets of an endpoint.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WebhookSecrets {
        current: WebhookSecret = "secret",
        /// The secret before the last rotation, and until when it also signs.
        previous: Option<(WebhookSecret, Timestamp)> = ("previous_secret", "previous_until"),
    }
}

impl WebhookSecrets {
    /// Replaces the current secret. Of two rotations within a day, only the secret in between and
    /// the new one sign.
    pub fn rotate(&mut self, secret: WebhookSecret, now: Timestamp) {
        let until = now.checked_add(OLD_SECRET_SIGNS).unwrap_or(Timestamp::MAX);
        let old = std::mem::replace(&mut self.current, secret);
        self.previous = Some((old, until));
    }

    /// The secrets that sign a request at this time, the current one first.
    pub fn signing(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        let previous = self.previous.iter().filter(move |(_, until)| now < *until);
        std::iter::once(&self.current).chain(previous.map(|(secret, _)| secret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<String, InvalidWebhookUrl> {
        WebhookUrl::new(text, false).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn an_endpoint_has_an_https_url_without_credentials() {
        for (text, kept) in [
            ("https://shop.example", "https://shop.example/"),
            ("HTTPS://Shop.Example:8443/hook?a=b", "https://shop.example:8443/hook?a=b"),
            ("https://127.1/", "https://127.0.0.1/"),
            ("https://0x7f000001/", "https://127.0.0.1/"),
            ("https://[::1]:5000/", "https://[::1]:5000/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(kept));
        }
        for text in [
            "",
            "shop.example",
            "//shop.example",
            "ftp://shop.example",
            "file:///etc/passwd",
            "https://",
            "https://ann@shop.example",
            "https://ann:pw@shop.example",
            "https://:pw@shop.example",
            "https://shop.example/#hook",
            "https://shop.example/\n",
            "https://shop .example/",
            &format!("https://shop.example/{}", "a".repeat(MAX_WEBHOOK_URL)),
        ] {
            assert_eq!(url(text), Err(InvalidWebhookUrl::Form), "{text}");
        }
        let longest = format!("https://shop.example/{}", "a".repeat(MAX_WEBHOOK_URL - 21));
        assert_eq!(url(&longest).as_deref(), Ok(&*longest));
        let longer = format!("https://shop.example/{}", "é".repeat(MAX_WEBHOOK_URL / 4));
        assert_eq!(url(&longer), Err(InvalidWebhookUrl::Form), "six bytes for each letter");
    }

    #[test]
    fn http_needs_the_setting_and_this_machine() {
        let local = ["http://localhost:8000/", "http://127.0.0.1/", "http://127.9.9.9/hook"];
        for text in local.into_iter().chain(["http://[::1]:1/", "http://127.1"]) {
            assert!(WebhookUrl::new(text, true).is_ok(), "{text}");
            assert_eq!(url(text), Err(InvalidWebhookUrl::Insecure), "{text}");
        }
        for text in ["http://shop.example/", "http://10.0.0.1/", "http://localhost.example/"] {
            assert_eq!(WebhookUrl::new(text, true), Err(InvalidWebhookUrl::Elsewhere), "{text}");
        }
        let mapped = "http://[::ffff:127.0.0.1]/";
        assert_eq!(WebhookUrl::new(mapped, true), Err(InvalidWebhookUrl::Elsewhere));
    }

    #[test]
    fn the_old_secret_signs_for_a_day() {
        let [first, second, third] = [1, 2, 3].map(|byte| WebhookSecret::new([byte; 32]));
        let mut secrets = WebhookSecrets { current: first.clone(), previous: None };
        let start = Timestamp::from_second(1_790_000_000).unwrap();
        let after = |hours| start + SignedDuration::from_hours(hours);
        let signing = |secrets: &WebhookSecrets, hours| {
            secrets.signing(after(hours)).cloned().collect::<Vec<_>>()
        };
        assert_eq!(signing(&secrets, 0), vec![first.clone()]);
        secrets.rotate(second.clone(), start);
        assert_eq!(signing(&secrets, 0), [second.clone(), first.clone()]);
        assert_eq!(signing(&secrets, 23), [second.clone(), first]);
        assert_eq!(signing(&secrets, 24), vec![second.clone()]);
        secrets.rotate(third.clone(), after(1));
        assert_eq!(signing(&secrets, 24), [third.clone(), second]);
        assert_eq!(signing(&secrets, 25), [third]);
    }

    #[test]
    fn a_secret_has_the_form_of_standard_webhooks() {
        let secret = WebhookSecret::new([0xfb; 32]);
        let text = secret.expose();
        let decoded = STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(WebhookSecret::stored(decoded), Some(secret));
        assert_eq!(WebhookSecret::stored(vec![0; 23]), None);
        assert_eq!(WebhookSecret::stored(vec![0; 65]), None);
    }

    #[test]
    fn an_endpoint_that_is_gone_or_has_no_next_attempt_is_disabled() {
        let next = Some(Timestamp::UNIX_EPOCH);
        for (outcome, next, reason) in [
            (DeliveryOutcome::Refused(410), next, Some(DisableReason::Gone)),
            (DeliveryOutcome::Refused(410), None, Some(DisableReason::Gone)),
            (DeliveryOutcome::Refused(404), next, None),
            (DeliveryOutcome::Refused(404), None, Some(DisableReason::Failures)),
            (DeliveryOutcome::TimedOut, next, None),
        ] {
            assert_eq!(DisableReason::after(outcome, next), reason, "{outcome:?}");
        }
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let url = |text| WebhookUrl::new(text, false).unwrap();
        let details = WebhookDetails {
            url: url("https://shop.example/"),
            types: [EventType::PayoutBooked].into_iter().collect(),
            description: None,
        };
        let created = Timestamp::UNIX_EPOCH;
        let webhook = Webhook { id: Id::MIN, app: Id::MIN, created, details, disabled: None };
        let nothing = WebhookUpdate { url: None, types: None, description: None, enabled: None };
        let changed = |from: &Webhook, update: WebhookUpdate| {
            let mut webhook = from.clone();
            webhook.update(&update);
            webhook
        };
        assert_eq!(changed(&webhook, nothing.clone()), webhook);
        let to = url("https://shop.example/other");
        let moved = changed(&webhook, WebhookUpdate { url: Some(to.clone()), ..nothing.clone() });
        assert_eq!((moved.details.url, moved.details.types), (to, webhook.details.types.clone()));
        let switch = |from: &Webhook, enabled| {
            changed(from, WebhookUpdate { enabled: Some(enabled), ..nothing.clone() })
        };
        assert_eq!(switch(&webhook, false).disabled, Some(DisableReason::Request));
        let failed = Webhook { disabled: Some(DisableReason::Failures), ..webhook.clone() };
        assert_eq!(switch(&failed, false), failed);
        assert_eq!(switch(&failed, true), webhook);
    }
}
