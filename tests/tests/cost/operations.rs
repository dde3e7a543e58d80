//! The operations. Most requests are alike, so that they cost the same.

use blackbox::{
    authsvc::Site,
    objstore::{self, Key, Object},
    payments::{
        self, Link, Move,
        desk::{self, Browser, DESK},
        email,
    },
    process::run,
};
use reqwest::Method;
use serde_json::json;

use crate::meter::{Meter, ROUNDS};

const VALUE: &str = r#"{"price":1299,"stock":[4,0,17],"title":"A red kettle with a whistle"}"#;

const SOCKETS: usize = 10;

/// The objects of the store.
const KEYS: u32 = 1000;

/// The captures of one round, each of another transaction.
const CAPTURES: u32 = 50;

pub(crate) async fn measure(meter: &mut Meter<'_>) {
    authsvc(meter).await;
    objstore(meter).await;
    payments(meter, "SQLite").await;
    payments(meter, "PostgreSQL").await;
}

async fn authsvc(meter: &mut Meter<'_>) {
    let site = Site::wrapped(&[], |command| meter.command(&command)).await;
    let student = site.student();
    let service = site.process();
    let health = async || drop(site.fetch("/health").await.expect(200));
    meter.measure(service, "health", 100, health).await;
    let invalid = async || drop(site.authenticate(r#"{"username":"ann"}"#).await.expect(400));
    meter.measure(service, "invalid sign-in", 100, invalid).await;
    let sign_in = async || drop(site.sign_in(&student).await.expect(200));
    meter.measure(service, "sign-in", 20, sign_in).await;
    site.stop().await;
}

async fn objstore(meter: &mut Meter<'_>) {
    let place = objstore::Stopped::on(None, &[]);
    let command = meter.command(&place.command());
    let service = place.start_with(command).await;
    let (client, key) = (service.client().await, Key::fresh());
    let object = |number: u32| Object::new(&key.named(&number.to_string()), VALUE);

    let mut number = 0;
    let batch = async || {
        let sets = (number..number + 50).map(|number| object(number).operation(""));
        number = (number + 50) % KEYS;
        let _revision = client.batch(&sets.collect::<Vec<_>>()).await;
    };
    meter.measure(service.process(), "batch of 50 sets", KEYS / 50, batch).await;
    let mut number = 0;
    let set = async || {
        let _tag = client.set(&object(number)).await;
        number = (number + 1) % KEYS;
    };
    meter.measure(service.process(), "set", 100, set).await;

    // Each object once, and then only one.
    let mut number = 0;
    let get = async || {
        let _object = client.get(&key.named(&number.to_string())).await;
        number += 1;
    };
    meter.measure(service.process(), "get, not cached", KEYS / (2 * ROUNDS + 1), get).await;
    let get = async || drop(client.get(&key.named("0")).await);
    meter.measure(service.process(), "get, cached", 100, get).await;

    client.watch(&key.named("")).await;
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        sockets.push(client.socket().await);
    }
    let set = async || {
        let _tag = client.set(&object(0)).await;
        for socket in &mut sockets {
            let _pushed = socket.next_push().await;
        }
    };
    meter.measure(service.process(), "set with 10 deliveries", 20, set).await;
    drop(service.stop().await);
}

async fn payments(meter: &mut Meter<'_>, engine: &str) {
    let database = (engine == "PostgreSQL").then(payments::Stopped::migrated);
    let place = desk::on(payments::Stopped::on(database, &[]));
    let command = meter.command(&place.command());
    let service = place.start_with(command).await;
    let merchant = service.merchant().await;

    let mut transactions = Vec::new();
    for _ in 0..CAPTURES {
        transactions.push(merchant.pay("EUR", 10_000).await);
    }
    // Each round captures a part of each. The acquirer confirms several together, at the end of the round.
    let mut captures = 0;
    let capture = async || {
        let transaction = &transactions[captures % transactions.len()];
        let _answer = transaction.ask(Move::Capture, &json!({ "amount": 100 })).await.expect(201);
        captures += 1;
        if captures % transactions.len() == 0 {
            service.settled().await;
        }
    };
    meter.measure(service.process(), &format!("capture, {engine}"), CAPTURES, capture).await;
    if engine == "SQLite" {
        let path = transactions[0].path();
        let get = async || drop(merchant.app.get(&path).await.expect(200));
        meter.measure(service.process(), "GET transaction", 100, get).await;
        let page = async || drop(merchant.get("/transactions?limit=100").await.expect(200));
        meter.measure(service.process(), "page of 100 transactions", 10, page).await;
        let visit = async |path: &str| service.pos(Method::GET, path).send_undescribed().await;
        let form = visit(&Link::to(&merchant).path()).await.expect(303);
        let form = form.header("location").unwrap().trim_start_matches('.');
        let page = async || drop(visit(form).await.expect(200));
        meter.measure(service.process(), "payment page", 10, page).await;
        list_of_desk(meter, &service, &merchant).await;
    }
    drop(service.stop().await);
}

/// The list of payments on the desk.
async fn list_of_desk(
    meter: &mut Meter<'_>,
    service: &payments::Service,
    merchant: &payments::Merchant,
) {
    let email = email();
    assert!(!merchant.invite(&email).await);
    let mut command = service.data().command();
    command.args(["sign-in-link", &email]);
    let link = String::from_utf8(run(command).await.stdout).unwrap();
    let link = link.trim().strip_prefix(DESK).unwrap();
    let mut browser = Browser::at(service);
    browser.use_link(&format!("/{link}")).await;
    let path = format!("/merchants/{}/payments", merchant.id);
    let list = async || assert_eq!(browser.get(&path).await.status, 200);
    meter.measure(service.process(), "list of the desk", 10, list).await;
}
