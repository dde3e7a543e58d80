//! The `Date` of responses. The HTTP library renews its own only when the clock has passed it, so
//! it would stay in the future after the clock steps back. Only the library's answers to requests
//! that it cannot parse still have that one.

use std::{
    cell::RefCell,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::http::HeaderValue;
use httpdate::HttpDate;

thread_local! {
    /// The second for which this thread has last formatted a date, and the date.
    static LAST: RefCell<Option<(u64, HeaderValue)>> = const { RefCell::new(None) };
}

/// The `Date` of a response that is made now.
#[expect(clippy::disallowed_methods, reason = "Date is the time of the response itself")]
pub(super) fn now() -> Option<HeaderValue> {
    let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    LAST.with_borrow_mut(|last| {
        if last.as_ref().is_none_or(|(of, _)| *of != second) {
            let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
            *last = HeaderValue::try_from(date.to_string()).ok().map(|date| (second, date));
        }
        last.as_ref().map(|(_, date)| date.clone())
    })
}
