//! What the desk shows of the books: payments by state, the balance, payouts, disputes, the overview,
//! and files.

use blackbox::{
    mail::MailServer,
    payments::{Acquirer, Card, Move, SECRET, Service, Transaction, desk::Browser, int, minimal},
    process,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::users::{named, place, signed_in};
use crate::{books::pay_out, returns::return_all};

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
            assert!(page.text.contains("<details open>"), "the filters are hidden");
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
        let shown = browser.get(&format!("{list}/{}", payment.id)).await;
        assert_eq!(shown.text.contains("Try another card"), *state == "failed", "{state}");
    }
    // A dispute that is won gives the payment its state back.
    let (_, captured, _) = &payments[3];
    let dispute = acquirer.open(captured, 100).await;
    let disputed = format!("{list}.csv?state=disputed");
    assert_eq!(rows(&mut browser, &disputed).await.len(), 2);
    acquirer.end(captured, &dispute, "won").await;
    assert_eq!(rows(&mut browser, &disputed).await.len(), 1);
    assert_eq!(browser.get(&format!("{list}.csv?state=paid")).await.status, 400);
    let wrong = browser.get(&format!("{list}?last4=12")).await;
    assert!(wrong.status == 400 && !wrong.text.contains("No payments were found"), "{wrong:?}");
    let oldest = browser.get(&format!("{list}?last4=9999&before={}", "1".repeat(24))).await.text;
    assert!(oldest.contains("No payments were found"), "{oldest}");
    assert!(oldest.contains("href=\"?last4=9999\">Newest payments"), "{oldest}");
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

/// The IDs in the links of a list, over all its pages.
async fn listed(browser: &mut Browser, first: &str, link: &str) -> Vec<String> {
    let (mut path, mut found) = (first.to_owned(), Vec::new());
    loop {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        found.extend(page.text.split(link).skip(1).map(|rest| rest[..24].to_owned()));
        let next = page.text.split("href=\"?").find(|rest| rest.contains(">Next page<"));
        let Some(query) = next.and_then(|rest| rest.split('"').next()) else { return found };
        path = format!("{first}?{query}");
    }
}

#[tokio::test]
async fn the_balance_has_its_lines_and_payouts() {
    let server = MailServer::start().await;
    let service = place(&server).start().await;
    let mut body = minimal();
    body["name"] = "Corner shop".into();
    body["test"] = true.into();
    body["currency"] = "DKK".into();
    body["bank"] = json!({ "iban": "DK5000400440116243", "holder": "Ann" });
    let merchant = service.app().await.merchant_with(&body).await;
    let mut moved = Vec::new();
    for _ in 0..30 {
        let payment = merchant.pay("EUR", 1000).await;
        payment.capture(900).await;
        payment.refund(1).await;
        moved.extend([payment.id.clone(), payment.id]);
    }
    moved.reverse();
    let mut browser = signed_in(&server, &service, &merchant).await;
    let pages = format!("/merchants/{}/balance", merchant.id);
    let link = format!("\"/merchants/{}/payments/", merchant.id);
    assert_eq!(listed(&mut browser, &pages, &link).await, moved);

    pay_out(service.data()).await;
    let payouts = format!("/payouts?limit=9&filter[merchantId]={}", merchant.id);
    let payout = merchant.app.list(&payouts).await.remove(0);
    let id = payout["id"].as_str().unwrap();
    assert!(browser.get(&pages).await.text.contains("Paid out"));
    return_all(service.data(), &service.data().data().join("transfers.csv")).await;
    for path in [&pages, &format!("{pages}/payouts"), &format!("{pages}/payouts/{id}")] {
        let page = browser.get(path).await;
        assert!(page.text.contains("Payout returned"), "{path}: {page:?}");
    }
    assert_eq!(listed(&mut browser, &format!("{pages}/payouts/{id}"), &link).await, moved);

    let decimal = |minor: &Value| {
        let (minor, sign) = (int(minor), if int(minor) < 0 { "-" } else { "" });
        format!("{sign}{}.{:02}", minor.abs() / 100, minor.abs() % 100)
    };
    let month = &payout["created"].as_str().unwrap()[..7];
    for (file, list) in [
        (format!("{pages}.csv?month={month}"), merchant.path("/lines?limit=100")),
        (format!("{pages}/payouts/{id}/lines.csv"), format!("/payouts/{id}/lines?limit=100")),
    ] {
        let (found, lines) = (rows(&mut browser, &file).await, merchant.app.list(&list).await);
        assert_eq!(found.len(), lines.len(), "{file}");
        for (row, line) in found.iter().zip(lines) {
            let amount = decimal(&line["amount"]["amount"]);
            assert_eq!(row[0], line["id"].as_str().unwrap());
            assert_eq!(row[3], line["transactionId"].as_str().unwrap_or_default());
            assert_eq!(row[4], line["amount"]["currency"].as_str().unwrap());
            assert_eq!(
                row[5..],
                [amount, "DKK".to_owned(), decimal(&line["fee"]), decimal(&line["balance"])]
            );
        }
    }
    assert_eq!(rows(&mut browser, &format!("{pages}.csv?month=2020-02")).await.len(), 0);
    let foreign = signed_in(&server, &service, &named(&service, "Other").await).await;
    let other = foreign.clone().get("/").await.text;
    let other = &other.split("/merchants/").nth(1).unwrap()[..24];
    for (mut browser, path) in [
        (browser.clone(), format!("{pages}.csv?month=2026-13")),
        (browser.clone(), format!("{pages}.csv")),
        (browser.clone(), format!("{pages}/payouts/x")),
        (foreign.clone(), format!("/merchants/{other}/balance/payouts/{id}")),
        (foreign.clone(), format!("/merchants/{other}/balance/payouts/{id}/lines.csv")),
        (foreign, format!("{pages}/payouts")),
    ] {
        assert_eq!(browser.get(&path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn open_disputes_come_first_by_their_deadline() {
    let server = MailServer::start().await;
    let service = place(&server).with(SECRET.0, SECRET.1).start().await;
    let merchant = named(&service, "Corner shop").await;
    let acquirer = Acquirer(&service);
    let pay = async || {
        let payment = merchant.pay("EUR", 1000).await;
        payment.capture(1000).await;
        payment
    };
    let (mut open, mut decided) = (Vec::new(), Vec::new());
    for number in 0..60 {
        let payment = pay().await;
        // Most of them are due in another order.
        let day = number * 7 % 60;
        let created = format!("2099-{:02}-{:02}T10:00:00Z", 1 + day / 28, 1 + day % 28);
        let members =
            json!({ "disputeId": format!("dp {number}"), "amount": 10, "created": created });
        let event = Acquirer::event("dispute.opened", &payment, members);
        let _ = acquirer.notify(&event).await.expect(204);
        open.push((day, payment.id));
    }
    for how in ["won", "lost"] {
        let payment = pay().await;
        let dispute = acquirer.open(&payment, 10).await;
        acquirer.end(&payment, &dispute, how).await;
        decided.insert(0, payment.id);
    }
    open.sort();
    let mut browser = signed_in(&server, &service, &merchant).await;
    let (pages, link) = (
        format!("/merchants/{}/disputes", merchant.id),
        format!("\"/merchants/{}/disputes/", merchant.id),
    );
    let disputes = format!("/disputes?limit=100&filter[merchantId]={}", merchant.id);
    let disputes = merchant.app.list(&disputes).await;
    let dispute_of = |payment: String| {
        let found = disputes.iter().find(|dispute| dispute["transactionId"] == *payment);
        found.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let expected = open.into_iter().map(|(_, payment)| payment).chain(decided);
    let expected: Vec<_> = expected.map(dispute_of).collect();
    assert_eq!(listed(&mut browser, &pages, &link).await, expected);
    let first = browser.get(&pages).await.text;
    assert!(first.contains("Days left: 2") && !first.contains("Decided"), "{first}");
}

#[tokio::test]
async fn the_overview_counts_each_line_once_on_its_day() {
    let server = MailServer::start().await;
    let place = place(&server).with(SECRET.0, SECRET.1);
    let service = place.start().await;
    let merchant = named(&service, "Corner shop").await;
    let _webhook = merchant.app.webhook().await;
    let mut payments = Vec::new();
    for _ in 0..4 {
        let payment = merchant.pay("EUR", 2000).await;
        payment.capture(1000).await;
        payments.push(payment);
    }
    let (refund, body) = (payments[3].path_of(Move::Refund), json!({ "amount": 1 }));
    let _ = merchant.app.post_once("key", &refund, &body).await.expect(201);
    let place = service.stop().await;
    let today = jiff::Timestamp::now().as_second() / 86_400;
    for (line, day, millisecond) in [(0, today, -1), (1, today, 0), (2, today - 30, 0)] {
        let time = day * 86_400_000 + millisecond;
        let one = format!("(SELECT id FROM lines ORDER BY id LIMIT 1 OFFSET {line})");
        assert_eq!(place.change(&format!("UPDATE lines SET created = {time} WHERE id = {one}")), 1);
    }
    place.change("UPDATE webhooks SET disabled = 'failures'");
    let mut service = place.start().await;
    let counted = async |service: &Service, lines: i64| {
        let sql = "SELECT count(*) FROM lines JOIN day_cursors ON id <= through";
        process::until(async || service.data().number(sql) == lines).await;
    };
    counted(&service, 5).await;
    // Not counted before the next turn of the job.
    let merchant = merchant.by(&merchant.app.at(&service));
    payments[0].by(&merchant.app).capture(500).await;
    let _dispute = Acquirer(&service).open(&payments[1], 10).await;
    let operation = Sha256::new().chain_update(&merchant.app.id).chain_update("key").finalize();
    let operation = json!({ "operation": hex::encode(operation) });
    let refusal = Acquirer::event("operation.refused", &payments[3], operation);
    let _ = Acquirer(&service).notify(&refusal).await.expect(204);
    let mut browser = signed_in(&server, &service, &merchant).await;
    let path = format!("/merchants/{}", merchant.id);
    let day = |days: i64| {
        jiff::Timestamp::from_second((today - days) * 86_400).unwrap().to_string()[..10].to_owned()
    };
    for turn in 0..3 {
        let page = browser.get(&path).await.text;
        // The refused refund is counted back.
        for (days, amount) in [(0, "€25.00"), (1, "€10.00"), (2, "€0.00"), (29, "€0.00")] {
            let row = format!("<th scope=\"row\">{}</th><td>{amount}</td>", day(days));
            assert!(page.contains(&row), "{turn}: {row}: {page}");
        }
        assert_eq!(page.matches("<rect").count(), 30);
        for text in ["/disputes/", &payments[3].id, "Days left", "Disabled webhooks", "Waiting for"]
        {
            assert!(page.contains(text), "{text}: {page}");
        }
        let place = service.stop().await;
        place.agrees().await;
        service = place.start().await;
        browser.desk = Browser::at(&service).desk;
        counted(&service, 8).await;
    }
}
