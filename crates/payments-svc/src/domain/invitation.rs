//! Invitations: mail that tells users of a merchant that they may use it.

use super::{id::Id, merchant::Email};

/// After how long an attempt is made again, in milliseconds; longer than any attempt takes.
const FIRST_SPACING: u64 = 15_000;

/// How long it takes at most between two attempts.
const LONGEST_SPACING: u64 = 24 * 3_600_000;

/// After how many attempts an invitation is given up: between four and six days after the first.
pub(crate) const MAX_ATTEMPTS: u32 = 17;

/// An invitation that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// Its id.
    pub(crate) id: Id,
    /// Who is invited.
    pub(crate) to: Email,
    /// What people know the merchant by.
    pub(crate) merchant: String,
    /// How many attempts have been made to send it, with the one under way.
    pub(crate) attempts: u32,
}

impl Invitation {
    /// Whether it is given up if this attempt fails.
    pub(crate) fn is_last_attempt(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }

    /// How many milliseconds after an attempt the next one is made: twice as long each time, and up
    /// to a quarter longer, as the `jitter` says, so that not all come at once to a server that is back.
    pub(crate) fn spacing(attempts: u32, jitter: u16) -> u64 {
        let doublings = attempts.saturating_sub(1);
        let spacing = FIRST_SPACING.saturating_mul(2_u64.saturating_pow(doublings));
        let spacing = spacing.min(LONGEST_SPACING);
        spacing.saturating_add((spacing >> 18).saturating_mul(jitter.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_further_and_further_apart_up_to_a_day() {
        let least = |attempts| Invitation::spacing(attempts, 0);
        assert_eq!([least(1), least(2), least(3)], [15_000, 30_000, 60_000]);
        assert_eq!((least(MAX_ATTEMPTS), least(u32::MAX)), (LONGEST_SPACING, LONGEST_SPACING));
        for attempts in 1..=MAX_ATTEMPTS {
            let most = Invitation::spacing(attempts, u16::MAX);
            assert!((least(attempts)..=least(attempts) * 5 / 4).contains(&most), "{attempts}");
        }
    }

    #[test]
    fn an_invitation_is_given_up_after_four_to_six_days() {
        let days = |jitter| {
            let all = (1..MAX_ATTEMPTS).map(|attempts| Invitation::spacing(attempts, jitter));
            all.sum::<u64>() / LONGEST_SPACING
        };
        assert!((4..=5).contains(&days(0)) && (4..=5).contains(&days(u16::MAX)), "{}", days(0));
    }
}
