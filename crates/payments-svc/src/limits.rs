//! Rate limits on requests that a script could repeat without end: attempts to pay, declined cards,
//! new apps, invitations, tests of webhooks, receipts, links to sign in.
//!
//! The limits on attempts and declines protect against card testing: a thief tries a list of card
//! numbers where no credentials are needed. They bound how many cards the thief can check. They do
//! not hinder customers: an approved payment counts as an attempt, and towards no other limit. For
//! test merchants these limits are ten times higher, and counted separately.

use std::{
    hash::Hash,
    num::{NonZeroU32, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use common::limits::{
    Budget, ClientAddress, HashedKey, KeyedHash, Limited, Permit, Rate, RateLimiter, Refused,
    Reserved,
};
use payments_domain::{CardNumber, Email, Id, ProcessingError};

use crate::config::LimitsConfig;

/// The limit of declines at a merchant, as a multiple of the limit of one client address there.
const MERCHANT_FACTOR: u32 = 10;

/// Limits of test merchants, as a multiple of those of live merchants.
const TEST_FACTOR: u32 = 10;

// The number of keys that each limit remembers. A key takes about 100 bytes, and all keys of a
// service may take 8 MiB. So these numbers may add up to 80,000, with the first four counted twice:
// live and test merchants have separate limits.

/// Client addresses that made attempts.
const ATTEMPTING: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// Client addresses with declines, for each merchant.
const DECLINED: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// Merchants with declines.
const MERCHANTS: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();
/// Cards that were declined, or are in use by an attempt.
const CARDS: NonZeroUsize = NonZeroUsize::new(8_000).unwrap();
/// Client addresses that created apps.
const APPS: NonZeroUsize = NonZeroUsize::new(6_000).unwrap();
/// Apps and users that invited users.
const INVITING: NonZeroUsize = NonZeroUsize::new(3_000).unwrap();
/// Apps that tested webhooks.
const TESTING: NonZeroUsize = NonZeroUsize::new(3_000).unwrap();
/// E-mail addresses, known or not, that asked for links to sign in.
const SIGNING_IN: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();
/// Client addresses that asked for them.
const ASKING: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();
/// E-mail addresses that payers typed for receipts.
const RECEIVING: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();
/// Client addresses that asked for receipts of test payments.
const TEST_PAYING: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();

/// The time in which mails that strangers cause are counted.
const MAIL_PERIOD: Duration = Duration::from_mins(15);
/// Links to sign in that go to one e-mail address in that time, and receipts.
const MAILS_TO_EMAIL: NonZeroU32 = NonZeroU32::new(5).unwrap();
/// Links that one client address asks for in that time, and receipts of test payments, which are free.
const MAILS_FROM_ADDRESS: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// The maximum number of tests of webhooks at once. Each keeps a connection to the endpoint.
const TESTS_AT_ONCE: usize = 64;

/// The maximum memory of uploads that are received, stored or downloaded, in bytes.
const UPLOAD_MEMORY: usize = 32 * 1024 * 1024;

/// A caller without credentials who pays at a merchant, or saves a card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Customer {
    pub(crate) merchant: Id,
    /// Whether it is a test merchant.
    pub(crate) test: bool,
    pub(crate) address: ClientAddress,
}

pub(crate) struct Limits {
    live: CardLimits,
    test: CardLimits,
    apps: Arc<RateLimiter<ClientAddress>>,
    invitations: Arc<RateLimiter<Id>>,
    webhook_tests: Arc<RateLimiter<Id>>,
    webhook_tests_in_flight: Arc<Budget>,
    pub(crate) uploads: Arc<Budget>,
    sign_in_mails: Arc<RateLimiter<HashedKey>>,
    sign_ins: Arc<RateLimiter<ClientAddress>>,
    receipts: Arc<RateLimiter<HashedKey>>,
    test_receipts: Arc<RateLimiter<ClientAddress>>,
    hash: KeyedHash,
}

/// Limits on attempts with cards. Live and test merchants have separate ones.
struct CardLimits {
    attempts: Arc<RateLimiter<ClientAddress>>,
    declines: Arc<RateLimiter<(Id, ClientAddress)>>,
    merchants: Arc<RateLimiter<Id>>,
    cards: Arc<RateLimiter<HashedKey>>,
}

impl Limits {
    pub(crate) fn new(config: &LimitsConfig) -> Self {
        let LimitsConfig {
            attempt_limit,
            decline_limit,
            card_limit,
            app_limit,
            invitation_limit,
            webhook_test_limit,
        } = *config;
        let test = |rate: Rate| rate.times(TEST_FACTOR);
        let mails = Rate::new(MAILS_TO_EMAIL, MAIL_PERIOD);
        Self {
            live: CardLimits {
                attempts: limiter("attempts", attempt_limit, ATTEMPTING),
                declines: limiter("declines", decline_limit, DECLINED),
                merchants: merchants("merchant_declines", decline_limit),
                cards: limiter("card_declines", card_limit, CARDS),
            },
            test: CardLimits {
                attempts: limiter("test_attempts", test(attempt_limit), ATTEMPTING),
                declines: limiter("test_declines", test(decline_limit), DECLINED),
                merchants: merchants("test_merchant_declines", test(decline_limit)),
                cards: limiter("test_card_declines", test(card_limit), CARDS),
            },
            apps: limiter("apps", app_limit, APPS),
            invitations: limiter("invitations", invitation_limit, INVITING),
            webhook_tests: limiter("webhook_tests", webhook_test_limit, TESTING),
            webhook_tests_in_flight: Budget::new("webhook_tests_in_flight", TESTS_AT_ONCE),
            uploads: Budget::new("upload_memory", UPLOAD_MEMORY),
            sign_in_mails: limiter("sign_in_mails", mails, SIGNING_IN),
            sign_ins: limiter("sign_ins", Rate::new(MAILS_FROM_ADDRESS, MAIL_PERIOD), ASKING),
            receipts: limiter("receipts", mails, RECEIVING),
            test_receipts: limiter(
                "test_receipts",
                Rate::new(MAILS_FROM_ADDRESS, MAIL_PERIOD),
                TEST_PAYING,
            ),
            hash: KeyedHash::new(),
        }
    }

    /// Every limit, for the metrics.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Limited>> {
        let Self { live, test, apps, invitations, webhook_tests, .. } = self;
        let Self { webhook_tests_in_flight, uploads, sign_in_mails, sign_ins, .. } = self;
        let Self { receipts, test_receipts, .. } = self;
        let others: [Arc<dyn Limited>; 9] = [
            Arc::clone(apps) as _,
            Arc::clone(invitations) as _,
            Arc::clone(webhook_tests) as _,
            Arc::clone(webhook_tests_in_flight) as _,
            Arc::clone(uploads) as _,
            Arc::clone(sign_in_mails) as _,
            Arc::clone(sign_ins) as _,
            Arc::clone(receipts) as _,
            Arc::clone(test_receipts) as _,
        ];
        live.all().into_iter().chain(test.all()).chain(others).collect()
    }

    fn for_mode(&self, test: bool) -> &CardLimits {
        if test { &self.test } else { &self.live }
    }

    /// Counts a request to create an app.
    pub(crate) fn count_new_app(&self, address: ClientAddress) -> Result<(), Refused> {
        self.apps.count(address)
    }

    /// Counts an invitation by an app or user. Dropping the result subtracts the count again;
    /// [`Reserved::keep`] keeps it.
    pub(crate) fn count_invitation(&self, actor: Id) -> Result<Reserved<Id>, Refused> {
        self.invitations.reserve(actor)
    }

    /// Counts a test of a webhook by an app.
    pub(crate) fn count_webhook_test(&self, app: Id) -> Result<(), Refused> {
        self.webhook_tests.count(app)
    }

    /// Counts a request for a link to sign in, whether the address belongs to a user or not.
    pub(crate) fn count_sign_in(
        &self,
        address: ClientAddress,
        email: &Email,
    ) -> Result<(), Refused> {
        self.sign_ins.count(address)?;
        self.sign_in_mails.count(self.email(email))
    }

    /// Counts a receipt that goes to an e-mail address, which can be somebody else's.
    /// `test`: of a test payment.
    pub(crate) fn count_receipt(
        &self,
        test: bool,
        address: ClientAddress,
        email: &Email,
    ) -> Result<(), Refused> {
        if test {
            self.test_receipts.count(address)?;
        }
        self.receipts.count(self.email(email))
    }

    fn email(&self, email: &Email) -> HashedKey {
        self.hash.of(email.as_str().to_ascii_lowercase().as_bytes())
    }

    /// A permit to test a webhook. `None` if too many tests are under way.
    pub(crate) fn webhook_test(&self) -> Option<Permit> {
        self.webhook_tests_in_flight.take(1)
    }

    /// Rejects an address that has exceeded even the limit for test merchants, before the merchant
    /// is looked up. Counts nothing.
    pub(crate) fn check_attempts(&self, address: ClientAddress) -> Result<(), Refused> {
        self.test.attempts.check(address)
    }

    /// Counts an attempt to pay or to save a card.
    pub(crate) fn count_attempt(&self, test: bool, address: ClientAddress) -> Result<(), Refused> {
        self.for_mode(test).attempts.count(address)
    }

    /// Checks whether a customer may use a card. The limits of the address and the merchant count
    /// only declines, because many people may share an address. A decline is known only after the
    /// attempt, so concurrent attempts can exceed these limits. The limit of a card is strict: each
    /// attempt counts when it begins. It needs the number of the card.
    pub(crate) fn admit(
        &self,
        customer: &Customer,
        card: Option<&CardNumber>,
    ) -> Result<Option<Admitted>, Refused> {
        let limits = self.for_mode(customer.test);
        limits.declines.check((customer.merchant, customer.address))?;
        limits.merchants.check(customer.merchant)?;
        let Some(card) = card else { return Ok(None) };
        let card = self.hash.of(card.expose().as_bytes());
        limits.cards.reserve(card).map(|card| Some(Admitted(card)))
    }

    /// Counts a decline for the address and the merchant.
    ///
    /// Decision: only errors about the card are counted. The others reveal nothing about it, such
    /// as a merchant that may not accept payments, or a failure of the acquirer.
    pub(crate) fn declined(&self, customer: &Customer, error: ProcessingError) {
        if error.counts_against_limit() {
            let limits = self.for_mode(customer.test);
            limits.declines.record((customer.merchant, customer.address));
            limits.merchants.record(customer.merchant);
        }
    }
}

impl CardLimits {
    fn all(&self) -> [Arc<dyn Limited>; 4] {
        let Self { attempts, declines, merchants, cards } = self;
        let (attempts, declines) = (Arc::clone(attempts), Arc::clone(declines));
        let (merchants, cards) = (Arc::clone(merchants), Arc::clone(cards));
        [attempts, declines, merchants, cards]
    }
}

/// The count of an attempt with a card. Dropping it subtracts the count again; only
/// [`Self::declined`] keeps it.
pub(crate) struct Admitted(Reserved<HashedKey>);

impl Admitted {
    /// Keeps the count if the error concerns the card.
    pub(crate) fn declined(self, error: ProcessingError) {
        if error.counts_against_limit() {
            self.0.keep();
        }
    }
}

fn merchants(name: &'static str, rate: Rate) -> Arc<RateLimiter<Id>> {
    limiter(name, rate.times(MERCHANT_FACTOR), MERCHANTS)
}

fn limiter<K: Hash + Eq + Clone>(
    name: &'static str,
    rate: Rate,
    keys: NonZeroUsize,
) -> Arc<RateLimiter<K>> {
    Arc::new(RateLimiter::new(name, rate, keys))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn limits(decline_limit: &str, card_limit: &str) -> Limits {
        let rate = |text: &str| text.parse().unwrap();
        Limits::new(&LimitsConfig {
            attempt_limit: rate("2/1h"),
            decline_limit: rate(decline_limit),
            card_limit: rate(card_limit),
            app_limit: rate("off"),
            invitation_limit: rate("2/1h"),
            webhook_test_limit: rate("off"),
        })
    }

    fn customer(merchant: u8, test: bool, address: u8) -> Customer {
        let merchant = format!("6b016ea0000000000000000{merchant}").parse().unwrap();
        let address = ClientAddress::new(Ipv4Addr::new(192, 0, 2, address).into());
        Customer { merchant, test, address }
    }

    fn card(last: u8) -> CardNumber {
        CardNumber::new(&format!("410000000000000{last}")).unwrap()
    }

    fn decline(limits: &Limits, customer: &Customer, card: &CardNumber) -> Result<(), Refused> {
        let admitted = limits.admit(customer, Some(card))?;
        if let Some(admitted) = admitted {
            admitted.declined(ProcessingError::DECLINED);
        }
        limits.declined(customer, ProcessingError::DECLINED);
        Ok(())
    }

    #[test]
    fn attempts_count_by_address_and_separately_for_test_merchants() {
        let limits = limits("off", "off");
        let attempt = |test, last| limits.count_attempt(test, customer(1, test, last).address);
        assert!(attempt(false, 1).is_ok() && attempt(false, 1).is_ok());
        assert!(attempt(false, 1).is_err() && attempt(false, 2).is_ok());
        assert!((0..20).all(|_| attempt(true, 1).is_ok()));
        assert!(attempt(true, 1).is_err());
    }

    #[test]
    fn declines_count_by_merchant_and_address() {
        let limits = limits("2/1h", "off");
        let payer = customer(1, false, 1);
        assert!((0..2).all(|_| decline(&limits, &payer, &card(1)).is_ok()));
        assert!(decline(&limits, &payer, &card(2)).is_err());
        assert!(limits.admit(&payer, None).is_err(), "the number is unknown");
        for other in [customer(2, false, 1), customer(1, false, 2), customer(1, true, 1)] {
            assert!(decline(&limits, &other, &card(1)).is_ok(), "{other:?}");
        }
    }

    #[test]
    fn a_merchant_has_ten_times_the_declines_of_an_address() {
        let limits = limits("2/1h", "off");
        for number in 0..20 {
            assert!(decline(&limits, &customer(1, false, number), &card(1)).is_ok(), "{number}");
        }
        assert!(decline(&limits, &customer(1, false, 20), &card(1)).is_err());
        assert!(decline(&limits, &customer(2, false, 20), &card(1)).is_ok());
    }

    #[test]
    fn a_card_attempt_counts_in_flight_and_after_a_decline() {
        let limits = limits("off", "2/1h");
        let payer = customer(1, false, 1);
        let both = (limits.admit(&payer, Some(&card(1))), limits.admit(&payer, Some(&card(1))));
        assert!(both.0.is_ok() && both.1.is_ok());
        assert!(limits.admit(&customer(2, false, 2), Some(&card(1))).is_err(), "at any merchant");
        assert!(limits.admit(&payer, Some(&card(2))).is_ok());
        drop(both);
        assert!((0..10).all(|_| limits.admit(&payer, Some(&card(1))).is_ok()), "approved");
        assert!((0..2).all(|_| decline(&limits, &payer, &card(1)).is_ok()));
        assert!(limits.admit(&payer, Some(&card(1))).is_err());
    }

    #[test]
    fn errors_that_do_not_concern_the_card_do_not_count() {
        let limits = limits("1/1h", "1/1h");
        let payer = customer(1, false, 1);
        for error in [ProcessingError::MAY_NOT_CREATE, ProcessingError::TRY_AGAIN] {
            for _ in 0..5 {
                limits.admit(&payer, Some(&card(1))).unwrap().unwrap().declined(error);
                limits.declined(&payer, error);
            }
        }
        assert!(limits.admit(&payer, Some(&card(1))).is_ok());
    }

    #[test]
    fn a_dropped_invitation_count_is_subtracted() {
        let limits = limits("off", "off");
        let (app, other) = (customer(1, false, 1).merchant, customer(2, false, 1).merchant);
        assert!((0..5).all(|_| limits.count_invitation(app).is_ok()));
        assert!((0..2).all(|_| limits.count_invitation(app).map(Reserved::keep).is_ok()));
        assert!(limits.count_invitation(app).is_err() && limits.count_invitation(other).is_ok());
    }
}
