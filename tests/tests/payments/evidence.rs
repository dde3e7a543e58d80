//! Answers to disputes.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blackbox::{
    acquirer::{Acquirer as Stub, card},
    http::{Answer, Request},
    payments::{
        Acquirer, Card, Merchant, Refusal as _, SECRET, Service, Stripe, Transaction, ids, int,
        live_merchant, stripe::Fault,
    },
    process::{DEADLINE, until},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    time::{sleep, timeout},
};

pub(crate) const PDF: &[u8] = b"%PDF-1.7 a\r\n--x--\r\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n123";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0 1";

const PATHS: [&str; 3] = ["/evidence", "/evidence/submit", "/accept"];

/// A form with a text and files, each with its name.
pub(crate) fn form(text: Option<&str>, files: &[(&str, &[u8])]) -> (String, Vec<u8>) {
    let boundary = format!("b{:x}", rand::random::<u64>());
    let mut body = Vec::new();
    if let Some(text) = text {
        let part = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n");
        body.extend([part.as_bytes(), text.as_bytes(), b"\r\n"].concat());
    }
    for (name, content) in files {
        let part = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain\r\n\r\n"
        );
        body.extend([part.as_bytes(), content, b"\r\n"].concat());
    }
    body.extend(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// An open dispute of a test merchant.
struct Disputed {
    service: Service,
    merchant: Merchant,
    transaction: Transaction,
    path: String,
}

impl Disputed {
    async fn new() -> Self {
        Self::on(Service::with(&[SECRET]).await, "opened").await
    }

    async fn on(service: Service, kind: &str) -> Self {
        let merchant = service.merchant().await;
        let transaction = merchant.pay("EUR", 1000).await;
        transaction.capture(1000).await;
        let members = json!({ "disputeId": "dp", "amount": 600, "due": "2099-01-01T00:00:00Z" });
        let event = Acquirer::event(&format!("dispute.{kind}"), &transaction, members);
        let _ = Acquirer(&service).notify(&event).await.expect(204);
        let list = format!("/disputes?limit=1&filter[merchantId]={}", merchant.id);
        let id = ids(&merchant.app.list(&list).await).remove(0);
        Self { service, merchant, transaction, path: format!("/disputes/{id}") }
    }

    fn request(&self, method: Method, rest: &str) -> Request {
        self.merchant.app.request(method, &format!("{}{rest}", self.path))
    }

    async fn save(&self, text: Option<&str>, files: &[(&str, &[u8])]) -> Answer {
        let (media, body) = form(text, files);
        self.request(Method::POST, "/evidence").body_of(&media, body).send().await
    }

    async fn post(&self, rest: &str) -> Answer {
        self.request(Method::POST, rest).send().await
    }

    async fn get(&self) -> Answer {
        self.request(Method::GET, "/evidence").send().await
    }

    async fn fetch(&self) -> Value {
        self.request(Method::GET, "").send().await.expect(200).json()["dispute"].clone()
    }

    /// Waits until the trail has the decision.
    async fn decided(&self, how: &str) {
        let decided = async {
            while self.transaction.fetch().await["trail"][1]["dispute"][how] != true {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(DEADLINE, decided).await.unwrap();
    }

    /// The types and actors of the events about the dispute, after its opening.
    async fn events(&self) -> Vec<(String, String)> {
        let path = format!("/events?filter[merchantId]={}&", self.merchant.id);
        self.merchant.app.settle(&path).await;
        let events = self.merchant.app.events_after(&"0".repeat(24)).await;
        let about = events.iter().filter(|event| event["data"]["dispute"].is_object()).skip(1);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        about.map(|event| (text(&event["type"]), text(&event["actor"]["type"]))).collect()
    }
}

fn owned(events: &[(&str, &str)]) -> Vec<(String, String)> {
    events.iter().map(|(kind, actor)| ((*kind).to_owned(), (*actor).to_owned())).collect()
}

#[tokio::test]
async fn evidence_is_saved_replaced_and_submitted_once() {
    let disputed = Disputed::new().await;
    disputed.get().await.refused(404, "not_found");
    disputed.post("/evidence/submit").await.names(&["text"]);
    let files = [("a.pdf", PDF), ("C:\\b.png", PNG), ("c.jpg", JPEG)];
    let saved = disputed.save(Some("first"), &files).await.expect(201).json();
    let evidence = &saved["evidence"];
    assert_eq!((&evidence["text"], &evidence["submitted"]), (&json!("first"), &Value::Null));
    let of = |evidence: &Value| -> Vec<_> {
        let files = evidence["files"].as_array().unwrap().iter();
        files.map(|file| json!([file["name"], file["type"], file["size"]])).collect()
    };
    let expected = [
        json!(["a.pdf", "application/pdf", PDF.len()]),
        json!(["b.png", "image/png", PNG.len()]),
        json!(["c.jpg", "image/jpeg", JPEG.len()]),
    ];
    assert_eq!(of(evidence), expected);
    assert_eq!(disputed.get().await.expect(200).json(), saved);

    let replaced = disputed.save(None, &files[1..2]).await.expect(201).json();
    assert_eq!(of(&replaced["evidence"]), expected[1..2]);
    assert_ne!(replaced["evidence"]["id"], evidence["id"]);
    assert_eq!(disputed.get().await.expect(200).json(), replaced);

    let submitted = disputed.post("/evidence/submit").await.expect(201).json();
    assert!(submitted["evidence"]["submitted"].is_string());
    assert_eq!(disputed.fetch().await["submitted"], submitted["evidence"]["submitted"]);
    for path in &PATHS[1..] {
        disputed.post(path).await.names(&["disputeId"]);
    }
    disputed.save(Some("late"), &[]).await.names(&["disputeId"]);
    assert_eq!(disputed.events().await, owned(&[("dispute.evidence", "app")]));
    // Without one of the sandbox's words, the dispute stays open.
    assert_eq!(int(&disputed.transaction.fetch().await["disputedAmount"]), 600);
    disputed.service.data().agrees().await;
}

#[tokio::test]
async fn the_files_of_the_evidence_can_be_downloaded() {
    let disputed = Disputed::new().await;
    let files = [("Überweisung (1).pdf", PDF, "application/pdf"), ("c.jpg", JPEG, "image/jpeg")];
    let sent = files.map(|(name, content, _)| (name, content));
    let saved = disputed.save(None, &sent).await.expect(201).json();
    let paths: Vec<_> =
        saved["evidence"]["files"].as_array().unwrap().iter().map(path_of).collect();
    for (path, (_, content, kind)) in paths.iter().zip(files) {
        let answer = disputed.request(Method::GET, path).send().await.expect(200);
        assert_eq!(answer.body, content);
        assert_eq!(answer.header("content-type"), Some(kind));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    let answer = disputed.request(Method::GET, &paths[0]).send().await;
    let expected = "attachment; filename*=UTF-8''%C3%9Cberweisung%20%281%29%2Epdf";
    assert_eq!(answer.header("content-disposition"), Some(expected));

    // A file of another dispute, and one that was replaced.
    let other = Disputed::on(disputed.service.in_browser(""), "opened").await;
    other.request(Method::GET, &paths[0]).send().await.refused(404, "not_found");
    let _ = disputed.save(None, &sent[..1]).await.expect(201);
    disputed.request(Method::GET, &paths[0]).send().await.refused(404, "not_found");
}

/// The path of a saved file, after that of the dispute.
fn path_of(file: &Value) -> String {
    format!("/evidence/files/{}", file["id"].as_str().unwrap())
}

#[tokio::test]
async fn the_sandbox_decides_by_the_text() {
    for (text, how) in [("my winning_evidence", "won"), ("losing_evidence", "lost")] {
        let disputed = Disputed::new().await;
        let _ = disputed.save(Some(text), &[("a.pdf", PDF)]).await.expect(201);
        let _ = disputed.post("/evidence/submit").await.expect(201);
        disputed.decided(how).await;
        let expected = [("dispute.evidence", "app"), (&format!("dispute.{how}"), "acquirer")];
        assert_eq!(disputed.events().await, owned(&expected));
        disputed.post("/accept").await.names(&["disputeId"]);
        disputed.service.data().agrees().await;
    }
}

#[tokio::test]
async fn an_accepted_dispute_is_lost() {
    let disputed = Disputed::new().await;
    let _ = disputed.post("/accept").await.expect(204);
    disputed.decided("lost").await;
    assert!(disputed.fetch().await["accepted"].is_string());
    for path in &PATHS[1..] {
        disputed.post(path).await.names(&["disputeId"]);
    }
    let expected = [("dispute.accepted", "app"), ("dispute.lost", "acquirer")];
    assert_eq!(disputed.events().await, owned(&expected));
    disputed.service.data().agrees().await;
}

#[tokio::test]
async fn an_inquiry_can_be_answered_but_not_accepted() {
    let disputed = Disputed::on(Service::with(&[SECRET]).await, "inquiry").await;
    disputed.post("/accept").await.names(&["disputeId"]);
    let _ = disputed.save(Some("text"), &[]).await.expect(201);
    let _ = disputed.post("/evidence/submit").await.expect(201);
    // As a dispute it can be answered again.
    let members = json!({ "disputeId": "dp", "amount": 600, "due": "2099-01-01T00:00:00Z" });
    let event = Acquirer::event("dispute.opened", &disputed.transaction, members);
    let _ = Acquirer(&disputed.service).notify(&event).await.expect(204);
    assert_eq!(disputed.fetch().await["submitted"], Value::Null);
    let _ = disputed.post("/evidence/submit").await.expect(201);
}

#[tokio::test]
async fn the_files_of_open_disputes_have_a_limit_for_each_merchant() {
    let disputed = Disputed::on(Service::with(&[SECRET]).await, "opened").await;
    let _ = disputed.save(None, &[("a.pdf", PDF)]).await.expect(201);
    let members = json!({ "disputeId": "second", "amount": 100, "due": "2099-01-01T00:00:00Z" });
    let event = Acquirer::event("dispute.opened", &disputed.transaction, members);
    let _ = Acquirer(&disputed.service).notify(&event).await.expect(204);
    let list = format!("/disputes?limit=1&filter[merchantId]={}", disputed.merchant.id);
    let second = ids(&disputed.merchant.app.list(&list).await).remove(0);
    let save = async || {
        let path = format!("/disputes/{second}/evidence");
        let (media, body) = form(None, &[("a.pdf", PDF)]);
        disputed.merchant.app.request(Method::POST, &path).body_of(&media, body).send().await
    };
    let place = disputed.service.data();
    assert_eq!(place.change("UPDATE evidence SET size = 99999999"), 1);
    save().await.names(&["file"]);
    place.change(&format!("UPDATE evidence SET size = {}", 100_000_000 - PDF.len()));
    let _ = save().await.expect(201);
}

#[tokio::test]
async fn nothing_is_answered_after_the_deadline() {
    let service = Service::with(&[SECRET, ("PAYMENTS_DISPUTE_DUE", "14d")]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay_with(Card("4100000000000000"), "EUR", 1000).await;
    transaction.capture(1000).await;
    let members = json!({ "disputeId": "dp", "amount": 600, "due": "2020-01-01T00:00:00Z" });
    let event = Acquirer::event("dispute.opened", &transaction, members);
    let _ = Acquirer(&service).notify(&event).await.expect(204);
    let list = format!("/disputes?limit=1&filter[merchantId]={}", merchant.id);
    let path = format!("/disputes/{}", ids(&merchant.app.list(&list).await).remove(0));
    let disputed = Disputed { service, merchant, transaction, path };
    for path in &PATHS[1..] {
        disputed.post(path).await.names(&["disputeId"]);
    }
    disputed.save(Some("text"), &[]).await.names(&["disputeId"]);
}

#[tokio::test]
async fn wrong_evidence_is_named() {
    let disputed = Disputed::new().await;
    let (six, large) = ([("a.pdf", PDF); 6], [PDF, &vec![0; 4_500_000]].concat());
    for (text, files, fields) in [
        (None, &[][..], &["text"][..]),
        (Some(" "), &[("", &b""[..])], &["text"]),
        (Some(&*"a".repeat(20_001)), &[], &["text"]),
        (Some("\u{202e}"), &[("a.gif", b"GIF89a")], &["text", "file"]),
        (Some("a"), &[("", PDF)], &["file"]),
        (Some("a"), &[("empty.pdf", b"")], &["file"]),
        (Some("a"), &six, &["file"]),
        (Some("a"), &[("large.pdf", &*large)], &["file"]),
    ] {
        disputed.save(text, files).await.names(fields);
    }
    let largest = &large[..4_500_000];
    let saved = disputed.save(Some(&"ä".repeat(20_000)), &[("a.pdf", largest)]).await.expect(201);
    assert_eq!(saved.json()["evidence"]["files"][0]["size"], 4_500_000);
    // The whole body has a limit, too, and the client gets its answer.
    let huge = vec![0; 9_000_000];
    disputed.save(None, &[("a.pdf", &huge)]).await.refused(413, "body_too_large");
    let post = |media: &str, body: &str| {
        disputed.request(Method::POST, "/evidence").body_of(media, body).send()
    };
    post("application/json", "{}").await.refused(415, "unsupported_media_type");
    post("multipart/form-data", "a").await.refused(415, "unsupported_media_type");
    post("multipart/form-data; boundary=x", "--x\r\nbroken").await.names(&[""]);
    disputed.service.data().agrees().await;
}

#[tokio::test]
async fn a_repeat_with_another_boundary_is_the_same_request() {
    let disputed = Disputed::new().await;
    let save = async |text: &str| {
        let (media, body) = form(Some(text), &[("a.pdf", PDF)]);
        let request = disputed.request(Method::POST, "/evidence").body_of(&media, body);
        request.header("idempotency-key", "save").send().await
    };
    let first = save("text").await.expect(201);
    let repeat = save("text").await.expect(201);
    assert_eq!(repeat.header("idempotent-replayed"), Some("true"));
    assert_eq!(repeat.text(), first.text());
    save("other").await.refused(422, "idempotency_key_reused");
    for path in &PATHS[1..] {
        let post = || disputed.request(Method::POST, path).header("idempotency-key", *path).send();
        let (first, repeat) = (post().await, post().await);
        let replayed = (first.status == 201).then_some("true");
        assert_eq!((first.status, repeat.header("idempotent-replayed")), (repeat.status, replayed));
    }
    assert_eq!(disputed.events().await.len(), 1);
}

#[tokio::test]
async fn strangers_can_neither_see_nor_answer() {
    let disputed = Disputed::new().await;
    let stranger = disputed.service.app().await;
    for path in PATHS {
        let (media, body) = form(Some("text"), &[]);
        let request = stranger.request(Method::POST, &format!("{}{path}", disputed.path));
        request.body_of(&media, body).send().await.refused(403, "forbidden");
    }
    stranger.get(&format!("{}/evidence", disputed.path)).await.refused(403, "forbidden");
}

#[tokio::test]
async fn evidence_is_deleted_30_days_after_the_decision() {
    let mut disputed = Disputed::new().await;
    let _ = disputed.save(Some("winning_evidence"), &[("a.pdf", PDF)]).await.expect(201);
    let _ = disputed.post("/evidence/submit").await.expect(201);
    disputed.decided("won").await;
    for (days, is_deleted) in [(29, false), (2, true)] {
        let place = disputed.service.stop().await;
        let earlier = i64::from(days) * 24 * 3600 * 1000;
        place.change(&format!(
            "UPDATE trail SET created = created - {earlier} WHERE dispute IS NOT NULL"
        ));
        disputed.service = place.start().await;
        disputed.merchant.app = disputed.merchant.app.at(&disputed.service);
        let found = async {
            while is_deleted && disputed.get().await.status != 404 {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(DEADLINE, found).await.unwrap();
        assert_eq!(disputed.get().await.status == 404, is_deleted);
    }
    let place = disputed.service.stop().await;
    assert_eq!(place.number("SELECT count(*) FROM evidence_files"), 0);
}

/// The dispute of a merchant, as soon as it is there.
async fn until_disputed(
    service: Service,
    merchant: Merchant,
    transaction: Transaction,
) -> Disputed {
    let list = format!("/disputes?limit=1&filter[merchantId]={}", merchant.id);
    let found = async {
        loop {
            match ids(&merchant.app.list(&list).await).pop() {
                Some(id) => return id,
                None => sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let path = format!("/disputes/{}", timeout(DEADLINE, found).await.unwrap());
    Disputed { service, merchant, transaction, path }
}

/// A disputed payment at Stripe.
async fn at_stripe() -> (Stripe, Disputed) {
    let stripe = Stripe::start().await;
    let service = stripe.service(&[("PAYMENTS_FACTS_INTERVAL", "1s")]).await;
    let merchant = live_merchant(&service.app().await).await;
    let transaction = merchant.pay_with(Card("4000000000002685"), "EUR", 1000).await;
    transaction.capture(1000).await;
    (stripe, until_disputed(service, merchant, transaction).await)
}

#[tokio::test]
async fn stripe_gets_the_text_and_the_files_once() {
    for fault in [None, Some(Fault::Drop), Some(Fault::internal()), Some(Fault::LateError)] {
        let (stripe, disputed) = at_stripe().await;
        if let Some(fault) = fault {
            for path in ["/v1/files", "/v1/disputes/"] {
                stripe.fail("POST", path, fault.clone(), 1);
            }
        }
        let files = [("ä b.pdf", PDF), ("c.jpg", JPEG)];
        let _ = disputed.save(Some("winning_evidence"), &files).await.expect(201);
        let _ = disputed.post("/evidence/submit").await.expect(201);
        disputed.decided("won").await;
        disputed.service.settled().await;
        let dispute = stripe.all("du").remove(0);
        assert_eq!(dispute["evidence"]["uncategorized_text"], "winning_evidence");
        let names = ["uncategorized_file", "customer_communication"].map(|member| {
            let id = &dispute["evidence"][member];
            let file = stripe.all("file").into_iter().find(|file| file["id"] == *id).unwrap();
            file["filename"].as_str().unwrap().to_owned()
        });
        assert_eq!(names, ["ä b.pdf", "c.jpg"]);
        let uploads = stripe.requests("POST", "/v1/files");
        assert_eq!(uploads[0].member("file"), Some(&*String::from_utf8_lossy(PDF)));
    }
}

#[tokio::test]
async fn stripe_closes_an_accepted_dispute() {
    let (stripe, disputed) = at_stripe().await;
    stripe.fail("POST", "/close", Fault::LateError, 1);
    let _ = disputed.post("/accept").await.expect(204);
    disputed.decided("lost").await;
    assert_eq!(stripe.all("du")[0]["status"], "lost");
    disputed.service.settled().await;
    disputed.service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_refused_answer_can_be_repeated() {
    let (stripe, disputed) = at_stripe().await;
    let error = json!({ "type": "invalid_request_error", "message": "The file is broken." });
    stripe.refuse("/v1/disputes/", 400, error);
    let _ = disputed.save(Some("losing_evidence"), &[]).await.expect(201);
    let _ = disputed.post("/evidence/submit").await.expect(201);
    let refused = async {
        while disputed.fetch().await["submitted"].is_string() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, refused).await.unwrap();
    let _ = disputed.post("/evidence/submit").await.expect(201);
    disputed.decided("lost").await;
    let expected = [
        ("dispute.evidence", "app"),
        ("acquirer.refused", "acquirer"),
        ("dispute.evidence", "app"),
        ("dispute.lost", "acquirer"),
    ];
    assert_eq!(disputed.events().await, owned(&expected));
    // Each event shows the dispute as it was.
    let events = disputed.merchant.app.events_after(&"0".repeat(24)).await;
    let disputes = events.iter().filter(|event| event["data"]["dispute"].is_object());
    let answered = |event: &Value| {
        let submitted = &event["data"]["dispute"]["submitted"];
        assert!(event["type"] != "dispute.evidence" || *submitted == event["created"], "{event}");
        submitted.is_string()
    };
    assert_eq!(disputes.map(answered).collect::<Vec<_>>(), [false, true, false, true, true]);
}

/// A disputed payment at an acquirer with our protocol.
async fn at_acquirer(kind: &str) -> (Stub, Disputed) {
    at_acquirer_with(kind, &[]).await
}

async fn at_acquirer_with(kind: &str, settings: &[(&str, &str)]) -> (Stub, Disputed) {
    let acquirer = Stub::start().await;
    let own = acquirer.of_payments();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let settings = settings.iter().copied().chain([("PAYMENTS_FACTS_INTERVAL", "1s")]);
    let settings: Vec<_> = own.chain(settings).collect();
    let service = Service::with(&settings).await;
    let merchant = live_merchant(&service.app().await).await;
    let transaction = merchant.pay_with(Card(card::VISA), "EUR", 1000).await;
    transaction.capture(1000).await;
    let members = json!({ "disputeId": "dp", "amount": 600, "due": "2099-01-01T00:00:00Z" });
    let event = Acquirer::event(&format!("dispute.{kind}"), &transaction, members);
    acquirer.notify(event).await;
    (acquirer, until_disputed(service, merchant, transaction).await)
}

#[tokio::test]
async fn an_inquiry_may_become_another_amount_while_its_answer_is_under_way() {
    let (acquirer, disputed) = at_acquirer("inquiry").await;
    acquirer.rules(json!([{ "kind": "answer", "fault": "close" }])).await;
    let _ = disputed.save(Some("text"), &[]).await.expect(201);
    let _ = disputed.post("/evidence/submit").await.expect(201);
    let members = json!({ "disputeId": "dp", "amount": 500, "due": "2099-01-01T00:00:00Z" });
    let event = Acquirer::event("dispute.opened", &disputed.transaction, members);
    let _ = Acquirer(&disputed.service).notify(&event).await.expect(204);
    let place = disputed.service.stop().await;
    assert_eq!(place.number("SELECT count(*) FROM outbox WHERE dispute IS NOT NULL"), 1);
    place.agrees().await;
}

#[tokio::test]
async fn a_draft_is_not_sent_as_the_answer_to_an_inquiry() {
    let (acquirer, disputed) = at_acquirer("inquiry").await;
    acquirer.rules(json!([{ "kind": "answer", "fault": "close" }])).await;
    let _ = disputed.save(Some("text"), &[]).await.expect(201);
    let _ = disputed.post("/evidence/submit").await.expect(201);
    let members = json!({ "disputeId": "dp", "amount": 600, "due": "2099-01-01T00:00:00Z" });
    let event = Acquirer::event("dispute.opened", &disputed.transaction, members);
    let _ = Acquirer(&disputed.service).notify(&event).await.expect(204);
    let _ = disputed.save(Some("draft"), &[]).await.expect(201);
    acquirer.rules(json!([])).await;
    let entries = "SELECT count(*) FROM outbox WHERE dispute IS NOT NULL";
    until(async || disputed.service.data().number(entries) == 0).await;
    let sent = acquirer.operations().await;
    assert!(sent.iter().all(|it| it["kind"] != "answer" || it["executed"] == 0), "{sent:?}");
    assert_eq!(disputed.fetch().await["submitted"], Value::Null);
    let _ = disputed.post("/evidence/submit").await.expect(201);
}

#[tokio::test]
async fn evidence_on_its_way_delays_no_capture() {
    let settings = [("PAYMENTS_ACQUIRER_TIMEOUT", "10m"), ("PAYMENTS_OUTBOX_CONCURRENCY", "1")];
    let (acquirer, disputed) = at_acquirer_with("opened", &settings).await;
    acquirer.rules(json!([{ "kind": "answer", "fault": { "late": { "ms": 600_000 } } }])).await;
    let _ = disputed.save(Some("text"), &[]).await.expect(201);
    let _ = disputed.post("/evidence/submit").await.expect(201);
    let transaction = disputed.merchant.pay_with(Card(card::VISA), "EUR", 700).await;
    transaction.capture(700).await;
    let is_captured = |it: &Value| it["kind"] == "capture" && it["amount"] == 700;
    until(async || acquirer.operations().await.iter().any(is_captured)).await;
    let answers = "SELECT count(*) FROM outbox WHERE dispute IS NOT NULL AND attempts = 0";
    assert_eq!(disputed.service.data().number(answers), 1);
}

#[tokio::test]
async fn answers_travel_by_the_acquirer_protocol() {
    for (path, how) in [("/evidence/submit", "won"), ("/accept", "lost")] {
        let (acquirer, disputed) = at_acquirer("opened").await;
        acquirer.rules(json!([{ "kind": "answer", "next": 1, "fault": "drop" }])).await;
        let large = [PDF, &vec![0; 4_000_000]].concat();
        let saved = disputed.save(Some("winning_evidence"), &[("a.pdf", &large)]).await;
        let _ = saved.expect(201);
        let _ = disputed.post(path).await.expect(if how == "won" { 201 } else { 204 });
        disputed.decided(how).await;
        disputed.service.settled().await;
        let operations = acquirer.operations().await;
        let answers = operations.iter().filter(|operation| operation["kind"] == "answer");
        assert_eq!(answers.map(|answer| int(&answer["executed"])).collect::<Vec<_>>(), [1]);
    }
}

#[tokio::test]
async fn uploads_have_a_limit_of_memory() {
    let disputed = Disputed::new().await;
    let credentials = BASE64_STANDARD.encode(format!(":{}", disputed.merchant.app.key));
    let (length, part) =
        (4_700_000, "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n");
    let head = format!(
        "POST {}/evidence HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {credentials}\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n\r\n{part}",
        disputed.path
    );
    let sent = length - 1;
    let begun = [head.as_bytes(), &vec![b'x'; sent - part.len()]].concat();
    let large = [PDF, &vec![b'x'; 4_000_000]].concat();
    let save = async || {
        let saved = disputed.save(None, &[("a.pdf", &large)]).await.expect(201).json();
        path_of(&saved["evidence"]["files"][0])
    };
    let used = r#"payments_limit_used{limit="upload_memory"}"#;
    let is_used = async |uploads: u64| {
        let reached = async {
            while disputed.service.metric(used).await != uploads * sent as u64 {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(DEADLINE, reached).await.unwrap();
    };
    // Memory follows the bytes that arrive, not the length that a client declares.
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut connection = disputed.service.connect().await;
        connection.write_all(head.as_bytes()).await.unwrap();
        open.push(connection);
    }
    let file = save().await;
    open.clear();
    is_used(0).await;
    for uploads in 1..=32 * 1024 * 1024 / length as u64 {
        let mut connection = disputed.service.connect().await;
        connection.write_all(&begun).await.unwrap();
        open.push(connection);
        is_used(uploads).await;
    }
    disputed.request(Method::GET, &file).send().await.refused(503, "overloaded");
    let refused = disputed.save(None, &[("a.pdf", &large)]).await;
    refused.refused(503, "overloaded");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let _ = disputed.save(Some("short"), &[]).await.expect(201);
    drop(open);
    is_used(0).await;
    let file = save().await;
    let _ = disputed.request(Method::GET, &file).send().await.expect(200);
    is_used(0).await;
}
