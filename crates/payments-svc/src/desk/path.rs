//! The IDs in a path.

use axum::{
    RequestPartsExt as _,
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use payments_domain::Id;

use super::Desk;
use crate::{app, web::Error};

/// The IDs after the merchant. A text that is not an ID names nothing.
pub(super) struct Ids<const COUNT: usize>(pub(super) [Id; COUNT]);

/// The ID in the path that the route calls so.
pub(super) async fn named(parts: &mut Parts, name: &str) -> Result<Id, app::Error> {
    let path = parts.extract::<RawPathParams>().await.map_err(|_| app::Error::NotFound)?;
    let (_, id) = path.iter().find(|(known, _)| *known == name).ok_or(app::Error::NotFound)?;
    id.parse().map_err(|_| app::Error::NotFound)
}

impl<const COUNT: usize> FromRequestParts<Desk> for Ids<COUNT> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &Desk) -> Result<Self, Error> {
        let path = parts.extract::<RawPathParams>().await.map_err(|_| app::Error::NotFound)?;
        let ids = path.iter().skip(1).map(|(_, text)| text.parse().ok());
        let ids: Option<Vec<Id>> = ids.collect();
        let ids = ids.and_then(|ids| ids.try_into().ok());
        Ok(Self(ids.ok_or(app::Error::NotFound)?))
    }
}
