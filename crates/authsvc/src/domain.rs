//! Values and rules: pure, without clock or network.

mod number;
mod profile;
mod request;
mod value;

pub(crate) use profile::{
    Anomaly, Campuses, Deviation, Field, FieldValue, Fields, NoProfile, Profile, Record, info_keys,
    local_offset, photo_keys,
};
pub(crate) use request::{Input, Invalid, SignIn};
