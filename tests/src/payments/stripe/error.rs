//! Stripe's errors.

use serde_json::{Value, json};

/// Why a request is refused.
#[derive(Debug)]
pub(super) struct Error {
    pub(super) status: u16,
    pub(super) body: Value,
    /// Whether the answer is kept under the idempotency key: that of a request which was wrong before
    /// anything was done is not.
    pub(super) is_kept: bool,
}

impl Error {
    /// A parameter is wrong.
    pub(super) fn invalid(code: &str, param: &str, message: &str) -> Self {
        Self::request(400, &json!({ "code": code, "param": param, "message": message }), false)
    }

    pub(super) fn unknown(param: &str) -> Self {
        Self::invalid("parameter_unknown", param, &format!("Received unknown parameter: {param}"))
    }

    pub(super) fn required(param: &str) -> Self {
        Self::invalid("parameter_missing", param, &format!("Missing required param: {param}."))
    }

    pub(super) fn missing(id: &str) -> Self {
        let message = format!("No such object: '{id}'");
        Self::request(404, &json!({ "code": "resource_missing", "message": message }), false)
    }

    /// A list cannot go on at an object that was deleted.
    pub(super) fn aged_out(id: &str) -> Self {
        let message = format!("The object '{id}' is no longer available");
        Self::request(400, &json!({ "message": message }), false)
    }

    /// The state of an object does not allow the request.
    pub(super) fn refused(code: &str, message: &str) -> Self {
        Self::request(400, &json!({ "code": code, "message": message }), true)
    }

    /// The bank declines the card.
    pub(super) fn declined(card_error: &Value) -> Self {
        Self { status: 402, body: json!({ "error": card_error }), is_kept: true }
    }

    pub(super) fn of(status: u16, kind: &str, code: &str, message: &str) -> Self {
        let error = json!({ "type": kind, "code": code, "message": message });
        Self { status, body: json!({ "error": error }), is_kept: false }
    }

    fn request(status: u16, members: &Value, is_kept: bool) -> Self {
        let mut error = members.clone();
        error["type"] = json!("invalid_request_error");
        Self { status, body: json!({ "error": error }), is_kept }
    }
}
