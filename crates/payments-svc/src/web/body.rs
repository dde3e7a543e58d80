//! Request bodies: read completely before the handler runs, as JSON or as a form.

use std::fmt;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use common::body::{self, BufferedBody};
use payments_domain::FieldError;
use sha2::{Digest as _, Sha256};

use super::error::Error;
use crate::fields::{self, Encoding, Fields, Reported};

/// In bytes.
const MAX_BODY: usize = 100 * 1024;

/// A body within the size limit and of a supported type. [`Body::read`] parses it.
pub(crate) struct Body {
    bytes: BufferedBody,
    encoding: Encoding,
}

/// Prints no content, because a body may contain a card number.
impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Body")
    }
}

impl<S: Sync> FromRequest<S> for Body {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        Self::receive(request, MAX_BODY).await
    }
}

impl Body {
    /// Reads a body of at most `limit` bytes. Decision: an empty one may have any content type,
    /// because published clients send a content type without a body, or `[]` for no members.
    pub(crate) async fn receive(request: Request, limit: usize) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let bytes = body::read(&parts.extensions, body, limit).await?;
        if is_empty(&bytes) {
            let empty = Bytes::from_static(b"{}").into();
            return Ok(Self { bytes: empty, encoding: Encoding::Json });
        }
        let encoding = encoding(&parts.headers).ok_or(Error::ContentType)?;
        Ok(Self { bytes, encoding })
    }

    /// Parses the body and reads its members with `read`; see [`fields::read`].
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut Fields<'_>) -> Result<T, Reported>,
    ) -> Result<T, Vec<FieldError>> {
        fields::read(&self.bytes, self.encoding, read)
    }

    /// Overwrites the bytes with zeros, unless another reference to them exists.
    pub(crate) fn wipe(self) {
        self.bytes.wipe();
    }

    /// The bytes as they were sent, or `{}` for every empty body.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What identifies a request, beside its method and path.
pub(crate) trait Content {
    fn add_to(&self, digest: Sha256) -> Sha256;
}

impl Content for Body {
    fn add_to(&self, digest: Sha256) -> Sha256 {
        digest.chain_update(self.as_bytes())
    }
}

/// Whether the body has no members: it is only white space, `[]` or `{}`.
fn is_empty(bytes: &[u8]) -> bool {
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
    use payments_domain::{Country, CustomData, Name};
    use proptest::prelude::*;

    use super::*;

    #[tokio::main(flavor = "current_thread")]
    async fn body(content_type: Option<&str>, bytes: &[u8]) -> Result<Body, Error> {
        let mut request = Request::new(bytes.to_vec().into());
        if let Some(content_type) = content_type {
            request.headers_mut().insert(header::CONTENT_TYPE, content_type.parse().unwrap());
        }
        Body::from_request(request, &()).await
    }

    #[test]
    fn an_empty_body_may_have_any_content_type() {
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
            let rejected = body(None, bytes.as_bytes()).unwrap_err();
            assert!(matches!(rejected, Error::ContentType), "{bytes}");
        }
    }

    #[test]
    fn the_content_type_selects_json_or_form() {
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
                Err(rejected) => {
                    assert!(matches!(rejected, Error::ContentType), "{content_type}");
                    None
                }
            };
            assert_eq!(encoding, expected, "{content_type}");
        }
    }

    #[test]
    fn bodies_over_the_limit_are_rejected() {
        let sized = |size| vec![b'a'; size];
        let form = Some("application/x-www-form-urlencoded");
        assert_eq!(body(form, &sized(MAX_BODY)).unwrap().as_bytes().len(), MAX_BODY);
        for too_large in [sized(MAX_BODY + 1), vec![b' '; MAX_BODY + 1]] {
            let rejected = body(None, &too_large).unwrap_err();
            assert!(matches!(rejected, Error::TooLarge { limit: 102_400 }));
        }
    }

    #[test]
    fn each_body_error_has_its_status() {
        let invalid = Error::from(vec![FieldError::new("", "is not valid JSON")]);
        for (error, status) in [
            (Error::ContentType, 415),
            (Error::from(BodyError::TooLarge { limit: 1 }), 413),
            (Error::from(BodyError::TimedOut), 408),
            (Error::from(BodyError::NoMemory), 503),
            (Error::from(BodyError::Gone), 400),
            (invalid, 400),
        ] {
            assert_eq!(error.into_response().status(), status);
        }
    }

    fn everything(
        fields: &mut Fields<'_>,
    ) -> Result<(Option<CustomData>, Country, bool, i64), Reported> {
        let custom = fields.custom("custom");
        let country = fields.object("company").required("country", Country::new);
        let test = fields.flag("test");
        let amount = fields.required_number("amount", Ok::<i64, String>);
        Ok((custom?, country?, test?.unwrap_or(false), amount?))
    }

    proptest! {
        #[test]
        fn random_bytes_are_rejected_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            for encoding in [Encoding::Json, Encoding::Form] {
                let body = Body { bytes: Bytes::from(bytes.clone()).into(), encoding };
                let read = body.read(everything);
                prop_assert!(read.is_err_and(|errors| !errors.is_empty()));
            }
        }

        #[test]
        fn json_like_bytes_are_read_or_rejected(text in r#"\{("(amount|test|custom|company|country|\\u0000|\\ud800)"|[:,\[\]{}"\\]|1|-|true|null){0,12}\}"#) {
            let body = Body { bytes: Bytes::from(text).into(), encoding: Encoding::Json };
            prop_assert!(body.read(everything).map_or_else(|errors| !errors.is_empty(), |_| true));
        }
    }
}
