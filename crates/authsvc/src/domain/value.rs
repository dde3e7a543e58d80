//! Reads the values of a profile, as the portal has sent them.

use std::ops::RangeInclusive;

use jiff::{
    Timestamp,
    civil::{Date, date},
};
use serde_json::Value;

use super::{
    number,
    profile::{Anomaly, local_offset},
};

/// A sent value: its text, `None` without a value, or an anomaly.
pub(super) type Sent = Result<Option<String>, Anomaly>;

/// A whole number becomes its digits, any other one its text. Null and empty text are no value.
pub(super) fn text(sent: &[u8]) -> Sent {
    match parsed(sent)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Value::Number(_) => {
            let as_sent = || String::from_utf8_lossy(sent.trim_ascii()).into_owned();
            Ok(Some(number::digits(sent).unwrap_or_else(as_sent)))
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(Anomaly::UnexpectedValue),
    }
}

/// Dates within 60 days of the epoch. They come from seconds in place of milliseconds, or from a
/// small number in place of no value.
const NEAR_EPOCH: RangeInclusive<Date> = date(1969, 11, 2)..=date(1970, 3, 2);

/// Reads milliseconds since the epoch, at midnight +05:30.
pub(super) fn birth(sent: &[u8], today: Date) -> Sent {
    if !parsed(sent)?.is_number() {
        return match text(sent)? {
            None => Ok(None),
            Some(_) => Err(Anomaly::UnexpectedValue),
        };
    }
    let millis = number::digits(sent).and_then(|millis| millis.parse().ok());
    let at = millis.and_then(|millis| Timestamp::from_millisecond(millis).ok());
    let date = |at| local_offset().to_datetime(at).date();
    let is_credible =
        |&date: &Date| date.year() > 0 && date <= today && !NEAR_EPOCH.contains(&date);
    at.map(date)
        .filter(is_credible)
        .map(|date| Some(date.to_string()))
        .ok_or(Anomaly::UnexpectedValue)
}

fn parsed(sent: &[u8]) -> Result<Value, Anomaly> {
    serde_json::from_slice(sent).map_err(|_| Anomaly::UnexpectedValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_sent() {
        for (sent, shown) in [
            (" 1.10 ", "1.10"),
            ("12345678901234567.5", "12345678901234567.5"),
            ("1e-400", "1e-400"),
            ("2e3", "2000"),
            ("7.0", "7"),
        ] {
            assert_eq!(text(sent.as_bytes()).ok().flatten().as_deref(), Some(shown));
        }
    }

    #[test]
    fn impossible_dates_of_birth_are_unexpected() {
        let today = date(2026, 11, 28);
        let millis = |date: Date| {
            let midnight = date.at(0, 0, 0, 0).to_zoned(local_offset().to_time_zone()).unwrap();
            midnight.timestamp().as_millisecond().to_string()
        };
        for wrong in [
            "9223372036854775807",
            "-99999999999999",
            "1.5",
            "true",
            "[",
            "1e999",
            "\"soon\"",
            "\"1104517800000\"",
            // Seconds and microseconds.
            "1104517800",
            "1104517800000000",
            "0",
            "-1",
            &millis(date(1969, 11, 2)),
            &millis(date(1970, 3, 2)),
            &millis(date(2026, 11, 29)),
        ] {
            assert_eq!(birth(wrong.as_bytes(), today), Err(Anomaly::UnexpectedValue), "{wrong}");
        }
        for (good, expected) in [
            ("1104517800000", "2005-01-01"),
            ("1104517800000.0", "2005-01-01"),
            ("1.1045178E12", "2005-01-01"),
            (&millis(date(1969, 11, 1)), "1969-11-01"),
            (&millis(date(1970, 3, 3)), "1970-03-03"),
            (&millis(today), "2026-11-28"),
        ] {
            assert_eq!(birth(good.as_bytes(), today), Ok(Some(expected.to_owned())), "{good}");
        }
        for blank in ["null", "\" \""] {
            assert_eq!(birth(blank.as_bytes(), today), Ok(None));
        }
    }
}
