//! The state that all handlers of the API share.

use std::sync::Arc;

use bytes::Bytes;
use common::{bearer::BearerToken, limits::Budget};
use tokio::sync::watch::Receiver;

use crate::{
    app::{Payments, SignatureKey},
    web::Uploads,
};

pub(crate) struct Api {
    pub(crate) payments: Arc<Payments>,
    /// Required by `POST /apps`. If `None`, anyone may create apps.
    pub(crate) apps_token: Option<Receiver<BearerToken>>,
    /// Verifies notifications of acquirers. If `None`, `POST /acquirer/events` does not exist.
    pub(crate) signature: Option<Receiver<SignatureKey>>,
    /// Verifies Stripe's events. If `None`, `POST /stripe/events` does not exist.
    pub(crate) stripe_signature: Option<Receiver<SignatureKey>>,
    /// Whether `POST /sandbox/clock` exists.
    pub(crate) sandbox_clock: bool,
    /// Limits the bytes of list responses that callers have not read yet.
    pub(crate) responses: Arc<Budget>,
    /// The body of `GET /openapi.json`.
    pub(crate) description: Bytes,
}

impl Uploads for Arc<Api> {
    fn uploads(&self) -> &Arc<Budget> {
        self.payments.uploads()
    }
}
