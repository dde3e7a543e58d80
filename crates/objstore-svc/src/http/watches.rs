//! `POST /watch` and `POST /unwatch`.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::IntoResponse};

use super::{
    App, Error,
    body::{Body, KeyOnlyInput},
    session::Authenticated,
};

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

pub(super) async fn unwatch(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let pattern = body.decode::<KeyOnlyInput<'_>>()?.pattern()?;
    app.store.unwatch(session.client, pattern).await?;
    Ok((session.renew(&app).await, StatusCode::NO_CONTENT))
}
