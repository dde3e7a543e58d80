//! `POST /watch`, and its opposite.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::IntoResponse};

use super::{
    App, Error,
    body::{Body, KeyOnlyInput},
    session::Authenticated,
};

/// Adds a pattern to the watches of the client.
pub(super) async fn watch(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let pattern = body.decode::<KeyOnlyInput<'_>>()?.pattern()?;
    app.store.watch(session.client, pattern).await??;
    session.mark_used(&app).await;
    Ok((session.renew(&app).await, StatusCode::NO_CONTENT))
}

/// Takes a pattern from the watches of the client, if it is there.
pub(super) async fn unwatch(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let pattern = body.decode::<KeyOnlyInput<'_>>()?.pattern()?;
    app.store.unwatch(session.client, pattern).await?;
    Ok((session.renew(&app).await, StatusCode::NO_CONTENT))
}
