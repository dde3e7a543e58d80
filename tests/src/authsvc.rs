//! A client of authsvc.

mod metrics;
mod service;
mod site;

use std::sync::LazyLock;

pub use metrics::{Scrape, families};
pub use service::Service;
pub use site::{Credentials, Site};

use crate::openapi::Document;

pub const PROGRAM: &str = "authsvc";

/// The OpenAPI document, against which all answers are checked.
pub static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::parse(include_str!("../../crates/authsvc/assets/openapi.yaml")));

/// The fields of a profile, in the order of the answer.
pub const FIELDS: [&str; 17] = [
    "name",
    "prn",
    "srn",
    "program",
    "branch",
    "semester",
    "section",
    "email",
    "mobile",
    "campusCode",
    "campus",
    "firstName",
    "middleName",
    "lastName",
    "branchShortCode",
    "gender",
    "dateOfBirth",
];
