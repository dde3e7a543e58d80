//! The style sheet and the script of the pages. Pages load nothing from other origins.

use std::{fmt::Write as _, sync::LazyLock};

use axum::{http::header, response::IntoResponse};
use payments_domain::Scheme;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("../../assets/page/page.css");

/// `page.js`, after the table of the schemes, so that the ranges of card numbers stand once.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let schemes = Scheme::RANGES.map(|(first, last, scheme)| {
        (first, last, scheme.name(), scheme.brand(), scheme.lengths(), scheme.code_lengths())
    });
    let schemes = serde_json::json!(schemes);
    format!("const SCHEMES = {schemes};\n\n{}", include_str!("../../assets/page/page.js"))
});

/// Version in the URLs of both files: a digest of their content. Browsers may cache a file for a
/// year, because a changed file gets a new URL.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::new().chain_update(STYLE).chain_update(&*SCRIPT).finalize();
    digest.iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
});

const CACHE_ONE_YEAR: &str = "public, max-age=31536000, immutable";

pub(super) async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", STYLE)
}

/// Optional: it makes typing easier. Pages work without JavaScript.
pub(super) async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", &SCRIPT)
}

fn file(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, CACHE_ONE_YEAR)], text)
}
