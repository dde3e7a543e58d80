//! `POST /sandbox/clock`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use common::config::duration;

use super::{access::Caller, api::Api, idempotency::IdempotencyKey, output};
use crate::{
    app::Written,
    domain::{AdvanceBy, InvalidAdvance, actions::AdvanceClock},
    web::{Body, Error},
};

/// Makes everything of the app's test merchants older. A job ends what is due by then.
pub(super) async fn advance(
    State(api): State<Arc<Api>>,
    Caller(caller): Caller,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    let keyed = key.of(&caller.app, &body)?;
    let advanced = api.payments.once(keyed, async |keyed| {
        let by = body.read(|fields| fields.required("advance", advance_by))?;
        api.payments.write_keyed(AdvanceClock { app: caller.app.id, by }, keyed).await
    });
    let Written { outcome: (), is_replayed } = advanced.await?;
    Ok(output::written(is_replayed, StatusCode::CREATED.into_response()))
}

fn advance_by(text: &str) -> Result<AdvanceBy, InvalidAdvance> {
    AdvanceBy::new(duration(text).map_err(|_| InvalidAdvance)?)
}
