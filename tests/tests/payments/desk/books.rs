//! What the desk shows of the books: payments by state.

use super::browser::{named, place, signed_in};
use blackbox::{
    mail::MailServer,
    payments::{Acquirer, SECRET, Transaction},
};

#[tokio::test]
async fn payments_are_found_by_their_state() {
    let server = MailServer::start().await;
    let service = place(&server).with(SECRET.0, SECRET.1).start().await;
    let merchant = named(&service, "Corner shop").await;
    let acquirer = Acquirer(&service);
    let mut payments = Vec::new();
    for (state, captured, refunded, voided, disputed) in [
        ("authorized", 0, 0, 300, 0),
        ("voided", 0, 0, 1000, 0),
        ("partly_captured", 400, 0, 600, 0),
        ("captured", 1000, 0, 0, 0),
        ("partly_refunded", 1000, 1, 0, 0),
        ("refunded", 1000, 1000, 0, 0),
        ("disputed", 1000, 0, 0, 500),
    ] {
        let payment = merchant.pay("EUR", 1000).await;
        for (amount, is_capture) in [(captured, true), (voided, false)] {
            match (amount, is_capture) {
                (0, _) => {}
                (_, true) => drop(payment.capture(amount).await),
                (_, false) => drop(payment.void(amount).await),
            }
        }
        if refunded > 0 {
            payment.refund(refunded).await;
        }
        if disputed > 0 {
            acquirer.open(&payment, disputed).await;
        }
        payments.push((state, payment));
    }
    payments.push(("failed", merchant.fail(1000).await));
    let mut browser = signed_in(&server, &service, &merchant).await;
    let list = format!("/merchants/{}/payments", merchant.id);
    for (state, payment) in &payments {
        for further in ["", "&amount=10", "&last4=0000&from=2026-01-01"] {
            let page = browser.get(&format!("{list}?state={state}{further}")).await;
            let is_shown = |shown: &&Transaction| page.text.contains(&format!("/{}\"", shown.id));
            let found: Vec<_> = payments.iter().map(|(_, it)| it).filter(is_shown).collect();
            assert!(found.len() == 1 && found[0].id == payment.id, "{state}{further}");
        }
    }
    // A dispute that is won gives the payment its state back.
    let (_, captured) = &payments[3];
    let dispute = acquirer.open(captured, 100).await;
    let disputed = format!("{list}?state=disputed");
    assert!(browser.get(&disputed).await.text.contains(&captured.id));
    acquirer.end(captured, &dispute, "won").await;
    assert!(!browser.get(&disputed).await.text.contains(&captured.id));
    assert_eq!(browser.get(&format!("{list}?state=paid")).await.status, 400);
    service.stop().await.agrees().await;
}
