//! Every validation rule for the body of `/authenticate`.

use blackbox::authsvc::{DOCUMENT, Service};
use reqwest::Method;
use serde_json::{Value, json};

/// A service without a portal: it answers 502 to every body that passes validation.
async fn service() -> Service {
    Service::with(&[]).await
}

fn message(answer: &blackbox::http::Answer) -> String {
    let body: Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(body["status"], false);
    body["message"].as_str().unwrap().to_owned()
}

/// JSON Schema's `\s` matches other characters than those that the service trims.
#[test]
fn the_document_and_the_service_agree_on_white_space() {
    let username = "/components/schemas/AuthenticateRequest/properties/username/pattern";
    let pattern = DOCUMENT.root().pointer(username).unwrap();
    let schema = jsonschema::validator_for(&json!({ "pattern": pattern })).unwrap();
    for c in '\0'..='\u{ffff}' {
        assert_eq!(schema.is_valid(&json!(c.to_string())), !c.is_whitespace(), "{c:?}");
    }
}

#[tokio::test]
async fn every_broken_rule_is_reported_and_counted_by_field() {
    let service = service().await;
    let long_name = "u".repeat(97);
    let long_password = "é".repeat(129);
    let with = |member: &str, value: Value| {
        let mut body = json!({ "username": "u", "password": "p" });
        body[member] = value;
        body.to_string()
    };
    let cases: Vec<(String, &str, &str)> = vec![
        (r#"{"password":"p"}"#.into(), "username", "username is required"),
        (with("username", json!("")), "username", "username must not be empty"),
        (with("username", json!(" \t\u{85}\u{2003}")), "username", "username must not be empty"),
        (with("username", json!(null)), "username", "username must be a string"),
        (with("username", json!(["u"])), "username", "username must be a string"),
        (
            with("username", json!(long_name)),
            "username",
            "username must have at most 96 characters",
        ),
        (
            r#"{"username":"\ud800","password":"p"}"#.into(),
            "username",
            "username must be valid text",
        ),
        (r#"{"username":"u"}"#.into(), "password", "password is required"),
        (with("password", json!("")), "password", "password must not be empty"),
        (with("password", json!(7)), "password", "password must be a string"),
        (
            with("password", json!(long_password)),
            "password",
            "password must have at most 128 characters",
        ),
        (
            r#"{"username":"u","password":"\udfff"}"#.into(),
            "password",
            "password must be valid text",
        ),
        (with("profile", json!("true")), "profile", "profile must be true or false"),
        (with("profile", json!(1)), "profile", "profile must be true or false"),
        (with("profile", json!(null)), "profile", "profile must be true or false"),
        (with("fields", json!([])), "fields", "fields must not be empty"),
        (with("fields", json!("name")), "fields", "fields must be a list of strings"),
        (with("fields", json!({})), "fields", "fields must be a list of strings"),
        (with("fields", json!(["Name"])), "fields", "fields may hold only names of profile fields"),
        (with("fields", json!([1])), "fields", "fields may hold only names of profile fields"),
        (
            with("extra", json!(1)),
            "other",
            "the body may hold only username, password, profile and fields",
        ),
        ("{".into(), "other", "the body is not valid JSON"),
        ("[1,".into(), "other", "the body is not valid JSON"),
        (
            r#"{"username":"u","password":"p","\udc00":1}"#.into(),
            "other",
            "the body may hold only username, password, profile and fields",
        ),
        (r#"{"username":"u","password":"p"} x"#.into(), "other", "the body is not valid JSON"),
        (String::new(), "body", "the body is required"),
        (" \n".into(), "body", "the body is required"),
        ("[]".into(), "body", "the body must be a JSON object"),
        ("null".into(), "body", "the body must be a JSON object"),
    ];
    for (body, field, rule) in cases {
        let before = service.scrape().await;
        let answer = service.authenticate(body.clone()).await.expect(400);
        assert_eq!(message(&answer), rule, "{body}");
        let after = service.scrape().await;
        let pointer = format!("/validationErrorsByField/{field}");
        assert_eq!(after.count(&pointer), before.count(&pointer) + 1, "{body}");
        let errors = "/errorsByType/RequestValidationError";
        assert_eq!(after.count(errors), before.count(errors) + 1, "{body}");
        assert_eq!(
            after.sum("/validationErrorsByField"),
            before.sum("/validationErrorsByField") + 1
        );
        assert_eq!(after.count("/authentication/total"), 0, "{body}");
    }
}

#[tokio::test]
async fn all_errors_of_a_body_are_reported_together() {
    let service = service().await;
    let body = r#"{"username":1,"profile":"x","fields":["a","b","name"],"k":0,"l":0}"#;
    let answer = service.authenticate(body).await.expect(400);
    let message = message(&answer);
    for part in ["username must be", "password is", "profile must", "fields may", "the body may"] {
        assert!(message.contains(part), "{message}");
    }
    let scrape = service.scrape().await;
    assert_eq!(
        scrape.json()["validationErrorsByField"],
        json!({ "username": 1, "password": 1, "profile": 1, "fields": 2, "other": 2 })
    );
    assert_eq!(scrape.json()["errorsByType"], json!({ "RequestValidationError": 1 }));
}

#[tokio::test]
async fn messages_never_quote_the_input() {
    let service = service().await;
    let body =
        r#"{"username":["sesame"],"password":{"sesame":1},"fields":["sesame"],"sesame":"sesame"}"#;
    let answer = service.authenticate(body).await.expect(400);
    assert!(!answer.text().contains("sesame"), "{}", answer.text());
}

#[tokio::test]
async fn valid_bodies_pass_validation() {
    let service = service().await;
    let longest = json!({ "username": "é".repeat(96), "password": "🔑".repeat(128) });
    for body in [
        json!({ "username": " u ", "password": " " }).to_string(),
        longest.to_string(),
        r#"{"username":"u","password":"p","profile":true,"fields":null}"#.into(),
        r#"{"username":"u","password":"p","fields":["name","name"]}"#.into(),
        r#"{"username":"u","password":"p","profile":false}"#.into(),
        r#"{"username":"\ud83d\udd11","password":"\u0000"}"#.into(),
    ] {
        let _ = service.authenticate(body).await.expect(502);
    }
    // The document does not describe repeated keys, but the service accepts them: the last wins.
    let repeated = r#"{"username":1,"username":"u","password":"p"}"#;
    let _ = service.authenticate(repeated).await.expect(502);
    let scrape = service.scrape().await;
    assert_eq!(scrape.count("/authentication/withProfile"), 1);
    assert_eq!(scrape.count("/authentication/withoutProfile"), 6);
    assert_eq!(scrape.count("/authenticationResults/failure"), 7);
}

#[tokio::test]
async fn the_content_type_must_be_json() {
    let service = service().await;
    let body = r#"{"username":"u","password":"p"}"#;
    for (content_type, status) in [
        (Some("application/json"), 502),
        (Some("application/json; charset=utf-8"), 502),
        (Some("application/vnd.api+json"), 502),
        (Some("text/plain"), 400),
        (Some("application/x-www-form-urlencoded"), 400),
        (None, 400),
    ] {
        let mut request = service.request(Method::POST, "/authenticate").body(body);
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let _ = request.send().await.expect(status);
    }
    assert_eq!(service.scrape().await.count("/validationErrorsByField/body"), 3);
}

#[tokio::test]
async fn a_body_above_64_kib_is_rejected() {
    let service = service().await;
    let fits = format!(r#"{{"username":"u","password":"p"}}{}"#, " ".repeat(64 * 1024 - 31));
    assert_eq!(fits.len(), 64 * 1024);
    let _ = service.authenticate(fits.clone()).await.expect(502);
    let answer = service.authenticate(fits + " ").await.expect(400);
    assert_eq!(message(&answer), "the body must have at most 65536 bytes");
    assert_eq!(service.scrape().await.count("/validationErrorsByField/body"), 1);
}

#[tokio::test]
async fn bodies_that_are_not_utf_8_are_rejected() {
    let service = service().await;
    let _ = service.authenticate(b"{\"username\":\"\xff\",\"password\":\"p\"}").await.expect(400);
    let _ = service.authenticate(b"\xff\xfe").await.expect(400);
}
