//! Jitter: random additions to the delays of retries, so that the retries do not all reach a
//! recovered server at the same time.

use std::time::Duration;

/// Makes a delay of whole seconds up to 25 % longer. `jitter` is any number.
pub(super) fn with_jitter(delay: Duration, jitter: u16) -> Duration {
    let quarter_ms = delay.as_secs().saturating_mul(250);
    let jitter = Duration::from_millis(quarter_ms.saturating_mul(jitter.into()) / 65_535);
    delay.saturating_add(jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_adds_up_to_a_quarter_to_any_delay() {
        for seconds in [0, 1, 15, 3600, 24 * 3600] {
            let delay = Duration::from_secs(seconds);
            assert_eq!(with_jitter(delay, 0), delay);
            assert_eq!(with_jitter(delay, u16::MAX), delay * 5 / 4);
            let half = with_jitter(delay, u16::MAX / 2);
            assert!(half.abs_diff(delay * 9 / 8) <= delay / 1000, "{delay:?} {half:?}");
        }
        assert!(with_jitter(Duration::MAX, u16::MAX) == Duration::MAX);
    }
}
