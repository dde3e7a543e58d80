use url::Url;

use crate::authenticator::DeskKey;

/// The settings of the desk.
pub(crate) struct Settings {
    /// The path of its pages, with a slash at the end.
    pub(super) path: String,
    pub(super) origin: String,
    /// Whether browsers use TLS.
    pub(super) is_secure: bool,
    /// The name of the desk in authenticator apps.
    pub(super) host: String,
    pub(super) key: DeskKey,
    /// The public URL of the payment page, with a slash at the end.
    pub(super) payment_page: String,
}

impl Settings {
    /// `url` is the public URL of the desk, with a slash at the end.
    pub(crate) fn new(url: &Url, key: DeskKey) -> Self {
        Self {
            path: url.path().to_owned(),
            origin: url.origin().ascii_serialization(),
            is_secure: url.scheme() == "https",
            host: url.host_str().unwrap_or_default().to_owned(),
            key,
            payment_page: String::new(),
        }
    }

    /// `url` is the public URL of the payment page.
    pub(crate) fn with_payment_page(self, url: &str) -> Self {
        Self { payment_page: format!("{}/", url.trim_end_matches('/')), ..self }
    }
}
