//! Request and response bodies of every endpoint: media types, JSON syntax and size.

use blackbox::{
    http::Answer,
    payments::{App, Merchant, Refusal as _, Service, Transaction, minimal},
};
use reqwest::Method;
use serde_json::Value;

/// Sends a body of this media type.
async fn send(app: &App, path: &str, media: &str, body: impl Into<Vec<u8>>) -> Answer {
    app.request(Method::POST, path).body_of(media, body).send().await
}

/// Sends text as a JSON body.
async fn send_json(app: &App, path: &str, body: impl Into<Vec<u8>>) -> Answer {
    send(app, path, "application/json", body).await
}

async fn reserved(service: &Service) -> (Merchant, Transaction) {
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    (merchant, transaction)
}

#[tokio::test]
async fn every_json_media_type_is_accepted() {
    let service = Service::any().await;
    let app = service.app().await;
    for media in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"; x=y",
        "Application/JSON",
        "application/vnd.shop+json",
        "application/merge-patch+json; charset=utf-8",
    ] {
        let _ = send(&app, "/merchants", media, minimal().to_string()).await.expect(201);
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_415() {
    let service = Service::any().await;
    let app = service.app().await;
    for media in [
        "text/plain",
        "text/json",
        "application/xml",
        "application/jsonp",
        "application/json+zip",
        "multipart/form-data; boundary=x",
        "json",
        "*/*",
        "",
    ] {
        let answer = send(&app, "/merchants", media, minimal().to_string()).await;
        answer.refused(415, "unsupported_media_type");
    }
    let untyped = app.request(Method::POST, "/merchants").body(minimal().to_string());
    untyped.send().await.refused(415, "unsupported_media_type");
}

#[tokio::test]
async fn empty_bodies_of_any_type_mean_no_arguments() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let captures = format!("{}/captures", transaction.path());
    for media in ["application/json", "application/x-www-form-urlencoded", "text/plain", "x/y"] {
        for body in ["", "[]", "{}"] {
            println!("{media}: {body}");
            let request = service.request(Method::POST, "/apps").body_of(media, body);
            assert_eq!(request.send().await.expect(201).json()["app"]["name"], Value::Null);
            send(&merchant.app, &captures, media, body).await.names(&["amount"]);
            let path = merchant.path("");
            let change = merchant.app.request(Method::PUT, &path).body_of(media, body);
            let _ = change.send().await.expect(204);
        }
    }
    let request = merchant.app.request(Method::POST, &captures);
    request.send().await.names(&["amount"]);
}

#[tokio::test]
async fn a_body_that_is_not_a_json_object_is_400() {
    let service = Service::any().await;
    let app = service.app().await;
    let body = minimal().to_string();
    for wrong in [
        "nonsense".to_owned(),
        "1".to_owned(),
        "\"text\"".to_owned(),
        "true".to_owned(),
        "[1]".to_owned(),
        format!("[{body}]"),
        format!("{body}{body}"),
        format!("{body},"),
        body[..body.len() - 1].to_owned(),
        body.replace('"', "'"),
        format!("\u{feff}{body}"),
        "currency=EUR".to_owned(),
        "[".repeat(50_000),
        r#"{"a":"#.repeat(10_000),
    ] {
        send_json(&app, "/merchants", wrong).await.names(&[""]);
    }
    for spoilt in [&b"{\"name\":\"\xff\"}"[..], b"\xff\xfe{\0}\0", b"{\"name\":\"\xed\xa0\x80\"}"] {
        send_json(&app, "/merchants", spoilt).await.names(&[""]);
    }
}

#[tokio::test]
async fn a_name_that_stands_twice_in_json_is_400_and_named() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let path = format!("{}/captures", transaction.path());
    for (body, field) in [
        (r#"{"amount":1,"amount":1}"#, "amount"),
        (r#"{"amount":1,"amoun\u0074":2}"#, "amount"),
        (r#"{"amount":1,"unknown":1,"unknown":1}"#, "unknown"),
    ] {
        send_json(&merchant.app, &path, body).await.names(&[field]);
    }
    assert_eq!(transaction.fetch().await["capturedAmount"], 0);
    let path = merchant.path("/transactions");
    for (custom, field) in [
        (r#"{"order":1,"order":2}"#, "custom.order"),
        (r#"{"lines":[{"sku":{"a":1,"a":1}}]}"#, "custom.lines.sku.a"),
    ] {
        let pays = format!(r#""transactionId":"{}","currency":"EUR","amount":1"#, transaction.id);
        let body = format!(r#"{{{pays},"custom":{custom}}}"#);
        send_json(&merchant.app, &path, body).await.names(&[field]);
    }
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 1);
}

#[tokio::test]
async fn numbers_must_be_written_as_integers() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let path = format!("{}/captures", transaction.path());
    for amount in [
        "1.0",
        "1e2",
        "1E2",
        "100e-1",
        "1.5",
        "0",
        "-0",
        "-1",
        "\"100\"",
        "true",
        "[]",
        "{}",
        "[100]",
        "1000000000001",
        "9223372036854775808",
        "99999999999999999999999999",
        "1e400",
        "null",
    ] {
        println!("{amount}");
        let body = format!(r#"{{"amount":{amount}}}"#);
        send_json(&merchant.app, &path, body).await.names(&["amount"]);
    }
    for malformed in ["01", "+1", ".5", "1.", "0x10", "NaN", "Infinity", "1_000", ""] {
        let body = format!(r#"{{"amount":{malformed}}}"#);
        send_json(&merchant.app, &path, body).await.names(&[""]);
    }
    assert_eq!(transaction.fetch().await["capturedAmount"], 0);
    transaction.capture(1000).await;
}

#[tokio::test]
async fn u0000_and_lone_surrogates_are_400_everywhere() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let original = &transaction.id;
    for text in [r"a\u0000b", r"\ud800", r"\udc00", r"\ud800\ud800", r"\udfff\ud800", r"x\uD83D"] {
        println!("{text}");
        for member in ["name", "unknown"] {
            let named = format!(r#"{{"{member}":"{text}","#);
            let create = minimal().to_string().replacen('{', &named, 1);
            let answer = send_json(&merchant.app, "/merchants", create).await.expect(400);
            assert!(answer.json().is_array(), "{answer:?}");
        }
        for custom in [format!(r#"{{"a":"{text}"}}"#), format!(r#"{{"{text}":1}}"#)] {
            let body = format!(
                r#"{{"transactionId":"{original}","currency":"EUR","amount":1,"custom":{custom}}}"#
            );
            let path = merchant.path("/transactions");
            let answer = send_json(&merchant.app, &path, body).await.expect(400);
            assert!(answer.json().is_array(), "{answer:?}");
        }
    }
    let named = minimal().to_string().replacen('{', r#"{"name":"\ud83d\ude00 \u00e9","#, 1);
    let answer = send_json(&merchant.app, "/merchants", named).await.expect(201);
    assert_eq!(answer.json()["merchant"]["name"], "😀 é");
}

#[tokio::test]
async fn bodies_are_limited_to_100_kib() {
    let service = Service::any().await;
    let app = service.app().await;
    let sized = |bytes: usize| {
        let body = minimal().to_string();
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let _ = send_json(&app, "/merchants", sized(100 * 1024)).await.expect(201);
    let answer = send_json(&app, "/merchants", sized(100 * 1024 + 1)).await;
    answer.refused(413, "body_too_large");
    let mut unknown = minimal();
    unknown["unknown"] = "x".repeat(90_000).into();
    app.merchant_with(&unknown).await;
}

#[tokio::test]
async fn an_object_is_one_line_of_compact_json() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    transaction.capture(100).await;
    for path in ["/me".to_owned(), merchant.path(""), transaction.path()] {
        let answer = merchant.app.get(&path).await.expect(200);
        assert_eq!(answer.text().len(), answer.json().to_string().len(), "{answer:?}");
    }
}
