//! HTML pages and their files. They load nothing from another origin.

use std::sync::{Arc, LazyLock};

use aide::redoc::Redoc;
use axum::{
    Router,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};
use utoipa_swagger_ui::Config;

use super::{App, error::Error};

const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// Content security policy of most pages: only files of this service, and no frames.
const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Content security policy of ReDoc, which adds two inline styles, one of them empty, and searches
/// in a worker.
const REDOC: &str = "default-src 'none'; script-src 'self'; \
                     style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' \
                     'sha256-DLDPR1ic47WIdK2WyeLkblb/tm2mQH+Jt/NNhZWu1k0='; \
                     img-src 'self' data:; connect-src 'self'; font-src 'self'; worker-src blob:; \
                     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Browsers cache files only for five minutes, because a new version may change them.
const SHORT_CACHE: &str = "public, max-age=300";

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(|| page(include_str!("../../assets/explorer/index.html"), STRICT)))
        .route(
            "/explorer.css",
            get(|| file(CSS, include_bytes!("../../assets/explorer/explorer.css"))),
        )
        .route(
            "/explorer.js",
            get(|| file(JAVASCRIPT, include_bytes!("../../assets/explorer/explorer.js"))),
        )
        .route("/docs", get(|| page(include_str!("../../assets/docs/swagger.html"), STRICT)))
        .route(
            "/docs/swagger.js",
            get(|| file(JAVASCRIPT, include_bytes!("../../assets/docs/swagger.js"))),
        )
        .route("/docs/docs.css", get(|| file(CSS, include_bytes!("../../assets/docs/docs.css"))))
        .route("/docs/swagger-ui.css", get(|| swagger(CSS, "swagger-ui.css")))
        .route("/docs/swagger-ui-bundle.js", get(|| swagger(JAVASCRIPT, "swagger-ui-bundle.js")))
        .route("/redoc", get(|| page(include_str!("../../assets/docs/redoc.html"), REDOC)))
        .route(
            "/redoc/redoc.js",
            get(|| file(JAVASCRIPT, include_bytes!("../../assets/docs/redoc.js"))),
        )
        .route("/redoc/redoc.standalone.js", get(|| file(JAVASCRIPT, REDOC_SCRIPT.as_bytes())))
        .route("/openapi.json", get(|| file("application/json", OPENAPI.as_bytes())))
}

async fn page(html: &'static str, policy: &'static str) -> impl IntoResponse {
    let content_type = (header::CONTENT_TYPE, "text/html; charset=utf-8");
    ([content_type, (header::CONTENT_SECURITY_POLICY, policy)], html)
}

async fn file(content_type: &'static str, bytes: &'static [u8]) -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, SHORT_CACHE)];
    (headers, bytes)
}

/// Returns an embedded file of Swagger UI. Its crate may store the file compressed with gzip.
async fn swagger(content_type: &'static str, name: &'static str) -> Response {
    static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(Arc::default);
    let Ok(Some(found)) = utoipa_swagger_ui::serve(name, Arc::clone(&CONFIG)) else {
        return Error::Missing(name).into_response();
    };
    let mut response = found.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(SHORT_CACHE));
    if found.gzpipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The script of ReDoc, extracted from the page of its crate. The logo that it would fetch is
/// removed.
static REDOC_SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let page = Redoc::new("").html();
    let script = page.split_once("<script>").map_or("", |(_, rest)| rest);
    let script = script.rsplit_once("Redoc.init(").map_or("", |(script, _)| script);
    script.replace("https://cdn.redoc.ly/redoc/logo-mini.svg", "data:,")
});
