//! The script of the pages. Pages load nothing from other origins.

use std::sync::LazyLock;

use axum::response::IntoResponse;
use payments_domain::Scheme;

use crate::web::page::{STYLE, file, version};

/// `page.js`, after the table of the schemes, so that the ranges of card numbers stand once.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let schemes = Scheme::RANGES.map(|(first, last, scheme)| {
        (first, last, scheme.name(), scheme.brand(), scheme.lengths(), scheme.code_lengths())
    });
    let schemes = serde_json::json!(schemes);
    format!("const SCHEMES = {schemes};\n\n{}", include_str!("../../assets/page/page.js"))
});

/// The version of the style sheet and the script.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| version(&[STYLE, &SCRIPT]));

/// Optional: it makes typing easier. Pages work without JavaScript.
pub(super) async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", &SCRIPT)
}
