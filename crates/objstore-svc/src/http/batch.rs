//! `POST /batch`: several objects at once, an extension of the specification. Inside the service it
//! is a group of operations, because a batch is the writes of one commit there.

use std::{borrow::Cow, collections::HashSet, fmt, marker::PhantomData, sync::Arc};

use axum::{Json, extract::State, response::IntoResponse};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, SeqAccess, Visitor},
};

use super::{
    App, Error,
    body::{BatchBody, JsonObject, KeyOnlyInput, ObjectInput},
    objects::{SetQuery, intent},
    query::{Nothing, Query},
    session::Authenticated,
};
use crate::domain::{Action, ClientId, ETag, Operation, Precondition, Refusal};

/// Maximum number of operations.
const MAX_OPERATIONS: usize = 512;

/// Maximum length of the tags of an operation, in bytes.
const MAX_TAGS: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct BatchInput<'a> {
    #[serde(borrow, deserialize_with = "some")]
    operations: Vec<JsonObject<OperationInput<'a>>>,
}

/// Reads an array, and keeps at most one element more than is allowed: `{}` takes a hundred times its
/// length in memory.
fn some<'de, D: Deserializer<'de>, T: Deserialize<'de>>(array: D) -> Result<Vec<T>, D::Error> {
    struct Elements<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Vec<T>, A::Error> {
            let mut elements = Vec::new();
            while elements.len() <= MAX_OPERATIONS {
                let Some(element) = array.next_element()? else { return Ok(elements) };
                elements.push(element);
            }
            while array.next_element::<IgnoredAny>()?.is_some() {}
            Ok(elements)
        }
    }

    array.deserialize_seq(Elements(PhantomData))
}

/// Null is not a missing member here: a client that has lost its tag must not set without one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct OperationInput<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    set: Option<JsonObject<ObjectInput<'a>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    delete: Option<JsonObject<KeyOnlyInput<'a>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    if_match: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    if_none_match: Option<Cow<'a, str>>,
    #[serde(rename = "TTL", default, deserialize_with = "present")]
    ttl: Option<String>,
    #[serde(default, deserialize_with = "present")]
    presence: Option<bool>,
}

fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Results {
    results: Vec<Done>,
}

#[derive(Serialize)]
struct Done {
    /// `None` after a deletion.
    #[serde(rename = "ETag", skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

pub(super) async fn batch(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    _: Query<Nothing>,
    BatchBody(body): BatchBody,
) -> Result<impl IntoResponse, Error> {
    let BatchInput { operations } = body.decode()?;
    let parsed = parse(&operations, &app, session.client)?;
    // Free the body now, because the write can take long.
    drop(operations);
    drop(body);

    let mut refused = None;
    let operations = parsed.into_iter().map_while(|one| one.map_err(|it| refused = Some(it)).ok());
    let operations: Vec<_> = operations.collect();
    let is_set = |one: &Operation| matches!(one, Operation::Set { .. });
    let sets: Vec<_> = operations.iter().map(is_set).collect();
    let revisions =
        app.store.group(operations, refused).await?.map_err(|refused| {
            Error::Operation(refused.operation, Box::new(refused.refusal.into()))
        })?;
    let epoch = app.store.epoch().id;
    let etag = |revision| ETag::new(epoch, revision).to_string();
    let results = revisions.zip(sets);
    let results = results.map(|(revision, is_set)| Done { etag: is_set.then(|| etag(revision)) });
    let results = results.collect();
    session.mark_used(&app).await;
    // Without a permit for its memory: a refusal would say that nothing was stored.
    Ok((session.renew(&app).await, Json(Results { results })))
}

/// Reads the operations. Each may be refused without a look at its object.
fn parse(
    inputs: &[JsonObject<OperationInput<'_>>],
    app: &App,
    client: ClientId,
) -> Result<Vec<Result<Operation, Refusal>>, Error> {
    if !(1..=MAX_OPERATIONS).contains(&inputs.len()) {
        return Err(Error::Body(format!("Operations must have 1 to {MAX_OPERATIONS} elements")));
    }
    let mut keys = HashSet::new();
    let numbered = inputs.iter().enumerate();
    let parsed = numbered.map(|(index, JsonObject(input))| {
        let parsed = match input.parse(app, client) {
            Ok(_) | Err(Error::Refused(_)) if !keys.insert(input.key()) => {
                Err(Error::Body("an operation before this one has the same key".to_owned()))
            }
            Ok(operation) => Ok(Ok(operation)),
            Err(Error::Refused(refusal)) => Ok(Err(refusal)),
            Err(error) => Err(error),
        };
        parsed.map_err(|error| Error::Operation(index, Box::new(error)))
    });
    parsed.collect()
}

impl OperationInput<'_> {
    fn key(&self) -> Option<[&str; 3]> {
        let of_set = self.set.as_ref().map(|JsonObject(input)| input.key_parts());
        of_set.or_else(|| self.delete.as_ref().map(|JsonObject(input)| input.key_parts()))
    }

    /// Reads an operation, and checks what depends on no object.
    fn parse(&self, app: &App, client: ClientId) -> Result<Operation, Error> {
        let precondition = self.precondition()?;
        match (&self.set, &self.delete) {
            (Some(JsonObject(input)), None) => {
                let object = input.parse()?;
                if object.size() > app.max_body {
                    return Err(Error::TooLarge(app.max_body));
                }
                let query =
                    SetQuery { ttl: self.ttl.clone(), presence: self.presence == Some(true) };
                let lifespan = query.lifespan(client).map_err(|it| Error::Body(it.to_string()))?;
                let intent = intent(app, client, Action::Set, &object.key, precondition)?;
                Ok(Operation::Set { object: Arc::new(object), intent, lifespan })
            }
            (None, Some(JsonObject(input))) => {
                let has_more =
                    self.if_none_match.is_some() || self.ttl.is_some() || self.presence.is_some();
                if has_more {
                    return Err(Error::Body("beside Delete, only IfMatch is allowed".to_owned()));
                }
                let key = input.key()?;
                let intent = intent(app, client, Action::Delete, &key, precondition)?;
                Ok(Operation::Delete { key, intent })
            }
            _ => Err(Error::Body("an operation must have either Set or Delete".to_owned())),
        }
    }

    fn precondition(&self) -> Result<Precondition, Error> {
        if self.if_match.as_ref().is_some_and(|tags| tags.len() > MAX_TAGS) {
            return Err(Error::Body(format!("IfMatch must have at most {MAX_TAGS} bytes")));
        }
        if self.if_none_match.as_deref().is_some_and(|tag| tag != "*") {
            return Err(Error::Body("IfNoneMatch must be *".to_owned()));
        }
        let [if_match, if_none_match] = [&self.if_match, &self.if_none_match].map(Option::as_deref);
        let (if_match, if_none_match) = (if_match.as_slice(), if_none_match.as_slice());
        Precondition::parse(if_match, if_none_match)
            .map_err(|error| Error::Body(format!("IfMatch is {error}")))
    }
}
