//! Requests to authsvc and its peers.

use crate::load::line::Call;

pub(crate) fn health() -> Call {
    Call::Get { path: "/health".to_owned(), headers: String::new() }
}

/// A sign-in that violates two rules: an empty password, and a `profile` that is not a boolean.
pub(crate) fn refused() -> Call {
    let body = r#"{"username":"QLV1UG23CS217","password":"","profile":"yes"}"#;
    Call::Refused { path: "/authenticate".to_owned(), body: body.to_owned() }
}

/// A valid sign-in of a student of demo-portal.
pub(crate) fn accepted() -> Call {
    let body = r#"{"username":"QLV1UG23CS217","password":"demo-asha"}"#;
    Call::Http { path: "/authenticate".to_owned(), headers: String::new(), body: body.to_owned() }
}
