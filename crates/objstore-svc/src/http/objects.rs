//! `POST /get`, `/set`, `/find`, `/delete`.

use std::sync::Arc;

use axum::{
    body::Body as ResponseBody,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::IntoResponse,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use common::config::duration;
use futures_util::{StreamExt as _, future::ready, stream};
use serde::Deserialize;

use super::{
    App, Error,
    body::{Body, KeyOnlyInput, ObjectInput},
    query::{Nothing, Parameters, Query},
    session::Authenticated,
};
use crate::{
    domain::{
        Action, ClientId, ETag, Intent, InvalidETag, InvalidTtl, Key, Lifespan, Pattern,
        Precondition, Refusal, Revision, StoredLifespan, StoredObject, Ttl,
    },
    store::{PageEnd, Store, StoreError},
};

/// Maximum number of objects in one read of the store, and the maximum of `limit`.
const MAX_PAGE: usize = 1000;

/// The header with the cursor of the next page.
const NEXT_CURSOR: HeaderName = HeaderName::from_static("next-cursor");

/// The headers of an object that the service deletes by itself: the last millisecond, and whether it
/// needs the presence of a client.
const EXPIRES: HeaderName = HeaderName::from_static("object-expires");
const PRESENCE: HeaderName = HeaderName::from_static("object-presence");

pub(super) const JSON: (HeaderName, &str) = (header::CONTENT_TYPE, "application/json");

pub(super) async fn get(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    _: Query<Nothing>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let key = body.decode::<KeyOnlyInput<'_>>()?.key()?;
    let client = session.client;
    let permit = app.rules.borrow().permit(client, Action::Get, &key).ok_or(Refusal::NotAllowed)?;
    let stored = app.store.get(&key).await?;
    let owner = stored.as_ref().map(|stored| &stored.object.owner);
    permit.check(client, owner)?;
    let stored = stored.ok_or(Refusal::NoObject)?;
    let mut json = Vec::new();
    stored.object.write_json(&mut json);
    let json = app.response_memory.hold(json).ok_or(StoreError::Overloaded)?;
    let ends = ends(&stored.lifespan);
    Ok((session.renew(&app).await, etag(&app.store, stored.revision), ends, [JSON], json))
}

/// Selects how long the object stays. An extension of the specification.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetQuery {
    pub(super) ttl: Option<String>,
    #[serde(default)]
    pub(super) presence: bool,
}

impl Parameters for SetQuery {
    const ALLOWED: &'static str =
        "the query can have ttl, such as 90s or keep, and presence (true or false), each once";
}

impl SetQuery {
    pub(super) fn lifespan(&self, client: ClientId) -> Result<Lifespan, InvalidTtl> {
        let presence = self.presence.then_some(client);
        let ttl = match self.ttl.as_deref() {
            Some("keep") => return Ok(Lifespan { ttl: None, presence, keeps: true }),
            Some(text) => Some(Ttl::new(duration(text).map_err(|_| InvalidTtl)?)?),
            None => None,
        };
        Ok(Lifespan { ttl, presence, keeps: false })
    }
}

pub(super) async fn set(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    headers: HeaderMap,
    Query(query): Query<SetQuery>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let precondition = precondition(&headers)?;
    let lifespan = query.lifespan(session.client)?;
    let object = body.decode::<ObjectInput<'_>>()?.parse()?;
    let intent = intent(&app, session.client, Action::Set, &object.key, precondition)?;
    // Free the body now, because the write can take long.
    drop(body);
    let revision = app.store.set(object, intent, lifespan).await??;
    session.mark_used(&app).await;
    Ok((session.renew(&app).await, etag(&app.store, revision), StatusCode::NO_CONTENT))
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    headers: HeaderMap,
    _: Query<Nothing>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let precondition = precondition(&headers)?;
    let key = body.decode::<KeyOnlyInput<'_>>()?.key()?;
    let intent = intent(&app, session.client, Action::Delete, &key, precondition)?;
    app.store.delete(key, intent).await??;
    Ok((session.renew(&app).await, StatusCode::NO_CONTENT))
}

/// Selects the page of objects to return. An extension of the specification.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindQuery {
    limit: Option<usize>,
    after: Option<String>,
    /// Whether each object comes with its revision, and when it ends.
    #[serde(default)]
    metadata: bool,
}

impl Parameters for FindQuery {
    const ALLOWED: &'static str = "the query can have limit (a number from 1 to 1000), after and metadata (true or false), \
         each once";
}

/// Streams the objects that match a pattern: all of them, or one page.
pub(super) async fn find(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    Query(query): Query<FindQuery>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let pattern = body.decode::<KeyOnlyInput<'_>>()?.pattern()?;
    let after = query.after.as_deref().map(parse_cursor).transpose()?;
    let (found, next) = Found::new(&app, session.client, (pattern, after), &query).await?;
    // Reads the first chunk before the status line is sent, so that a failing store still gives an
    // error status.
    let (first, found) = Found::next_chunk(found).await?.unwrap_or_else(|| ("[]".into(), None));
    let rest = stream::try_unfold(found, Found::next_chunk);
    let chunks = ResponseBody::from_stream(stream::once(ready(Ok(first))).chain(rest));
    let next = next.map(|key| [(NEXT_CURSOR, cursor(&key))]);
    Ok((session.renew(&app).await, next, [JSON], chunks))
}

/// The objects of a search that are not sent yet.
struct Found {
    app: Arc<App>,
    client: ClientId,
    pattern: Pattern,
    after: Option<Key>,
    until: Option<Key>,
    metadata: bool,
    /// Whether an object was sent, so that the next one needs a comma.
    begun: bool,
}

impl Found {
    /// The objects after the key `after`: all of them, or a page of at most `limit`; `None` if the
    /// page is empty. Also returns the cursor of the next page, if there is one.
    async fn new(
        app: &Arc<App>,
        client: ClientId,
        (pattern, after): (Pattern, Option<Key>),
        &FindQuery { limit, metadata, .. }: &FindQuery,
    ) -> Result<(Option<Self>, Option<Key>), Error> {
        let (until, next) = match limit {
            None => (None, None),
            Some(limit @ 1..=MAX_PAGE) => {
                let end = page_end(app, client, &pattern, after.as_ref(), limit).await?;
                let Some(PageEnd { key, more }) = end else { return Ok((None, None)) };
                (Some(key.clone()), more.then_some(key))
            }
            Some(_) => return Err(Error::Query("limit must be from 1 to 1000")),
        };
        let app = Arc::clone(app);
        Ok((Some(Self { app, client, pattern, after, until, metadata, begun: false }), next))
    }

    /// Reads some objects as the next chunk of the JSON array. An error closes the connection, and
    /// then the array has no end.
    async fn next_chunk(found: Option<Self>) -> Result<Option<(Bytes, Option<Self>)>, StoreError> {
        let Some(mut found) = found else { return Ok(None) };
        let mut json = Vec::new();
        let mut more = true;
        // The first chunk begins the array. A page without an object to show makes no chunk.
        while more && json.is_empty() {
            let Self { app, client, pattern, after, until, .. } = &found;
            let page = app.store.find(pattern, after.as_ref(), until.as_ref(), MAX_PAGE).await?;
            let sight = app.rules.borrow().sight(*client, Action::Find);
            let is_shown =
                |stored: &&StoredObject| sight.has(&stored.object.key, &stored.object.owner);
            for stored in page.objects.iter().filter(is_shown) {
                json.push(if found.begun { b',' } else { b'[' });
                if found.metadata {
                    write_with_metadata(stored, &mut json);
                } else {
                    stored.object.write_json(&mut json);
                }
                found.begun = true;
            }
            more = page.more;
            if let Some(last) = page.objects.into_iter().last() {
                found.after = Some(last.object.key);
            }
        }
        if !more {
            if !found.begun {
                json.push(b'[');
            }
            json.push(b']');
        }
        let json = found.app.response_memory.hold(json).ok_or(StoreError::Overloaded)?;
        Ok(Some((json, more.then_some(found))))
    }
}

/// Finds the end of a page of the objects that the client may find. `None` if there is none.
async fn page_end(
    app: &App,
    client: ClientId,
    pattern: &Pattern,
    after: Option<&Key>,
    limit: usize,
) -> Result<Option<PageEnd>, StoreError> {
    let sight = app.rules.borrow().sight(client, Action::Find);
    if sight.is_unlimited() {
        return app.store.page_end(pattern, after, limit).await;
    }
    let mut found = 0;
    let mut end = None;
    let mut after = after.cloned();
    loop {
        let page = app.store.find(pattern, after.as_ref(), None, MAX_PAGE).await?;
        after = page.objects.last().map(|stored| stored.object.key.clone());
        for StoredObject { object, .. } in page.objects {
            if sight.has(&object.key, &object.owner) {
                if found == limit {
                    return Ok(end.map(|key| PageEnd { key, more: true }));
                }
                found += 1;
                end = Some(object.key);
            }
        }
        if !page.more {
            return Ok(end.map(|key| PageEnd { key, more: false }));
        }
    }
}

/// The order of the parts of a key in a cursor.
const CURSOR_ORDER: [usize; 3] = [0, 1, 2];

/// Encodes a key. The cursor is opaque to clients.
fn cursor(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(key.text(CURSOR_ORDER))
}

fn parse_cursor(cursor: &str) -> Result<Key, Error> {
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.and_then(|text| Key::parse(&text, CURSOR_ORDER));
    key.ok_or(Error::Query("after must be the Next-Cursor of an earlier page"))
}

/// Appends `{"Object":…,"Revision":…}`, with `Expires` and `Presence` where they apply.
fn write_with_metadata(stored: &StoredObject, json: &mut Vec<u8>) {
    json.extend_from_slice(b"{\"Object\":");
    stored.object.write_json(json);
    json.extend_from_slice(format!(",\"Revision\":{}", stored.revision).as_bytes());
    stored.lifespan.write_json(json);
    json.push(b'}');
}

/// The headers that say when an object ends.
fn ends(lifespan: &StoredLifespan) -> HeaderMap {
    let expires = lifespan.expires_at().and_then(|at| at.to_string().parse().ok());
    let presence = lifespan.present.map(|_| HeaderValue::from_static("true"));
    let headers = [(EXPIRES, expires), (PRESENCE, presence)];
    headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn etag(store: &Store, revision: Revision) -> [(HeaderName, String); 1] {
    [(header::ETAG, ETag::new(store.epoch().id, revision).to_string())]
}

pub(super) fn intent(
    app: &App,
    client: ClientId,
    action: Action,
    key: &Key,
    precondition: Precondition,
) -> Result<Intent, Refusal> {
    let rules = app.rules.borrow();
    let permit = rules.permit(client, action, key).ok_or(Refusal::NotAllowed)?;
    Ok(Intent { client, precondition, permit, tracks_owner: !rules.is_unlimited() })
}

fn precondition(headers: &HeaderMap) -> Result<Precondition, InvalidETag> {
    let values = |name| {
        let texts = headers.get_all(name).iter().map(|value| value.to_str());
        texts.collect::<Result<Vec<_>, _>>().map_err(|_| InvalidETag)
    };
    let if_match = values(header::IF_MATCH)?;
    let if_none_match = values(header::IF_NONE_MATCH)?;
    Precondition::parse(&if_match, &if_none_match)
}
