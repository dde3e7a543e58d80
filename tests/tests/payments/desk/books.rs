//! What the desk shows of the books: payments by state, and files of them.

use blackbox::{
    mail::MailServer,
    payments::{Acquirer, Card, SECRET, Transaction},
};
use futures_util::future::join_all;
use serde_json::json;

use super::browser::{Browser, named, place, signed_in};

/// The rows of a file, which must be CSV, without its header.
async fn rows(browser: &mut Browser, path: &str) -> Vec<Vec<String>> {
    let page = browser.get(path).await;
    assert_eq!(page.status, 200, "{path}: {page:?}");
    let mut csv = csv::Reader::from_reader(page.text.as_bytes());
    csv.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[tokio::test]
async fn payments_are_found_by_their_state_and_downloaded() {
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
        payments.push((state, payment, [captured, refunded, voided, disputed]));
    }
    payments.push(("failed", merchant.fail(1000).await, [0; 4]));
    let mut browser = signed_in(&server, &service, &merchant).await;
    let list = format!("/merchants/{}/payments", merchant.id);
    for (state, payment, amounts) in &payments {
        for further in ["", "&amount=10", "&last4=0000&from=2026-01-01"] {
            let page = browser.get(&format!("{list}?state={state}{further}")).await;
            let is_shown = |shown: &&Transaction| page.text.contains(&format!("/{}\"", shown.id));
            let found: Vec<_> = payments.iter().map(|(_, it, _)| it).filter(is_shown).collect();
            assert!(found.len() == 1 && found[0].id == payment.id, "{state}{further}");
        }
        let rows = rows(&mut browser, &format!("{list}.csv?state={state}")).await;
        let decimal = |minor: &i64| format!("{}.{:02}", minor / 100, minor % 100);
        let amounts = amounts.iter().map(decimal).collect::<Vec<_>>();
        assert_eq!((rows.len(), &rows[0][0]), (1, &payment.id));
        assert!(rows[0][1].parse::<jiff::Timestamp>().is_ok(), "{rows:?}");
        assert_eq!(rows[0][2..6], ["", *state, "EUR", "10.00"], "{state}");
        assert_eq!(rows[0][6..10], amounts, "{state}");
        assert_eq!(rows[0][12].is_empty(), *state != "failed");
    }
    // A dispute that is won gives the payment its state back.
    let (_, captured, _) = &payments[3];
    let dispute = acquirer.open(captured, 100).await;
    let disputed = format!("{list}.csv?state=disputed");
    assert_eq!(rows(&mut browser, &disputed).await.len(), 2);
    acquirer.end(captured, &dispute, "won").await;
    assert_eq!(rows(&mut browser, &disputed).await.len(), 1);
    assert_eq!(browser.get(&format!("{list}.csv?state=paid")).await.status, 400);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_file_has_the_whole_search_and_no_formula() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let merchant = named(&service, "Corner shop").await;
    let references = ["=1+1", "+1", "-1", "@A", "＝1", "\t=1", "\r=1", "a\"b,c", "5011"];
    for reference in references {
        let mut payment = merchant.payment(Card::VISA, "EUR", 100);
        payment["custom"] = json!({ "reference": reference });
        let _ = merchant.charge(&payment).await.expect(201);
    }
    let mut browser = signed_in(&server, &service, &merchant).await;
    let file = format!("/merchants/{}/payments.csv", merchant.id);
    let mut found: Vec<_> =
        rows(&mut browser, &file).await.into_iter().map(|mut row| row.swap_remove(2)).collect();
    found.reverse();
    let cell = |(index, text): (usize, &&str)| match index {
        0..=6 => format!("'{text}"),
        _ => (*text).to_owned(),
    };
    assert_eq!(found, references.iter().enumerate().map(cell).collect::<Vec<_>>());
    // More rows than are read at once.
    for _ in 0..10 {
        join_all((0..50).map(|_| merchant.pay("EUR", 100))).await;
    }
    let ids: Vec<_> =
        rows(&mut browser, &file).await.into_iter().map(|mut row| row.swap_remove(0)).collect();
    assert_eq!(ids, merchant.ids("/transactions?limit=1000").await);
}
