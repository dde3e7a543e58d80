//! The files that pages are made of. Nothing comes from another origin.

use std::{fmt::Write as _, sync::LazyLock};

use axum::{http::header, response::IntoResponse};
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("../../assets/page/page.css");
const SCRIPT: &str = include_str!("../../assets/page/page.js");

/// What pages ask for the files by, so that a browser may keep them: other files have another.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::new().chain_update(STYLE).chain_update(SCRIPT).finalize();
    digest.iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
});

const FOREVER: &str = "public, max-age=31536000, immutable";

/// How pages look.
pub(super) async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", STYLE)
}

/// What makes typing easier, where there is JavaScript.
pub(super) async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", SCRIPT)
}

fn file(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, FOREVER)], text)
}
