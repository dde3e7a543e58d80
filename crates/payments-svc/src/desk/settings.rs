use url::Url;

/// The settings of the desk.
pub(crate) struct Settings {
    /// The path of its pages, with a slash at the end.
    pub(super) path: String,
    pub(super) origin: String,
    /// Whether browsers use TLS.
    pub(super) is_secure: bool,
}

impl Settings {
    /// `url` is the public URL of the desk, with a slash at the end.
    pub(crate) fn new(url: &Url) -> Self {
        Self {
            path: url.path().to_owned(),
            origin: url.origin().ascii_serialization(),
            is_secure: url.scheme() == "https",
        }
    }
}
