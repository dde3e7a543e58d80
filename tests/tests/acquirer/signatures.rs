//! Signatures, versions, paths and sizes: what reaches no book.

use blackbox::{
    acquirer::{Acquirer, Call, SECRET, authorization, card, key},
    payments::seconds,
};
use reqwest::Method;
use serde_json::{Value, json};

fn call() -> Call {
    Call::post("/authorizations", &key(), &authorization(card::VISA))
}

#[tokio::test]
async fn a_request_that_is_not_signed_for_this_moment_is_401() {
    let acquirer = Acquirer::start().await;
    let now = seconds();
    let call = call();
    let signature = call.signature.clone().unwrap();
    let with = |signature: &str| Call { signature: Some(signature.to_owned()), ..call.clone() };
    for wrong in [
        Call { signature: None, ..call.clone() },
        with(""),
        with("t=1,v1=2"),
        with(&signature.replace("v1", "v2")),
        with(&format!("{signature},{signature}")),
        call.clone().signed_with("another secret", now),
        call.clone().signed_with(SECRET.1, now - 302),
        call.clone().signed_with(SECRET.1, now + 310),
        Call { path: "/captures".to_owned(), ..call.clone() },
        Call { key: Some(key()), ..call.clone() },
        Call { body: call.body.replace("995", "996"), ..call.clone() },
        Call { method: Method::POST, ..call.clone() }.signed_with("", now),
    ] {
        let answer = acquirer.attempt(&wrong).await.unwrap().expect(401);
        assert_eq!(answer.header("acquirer-signature"), None, "{wrong:?}");
    }
    assert_eq!(acquirer.operations().await, [] as [Value; 0]);
    for offset in [-290, 290] {
        let call = self::call().signed_with(SECRET.1, now + offset);
        let _ = acquirer.send(&call).await.expect(200);
    }
}

#[tokio::test]
async fn another_version_is_400() {
    let acquirer = Acquirer::start().await;
    for version in ["2", "", "1.0"] {
        let _ = acquirer.send(&Call { version, ..call() }).await.expect(400);
        let call = Call { version, ..Call::get(&format!("/operations/{}", key())) };
        let _ = acquirer.send(&call).await.expect(400);
    }
    assert_eq!(acquirer.operations().await, [] as [Value; 0]);
}

#[tokio::test]
async fn another_path_is_404_and_another_method_405() {
    let acquirer = Acquirer::start().await;
    for path in ["/", "/authorizations/", "/operations", "/book", "/faults"] {
        let answer = acquirer.send(&Call::post(path, &key(), &json!({}))).await.expect(404);
        assert_eq!(answer.header("acquirer-signature"), None);
    }
    let _ = acquirer.send(&Call::get("/captures")).await.expect(405);
    let operation = format!("/operations/{}", key());
    let _ = acquirer.send(&Call::post(&operation, &key(), &json!({}))).await.expect(405);
    assert_eq!(acquirer.operations().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_body_above_64_kib_is_413() {
    let acquirer = Acquirer::start().await;
    let with_length = |length: usize| {
        let mut body = authorization(card::VISA);
        body["padding"] = json!("");
        let padding = length - body.to_string().len();
        body["padding"] = json!("x".repeat(padding));
        Call::post("/authorizations", &key(), &body)
    };
    let answer = acquirer.send(&with_length(64 * 1024)).await.expect(200);
    assert_eq!(answer.sent.body.len(), 64 * 1024);
    let _ = acquirer.send(&with_length(64 * 1024 + 1)).await.expect(413);
    let _ = acquirer.send(&with_length(128 * 1024)).await.expect(413);
    let huge = acquirer.attempt(&with_length(1024 * 1024)).await;
    assert!(huge.is_none_or(|answer| answer.status == 413));
    assert_eq!(acquirer.operations().await.len(), 1);
}

#[tokio::test]
async fn a_completion_names_its_authorization_twice() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    let path = format!("/authorizations/{payment}/complete");
    let _ = acquirer.post(&path, &key(), &json!({})).await.expect(400);
    for body in [json!([]), json!(null), json!("")] {
        let _ = acquirer.post(&path, &payment, &body).await.expect(400);
    }
    let unseen = key();
    let path = format!("/authorizations/{unseen}/complete");
    let answer = acquirer.post(&path, &unseen, &json!({})).await.expect(404);
    assert!(answer.header("acquirer-signature").is_some());
    let _ = acquirer.ask(&unseen).await.expect(404);
}
