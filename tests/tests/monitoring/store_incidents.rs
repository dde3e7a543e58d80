//! Incidents of the services with a store.

use std::{fs, future::Future};

use blackbox::{
    acquirer::{Acquirer, card},
    clock::Clock,
    http::Answer,
    mail::MailServer,
    objstore::{self, Client, Key, Object},
    payments::{self, Card, Link, Receiver, UNREACHABLE, Webhook, email, minimal},
    postgres::Cluster,
    process::until,
    service::{Program, Service},
    small_disk::SmallDisk,
};
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::json;

use crate::{
    timeline::{Fires, Target, Timeline},
    traffic::exceed_body_memory,
};

/// Minutes without an incident before it.
const HEALTHY: u32 = 10;

const OBJSTORE: &[(&str, &str)] = &[("job", "objstore-svc")];
const OBJSTORE_1: &[(&str, &str)] = &[("job", "objstore-svc"), ("instance", "o:5001")];
const PAYMENTS: &[(&str, &str)] = &[("job", "payments-svc")];
const PAYMENTS_1: &[(&str, &str)] = &[("job", "payments-svc"), ("instance", "p:5002")];

/// The services under Prometheus since [`HEALTHY`] minutes.
struct Scene {
    timeline: Timeline,
    begin: u32,
}

impl Scene {
    /// `traffic` is that of 15 seconds.
    async fn of(targets: Vec<Target>, traffic: impl AsyncFnOnce()) -> Self {
        let mut timeline = Timeline::of(targets);
        timeline.pass(HEALTHY, traffic).await;
        let begin = timeline.next();
        Self { timeline, begin }
    }

    async fn pass(&mut self, minutes: u32, traffic: impl AsyncFnOnce()) {
        self.timeline.pass(minutes, traffic).await;
    }

    /// Checks the alerts since the beginning of the incident.
    async fn fires(self, expected: &[Fires]) {
        let differs = self.timeline.differs("", self.begin, expected).await;
        assert!(differs.is_none(), "{}", differs.unwrap_or_default());
    }
}

fn objstore<P: Program>(service: &Service<P>) -> Target {
    Target { job: "objstore-svc", instance: "o:5001", url: Some(service.url().to_owned()) }
}

fn payments<P: Program>(service: &Service<P>) -> Target {
    Target { job: "payments-svc", instance: "p:5002", url: Some(service.url().to_owned()) }
}

/// Waits until `/metrics` has this line.
async fn shows<P: Program>(service: &Service<P>, line: &str) {
    until(async || {
        let answer = blackbox::http::client().get(format!("{}/metrics", service.url())).send();
        answer.await.unwrap().text().await.unwrap().lines().any(|found| found == line)
    })
    .await;
}

/// Sets objects, whatever the answers are.
async fn set(client: &Client, key: &Key) {
    for number in 0..4 {
        let object = Object::new(key, format!("{{\"number\":{number}}}"));
        let _ = client.post("/set", object.body()).await;
    }
}

async fn nothing() {}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_stops() {
    let cluster = Cluster::start();
    let service = objstore::Stopped::on(Some(cluster.database()), &[]).start().await;
    let (client, key) = (service.client().await, Key::fresh());
    let mut scene = Scene::of(vec![objstore(&service)], async || set(&client, &key).await).await;
    cluster.stop();
    shows(&service, "objstore_database_up 0").await;
    scene.pass(20, async || set(&client, &key).await).await;
    scene
        .fires(&[
            Fires::critical(
                "DatabaseDown",
                60,
                OBJSTORE_1,
                "objstore-svc: the database of o:5001 does not answer, or takes no writes",
            ),
            Fires::critical(
                "HighErrorRate",
                315,
                OBJSTORE,
                "objstore-svc: 100% of the requests get 5xx, most of them 503 for /set at o:5001",
            ),
        ])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_stops_without_traffic_while_another_alert_fires() {
    let cluster = Cluster::start();
    let disk = objstore::Service::with(&[]).await.stop().await;
    fs::write(disk.data().join("disk-failed"), "").unwrap();
    let failed = disk.start().await;
    let service = payments::Stopped::on(Some(cluster.database()), &[]).start().await;
    let mut scene = Scene::of(vec![payments(&service), objstore(&failed)], nothing).await;
    cluster.stop();
    shows(&service, "payments_database_up 0").await;
    scene.pass(10, nothing).await;
    scene
        .fires(&[
            Fires::critical(
                "DiskFailed",
                -540,
                OBJSTORE_1,
                "objstore-svc: the disk of o:5001 failed: stop the service now",
            ),
            Fires::critical(
                "DatabaseDown",
                60,
                PAYMENTS_1,
                "payments-svc: the database of p:5002 does not answer, or takes no writes",
            ),
        ])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_replicas_loses_postgresql() {
    let (cluster, lost) = (Cluster::start(), Cluster::start());
    let start = async |cluster: &Cluster| {
        objstore::Stopped::on(Some(cluster.database()), &[]).start().await
    };
    let (one, other) = (start(&cluster).await, start(&lost).await);
    let (client, key) = (one.client().await, Key::fresh());
    let set = async || set(&client, &key).await;
    let replica = Target { instance: "o:5011", ..objstore(&other) };
    let mut scene = Scene::of(vec![objstore(&one), replica], set).await;
    lost.stop();
    shows(&other, "objstore_database_up 0").await;
    scene.pass(10, set).await;
    let labels = &[("job", "objstore-svc"), ("instance", "o:5011")];
    let summary = "objstore-svc: the database of o:5011 does not answer, or takes no writes";
    scene.fires(&[Fires::critical("DatabaseDown", 60, labels, summary)]).await;
}

#[tokio::test]
async fn a_disk_is_full() {
    let disk = SmallDisk::new(300).await;
    let place = objstore::Stopped::new(&[("OBJSTORE_DATA_DIR", disk.path().to_str().unwrap())]);
    let command = disk.beside(&place.command());
    let service = place.start_with(command).await;
    let client = service.client().await;
    let mut scene = Scene::of(vec![objstore(&service)], nothing).await;
    assert!(disk.run("fallocate --length 290M ballast").await);
    let is_refused = async |bytes| {
        let value = json!({ "filler": "x".repeat(bytes) }).to_string();
        client.post("/set", Object::new(&Key::fresh(), &value).body()).await.status == 503
    };
    for bytes in [100_000, 5_000, 10] {
        let mut refused = 0;
        while refused < 8 {
            refused = if is_refused(bytes).await { refused + 1 } else { 0 };
        }
    }
    scene.pass(20, async || assert!(is_refused(5_000).await)).await;
    scene
        .fires(&[
            Fires::critical(
                "WritesRefused",
                60,
                OBJSTORE_1,
                "objstore-svc: o:5001 refuses writes, because its disk is full",
            ),
            Fires::critical(
                "HighErrorRate",
                315,
                OBJSTORE,
                "objstore-svc: 100% of the requests get 5xx, most of them 503 for /set at o:5001",
            ),
            Fires::warning(
                "DiskNearlyFull",
                600,
                OBJSTORE_1,
                "objstore-svc: the disk of o:5001 has only 0 MiB free",
            ),
        ])
        .await;
}

#[tokio::test]
async fn a_disk_has_failed() {
    let service = payments::Service::with(&[]).await;
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    let stopped = service.stop().await;
    fs::write(stopped.data().join("disk-failed"), "").unwrap();
    let service = stopped.start().await;
    scene.timeline.restarted("p:5002", service.url());
    scene.pass(5, nothing).await;
    scene
        .fires(&[Fires::critical(
            "DiskFailed",
            60,
            PAYMENTS_1,
            "payments-svc: the disk of p:5002 failed: stop the service now",
        )])
        .await;
}

#[tokio::test]
async fn another_process_holds_the_lock() {
    let service = objstore::Stopped::on(None, &[]).start().await;
    let (client, key) = (service.client().await, Key::fresh());
    let mut scene = Scene::of(vec![objstore(&service)], async || set(&client, &key).await).await;
    let file = rusqlite::Connection::open(service.data().data().join("objstore.db")).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write = async { drop(client.post("/set", Object::new(&key, "{}").body()).await) };
    let seen = async {
        shows(&service, "objstore_limit_used{limit=\"queued_writes\"} 1").await;
        scene.pass(10, nothing).await;
        file.execute_batch("ROLLBACK").unwrap();
    };
    tokio::join!(write, seen);
    scene.fires(&[Fires::critical("WritesStuck", 165, &[("job", "objstore-svc"), ("instance", "o:5001"), ("limit", "queued_writes")], "objstore-svc: 1 writes wait at o:5001, and none was committed in 2 minutes: another process holds a lock, or the disk hangs")]).await;
}

#[tokio::test]
async fn a_clock_jumps() {
    let clock = Clock::new();
    let place = objstore::Stopped::on(None, &[]);
    let mut command = place.command();
    command.envs(clock.variables());
    let service = place.start_with(command).await;
    let mut scene = Scene::of(vec![objstore(&service)], nothing).await;
    clock.set(40 * 24 * 3600);
    shows(&service, "objstore_clock_jumped 1").await;
    scene.pass(5, nothing).await;
    scene
        .fires(&[Fires::critical(
            "ClockJumped",
            60,
            OBJSTORE_1,
            "objstore-svc: the clock of o:5001 jumped, so nothing is deleted or voided by time",
        )])
        .await;
}

#[tokio::test]
async fn a_replica_starts_again_and_again() {
    let mut service = payments::Service::with(&[]).await;
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    for _ in 0..3 {
        // The time of a start has whole seconds.
        let started = Timestamp::now().as_second();
        until(async || Timestamp::now().as_second() > started).await;
        service = service.kill().await.start().await;
        scene.timeline.restarted("p:5002", service.url());
        scene.pass(3, nothing).await;
    }
    scene
        .fires(&[Fires::warning(
            "RestartsOften",
            420,
            PAYMENTS_1,
            "payments-svc: p:5002 restarted 3 times in 30 minutes",
        )])
        .await;
}

#[tokio::test]
async fn a_service_is_gone() {
    let service = objstore::Service::with(&[]).await;
    let (client, key) = (service.client().await, Key::fresh());
    let mut scene = Scene::of(vec![objstore(&service)], async || set(&client, &key).await).await;
    let _stopped = service.stop().await;
    scene.timeline.gone("o:5001");
    scene.pass(10, nothing).await;
    scene
        .fires(&[Fires::critical(
            "ServiceDown",
            60,
            OBJSTORE_1,
            "objstore-svc: o:5001 does not answer /metrics",
        )])
        .await;
}

#[tokio::test]
async fn a_rules_file_is_wrong() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("rules.toml");
    fs::write(&file, "").unwrap();
    let service = objstore::Service::with(&[("OBJSTORE_RULES_FILE", file.to_str().unwrap())]).await;
    let mut scene = Scene::of(vec![objstore(&service)], nothing).await;
    scene
        .pass(0, async || {
            fs::write(&file, "[[rule]").unwrap();
            shows(&service, "objstore_rules_errors_total 1").await;
        })
        .await;
    scene.pass(10, nothing).await;
    scene
        .fires(&[Fires::warning(
            "AccessRulesRejected",
            60,
            OBJSTORE,
            "objstore-svc: a new rules file cannot be used, and the old rules stay",
        )])
        .await;
}

#[tokio::test]
async fn bodies_need_more_memory_than_the_limit() {
    let service = objstore::Service::with(&[("BODY_MEMORY", "16KiB")]).await;
    let client = service.client().await;
    let mut scene = Scene::of(vec![objstore(&service)], nothing).await;
    let (address, cookie) =
        (service.process().address(), format!("Cookie: token={}\r\n", client.token()));
    scene.pass(10, async || exceed_body_memory(address, "/set", &cookie).await).await;
    let labels = &[("job", "objstore-svc"), ("instance", "o:5001"), ("limit", "body_memory")];
    scene
        .fires(&[
            Fires::warning(
                "LimitRefuses",
                60,
                labels,
                "objstore-svc: the limit body_memory of o:5001 refused 5 times in 5 minutes",
            ),
            Fires::critical(
                "HighErrorRate",
                315,
                OBJSTORE,
                "objstore-svc: 100% of the requests get 5xx, most of them 503 for /set at o:5001",
            ),
        ])
        .await;
}

#[tokio::test]
async fn clients_are_never_deleted() {
    let service = objstore::Service::with(&[("OBJSTORE_MAX_CLIENTS", "10")]).await;
    let mut scene = Scene::of(vec![objstore(&service)], nothing).await;
    let _clients = join_all((0..9).map(|_| service.client())).await;
    scene.pass(20, nothing).await;
    scene
        .fires(&[Fires::warning(
            "ClientsNearLimit",
            900,
            OBJSTORE,
            "objstore-svc: 90% of OBJSTORE_MAX_CLIENTS are registered",
        )])
        .await;
}

#[tokio::test]
async fn nothing_happens() {
    let (one, other) = tokio::join!(objstore::Service::with(&[]), payments::Service::with(&[]));
    let (client, key, merchant) = (one.client().await, Key::fresh(), other.merchant().await);
    let traffic = async || {
        set(&client, &key).await;
        merchant.pay("EUR", 500).await.capture(500).await;
        let _ = client.post("/get", "{").await;
        let _ = merchant.fail(100).await;
        shows(&other, "payments_outbox_entries 0").await;
    };
    let mut scene = Scene::of(vec![objstore(&one), payments(&other)], traffic).await;
    scene.pass(60, traffic).await;
    scene.fires(&[]).await;
}

/// A live merchant, with demo-acquirer as the acquirer.
async fn live(settings: &[(&str, &str)]) -> (Acquirer, payments::Service, payments::Merchant) {
    let acquirer = Acquirer::start().await;
    let own = acquirer.of_payments();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let settings: Vec<_> = own.chain(settings.iter().copied()).collect();
    let service = payments::Service::with(&settings).await;
    let merchant = service.app().await.merchant_with(&minimal()).await;
    (acquirer, service, merchant)
}

async fn charge(merchant: &payments::Merchant, number: &str) -> Answer {
    let expiry = json!({ "month": 2, "year": 2048 });
    let card = json!({ "number": number, "expiry": expiry, "code": "739" });
    let body = json!({ "key": merchant.key, "currency": "EUR", "amount": 500, "card": card });
    merchant.charge(&body).await
}

async fn at_once<F: Future>(count: usize, make: impl Fn() -> F) {
    let _ = join_all((0..count).map(|_| make())).await;
}

#[tokio::test]
async fn an_acquirer_is_slow() {
    let (acquirer, service, merchant) = live(&[]).await;
    let pay = async || at_once(4, || charge(&merchant, card::VISA)).await;
    let mut scene = Scene::of(vec![payments(&service)], pay).await;
    acquirer.delay(4500).await;
    scene.pass(20, pay).await;
    scene.fires(&[Fires::warning("SlowPayments", 600, PAYMENTS, "payments-svc: one request of 100 takes longer than 16.26s, the slowest are /transactions at p:5002")]).await;
}

#[tokio::test]
async fn an_acquirer_does_not_answer() {
    let timeout = ("PAYMENTS_ACQUIRER_TIMEOUT", "1s");
    let (acquirer, service, merchant) = live(&[timeout]).await;
    let pay = async |count| at_once(count, || charge(&merchant, card::VISA)).await;
    let mut scene = Scene::of(vec![payments(&service)], async || pay(4).await).await;
    acquirer.rules(json!([{ "fault": "hang" }])).await;
    pay(25).await;
    shows(&service, "payments_pending_payments 25").await;
    scene.pass(10, nothing).await;
    scene
        .fires(&[Fires::critical(
            "PaymentsWithoutOutcome",
            300,
            PAYMENTS,
            "payments-svc: 25 payments wait for an outcome",
        )])
        .await;
}

#[tokio::test]
async fn captures_do_not_reach_the_acquirer() {
    let (acquirer, service, merchant) = live(&[]).await;
    let paid = merchant.transaction(&charge(&merchant, card::VISA).await.expect(201));
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    acquirer.rules(json!([{ "kind": "capture", "fault": "500" }])).await;
    let _ = paid.capture(500).await;
    shows(&service, "payments_outbox_entries 1").await;
    scene.pass(25, nothing).await;
    scene
        .fires(&[Fires::critical(
            "OutboxNotConfirmed",
            1200,
            PAYMENTS,
            "payments-svc: 1 outbox entries wait for an acquirer",
        )])
        .await;
}

#[tokio::test]
async fn the_facts_of_an_acquirer_are_not_read() {
    let (acquirer, service, _) = live(&[("PAYMENTS_FACTS_INTERVAL", "1s")]).await;
    let read = async || acquirer.until(|_| true).await;
    let mut scene = Scene::of(vec![payments(&service)], read).await;
    drop(acquirer);
    scene.pass(80, nothing).await;
    let labels = &[("job", "payments-svc"), ("acquirer", "http")];
    scene
        .fires(&[Fires::warning(
            "AcquirerFactsNotRead",
            3915,
            labels,
            "payments-svc: the facts of the acquirer http were not read for an hour",
        )])
        .await;
}

#[tokio::test]
async fn a_webhook_is_gone() {
    let mut receiver = Receiver::new().await;
    let service =
        payments::Service::with(&[receiver.trust(), ("PAYMENTS_WEBHOOK_NETWORKS", "127.0.0.0/8")])
            .await;
    let app = service.app().await;
    let webhook = Webhook::at(&app, &receiver).await;
    let merchant = app.merchant("EUR").await;
    let pay = async || {
        drop(merchant.pay("EUR", 100).await);
        shows(&service, "payments_outbox_entries 0").await;
    };
    let mut scene = Scene::of(vec![payments(&service)], pay).await;
    receiver.close().await;
    scene
        .pass(40, async || {
            pay().await;
            let _ = webhook.recorded(|attempts| attempts.len() > 1).await;
        })
        .await;
    scene.fires(&[Fires::warning("WebhooksFail", 450, PAYMENTS, "payments-svc: the last 62 deliveries to webhooks failed, most of them with connection_failed")]).await;
}

#[tokio::test]
async fn a_mail_server_is_gone() {
    let server = MailServer::start().await;
    let url = server.url();
    let settings = [("PAYMENTS_SMTP_URL", &*url), ("PAYMENTS_MAIL_FROM", "shop@a.example")];
    let service = payments::Service::with(&settings).await;
    let merchant = service.merchant().await;
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    drop(server);
    for _ in 0..12 {
        let _ = merchant.invite(&email()).await;
    }
    shows(&service, "payments_mails_waiting 12").await;
    scene.pass(40, nothing).await;
    scene
        .fires(&[Fires::warning(
            "MailsWaiting",
            1800,
            PAYMENTS,
            "payments-svc: 12 mails are not sent",
        )])
        .await;
}

#[tokio::test]
async fn live_merchants_have_no_acquirer() {
    let service = payments::Service::with(&[]).await;
    let app = service.app().await;
    let live = app.merchant_with(&minimal()).await;
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    let pay = async || drop(live.charge(&live.payment(Card::LIVE, "EUR", 100)).await);
    scene.pass(10, pay).await;
    scene
        .fires(&[Fires::warning(
            "LivePaymentsDeclined",
            75,
            &[("job", "payments-svc"), ("origin", "transactions")],
            "payments-svc: payments of live merchants are declined with code 27 (transactions)",
        )])
        .await;
}

#[tokio::test]
async fn somebody_tests_cards_on_the_payment_page() {
    let service = payments::Service::with(&[]).await;
    let merchant = service.merchant().await;
    let link = Link::to(&merchant);
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    let test = async || {
        for _ in 0..6 {
            let _ = service.pay_at(&link, Card::DECLINED).await;
        }
    };
    scene.pass(20, test).await;
    scene
        .fires(&[
            Fires::warning(
                "CardsTested",
                450,
                &[("job", "payments-svc"), ("origin", "page")],
                "payments-svc: 0.4 declined cards a second (page)",
            ),
            Fires::warning(
                "DeclinesHigh",
                915,
                PAYMENTS,
                "payments-svc: 100% of the payments are declined",
            ),
        ])
        .await;
}

#[tokio::test]
async fn an_acquirer_reports_what_nobody_knows() {
    let service = payments::Service::with(&UNREACHABLE).await;
    let merchant = service.merchant().await;
    let paid = merchant.pay("EUR", 1000).await;
    let mut scene = Scene::of(vec![payments(&service)], nothing).await;
    let acquirer = payments::Acquirer(&service);
    let report = payments::Acquirer::event("dispute.lunched", &paid, json!({}));
    scene.pass(0, async || drop(acquirer.notify(&report).await)).await;
    scene.pass(10, nothing).await;
    let labels = &[("job", "payments-svc"), ("acquirer", "http")];
    scene
        .fires(&[Fires::warning(
            "AcquirerReportsIgnored",
            60,
            labels,
            "payments-svc: reports of the acquirer http could not be booked",
        )])
        .await;
}
