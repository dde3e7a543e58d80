//! Values and rules: pure, without clock or network.

mod profile;
mod request;

pub use profile::{
    Anomaly, Campuses, Field, FieldValue, Fields, InvalidCampuses, NoProfile, Profile, local_offset,
};
pub use request::{Input, Invalid, MAX_PASSWORD, MAX_USERNAME, SignIn};
