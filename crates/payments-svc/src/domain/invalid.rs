//! What is wrong with a request.

use std::borrow::Cow;

use serde::Serialize;

/// What is wrong with one member of a request: an element of the array that answers a 400.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Invalid {
    /// Where the member stands, dotted, as in `company.country`. Empty for the body as a whole.
    pub(crate) field: Cow<'static, str>,
    /// The rule it breaks, for people, as in `is required`. Never the value.
    pub(crate) message: Cow<'static, str>,
}

impl Invalid {
    /// A rule that the member at `field` breaks.
    pub(crate) fn new(
        field: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}
