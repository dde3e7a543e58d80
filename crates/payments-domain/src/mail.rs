//! Mails to users of merchants, and to payers.

use std::time::Duration;

use jiff::Timestamp;
use sql::{group, named};

use super::{
    event::EventType,
    id::Id,
    jitter::with_jitter,
    merchant::{Country, Email},
    money::Money,
};

/// The time from the first attempt to the second. Longer than any attempt takes, so that two
/// attempts never overlap.
const FIRST_DELAY: Duration = Duration::from_secs(15);

/// The maximum time between two attempts, without jitter.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// The maximum number of attempts. The last one is four to six days after the first.
const MAX_ATTEMPTS: u32 = 17;

named! {
    pub enum MailKind {
        /// A new member is invited.
        Invitation = "invitation",
        /// The user asked for a link to sign in.
        SignIn = "sign_in",
        /// A dispute was opened.
        Dispute = "dispute",
        /// The balance was paid out.
        Payout = "payout",
        /// The bank returned a payout.
        Return = "return",
        /// An endpoint of an app was disabled, because its deliveries failed.
        Webhook = "webhook",
        /// A payer wants a receipt.
        Receipt = "receipt",
    }
}

impl MailKind {
    /// The kinds that members choose to get.
    pub const CHOICES: [Self; 4] = [Self::Dispute, Self::Payout, Self::Return, Self::Webhook];

    /// Whether a new member gets mails of this kind: those that ask for something to be done.
    pub fn is_default(self) -> bool {
        matches!(self, Self::Dispute | Self::Return | Self::Webhook)
    }

    /// The kind of the mails about an event.
    pub(crate) fn of(event: EventType) -> Option<Self> {
        match event {
            EventType::DisputeOpened => Some(Self::Dispute),
            EventType::PayoutBooked => Some(Self::Payout),
            EventType::PayoutReturned => Some(Self::Return),
            _ => None,
        }
    }
}

group! {
    /// Where the receipt of a payment goes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ReceiptAddress {
        email: Email = "email",
        /// The ISO 639-1 code of the language in which the payer paid.
        language: String = "language",
    }
}

group! {
    /// A mail to send.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Mail {
        id: Id = "id",
        kind: MailKind = "kind",
        to: Email = "to",
        /// The title of the merchant that it is about.
        merchant: Option<String> = "merchant",
        /// The merchant's country.
        country: Option<Country> = "country",
        /// The ID of the merchant.
        page: Option<Id> = "page",
        /// The dispute, payout or transaction that it is about.
        object: Option<Id> = "object",
        /// The amount of the dispute, payout or transaction.
        money: Option<Money> = ..,
        /// Until when the dispute can be answered.
        answer_by: Option<Timestamp> = "answer_by",
        /// The name of the app that caused it, or the address of the user.
        actor: Option<String> = "actor",
        /// The ISO 639-1 code of its language, if the recipient chose one.
        language: Option<String> = "language",
        /// The number of attempts to send it, including the current one.
        attempts: u32 = "attempts",
        /// Whether the link that the user asked for would have ended by now.
        is_late: bool = [false],
    }
}

impl Mail {
    /// Whether this is the last attempt. After it the mail is deleted, even if it was not sent.
    pub fn is_last_attempt(&self) -> bool {
        self.attempts >= MAX_ATTEMPTS
    }

    /// The time from attempt number `attempts` to the next one. It doubles with each attempt.
    /// `jitter` is any number.
    pub(crate) fn retry_delay(attempts: u32, jitter: u16) -> Duration {
        let doublings = attempts.saturating_sub(1);
        let retry_delay = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings));
        with_jitter(retry_delay.min(LONGEST_DELAY), jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_attempts_doubles_up_to_a_day() {
        let least = |attempts| Mail::retry_delay(attempts, 0);
        assert_eq!([least(1), least(2), least(3)], [15, 30, 60].map(Duration::from_secs));
        assert_eq!((least(MAX_ATTEMPTS), least(u32::MAX)), (LONGEST_DELAY, LONGEST_DELAY));
        for attempts in 1..=MAX_ATTEMPTS {
            let most = Mail::retry_delay(attempts, u16::MAX);
            assert_eq!(most, least(attempts) * 5 / 4, "{attempts}");
        }
    }

    #[test]
    fn attempts_end_after_four_to_six_days() {
        let days = |jitter| {
            let all = (1..MAX_ATTEMPTS).map(|attempts| Mail::retry_delay(attempts, jitter));
            all.sum::<Duration>().as_secs() / LONGEST_DELAY.as_secs()
        };
        assert!((4..=5).contains(&days(0)) && (4..=5).contains(&days(u16::MAX)), "{}", days(0));
    }
}
