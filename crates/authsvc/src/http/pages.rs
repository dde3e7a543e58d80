//! The explorer and the reference.

use std::sync::Arc;

use axum::Router;
use common::pages::{CSS, File, JAVASCRIPT, REDOC, STRICT, reference, shared};

use super::App;

const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// Content security policy of ReDoc, which adds two inline styles, one of them empty, and searches
/// in a worker.
const REDOC_POLICY: &str = "default-src 'none'; script-src 'self'; \
                     style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' \
                     'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='; \
                     img-src 'self' data:; connect-src 'self'; font-src 'self'; worker-src blob:; \
                     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<Arc<App>> {
    let explorer = include_str!("../../assets/explorer/index.html");
    let style = include_str!("../../assets/explorer/explorer.css");
    let script = include_str!("../../assets/explorer/explorer.js");
    let fields = include_str!("../../assets/explorer/fields.js");
    let snippets = include_str!("../../assets/explorer/snippets.js");
    let redoc = include_str!("../../assets/docs/redoc.html");
    let redoc_script = include_str!("../../assets/docs/redoc.js");
    reference("authsvc", OPENAPI)
        .merge(shared())
        .route("/", File::page(explorer, STRICT).route())
        .route("/explorer.css", File::new(CSS, style).route())
        .route("/explorer.js", File::new(JAVASCRIPT, script).route())
        .route("/fields.js", File::new(JAVASCRIPT, fields).route())
        .route("/snippets.js", File::new(JAVASCRIPT, snippets).route())
        .route("/redoc", File::page(redoc, REDOC_POLICY).route())
        .route("/redoc/redoc.js", File::new(JAVASCRIPT, redoc_script).route())
        .route("/redoc/redoc.standalone.js", File::packed(JAVASCRIPT, REDOC).route())
}
