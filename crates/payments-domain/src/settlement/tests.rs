use super::*;

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn id(digit: u8) -> Id {
    Id::stored([digit; Id::BYTES])
}

fn booked() -> BookedOperation {
    BookedOperation {
        kind: OperationKind::Capture,
        transaction: id(4),
        amount: money("EUR:995"),
        booked: "2026-11-22T23:59:59Z".parse().unwrap(),
        acquirer: Some(AcquirerName::Stripe),
        state: OperationState::Confirmed,
    }
}

/// A capture of this amount in this state, booked on this day of November.
fn capture(minor: i64, day: u8, state: OperationState) -> BookedOperation {
    let booked_at = format!("2026-11-{day}T12:00:00Z").parse().unwrap();
    let amount = Money { minor, ..money("EUR:0") };
    BookedOperation { amount, booked: booked_at, state, ..booked() }
}

fn settled() -> SettledOperation {
    SettledOperation {
        line: 2,
        kind: OperationKind::Capture,
        transaction: Some(id(4)),
        amount: money("EUR:995"),
        is_converted: false,
        fee: Some(money("EUR:35")),
        date: "2026-11-23".parse().unwrap(),
    }
}

fn reconciliation() -> Reconciliation {
    Reconciliation {
        acquirer: AcquirerName::Stripe,
        period: ["2026-11-22", "2026-11-22"].map(|day| day.parse().unwrap()),
        tariff: Some(Tariff { rate: "0.01".parse().unwrap(), flat: vec![money("EUR:25")] }),
    }
}

/// Rows of the file with IDs of their own.
fn reference(settled: &[SettledOperation], booked: &[BookedOperation]) -> Reference {
    let mut reference = Reference::new("pi_1", booked.to_vec());
    for operation in settled {
        assert_eq!(reference.add(Some(row(&operation.line.to_string(), operation))), Ok(None));
    }
    reference
}

fn row(id: &str, operation: &SettledOperation) -> SettledRow {
    let (id, reference) = (id.to_owned(), "pi_1".to_owned());
    SettledRow { id, reference, operation: operation.clone() }
}

fn compare(settled: &[SettledOperation], booked: &[BookedOperation]) -> Comparison {
    let lines = (2..).zip(settled);
    let settled: Vec<_> =
        lines.map(|(line, settled)| SettledOperation { line, ..settled.clone() }).collect();
    reconciliation().compare(&reference(&settled, booked)).unwrap()
}

fn kinds(settled: &[SettledOperation], booked: &[BookedOperation]) -> Vec<&'static str> {
    let found = compare(settled, booked).differences;
    found.iter().map(|difference| difference.kind.name()).collect()
}

#[test]
fn equal_operations_have_no_difference() {
    assert!(kinds(&[settled()], &[booked()]).is_empty());
    let unknown = SettledOperation { transaction: None, fee: None, ..settled() };
    assert!(kinds(&[unknown], &[booked()]).is_empty());
}

#[test]
fn each_wrong_value_has_its_own_kind() {
    for (kind, settled) in [
        ("type", SettledOperation { kind: OperationKind::Refund, ..settled() }),
        ("transaction", SettledOperation { transaction: Some(id(6)), ..settled() }),
        ("currency", SettledOperation { amount: money("USD:995"), ..settled() }),
        ("currency", SettledOperation { amount: money("JPY:996"), ..settled() }),
        ("amount", SettledOperation { amount: money("EUR:994"), ..settled() }),
        ("fee", SettledOperation { fee: Some(money("EUR:34")), ..settled() }),
        ("date", SettledOperation { date: "2026-11-20".parse().unwrap(), ..settled() }),
    ] {
        let settled = [settled];
        assert_eq!(kinds(&settled, &[booked()]), [kind], "{settled:?}");
    }
    // The acquirer's day can begin later than ours.
    let yesterday = SettledOperation { date: "2026-11-21".parse().unwrap(), ..settled() };
    assert!(kinds(&[yesterday], &[booked()]).is_empty());
    assert_eq!(kinds(&[settled()], &[]), ["missing-here"]);
    assert_eq!(kinds(&[], &[booked()]), ["missing-there"]);
}

#[test]
fn several_wrong_values_are_all_reported() {
    let (transaction, amount, fee) = (Some(id(6)), money("EUR:1"), Some(money("EUR:1")));
    let wrong = SettledOperation { transaction, amount, fee, ..settled() };
    assert_eq!(kinds(&[wrong], &[booked()]), ["transaction", "amount", "fee"]);
}

#[test]
fn only_confirmed_operations_of_the_period_are_due() {
    let scope = reconciliation();
    for kind in [OperationKind::Refund, OperationKind::Dispute, OperationKind::DisputeReversal] {
        assert!(scope.is_due(&BookedOperation { kind, ..booked() }), "{kind:?}");
        let other = Reconciliation { acquirer: AcquirerName::Http, ..scope.clone() };
        let acquirer = Some(AcquirerName::Http);
        let is_refund = kind == OperationKind::Refund;
        assert_eq!(other.is_due(&BookedOperation { kind, acquirer, ..booked() }), is_refund);
    }
    let refused = BookedOperation { state: OperationState::Refused, ..booked() };
    let unconfirmed = BookedOperation { state: OperationState::Unconfirmed, ..booked() };
    for (kind, other) in [
        (Some("type"), BookedOperation { kind: OperationKind::Void, ..booked() }),
        (Some("acquirer"), BookedOperation { acquirer: None, ..booked() }),
        (Some("acquirer"), BookedOperation { acquirer: Some(AcquirerName::Http), ..booked() }),
        (Some("refused-here"), refused),
        (Some("unconfirmed-here"), unconfirmed),
        (None, BookedOperation { booked: "2026-11-21T23:59:59Z".parse().unwrap(), ..booked() }),
        (None, BookedOperation { booked: "2026-11-23T00:00:00Z".parse().unwrap(), ..booked() }),
    ] {
        assert!(!scope.is_due(&other), "{other:?}");
        assert!(kinds(&[], &[other]).is_empty(), "{other:?}");
        let expected: Vec<_> = kind.into_iter().collect();
        assert_eq!(kinds(&[settled()], &[other]), expected, "{other:?}");
    }
}

#[test]
fn a_refund_that_failed_is_reversed_in_the_books() {
    let refund =
        SettledOperation { kind: OperationKind::Refund, fee: Some(money("EUR:0")), ..settled() };
    let failure = SettledOperation { kind: OperationKind::RefundFailure, ..refund.clone() };
    let both = [refund.clone(), failure.clone()];
    let confirmed = BookedOperation { kind: OperationKind::Refund, ..booked() };
    let refused = BookedOperation { state: OperationState::Refused, ..confirmed };
    assert_eq!(kinds(&both, &[refused]), [""; 0]);
    assert_eq!(kinds(&both[1..], &[refused]), [""; 0]);
    assert_eq!(kinds(&both[..1], &[refused]), ["refused-here"]);
    assert_eq!(kinds(&both[..1], &[confirmed]), [""; 0]);
    assert_eq!(kinds(&both, &[]), ["missing-here", "missing-here"]);
    let found = compare(&both, &[confirmed]).differences;
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.kind, found.transaction), (DifferenceKind::MissingHere, Some(id(4))));
    assert_eq!(found.there, "refund failure EUR 9.95");
    let other = SettledOperation { amount: money("EUR:994"), ..refund };
    assert_eq!(kinds(&[other, failure], &[refused]), ["amount"]);
}

#[test]
fn a_dispute_is_taken_and_given_back() {
    let taken = SettledOperation {
        kind: OperationKind::Dispute,
        // The books have a dispute after the acquirer has it.
        date: "2026-11-01".parse().unwrap(),
        // Not agreed, and not the fee of the merchant.
        fee: Some(money("EUR:1500")),
        ..settled()
    };
    let back = SettledOperation { kind: OperationKind::DisputeReversal, ..taken.clone() };
    let opened = BookedOperation { kind: OperationKind::Dispute, ..booked() };
    let won = BookedOperation { kind: OperationKind::DisputeReversal, ..booked() };
    let both = [taken.clone(), back.clone()];
    for (settled, booked, expected) in [
        (&both[..], &[opened, won][..], &[][..]),
        (&both[..1], &[opened], &[]),
        (&both[1..], &[won], &[]),
        (&both, &[], &["missing-here", "missing-here"]),
        (&both, &[opened], &["missing-here"]),
        (&both[..1], &[opened, won], &["missing-there"]),
        (&both[1..], &[opened, won], &["missing-there"]),
        (&[], &[opened, won], &["missing-there", "missing-there"]),
        (&[SettledOperation { amount: money("EUR:900"), ..taken }], &[opened], &["amount"]),
        (
            &[both[0].clone(), SettledOperation { amount: money("EUR:900"), ..back }],
            &[opened, won],
            &["amount"],
        ),
    ] {
        assert_eq!(kinds(settled, booked), expected, "{settled:?} {booked:?}");
    }
}

#[test]
fn captures_of_a_payment_are_compared_as_a_sum() {
    use OperationState::{Confirmed, Refused, Unconfirmed};
    let settled = |minor| {
        let amount = Money { minor, ..money("EUR:0") };
        SettledOperation { amount, fee: None, date: "2026-11-22".parse().unwrap(), ..settled() }
    };
    let [before, first, second, after] = [(100, 21), (200, 22), (400, 22), (800, 23)]
        .map(|(minor, day)| capture(minor, day, Confirmed));
    let all = [before, first, second, after];
    // What the file has, and what is missing there.
    for (there, missing) in [
        (600, None),
        (700, None),
        (1400, None),
        (1500, None),
        (200, Some("capture EUR 4.00")),
        (400, Some("capture EUR 2.00")),
        (300, Some("capture EUR 4.00")),
        (100, Some("capture EUR 6.00")),
    ] {
        let found = compare(&[settled(there)], &all).differences;
        let found: Vec<_> = found.iter().map(|it| (it.kind, &*it.here)).collect();
        let expected: Vec<_> =
            missing.into_iter().map(|it| (DifferenceKind::MissingThere, it)).collect();
        assert_eq!(found, expected, "{there}");
    }
    for (there, state, kind, here) in [
        (601, Confirmed, DifferenceKind::Amount, "EUR 6.00"),
        (-100, Confirmed, DifferenceKind::Amount, "EUR 6.00"),
        (1400, Unconfirmed, DifferenceKind::UnconfirmedHere, "unconfirmed"),
        (1400, Refused, DifferenceKind::RefusedHere, "refused"),
        (1401, Refused, DifferenceKind::Amount, "EUR 6.00"),
    ] {
        let after = BookedOperation { state, ..after };
        let found = compare(&[settled(there)], &[before, first, second, after]).differences;
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.kind, &*found.here), (kind, here), "{there} {state:?}");
    }
    // An amount that is confirmed and refused is the confirmed one.
    let refused = BookedOperation { state: Refused, ..first };
    assert!(kinds(&[settled(200)], &[refused, first]).is_empty());
}

#[test]
fn the_books_are_summed_as_far_as_the_file_goes() {
    let all = [(100, 21), (200, 22), (400, 23)];
    let all = all.map(|(minor, day)| capture(minor, day, OperationState::Confirmed));
    let there = |minor| SettledOperation { amount: Money { minor, ..money("EUR:0") }, ..settled() };
    for (settled, booked) in [
        (&[][..], &all[1..2]),
        (&[there(300)], &all[..2]),
        (&[there(700)], &all),
        (&[there(999)], &all[1..2]),
    ] {
        assert_eq!(compare(settled, &all).booked, booked, "{settled:?}");
    }
    // Without the reversal, which is in a later file.
    let opened = BookedOperation { kind: OperationKind::Dispute, ..booked() };
    let later = "2026-11-28T12:00:00Z".parse().unwrap();
    let won = BookedOperation { kind: OperationKind::DisputeReversal, booked: later, ..booked() };
    let taken = SettledOperation { kind: OperationKind::Dispute, ..settled() };
    let expected = Comparison { differences: Vec::new(), booked: vec![opened] };
    assert_eq!(compare(&[taken], &[opened, won]), expected);
}

#[test]
fn amounts_that_the_acquirer_converted_are_not_compared() {
    let charge = SettledOperation { amount: money("EUR:1500"), ..settled() };
    let amount = Money { minor: -560, ..money("USD:0") };
    let rest = SettledOperation { amount, is_converted: true, ..settled() };
    let both = [charge, rest];
    let expected = Comparison { differences: Vec::new(), booked: vec![booked()] };
    assert_eq!(compare(&both, &[booked()]), expected);
    assert_eq!(kinds(&both[..1], &[booked()]), ["amount"]);
    assert_eq!(kinds(&both[1..], &[booked()]), [""; 0]);
    assert_eq!(kinds(&both[1..], &[]), ["missing-here"]);
    let same = SettledOperation { amount: money("EUR:994"), is_converted: true, ..settled() };
    assert_eq!(kinds(&[same], &[booked()]), ["amount"]);
}

#[test]
fn rows_are_added_up() {
    let first =
        SettledOperation { amount: money("EUR:500"), fee: Some(money("EUR:30")), ..settled() };
    let (line, date) = (7, "2026-11-24".parse().unwrap());
    let amount = money("EUR:495");
    let second = SettledOperation { line, amount, fee: Some(money("EUR:5")), date, ..settled() };
    assert!(kinds(&[first.clone(), second.clone()], &[booked()]).is_empty());
    assert_eq!(kinds(&[first.clone(), first.clone()], &[booked()]), ["amount", "fee"]);
    // Fees in several currencies have no sum.
    let other = SettledOperation { fee: Some(money("USD:5")), ..second };
    assert!(kinds(&[first.clone(), other], &[booked()]).is_empty());
    let most = SettledOperation { amount: Money { minor: i64::MAX, ..amount }, ..settled() };
    let mut reference = reference(&[most], &[]);
    assert_eq!(reference.add(Some(row("1", &first))), Err(Overflow));
}

#[test]
fn a_row_that_is_repeated_counts_once() {
    let mut reference = reference(&[settled()], &[booked()]);
    let again = SettledOperation { line: 9, amount: money("EUR:994"), ..settled() };
    let repeated = reference.add(Some(row("2", &again))).unwrap().unwrap();
    assert_eq!((repeated.kind, repeated.line), (DifferenceKind::Twice, Some(9)));
    assert_eq!((&*repeated.here, &*repeated.there), ("once", "capture EUR 9.94"));
    assert!(reconciliation().compare(&reference).unwrap().differences.is_empty());
}

#[test]
fn a_row_that_cannot_be_read_hides_its_reference() {
    let mut reference = Reference::new("pi_1", vec![booked()]);
    assert_eq!(reference.add(None), Ok(None));
    let wrong = SettledOperation { amount: money("EUR:1"), ..settled() };
    assert_eq!(reference.add(Some(row("1", &wrong))), Ok(None));
    assert_eq!(reconciliation().compare(&reference), Ok(Comparison::default()));
}

#[test]
fn the_agreed_fee_is_rounded_half_up() {
    let tariff = reconciliation().tariff.unwrap();
    for (amount, fee) in
        [("EUR:995", 35), ("EUR:949", 34), ("EUR:950", 35), ("JPY:50", 1), ("JPY:49", 0)]
    {
        let agreed = tariff.fee(OperationKind::Capture, money(amount)).unwrap();
        assert_eq!(agreed.map(|fee| fee.minor), Some(fee), "{amount}");
    }
    let fee = |kind| tariff.fee(kind, money("EUR:995"));
    assert_eq!(fee(OperationKind::Refund), Ok(Some(money("EUR:0"))));
    assert_eq!(fee(OperationKind::Dispute), Ok(None));
    // Each capture has its own.
    let both = [booked(), booked()];
    let double = SettledOperation { amount: money("EUR:1990"), ..settled() };
    for (fee, expected) in [("EUR:70", &[][..]), ("EUR:45", &["fee"])] {
        let settled = SettledOperation { fee: Some(money(fee)), ..double.clone() };
        assert_eq!(kinds(&[settled], &both), expected);
    }
    let unchecked = Reconciliation { tariff: None, ..reconciliation() };
    let free = SettledOperation { fee: Some(money("EUR:0")), ..settled() };
    let reference = reference(&[free], &[booked()]);
    assert!(unchecked.compare(&reference).unwrap().differences.is_empty());
}

#[test]
fn sums_never_wrap() {
    let mut totals = Totals::default();
    totals.add(OperationKind::Capture, i64::MAX).unwrap();
    assert_eq!(totals.add(OperationKind::Capture, 1), Err(Overflow));
    for (kind, minor) in [
        (OperationKind::Refund, 5),
        (OperationKind::RefundFailure, 2),
        (OperationKind::Dispute, 50),
        (OperationKind::DisputeReversal, 20),
        (OperationKind::Void, 1000),
    ] {
        totals.add(kind, minor).unwrap();
    }
    totals.add_fee(400).unwrap();
    assert_eq!(totals.net(), Ok(i64::MAX - 433));
}
