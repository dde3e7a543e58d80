//! Bodies: read whole, and told apart by what they say they are.

use std::fmt;

use axum::{
    Json,
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use common::{
    ErrorBody,
    body::{self, BodyError, BufferedBody},
    error::no_memory,
};

use super::{
    fields::{self, Fields, Noted},
    members::Encoding,
};
use crate::domain::Invalid;

/// Bytes that a body may have.
const MAX_BODY: usize = 100 * 1024;

/// A body of a type that is taken, within the limit. What it says, [`Body::read`] finds out.
pub(crate) struct Body {
    bytes: BufferedBody,
    encoding: Encoding,
}

/// Says nothing of what may be a card number.
impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Body")
    }
}

impl<S: Sync> FromRequest<S> for Body {
    type Rejection = BodyRefusal;

    /// Decision: what says nothing may be of any type, since published clients send a type and no
    /// body, or `[]` for no arguments.
    async fn from_request(request: Request, _: &S) -> Result<Self, BodyRefusal> {
        let (parts, body) = request.into_parts();
        let bytes = body::read(&parts.extensions, body, MAX_BODY).await?;
        if says_nothing(&bytes) {
            let nothing = Bytes::from_static(b"{}").into();
            return Ok(Self { bytes: nothing, encoding: Encoding::Json });
        }
        let encoding = encoding(&parts.headers).ok_or(BodyRefusal::ContentType)?;
        Ok(Self { bytes, encoding })
    }
}

impl Body {
    /// Reads the members; see [`fields::read`].
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut Fields<'_>) -> Result<T, Noted>,
    ) -> Result<T, Vec<Invalid>> {
        fields::read(&self.bytes, self.encoding, read)
    }

    /// Wipes the bytes, as far as nobody else has them.
    pub(crate) fn wipe(self) {
        self.bytes.wipe();
    }

    /// The bytes as they were sent; `{}` for all bodies that say nothing.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether this is white space, `[]` or `{}`.
fn says_nothing(bytes: &[u8]) -> bool {
    let is_token = |byte: &&u8| !byte.is_ascii_whitespace();
    let tokens: Vec<u8> = bytes.iter().filter(is_token).take(3).copied().collect();
    [&b""[..], b"[]", b"{}"].contains(&&*tokens)
}

fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let content_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    match essence.strip_prefix("application/")? {
        "json" => Some(Encoding::Json),
        "x-www-form-urlencoded" => Some(Encoding::Form),
        other if other.ends_with("+json") => Some(Encoding::Json),
        _ => None,
    }
}

/// Why a body is not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyRefusal {
    #[error("the body must be application/json or application/x-www-form-urlencoded")]
    ContentType,
    #[error("the body is longer than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body did not arrive in time")]
    TimedOut,
    #[error("too many request bodies are waiting: try again in a second")]
    NoMemory,
    #[error("the request is not valid")]
    Invalid(Vec<Invalid>),
}

impl From<BodyError> for BodyRefusal {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Self::TooLarge { limit },
            BodyError::TimedOut => Self::TimedOut,
            BodyError::NoMemory => Self::NoMemory,
            BodyError::Broken(_) | BodyError::Gone => {
                Self::Invalid(vec![Invalid::new("", "could not be read")])
            }
        }
    }
}

impl From<Vec<Invalid>> for BodyRefusal {
    fn from(errors: Vec<Invalid>) -> Self {
        Self::Invalid(errors)
    }
}

impl IntoResponse for BodyRefusal {
    fn into_response(self) -> Response {
        let message = self.to_string();
        let answer = |status, name| ErrorBody::new(name, message).response(status);
        match self {
            Self::ContentType => {
                answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type")
            }
            Self::TooLarge { .. } => answer(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::TimedOut => answer(StatusCode::REQUEST_TIMEOUT, "request_timeout"),
            Self::NoMemory => no_memory(answer(StatusCode::SERVICE_UNAVAILABLE, "overloaded")),
            Self::Invalid(errors) => (StatusCode::BAD_REQUEST, Json(errors)).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Country, Custom, Name};

    #[tokio::main(flavor = "current_thread")]
    async fn body(content_type: Option<&str>, bytes: &[u8]) -> Result<Body, BodyRefusal> {
        let mut request = Request::new(bytes.to_vec().into());
        if let Some(content_type) = content_type {
            request.headers_mut().insert(header::CONTENT_TYPE, content_type.parse().unwrap());
        }
        Body::from_request(request, &()).await
    }

    #[test]
    fn what_says_nothing_may_be_of_any_type() {
        for bytes in ["", " ", "\r\n\t", "[]", "{}", " [ ] ", "\n{\n}\n"] {
            let types = [None, Some(""), Some("text/xml"), Some("application/json")];
            for content_type in types.into_iter().chain([Some("application/x-www-form-urlencoded")])
            {
                let body = body(content_type, bytes.as_bytes()).unwrap();
                assert_eq!(body.as_bytes(), b"{}");
                assert_eq!(body.read(|fields| fields.optional("name", Name::new)), Ok(None));
            }
        }
        for bytes in ["{}{}", "[[]]", "]", "null", "{]", "[]\0"] {
            assert_eq!(body(None, bytes.as_bytes()).unwrap_err(), BodyRefusal::ContentType);
        }
    }

    #[test]
    fn a_body_is_json_or_a_form() {
        for (content_type, expected) in [
            ("application/json", Some(Encoding::Json)),
            ("Application/JSON; charset=utf-8", Some(Encoding::Json)),
            ("application/merge-patch+json ;a=b", Some(Encoding::Json)),
            ("application/x-www-form-urlencoded", Some(Encoding::Form)),
            ("application/x-www-form-urlencoded;charset=UTF-8", Some(Encoding::Form)),
            ("", None),
            ("json", None),
            ("text/json", None),
            ("text/plain; application/json", None),
            ("application/jsonp", None),
            ("application/json, text/plain", None),
            ("multipart/form-data; boundary=x", None),
        ] {
            let encoding = body(Some(content_type), b"a=1").map(|body| body.encoding);
            assert_eq!(encoding, expected.ok_or(BodyRefusal::ContentType), "{content_type}");
        }
    }

    #[test]
    fn a_body_has_a_limit() {
        let sized = |size| vec![b'a'; size];
        let form = Some("application/x-www-form-urlencoded");
        assert_eq!(body(form, &sized(MAX_BODY)).unwrap().as_bytes().len(), MAX_BODY);
        let too_large = BodyRefusal::TooLarge { limit: 102_400 };
        assert_eq!(body(None, &sized(MAX_BODY + 1)).unwrap_err(), too_large);
        assert_eq!(body(None, &vec![b' '; MAX_BODY + 1]).unwrap_err(), too_large);
    }

    #[test]
    fn refusals_have_their_status() {
        let invalid = BodyRefusal::from(vec![Invalid::new("", "is not valid JSON")]);
        for (refusal, status) in [
            (BodyRefusal::ContentType, 415),
            (BodyRefusal::from(BodyError::TooLarge { limit: 1 }), 413),
            (BodyRefusal::from(BodyError::TimedOut), 408),
            (BodyRefusal::from(BodyError::NoMemory), 503),
            (BodyRefusal::from(BodyError::Gone), 400),
            (invalid, 400),
        ] {
            assert_eq!(refusal.into_response().status(), status);
        }
    }

    fn everything(fields: &mut Fields<'_>) -> Result<(Option<Custom>, Country, bool, i64), Noted> {
        let custom = fields.custom("custom");
        let country = fields.object("company").required("country", Country::new);
        let test = fields.flag("test");
        let amount = fields.required_number("amount", Ok::<i64, String>);
        Ok((custom?, country?, test?.unwrap_or(false), amount?))
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            for encoding in [Encoding::Json, Encoding::Form] {
                let body = Body { bytes: Bytes::from(bytes.clone()).into(), encoding };
                let read = body.read(everything);
                prop_assert!(read.is_err_and(|errors| !errors.is_empty()));
            }
        }

        #[test]
        fn anything_like_json_is_read_or_refused(text in r#"\{("(amount|test|custom|company|country|\\u0000|\\ud800)"|[:,\[\]{}"\\]|1|-|true|null){0,12}\}"#) {
            let body = Body { bytes: Bytes::from(text).into(), encoding: Encoding::Json };
            prop_assert!(body.read(everything).map_or_else(|errors| !errors.is_empty(), |_| true));
        }
    }
}
