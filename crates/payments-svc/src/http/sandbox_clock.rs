//! `POST /sandbox/clock`.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use common::config::duration;

use super::{access::Caller, api::Api, idempotency::IdempotencyKey, output};
use crate::{
    domain::{AdvanceBy, InvalidAdvance},
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
        api.payments.advance_clock(caller.app.id, by, keyed).await
    });
    Ok(output::response(&api.payments, advanced.await?).await)
}

fn advance_by(text: &str) -> Result<AdvanceBy, InvalidAdvance> {
    AdvanceBy::new(duration(text).map_err(|_| InvalidAdvance)?)
}
