//! Request bodies: read into memory, scanned once, and decoded without copying.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use common::{
    body::{self, BufferedBody},
    json::{self, Nul},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

use super::{App, Error};
use crate::domain::{InvalidKey, Key, Object, Owner, Pattern, Refusal, Value};

/// Maximum size of the body of `/register`, in bytes.
const MAX_REGISTRATION: usize = 4 * 1024;

const BATCH_BODIES: usize = 8;

/// A request body that is within the size limit. The request has the `Content-Type` JSON or none.
/// [`Body::decode`] parses the body.
pub(super) struct Body(BufferedBody);

/// The body of `/batch`: [`BATCH_BODIES`] times as long as that of one operation.
pub(super) struct BatchBody(pub(super) Body);

impl FromRequest<Arc<App>> for BatchBody {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Error> {
        Body::read(request, app.max_body.saturating_mul(BATCH_BODIES)).await.map(Self)
    }
}

/// The body of `/register`. Its limit is low, because the sender is not authenticated.
pub(super) struct Registration(pub(super) Body);

impl FromRequest<Arc<App>> for Registration {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Error> {
        Body::read(request, app.max_body.min(MAX_REGISTRATION)).await.map(Self)
    }
}

impl FromRequest<Arc<App>> for Body {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Error> {
        Self::read(request, app.max_body).await
    }
}

impl Body {
    async fn read(request: Request, limit: usize) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        if !is_json_or_absent(&parts.headers) {
            return Err(Error::ContentType);
        }
        Ok(Self(body::read(&parts.extensions, body, limit).await?))
    }

    /// Decodes one JSON object. Trailing data and unknown, missing or repeated members are errors.
    pub(super) fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Error> {
        json::check(&self.0, Nul::Accept)?;
        let JsonObject(decoded) = serde_json::from_slice(&self.0)?;
        Ok(decoded)
    }
}

fn is_json_or_absent(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_none_or(|value| {
        let essence = value.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default();
        essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
    })
}

/// Decodes a struct from a JSON object only. Serde alone also accepts an array of the fields.
pub(super) struct JsonObject<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for AsMap<T> {
            type Value = T;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(AsMap(PhantomData)).map(Self)
    }
}

/// The three parts of a key. Each may be empty.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct KeyInput<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl KeyInput<'_> {
    fn parts(&self) -> [&str; 3] {
        [&self.r#type, &self.namespace, &self.name]
    }
}

/// The body of `/set`: an object with all members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct ObjectInput<'a> {
    #[serde(borrow)]
    key: JsonObject<KeyInput<'a>>,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(borrow)]
    owner: Cow<'a, str>,
}

impl ObjectInput<'_> {
    pub(super) fn key_parts(&self) -> [&str; 3] {
        self.key.0.parts()
    }

    pub(super) fn parse(&self) -> Result<Object, Error> {
        let JsonObject(key) = &self.key;
        Ok(Object {
            key: Key::new(&key.r#type, &key.namespace, &key.name)?,
            value: Value::compact(self.value.get())?,
            owner: Owner::new(&self.owner)?,
        })
    }
}

/// The body of the other endpoints: an object of which only the key is used.
///
/// Decision: `Value` and `Owner` may be missing or any JSON, since a client that only names an
/// object does not have them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct KeyOnlyInput<'a> {
    #[serde(borrow)]
    key: JsonObject<KeyInput<'a>>,
    #[serde(borrow, rename = "Value")]
    _value: Option<&'a RawValue>,
    #[serde(borrow, rename = "Owner")]
    _owner: Option<&'a RawValue>,
}

impl KeyOnlyInput<'_> {
    pub(super) fn key_parts(&self) -> [&str; 3] {
        self.key.0.parts()
    }

    /// The key of one object. If a part is empty, there is no such object.
    pub(super) fn key(&self) -> Result<Key, Error> {
        let JsonObject(key) = &self.key;
        match Key::new(&key.r#type, &key.namespace, &key.name) {
            Err(InvalidKey::Empty) => Err(Refusal::NoObject.into()),
            key => Ok(key?),
        }
    }

    pub(super) fn pattern(&self) -> Result<Pattern, Error> {
        let JsonObject(key) = &self.key;
        Ok(Pattern::new(&key.r#type, &key.namespace, &key.name)?)
    }
}
