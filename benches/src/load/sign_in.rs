//! What authsvc is asked, and its peers with it.

use crate::load::line::Call;

/// Whether it serves.
pub(crate) fn health() -> Call {
    Call::Get { path: "/health".to_owned(), headers: String::new() }
}

/// A sign-in that breaks two rules.
pub(crate) fn refused() -> Call {
    let body = r#"{"username":"QLV1UG23CS217","password":"","profile":"yes"}"#;
    Call::Refused { path: "/authenticate".to_owned(), body: body.to_owned() }
}

/// A sign-in of a student that the demo portal knows.
pub(crate) fn accepted() -> Call {
    let body = r#"{"username":"QLV1UG23CS217","password":"demo-asha"}"#;
    Call::Http { path: "/authenticate".to_owned(), headers: String::new(), body: body.to_owned() }
}
