//! The explorer and the reference.

use std::sync::Arc;

use aide::redoc::Redoc;
use axum::Router;
use common::pages::{CSS, File, JAVASCRIPT, STRICT, reference, shared};

use super::App;

const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// Content security policy of ReDoc, which adds two inline styles, one of them empty, and searches
/// in a worker.
const REDOC: &str = "default-src 'none'; script-src 'self'; \
                     style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' \
                     'sha256-DLDPR1ic47WIdK2WyeLkblb/tm2mQH+Jt/NNhZWu1k0='; \
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
        .route("/redoc", File::page(redoc, REDOC).route())
        .route("/redoc/redoc.js", File::new(JAVASCRIPT, redoc_script).route())
        .route("/redoc/redoc.standalone.js", File::new(JAVASCRIPT, redoc_bundle()).route())
}

/// The script of ReDoc, extracted from the page of its crate. The logo that it would fetch is
/// removed.
fn redoc_bundle() -> String {
    let page = Redoc::new("").html();
    let script = page.split_once("<script>").map_or("", |(_, rest)| rest);
    let script = script.rsplit_once("Redoc.init(").map_or("", |(script, _)| script);
    script.replace("https://cdn.redoc.ly/redoc/logo-mini.svg", "data:,")
}
