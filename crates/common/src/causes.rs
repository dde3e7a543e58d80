//! The errors within an error.

use std::{error::Error, iter::successors};

/// The error itself, and then each cause, the outermost first.
pub fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}
