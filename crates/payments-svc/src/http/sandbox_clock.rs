//! `POST /sandbox/clock`.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use common::config::duration;
use payments_domain::{AdvanceBy, InvalidAdvance, actions::AdvanceClock};

use super::{access::Caller, idempotency::Once, output};
use crate::{app::Written, web::Error};

/// Makes everything of the app's test merchants older. A job ends what is due by then.
pub(super) async fn advance(Caller(caller): Caller, request: Once) -> Result<Response, Error> {
    let app = caller.app.id;
    let advanced = request.write(caller.access(None), |body| {
        let by = body.read(|fields| fields.required("advance", advance_by))?;
        Ok(AdvanceClock { app, by })
    });
    let Written { outcome: (), is_replayed } = advanced.await?;
    Ok(output::written(is_replayed, StatusCode::CREATED.into_response()))
}

fn advance_by(text: &str) -> Result<AdvanceBy, InvalidAdvance> {
    AdvanceBy::new(duration(text).map_err(|_| InvalidAdvance)?)
}
