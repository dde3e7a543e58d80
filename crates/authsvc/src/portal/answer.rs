//! Reads the answers of the portal, which are undocumented and may change without notice.

use reqwest::header::HeaderValue;
use serde_json::{Map, Value};

use crate::domain::{Anomaly, Campuses, NoProfile, Profile};

/// The answer to a successful login.
pub(super) struct SignedIn(Value);

/// Reads the answer to a login. The error is the reason why the login did not succeed.
pub(super) fn signed_in(body: &[u8]) -> Result<SignedIn, &'static str> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| "not JSON")?;
    match answer.pointer("/mobileJsonObject/login").and_then(Value::as_str).map(str::trim) {
        Some("SUCCESS") => Ok(SignedIn(answer)),
        _ => Err("the portal did not report a successful login"),
    }
}

impl SignedIn {
    /// The `Authorization` header of further calls.
    pub(super) fn bearer(&self) -> Result<HeaderValue, &'static str> {
        let token = self.0.get("accessToken").and_then(Value::as_str).map(str::trim);
        let token = token.filter(|token| !token.is_empty()).ok_or("no access token")?;
        let bearer = HeaderValue::try_from(format!("Bearer {token}"));
        let mut bearer =
            bearer.map_err(|_| "the access token has characters that a header cannot contain")?;
        bearer.set_sensitive(true);
        Ok(bearer)
    }
}

/// Why an answer holds no profile.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The answer reports a failure.
    Failed(&'static str),
    /// The answer is not a profile, or the profile has no usable value.
    NoProfile,
}

impl From<NoProfile> for Unusable {
    fn from(NoProfile: NoProfile) -> Self {
        Self::NoProfile
    }
}

/// Reads the answer to the request for a profile.
pub(super) fn profile(
    body: &[u8],
    campuses: &Campuses,
) -> Result<(Profile, Vec<Anomaly>), Unusable> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| Unusable::NoProfile)?;
    let message = answer.get("MESSAGE").and_then(Value::as_str).map(str::trim);
    match message.filter(|message| !message.is_empty()) {
        None if answer.get("status").is_some_and(is_failure) => {
            return Err(Unusable::Failed("the body has an error status"));
        }
        None => return Err(Unusable::NoProfile),
        Some(message) if !message.starts_with("SUCCESS") => {
            return Err(Unusable::Failed("MESSAGE does not start with SUCCESS"));
        }
        Some(_) => {}
    }
    let info = part(&answer, "STUDENT_INFO")?.ok_or(Unusable::NoProfile)?;
    let photo = part(&answer, "STUDENT_PHOTO")?;
    Ok(Profile::read(info, photo, campuses)?)
}

/// The member `status` is a number other than 200.
fn is_failure(status: &Value) -> bool {
    status.as_f64().is_some_and(|status| status != 200.0)
}

/// An object of the answer; `None` if it is missing or null.
fn part<'a>(answer: &'a Value, key: &str) -> Result<Option<&'a Map<String, Value>>, Unusable> {
    match answer.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(part)) => Ok(Some(part)),
        Some(_) => Err(Unusable::NoProfile),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_text_success_is_a_login() {
        for (login, expected) in [
            (json!({ "mobileJsonObject": { "login": " SUCCESS " } }), true),
            (json!({ "mobileJsonObject": { "login": "success" } }), false),
            (json!({ "mobileJsonObject": { "login": ["SUCCESS"] } }), false),
            (json!({ "login": "SUCCESS" }), false),
            (json!(null), false),
        ] {
            assert_eq!(signed_in(login.to_string().as_bytes()).is_ok(), expected, "{login}");
        }
        assert!(signed_in(b"SUCCESS").is_err());
    }

    #[test]
    fn a_token_is_text_that_fits_a_header() {
        let bearer = |token: Value| SignedIn(json!({ "accessToken": token })).bearer();
        assert_eq!(bearer(json!("t")).unwrap(), "Bearer t");
        for other in [json!(null), json!(""), json!("  "), json!(7), json!("a\nb")] {
            assert!(bearer(other.clone()).is_err(), "{other}");
        }
    }

    #[test]
    fn a_reported_failure_differs_from_a_missing_profile() {
        let is_failed = |answer: &Value| {
            matches!(
                profile(answer.to_string().as_bytes(), &Campuses::default()),
                Err(Unusable::Failed(_))
            )
        };
        for failed in [
            json!({ "status": 500 }),
            json!({ "status": 401, "MESSAGE": "  " }),
            json!({ "status": 200, "MESSAGE": "FAILURE" }),
            json!({ "MESSAGE": "session expired", "STUDENT_INFO": { "SRN": "s" } }),
        ] {
            assert!(is_failed(&failed), "{failed}");
        }
        for unusable in [
            json!([]),
            json!({}),
            json!({ "status": 200 }),
            json!({ "status": "500" }),
            json!({ "MESSAGE": 1 }),
            json!({ "MESSAGE": "SUCCESS" }),
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": [] }),
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": { "SRN": " " } }),
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": { "SRN": "s" }, "STUDENT_PHOTO": 1 }),
        ] {
            let read = profile(unusable.to_string().as_bytes(), &Campuses::default());
            assert_eq!(read.unwrap_err(), Unusable::NoProfile, "{unusable}");
        }
    }
}
