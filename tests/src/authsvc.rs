//! authsvc from outside.

mod metrics;
mod service;
mod site;

use std::sync::LazyLock;

pub use metrics::{Scrape, families};
pub use service::Service;
pub use site::{Known, Site};

use crate::openapi::Document;

/// The name of the program.
pub const PROGRAM: &str = "authsvc";

/// What the service says of itself.
pub static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::parse(include_str!("../../crates/authsvc/assets/openapi.yaml")));

/// The fields of a profile, in their order.
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
