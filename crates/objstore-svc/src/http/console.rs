//! The console, a page to try the API.

use axum::Router;
use common::pages::{CSS, File, JAVASCRIPT, STRICT, shared};

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../assets/console/", $name))
    };
}

/// `/`, and the files that it loads.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    shared()
        .route("/", File::page(file!("index.html"), STRICT).route())
        .route("/console/console.css", File::new(CSS, file!("console.css")).route())
        .route("/console/console.js", File::new(JAVASCRIPT, file!("console.js")).route())
        .route("/console/api.js", File::new(JAVASCRIPT, file!("api.js")).route())
        .route("/console/changes.js", File::new(JAVASCRIPT, file!("changes.js")).route())
        .route("/console/objects.js", File::new(JAVASCRIPT, file!("objects.js")).route())
}
