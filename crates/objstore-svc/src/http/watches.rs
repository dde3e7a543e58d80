//! `POST /watch`, `POST /unwatch` and `GET /watches`.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::IntoResponse};

use super::{
    App, Error,
    body::{Body, KeyOnlyInput},
    objects::JSON,
    query::{Nothing, Query},
    session::Authenticated,
};
use crate::{domain::write_key, store::StoreError};

pub(super) async fn watch(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    _: Query<Nothing>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let pattern = body.decode::<KeyOnlyInput<'_>>()?.pattern()?;
    app.store.watch(session.client, pattern).await??;
    session.mark_used(&app).await;
    Ok((session.renew(&app).await, StatusCode::NO_CONTENT))
}

pub(super) async fn unwatch(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    _: Query<Nothing>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let pattern = body.decode::<KeyOnlyInput<'_>>()?.pattern()?;
    app.store.unwatch(session.client, pattern).await?;
    Ok((session.renew(&app).await, StatusCode::NO_CONTENT))
}

/// The patterns that the client watches, in the order of their texts. An extension of the
/// specification.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    _: Query<Nothing>,
) -> Result<impl IntoResponse, Error> {
    let state = app.store.client(session.client).await?;
    let mut patterns: Vec<_> = state.watches.open().map(|(pattern, _)| pattern).collect();
    patterns.sort_unstable_by_key(|pattern| pattern.parts());
    let mut json = Vec::new();
    for pattern in patterns {
        json.extend_from_slice(if json.is_empty() { b"[{\"Key\":" } else { b",{\"Key\":" });
        write_key(pattern.parts(), &mut json);
        json.push(b'}');
    }
    json.extend_from_slice(if json.is_empty() { b"[]" } else { b"]" });
    let json = app.response_memory.hold(json).ok_or(StoreError::Overloaded)?;
    Ok((session.renew(&app).await, [JSON], json))
}
