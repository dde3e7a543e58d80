//! Bodies: read whole, and told apart by what they say they are.

use std::fmt;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use common::body::{self, BufferedBody};

use super::{
    error::Error,
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
    type Rejection = Error;

    /// Decision: what says nothing may be of any type, since published clients send a type and no
    /// body, or `[]` for no arguments.
    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let bytes = body::read(&parts.extensions, body, MAX_BODY).await?;
        if says_nothing(&bytes) {
            let nothing = Bytes::from_static(b"{}").into();
            return Ok(Self { bytes: nothing, encoding: Encoding::Json });
        }
        let encoding = encoding(&parts.headers).ok_or(Error::ContentType)?;
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

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use common::body::BodyError;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Country, Custom, Name};

    #[tokio::main(flavor = "current_thread")]
    async fn body(content_type: Option<&str>, bytes: &[u8]) -> Result<Body, Error> {
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
            let refused = body(None, bytes.as_bytes()).unwrap_err();
            assert!(matches!(refused, Error::ContentType), "{bytes}");
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
            let encoding = match body(Some(content_type), b"a=1") {
                Ok(body) => Some(body.encoding),
                Err(refused) => {
                    assert!(matches!(refused, Error::ContentType), "{content_type}");
                    None
                }
            };
            assert_eq!(encoding, expected, "{content_type}");
        }
    }

    #[test]
    fn a_body_has_a_limit() {
        let sized = |size| vec![b'a'; size];
        let form = Some("application/x-www-form-urlencoded");
        assert_eq!(body(form, &sized(MAX_BODY)).unwrap().as_bytes().len(), MAX_BODY);
        for too_large in [sized(MAX_BODY + 1), vec![b' '; MAX_BODY + 1]] {
            let refused = body(None, &too_large).unwrap_err();
            assert!(matches!(refused, Error::TooLarge { limit: 102_400 }));
        }
    }

    #[test]
    fn refusals_have_their_status() {
        let invalid = Error::from(vec![Invalid::new("", "is not valid JSON")]);
        for (refusal, status) in [
            (Error::ContentType, 415),
            (Error::from(BodyError::TooLarge { limit: 1 }), 413),
            (Error::from(BodyError::TimedOut), 408),
            (Error::from(BodyError::NoMemory), 503),
            (Error::from(BodyError::Gone), 400),
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
