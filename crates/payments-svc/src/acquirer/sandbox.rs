//! The acquirer of test merchants. It moves no money. The card number selects the outcome;
//! `docs/payments-svc.md` lists the test cards.

use std::time::Duration;

use jiff::Timestamp;
use payments_domain::{
    AcquirerEvent, AcquirerId, AcquirerOutcome, Amount, Authorization, Capabilities, CardDetails,
    Challenge, ChallengeAnswer, Claim, Decision, FraudReason, Notification, OutboxEntry,
    OutboxKind, ProcessingError, ThreeDSecure,
};
use tokio::time::sleep;

use super::{
    AuthorizationRequest, AuthorizationResponse, AuthorizationState, CardSource, Execution,
    NoAnswer,
};

/// Prefix of references. The last four digits of the card follow.
const REFERENCE: &str = "sandbox-";

/// Keeps no state: the same card always gets the same outcome. So an authorization that nobody has
/// received does not exist.
pub(crate) struct Sandbox {
    /// Delay before each answer to a payment, a challenge or a card check.
    delay: Duration,
    /// Time to answer a dispute.
    dispute_due: Duration,
}

impl Sandbox {
    pub(crate) fn new(delay: Duration, dispute_due: Duration) -> Self {
        Self { delay, dispute_due }
    }

    pub(super) async fn authorize(
        &self,
        request: &AuthorizationRequest,
        now: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        sleep(self.delay).await;
        let can_challenge = request.return_url.is_some();
        Ok(match &request.source {
            CardSource::Card(card) if can_challenge && is_challenged(card, now) => {
                AuthorizationResponse::Challenge { reference: reference(card) }
            }
            CardSource::Card(card) => AuthorizationResponse::Outcome(judge(card, now)),
            // This card succeeds when a customer types it in, and lacks funds in recurring
            // payments.
            CardSource::Reference(reference) if reference.ends_with("0207") => {
                AuthorizationResponse::Outcome(AcquirerOutcome::Declined(
                    ProcessingError::INSUFFICIENT_FUNDS,
                ))
            }
            // The sandbox has no script that makes tokens.
            CardSource::Token(_) => AuthorizationResponse::Outcome(AcquirerOutcome::Declined(
                ProcessingError::NOT_SUPPORTED,
            )),
            CardSource::Reference(reference) => {
                AuthorizationResponse::Outcome(approved(reference.clone(), ThreeDSecure::None))
            }
        })
    }

    pub(super) async fn complete(
        &self,
        challenge: &Challenge,
        answer: ChallengeAnswer,
        _: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        sleep(self.delay).await;
        Ok(AuthorizationResponse::Outcome(completed(&challenge.reference, answer)))
    }

    #[expect(clippy::unused_async, reason = "a question to any other acquirer uses the network")]
    pub(super) async fn ask(
        &self,
        _: &Authorization,
        _: Timestamp,
    ) -> Result<AuthorizationState, NoAnswer> {
        Ok(AuthorizationState::NotDone)
    }

    /// Does nothing. Returns the notifications that some cards cause at their first capture, and the
    /// decision of an answered dispute.
    #[expect(clippy::unused_async, reason = "a call to any other acquirer uses the network")]
    pub(super) async fn carry_out(
        &self,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Execution, NoAnswer> {
        let reference = entry.reference.as_deref().filter(|_| entry.is_first_capture);
        let end = reference.and_then(|reference| reference.strip_prefix(REFERENCE));
        let (suspects, disputes) = match end {
            Some("0101") => (true, false),
            Some("0102") => (false, true),
            Some("0103") => (true, true),
            _ => (false, false),
        };
        let alert = suspects.then(|| alert(entry, now));
        let dispute = disputes.then(|| self.dispute(entry, now)).flatten();
        let decision = decision(entry, now);
        Ok(Execution::Done(alert.into_iter().chain(dispute).chain(decision).collect()))
    }

    pub(super) async fn ask_entry(
        &self,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Option<Execution>, NoAnswer> {
        self.carry_out(entry, now).await.map(Some)
    }

    fn dispute(&self, captured: &OutboxEntry, now: Timestamp) -> Option<Notification> {
        let transaction = captured.transaction;
        let id = AcquirerId::of_sandbox("dispute", transaction);
        let event = AcquirerEvent::Opened(Claim {
            dispute: id.clone(),
            amount: Amount::new(captured.amount).ok()?,
            reason: None,
            due: now.checked_add(self.dispute_due).unwrap_or(Timestamp::MAX),
        });
        Some(Notification { id, transaction, created: now, event })
    }
}

/// The decision of a dispute, if its answer contains one. Otherwise it stays open.
fn decision(entry: &OutboxEntry, now: Timestamp) -> Option<Notification> {
    let (id, dispute) = entry.dispute.clone()?;
    let text = entry.evidence.as_ref().map_or("", |evidence| evidence.text.as_str());
    let decision = match entry.kind {
        OutboxKind::Acceptance => Decision::Lost,
        _ if text.contains("winning_evidence") => Decision::Won,
        _ if text.contains("losing_evidence") => Decision::Lost,
        _ => return None,
    };
    let (id, transaction) = (AcquirerId::of_sandbox("answered", id), entry.transaction);
    let event = AcquirerEvent::Decided { dispute, decision };
    Some(Notification { id, transaction, created: now, event })
}

fn alert(captured: &OutboxEntry, now: Timestamp) -> Notification {
    let event =
        AcquirerEvent::Fraud { reported: Some(now), reason: Some(FraudReason::FRAUDULENT_USE) };
    let transaction = captured.transaction;
    let id = AcquirerId::of_sandbox("fraud", transaction);
    Notification { id, transaction, created: now, event }
}

/// Whether the card demands 3-D Secure.
fn is_challenged(card: &CardDetails, now: Timestamp) -> bool {
    let number = card.number.expose();
    !card.expiry.has_passed(now)
        && number.len() == 16
        && number
            .strip_prefix("410000000000")
            .is_some_and(|end| matches!(end, "0030" | "0031" | "0032"))
}

/// The outcome for a challenged card, by its reference.
fn completed(reference: &str, answer: ChallengeAnswer) -> AcquirerOutcome {
    match (answer, reference.strip_prefix(REFERENCE)) {
        (ChallengeAnswer::Confirmed, Some("0030")) => {
            approved(reference.to_owned(), ThreeDSecure::Full)
        }
        (ChallengeAnswer::Confirmed, Some("0032")) => {
            approved(reference.to_owned(), ThreeDSecure::Attempt)
        }
        _ => AcquirerOutcome::Declined(ProcessingError::FAILED_3D_SECURE),
    }
}

fn approved(reference: String, tds: ThreeDSecure) -> AcquirerOutcome {
    let (reference, capabilities) = (Some(reference), Capabilities::default());
    AcquirerOutcome::Approved { reference, tds, capabilities }
}

fn reference(card: &CardDetails) -> String {
    format!("{REFERENCE}{}", card.to_card().last4)
}

fn judge(card: &CardDetails, now: Timestamp) -> AcquirerOutcome {
    if card.expiry.has_passed(now) {
        return AcquirerOutcome::Declined(ProcessingError::EXPIRED);
    }
    let number = card.number.expose();
    let declined = |error| AcquirerOutcome::Declined(error);
    match number.split_at_checked(12) {
        Some(("410000000000" | "100000000000" | "510000000000", "0000"))
        | Some(("410000000000", "0101" | "0102" | "0103" | "0207")) => {
            approved(reference(card), ThreeDSecure::None)
        }
        Some(("420000000000", "0000")) => declined(ProcessingError::DECLINED),
        // Without a challenge these fail: only the payment page supports 3-D Secure.
        Some(("410000000000", "0030" | "0032")) => declined(ProcessingError::NEEDS_3D_SECURE),
        Some(("410000000000", "0031")) => declined(ProcessingError::FAILED_3D_SECURE),
        Some(("410000000000", end)) => declined(coded(end)),
        _ => declined(ProcessingError::NOT_SUPPORTED),
    }
}

/// The last digits of a card number select the response code. Codes without a test card become
/// "card not supported".
fn coded(end: &str) -> ProcessingError {
    let error = end.parse().ok().and_then(ProcessingError::of_acquirer);
    error.unwrap_or(ProcessingError::NOT_SUPPORTED)
}

#[cfg(test)]
mod tests {
    use payments_domain::{CardNumber, Expiry, SecurityCode};

    use super::*;

    fn card(number: &str, year: i64) -> CardDetails {
        CardDetails {
            number: CardNumber::new(number).unwrap(),
            expiry: Expiry::new(Expiry::year(year).unwrap(), Expiry::month(8).unwrap()),
            code: SecurityCode::new("123").unwrap(),
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_763_700_000).unwrap()
    }

    fn judged(number: &str, year: i64) -> Result<String, u8> {
        match judge(&card(number, year), now()) {
            AcquirerOutcome::Approved {
                reference: Some(reference),
                tds: ThreeDSecure::None,
                ..
            } => Ok(reference),
            AcquirerOutcome::Approved { .. } => panic!("3-D Secure, or a card that is not kept"),
            AcquirerOutcome::Declined(error) => Err(error.code()),
        }
    }

    #[test]
    fn three_cards_are_challenged_and_the_answer_decides() {
        for end in 29..=33 {
            let number = format!("41000000000000{end}");
            let expected = (30..=32).contains(&end);
            assert_eq!(is_challenged(&card(&number, 2066), now()), expected, "{number}");
            assert!(!is_challenged(&card(&number, 2025), now()), "{number} has expired");
        }
        assert!(!is_challenged(&card("41000000000000300", 2066), now()));
        for (reference, tds) in [
            ("sandbox-0030", Some(ThreeDSecure::Full)),
            ("sandbox-0031", None),
            ("sandbox-0032", Some(ThreeDSecure::Attempt)),
        ] {
            let failed = AcquirerOutcome::Declined(ProcessingError::FAILED_3D_SECURE);
            let confirmed = tds.map_or(failed.clone(), |tds| approved(reference.to_owned(), tds));
            assert_eq!(completed(reference, ChallengeAnswer::Confirmed), confirmed);
            assert_eq!(completed(reference, ChallengeAnswer::Rejected), failed);
        }
    }

    #[test]
    fn test_cards_have_the_documented_outcomes() {
        for good in ["4100000000000000", "1000000000000000", "5100000000000000"] {
            assert_eq!(judged(good, 2066), Ok("sandbox-0000".to_owned()));
        }
        for end in ["0101", "0102", "0103", "0207"] {
            assert_eq!(judged(&format!("410000000000{end}"), 2066), Ok(format!("sandbox-{end}")));
        }
        for code in (2..=12).chain([25, 29, 30, 31]) {
            assert_eq!(judged(&format!("41000000000000{code:02}"), 2066), Err(code));
        }
        for (number, code) in [
            ("4200000000000000", 8),
            ("4100000000000032", 30),
            ("4100000000000001", 29),
            ("4100000000000013", 29),
            ("4100000000001008", 29),
            ("410000000000000", 29),
            ("41000000000000000", 29),
            ("4242424242424242", 29),
        ] {
            assert_eq!(judged(number, 2066), Err(code), "{number}");
        }
        assert_eq!(judged("4100000000000000", 2025), Err(6));
    }
}
