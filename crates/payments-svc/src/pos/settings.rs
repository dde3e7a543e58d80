//! The settings of the payment page.

use url::Url;

pub(crate) struct Settings {
    /// The path of the page, as browsers see it.
    pub(super) path: String,
    /// Whether browsers reach the page with TLS.
    pub(super) is_secure: bool,
    pub(super) terms_url: Option<Url>,
    pub(super) privacy_url: Option<Url>,
}

impl Settings {
    /// `url` is the public URL of the page.
    pub(crate) fn new(url: &str, terms_url: Option<Url>, privacy_url: Option<Url>) -> Self {
        let url = Url::parse(url).ok();
        let path = url.as_ref().map_or("/", Url::path);
        let path = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
        let is_secure = url.is_some_and(|url| url.scheme() == "https");
        Self { path, is_secure, terms_url, privacy_url }
    }
}
