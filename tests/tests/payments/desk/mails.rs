//! Mails that tell members what has happened.

use std::fs;

use blackbox::{
    acquirer::today,
    mail::MailServer,
    payments::{Acquirer, LOCAL, Merchant, Receiver, SECRET, Service, desk::Browser, minimal},
    process,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::users::{address, invited, place};
use crate::reports::{self, Transfer};

const ALL: [&str; 4] = ["dispute", "payout", "return", "webhook"];

/// Signs a new member in, who wants mails of these kinds.
async fn member(
    server: &MailServer,
    service: &Service,
    merchant: &Merchant,
    kinds: &[&str],
) -> (String, Browser) {
    let (email, mut browser) = (address(), Browser::at(service));
    browser.use_link(&invited(server, merchant, &email).await).await;
    let page = format!("/merchants/{}/mails", merchant.id);
    let boxes = browser.get(&page).await.text;
    let chosen = ALL.map(|kind| boxes.contains(&format!("name=\"{kind}\" value=\"y\" checked")));
    assert_eq!(chosen, [true, false, true, true], "{boxes}");
    let form: Vec<_> = kinds.iter().map(|kind| (*kind, "y")).collect();
    assert_eq!(browser.send(Method::POST, &page, &form).await.status, 303);
    let boxes = browser.get(&format!("{page}?done")).await.text;
    assert_eq!(boxes.matches(" checked").count(), kinds.len());
    (email, browser)
}

/// The subject and text of the last mail to an address, which has got so many.
async fn last(server: &MailServer, email: &str, count: usize) -> (String, String) {
    let mail = server.received(email, count).await.remove(count - 1);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&mail["headers"]["subject"]), text(&mail["text"]))
}

#[tokio::test]
async fn members_get_the_mails_that_they_choose() {
    let (server, receiver) = (MailServer::start().await, Receiver::new().await);
    let (trust, file) = receiver.trust();
    let settings = [(trust, file), SECRET, LOCAL];
    let place =
        settings.iter().fold(place(&server), |place, (name, value)| place.with(name, value));
    let service = place.start().await;
    let mut body = minimal();
    body["name"] = json!("Corner shop");
    body["test"] = json!(true);
    body["company"]["country"] = json!("GB");
    body["bank"] = json!({ "iban": "DK5000400440116243" });
    let app = service.app().await;
    let merchant = app.merchant_with(&body).await;
    let (ann, _) = member(&server, &service, &merchant, &ALL).await;
    let (ben, _) = member(&server, &service, &merchant, &[]).await;
    let paid = merchant.pay("EUR", 9000).await;
    paid.capture(9000).await;

    let dispute = Acquirer(&service).open(&paid, 450).await;
    let (subject, text) = last(&server, &ann, 2).await;
    assert_eq!(subject, "Dispute about a payment of Corner shop");
    let due = app.list("/events?limit=1&filter[type]=dispute.opened").await;
    let due = due[0]["data"]["dispute"]["due"].as_str().unwrap()[..10].to_owned();
    for part in ["€4.50", &due, &format!("http://desk.example/merchants/{}/", merchant.id)] {
        assert!(text.contains(part), "{part}: {text}");
    }
    Acquirer(&service).end(&paid, &dispute, "won").await;
    service.settled().await;

    let transfers = service.data().data().join("transfers.csv");
    let run = async |arguments: &[&str]| {
        let mut command = service.data().command();
        command.args(arguments);
        let ended = process::run(command).await;
        assert!(ended.status.success(), "{}", process::output(&ended));
    };
    run(&["payout", "--test", "--csv", transfers.to_str().unwrap()]).await;
    let (subject, text) = last(&server, &ann, 3).await;
    assert!(subject == "Payout to Corner shop" && text.contains("€"), "{text}");
    let rows = fs::read_to_string(&transfers).unwrap();
    let cells: Vec<_> = rows.lines().nth(1).unwrap().split(',').collect();
    let (id, amount) = (cells[0], cells[5]);
    let back = place_of(
        &service,
        &reports::csv(&today().to_string(), &[Transfer::new(id, "EUR", amount)]),
    );
    run(&["returns", "--from", &back]).await;
    let (subject, text) = last(&server, &ann, 4).await;
    assert_eq!(subject, "A payout to Corner shop came back");
    assert!(text.contains(amount), "{amount}: {text}");

    receiver.answer(410);
    let webhook = json!({ "url": receiver.url("/gone") });
    let _ = app.post("/webhooks", &webhook).await.expect(201);
    merchant.pay("EUR", 100).await;
    let (subject, _) = last(&server, &ann, 5).await;
    assert_eq!(subject, "A webhook of Corner shop is disabled");
    // Of an app of two merchants, who is a member of one does not see the webhooks.
    let _other = app.merchant("EUR").await;
    let _ = app.post("/webhooks", &webhook).await.expect(201);
    merchant.pay("EUR", 100).await;
    let disabled =
        || service.data().number("SELECT count(*) FROM webhooks WHERE disabled = 'gone'");
    process::until(async || disabled() == 2).await;
    for waiting in ["notices", "mails"] {
        let waiting = format!("SELECT count(*) FROM {waiting}");
        process::until(async || service.data().number(&waiting) == 0).await;
    }
    assert_eq!(server.mail_to(&ann).len(), 5);
    assert_eq!(server.mail_to(&ben).len(), 1, "only the invitation");
    let place = service.stop().await;
    assert_eq!(place.number("SELECT count(*) FROM notices"), 0);
    place.agrees().await;
}

fn place_of(service: &Service, content: &str) -> String {
    let path = service.data().data().join("returns");
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}
