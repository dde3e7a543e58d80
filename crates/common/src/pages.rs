//! Pages for browsers, with the files that they load. They load nothing from another origin.

use std::{
    io,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use bytes::Bytes;
use flate2::{
    Compression,
    read::{GzDecoder, GzEncoder},
};
use sha2::{Digest as _, Sha256};

/// Content type of style sheets.
pub const CSS: &str = "text/css; charset=utf-8";
/// Content type of scripts.
pub const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Content security policy of a page that loads only files of its own service and is shown in no
/// frame.
pub const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                          img-src 'self' data:; connect-src 'self'; font-src 'self'; \
                          base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Browsers use a file for five minutes without a question: a new version may change it. After
/// that, they ask with its entity tag.
const SHORT_CACHE: &str = "public, max-age=300";

/// Files smaller than this are not compressed: they fit into one packet.
const MIN_COMPRESSED: usize = 1024;

/// Scripts and a style sheet of other projects, packed by `scripts/vendor`.
pub const REDOC: &[u8] = include_bytes!("../assets/vendored/redoc.standalone.js.gz");
const SWAGGER: &[u8] = include_bytes!("../assets/vendored/swagger-ui-bundle.js.gz");
const SWAGGER_STYLE: &[u8] = include_bytes!("../assets/vendored/swagger-ui.css.gz");

/// A file that stays the same while the process runs, with its entity tag. It is compressed or
/// unpacked once, when the first browser needs this.
pub struct File {
    headers: HeaderMap,
    plain: Form,
    /// `None` for a file that fits into one packet.
    gzip: Option<Form>,
}

type Form = LazyLock<Bytes, Box<dyn FnOnce() -> Bytes + Send>>;

impl File {
    /// A file that pages load.
    pub fn new(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let headers = headers(content_type, &bytes);
        let gzip = (bytes.len() >= MIN_COMPRESSED).then(|| {
            let bytes = bytes.clone();
            form(move || read(GzEncoder::new(&*bytes, Compression::default())))
        });
        Self { headers, plain: form(move || bytes), gzip }
    }

    /// A file that is stored in its compressed form.
    pub fn packed(content_type: &'static str, gzip: &'static [u8]) -> Self {
        Self {
            headers: headers(content_type, gzip),
            plain: form(move || read(GzDecoder::new(gzip))),
            gzip: Some(form(move || Bytes::from_static(gzip))),
        }
    }

    /// An HTML page with its content security policy.
    pub fn page(html: impl Into<Bytes>, policy: &'static str) -> Self {
        let mut page = Self::new("text/html; charset=utf-8", html);
        page.headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        page.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        page
    }

    /// Answers `GET` and `HEAD`.
    pub fn route<S: Clone + Send + Sync + 'static>(self) -> MethodRouter<S> {
        let file = Arc::new(self);
        get(async move |request: HeaderMap| file.respond(&request))
    }

    fn respond(&self, request: &HeaderMap) -> Response {
        let mut headers = self.headers.clone();
        if is_known(request, self.headers.get(header::ETAG)) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let Some(gzip) = self.gzip.as_ref().filter(|_| accepts_gzip(request)) else {
            return (headers, Bytes::clone(&self.plain)).into_response();
        };
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        (headers, Bytes::clone(gzip)).into_response()
    }
}

fn form(make: impl FnOnce() -> Bytes + Send + 'static) -> Form {
    LazyLock::new(Box::new(make))
}

/// The headers of a file, whose tag is that of these bytes.
fn headers(content_type: &'static str, tagged: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(SHORT_CACHE));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(tag) = entity_tag(tagged) {
        headers.insert(header::ETAG, tag);
    }
    headers
}

/// A weak tag: the compressed and the plain form have the same one.
fn entity_tag(bytes: &[u8]) -> Option<HeaderValue> {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let digest = u64::from_be_bytes(*digest.first_chunk()?);
    HeaderValue::try_from(format!("W/\"{digest:016x}\"")).ok()
}

/// Compresses or unpacks bytes in memory. A test unpacks each packed file.
fn read(mut from: impl io::Read) -> Bytes {
    let mut bytes = Vec::new();
    let _read = from.read_to_end(&mut bytes);
    bytes.into()
}

/// Whether `If-None-Match` names the tag.
fn is_known(request: &HeaderMap, tag: Option<&HeaderValue>) -> bool {
    let Some(tag) = tag.and_then(|tag| tag.to_str().ok()) else { return false };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    items(request, header::IF_NONE_MATCH).any(|item| item == "*" || opaque(item) == opaque(tag))
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    items(request, header::ACCEPT_ENCODING).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = |weight: &str| {
            let value = weight.strip_prefix("q=").and_then(|value| value.parse::<f32>().ok());
            value == Some(0.0)
        };
        is_gzip && !parts.any(is_refused)
    })
}

/// The items of a header that is a list.
fn items(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim))
}

/// The style sheet and the functions that the pages of several services load.
pub fn shared<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let style = include_str!("../assets/page/page.css");
    let script = include_str!("../assets/page/page.js");
    Router::new()
        .route("/page.css", File::new(CSS, style).route())
        .route("/page.js", File::new(JAVASCRIPT, script).route())
}

/// `/openapi.json`, and at `/docs` the reference of the service, by Swagger UI.
pub fn reference<S: Clone + Send + Sync + 'static>(
    service: &str,
    openapi: impl Into<Bytes>,
) -> Router<S> {
    let page = include_str!("../assets/docs/swagger.html").replace("SERVICE", service);
    Router::new()
        .route("/openapi.json", File::new("application/json", openapi).route())
        .route("/docs", File::page(page, STRICT).route())
        .route(
            "/docs/swagger.js",
            File::new(JAVASCRIPT, include_str!("../assets/docs/swagger.js")).route(),
        )
        .route("/docs/docs.css", File::new(CSS, include_str!("../assets/docs/docs.css")).route())
        .route("/docs/swagger-ui.css", File::packed(CSS, SWAGGER_STYLE).route())
        .route("/docs/swagger-ui-bundle.js", File::packed(JAVASCRIPT, SWAGGER).route())
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    fn asks(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().cloned();
        pairs.map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
    }

    async fn body(response: Response) -> Bytes {
        to_bytes(response.into_body(), usize::MAX).await.unwrap()
    }

    #[tokio::test]
    async fn vendored_files_have_their_checksums() {
        let mut sums = String::new();
        for (name, packed) in [
            ("redoc.standalone.js", REDOC),
            ("swagger-ui.css", SWAGGER_STYLE),
            ("swagger-ui-bundle.js", SWAGGER),
        ] {
            let plain = body(File::packed(JAVASCRIPT, packed).respond(&HeaderMap::new())).await;
            let digest = Bytes::copy_from_slice(&Sha256::digest(plain));
            sums.push_str(&format!("{digest:x}  {name}\n"));
        }
        assert_eq!(sums, include_str!("../assets/vendored/SHA256SUMS"));
    }

    #[tokio::test]
    async fn a_file_is_compressed_for_browsers_that_accept_it() {
        let text = "a line of text\n".repeat(1000);
        let file = File::new(CSS, text.clone());
        for accepted in ["gzip", "br, GZIP;q=0.5", "deflate,gzip , *"] {
            let response = file.respond(&asks(&[(header::ACCEPT_ENCODING, accepted)]));
            assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip", "{accepted}");
            let sent = body(response).await;
            assert_eq!(read(GzDecoder::new(&*sent)), text);
            assert!(sent.len() < text.len() / 10);
        }
        for refused in ["", "br", "gzip;q=0", "gzip; q=0.0", "gzipped"] {
            let response = file.respond(&asks(&[(header::ACCEPT_ENCODING, refused)]));
            assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{refused}");
            assert_eq!(body(response).await, text);
        }
    }

    #[tokio::test]
    async fn a_file_that_the_browser_has_is_not_sent_again() {
        let file = File::page("<p>", STRICT);
        let tag = file.respond(&HeaderMap::new()).headers()[header::ETAG].clone();
        let tag: &'static str = tag.to_str().unwrap().to_owned().leak();
        for known in [tag, tag.trim_start_matches("W/"), "*"] {
            let response = file.respond(&asks(&[(header::IF_NONE_MATCH, known)]));
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert!(body(response).await.is_empty());
        }
        let other = file.respond(&asks(&[(header::IF_NONE_MATCH, "\"other\"")]));
        assert_eq!((other.status(), body(other).await), (StatusCode::OK, "<p>".into()));
    }
}
