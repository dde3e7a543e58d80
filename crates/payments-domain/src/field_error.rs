//! Validation errors of a request.

use std::borrow::Cow;

use serde::Serialize;

/// An error of one field of a request: an element of the array in a 400 response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// The dotted path of the field, as in `company.country`. Empty for the whole body.
    pub field: Cow<'static, str>,
    /// The broken rule, as in `is required`. Never contains the value, which can be secret.
    pub message: Cow<'static, str>,
}

impl FieldError {
    pub fn new(field: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}
