//! What handlers work with.

use std::sync::Arc;

use bytes::Bytes;
use common::{bearer::BearerToken, limits::Budget};

use super::signature::SignatureKey;
use crate::app::Payments;

/// What handlers work with.
pub(crate) struct Api {
    pub(crate) payments: Arc<Payments>,
    /// The token that `POST /apps` needs; without it, anybody may make an app.
    pub(crate) apps_token: Option<BearerToken>,
    /// What acquirers sign with. Without it, they have nobody to tell.
    pub(crate) signature: Option<SignatureKey>,
    /// For responses that their clients have not taken.
    pub(crate) responses: Arc<Budget>,
    /// The description of the interface, as it is served.
    pub(crate) description: Bytes,
}
