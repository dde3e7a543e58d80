//! The login call, the first call to the portal: every row of its table of outcomes.

use std::time::Duration;

use blackbox::authsvc::{Credentials, Scrape, Site};
use demo_portal::{Behaviour, Operation, demo_students};
use serde_json::{Value, json};

/// Errors by type, successful login calls, failed login calls, and login answers by status.
fn counted(scrape: &Scrape) -> (Value, u64, u64, Value) {
    let login = &scrape.json()["upstream"]["login"];
    (
        scrape.json()["errorsByType"].clone(),
        login["success"].as_u64().unwrap(),
        login["error"].as_u64().unwrap(),
        login["responsesByStatus"].clone(),
    )
}

#[tokio::test]
async fn accepted_credentials_sign_in() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let answer = site.sign_in(&known).await.expect(200);
    let body: Value = serde_json::from_str(answer.text()).unwrap();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3, "no profile was requested: {body}");
    assert_eq!(body["status"], true);
    let scrape = site.scrape().await;
    assert_eq!(counted(&scrape), (json!({}), 1, 0, json!({ "200": 1 })));
    assert_eq!(scrape.json()["authenticationResults"], json!({ "success": 1, "failure": 0 }));
    assert_eq!(scrape.json()["profileFieldFiltering"], json!({ "false": 0, "true": 0 }));
    assert_eq!(scrape.json()["upstream"]["profile_fetch"]["success"], 0);
    assert_eq!(
        scrape.json()["httpClients"],
        json!({ "created": 1, "closed": 1, "close_failed": 0 })
    );
}

#[tokio::test]
async fn the_timestamp_is_when_the_request_arrived() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let health = site.fetch("/health").await.expect(200);
    let late = Behaviour::honest().after(Duration::from_millis(1500));
    site.portal.script(&known.username, Operation::Login, late);
    let answer = site.sign_in(&known).await.expect(200);
    let wrong = Credentials { password: "wrong".into(), ..known.clone() };
    let rejected = site.sign_in(&wrong).await.expect(401);
    let seconds = |answer: &blackbox::http::Answer| {
        let body: Value = serde_json::from_str(answer.text()).unwrap();
        let time = body["timestamp"].as_str().unwrap().split_once('T').unwrap().1.to_owned();
        let parts: Vec<f64> = time[..15].split(':').map(|part| part.parse().unwrap()).collect();
        (parts[0] * 60.0 + parts[1]) * 60.0 + parts[2]
    };
    // Adds a day in case midnight lies between the two.
    let since = |later: f64, earlier: f64| (later - earlier + 86_400.0) % 86_400.0;
    assert!(
        since(seconds(&answer), seconds(&health)) < 1.0,
        "the timestamp is not the arrival of the request"
    );
    assert!(
        since(seconds(&rejected), seconds(&answer)) >= 1.5,
        "the second request arrived too early"
    );
}

#[tokio::test]
async fn every_username_of_a_student_signs_in() {
    let site = Site::with(&[]).await;
    let student = demo_students().swap_remove(0);
    assert!(student.usernames.len() >= 4);
    for username in &student.usernames {
        let known = Credentials { username: username.clone(), password: student.password.clone() };
        let _ = site.sign_in(&known).await.expect(200);
    }
}

#[tokio::test]
async fn the_login_form_matches_the_mobile_app() {
    let site = Site::with(&[("PORTAL_INSTITUTES", "3,4")]).await;
    let known = site.student();
    let typed = Credentials { username: format!("  {} ", known.username), ..known.clone() };
    let _ = site.sign_in(&typed).await.expect(200);
    let received = site.portal.received(&known.username);
    let [call] = &received[..] else { panic!("{received:?}") };
    assert_eq!((call.method.as_str(), call.path.as_str()), ("POST", Operation::Login.path()));
    assert_eq!(call.header("x-client-type"), Some("MOBILE"));
    assert!(call.header("content-type").unwrap().starts_with("multipart/form-data; boundary="));
    assert!(call.header("authorization").is_none() && call.header("cookie").is_none());
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        call.fields,
        [
            field("userName", &known.username),
            field("password", &known.password),
            field("j_appId", "YES"),
            field("instId", "3,4"),
        ]
    );
}

#[tokio::test]
async fn a_password_is_sent_exactly_as_typed() {
    let site = Site::with(&[]).await;
    for password in ["  spaced\t", "\r\n--boundary\r\n", "ключ🔑\"';<>&", "\u{0}nul"] {
        let username = format!("user-{}", uuid::Uuid::new_v4());
        site.portal.enrol(demo_portal::Student::new(&username, password));
        let known = Credentials { username: username.clone(), password: password.to_owned() };
        let _ = site.sign_in(&known).await.expect(200);
        assert_eq!(site.portal.received(&username)[0].field("password"), Some(password));
    }
}

#[tokio::test]
async fn a_rejection_is_401_and_counts_as_successful_call() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let wrong = Credentials { password: "wrong".into(), ..known.clone() };
    let unknown = Credentials { username: "nobody".into(), password: "wrong".into() };
    for rejected in [&wrong, &unknown] {
        let answer = site.ask(rejected, json!({ "profile": true })).await.expect(401);
        let body: Value = serde_json::from_str(answer.text()).unwrap();
        assert_eq!(body["status"], false);
        assert!(body.get("profile").is_none() && answer.header("www-authenticate").is_none());
    }
    let scrape = site.scrape().await;
    assert_eq!(counted(&scrape), (json!({ "AuthenticationError": 2 }), 2, 0, json!({ "401": 2 })));
    assert_eq!(scrape.count("/authenticationResults/failure"), 2);
    assert_eq!(scrape.count("/failuresByFault/client"), 2);
}

#[tokio::test]
async fn unexpected_answers_are_502_and_count_as_successful_calls() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let login = |login: Value| json!({ "mobileJsonObject": { "login": login } });
    for (case, status, behaviour) in [
        ("no content", 204, Behaviour::answer(204, "")),
        ("a redirect", 302, Behaviour::redirect(Operation::Login)),
        ("forbidden", 403, Behaviour::answer(403, login(json!("SUCCESS")))),
        ("an error", 500, Behaviour::answer(500, "oops")),
        ("garbage", 200, Behaviour::answer(200, vec![0xff, 0xfe])),
        ("text", 200, Behaviour::answer(200, "SUCCESS")),
        ("nothing", 200, Behaviour::answer(200, "")),
        ("an array", 200, Behaviour::answer(200, json!([]))),
        ("no login", 200, Behaviour::answer(200, json!({ "mobileJsonObject": {} }))),
        ("a failure", 200, Behaviour::answer(200, login(json!("FAILURE")))),
        ("lower case", 200, Behaviour::answer(200, login(json!("success")))),
        ("not a string", 200, Behaviour::answer(200, login(json!(true)))),
    ] {
        let before = site.scrape().await;
        site.portal.script(&known.username, Operation::Login, behaviour);
        let answer = site.sign_in(&known).await.expect(502);
        assert!(answer.text().contains(r#""status":false"#), "{case}");
        let after = site.scrape().await;
        let grown = |pointer: &str| after.count(pointer) - before.count(pointer);
        assert_eq!(grown("/errorsByType/UpstreamError"), 1, "{case}");
        assert_eq!(grown("/upstream/login/success"), 1, "{case}");
        assert_eq!(grown("/upstream/login/error"), 0, "{case}");
        assert_eq!(grown(&format!("/upstream/login/responsesByStatus/{status}")), 1, "{case}");
    }
}

#[tokio::test]
async fn white_space_around_success_is_ignored() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let answer = json!({ "mobileJsonObject": { "login": " SUCCESS\n" } });
    site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, answer));
    let _ = site.sign_in(&known).await.expect(200);
}

#[tokio::test]
async fn without_a_token_there_is_no_profile_call() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for token in [json!(null), json!(""), json!("  "), json!("a\nb"), json!(7), json!({})] {
        let answer = json!({ "mobileJsonObject": { "login": "SUCCESS" }, "accessToken": token });
        site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, answer));
        let _ = site.sign_in(&known).await.expect(200);
        let _ = site.profile(&known).await.expect(502);
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/errorsByType/UpstreamError"), 6);
    assert_eq!(scrape.json()["upstream"]["profile_fetch"]["success"], 0);
    assert_eq!(scrape.json()["profileFieldFiltering"], json!({ "false": 0, "true": 0 }));
}
