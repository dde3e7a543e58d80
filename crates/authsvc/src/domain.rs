//! Values and rules: pure, without clock or network.

mod profile;
mod request;

pub(crate) use profile::{
    Anomaly, Campuses, Field, FieldValue, Fields, NoProfile, Profile, local_offset,
};
pub(crate) use request::{Input, Invalid, SignIn};
