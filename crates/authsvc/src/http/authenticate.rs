//! `POST /authenticate`: checks a request, lets the portal check the credentials, and answers with
//! the requested fields of the profile.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{FromRequest, Request, State},
    http::{HeaderMap, header},
    response::IntoResponse,
};
use common::{
    body::{self, BodyError},
    limits::ClientAddress,
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{App, error::Error, output::StatusOutput};
use crate::{
    domain::{FieldValue, Fields, Input, Invalid, Profile, SignIn},
    metrics::Samples,
    portal::SignInError,
};

/// Limit of the body, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// Checks credentials with the portal, and returns the profile if the caller wants it.
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    Extension(samples): Extension<Samples>,
    address: ClientAddress,
    Valid(sign_in): Valid,
) -> Result<impl IntoResponse, Error> {
    let admitted = app.limits.admit(&sign_in.username, address)?;
    samples.attempted(sign_in.profile.is_some());
    let signed_in = match app.portal.sign_in(&sign_in, &samples).await {
        Err(SignInError::Rejected) => {
            admitted.rejected();
            return Err(SignInError::Rejected.into());
        }
        // Perhaps a firewall has answered for all users. It must not lock them out: no limit counts.
        Err(error @ SignInError::Doubtful(_)) => return Err(error.into()),
        // The portal has accepted the credentials, although the profile could not be read.
        Err(error @ (SignInError::ProfileFetch(_) | SignInError::ProfileParse(_))) => {
            admitted.succeeded();
            return Err(error.into());
        }
        outcome => outcome?,
    };
    admitted.succeeded();
    samples.succeeded();
    let requested = sign_in.profile.zip(signed_in.profile);
    let profile = requested.map(|(fields, profile)| ProfileOutput { fields, profile });
    let output = StatusOutput::new(true, "the portal accepted the credentials");
    Ok(Json(AuthenticateOutput { output, profile }))
}

/// Extracts a sign-in that breaks no rule.
pub(super) struct Valid(SignIn);

impl FromRequest<Arc<App>> for Valid {
    type Rejection = Error;

    async fn from_request(request: Request, _: &Arc<App>) -> Result<Self, Error> {
        let reject = |rule| Error::Invalid(vec![Invalid::once(Input::Body, rule)]);
        let (parts, body) = request.into_parts();
        if !is_json(&parts.headers) {
            return Err(reject("the Content-Type must be JSON"));
        }
        let body =
            body::read(&parts.extensions, body, MAX_BODY).await.map_err(|error| match error {
                BodyError::TooLarge { .. } => reject("the body must have at most 65536 bytes"),
                BodyError::TimedOut => reject("the body must arrive within 30 seconds"),
                BodyError::Broken(_) => {
                    reject("the body must have a valid length or chunked encoding")
                }
                BodyError::NoMemory => Error::NoMemory,
                BodyError::Gone => Error::Abandoned,
            })?;
        let sign_in = SignIn::parse(&body);
        body.wipe();
        sign_in.map(Self).map_err(Error::Invalid)
    }
}

/// `application/json` or `application/*+json`, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let subtype = essence.strip_prefix("application/").unwrap_or_default();
    subtype == "json" || subtype.len() > "+json".len() && subtype.ends_with("+json")
}

#[derive(Serialize)]
struct AuthenticateOutput {
    #[serde(flatten)]
    output: StatusOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileOutput>,
}

/// The requested fields in their fixed order. A field without a value is `null`.
struct ProfileOutput {
    fields: Fields,
    profile: Profile,
}

impl Serialize for ProfileOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in self.fields.iter() {
            match &self.profile[field] {
                None => map.serialize_entry(field.name(), &())?,
                Some(FieldValue::Text(text)) => map.serialize_entry(field.name(), text)?,
                Some(FieldValue::Code(code)) => map.serialize_entry(field.name(), code)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn json_content_types_are_recognized() {
        for (content_type, expected) in [
            ("application/json", true),
            ("Application/JSON ; charset=utf-8", true),
            ("application/problem+json", true),
            ("application/+json", false),
            ("text/json", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            let header = (header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            assert_eq!(is_json(&HeaderMap::from_iter([header])), expected, "{content_type}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
