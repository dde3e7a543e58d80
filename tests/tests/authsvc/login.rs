//! The first call: every row of its table.

use std::time::Duration;

use blackbox::authsvc::{Known, Scrape, Site};
use demo_portal::{Behaviour, Operation, demo_students};
use serde_json::{Value, json};

/// What a sign-in changed in the counters: the one error, the outcome and the status of the call.
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
async fn credentials_that_the_portal_accepts_succeed() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let answer = site.sign_in(&known).await.expect(200);
    let body: Value = serde_json::from_str(answer.text()).unwrap();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3, "no profile was asked for: {body}");
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
async fn the_timestamp_is_that_of_the_request() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let asked = site.fetch("/health").await.expect(200);
    let late = Behaviour::honest().after(Duration::from_millis(1500));
    site.portal.script(&known.username, Operation::Login, late);
    let answer = site.sign_in(&known).await.expect(200);
    let wrong = Known { password: "wrong".into(), ..known.clone() };
    let refused = site.sign_in(&wrong).await.expect(401);
    let seconds = |answer: &blackbox::http::Answer| {
        let body: Value = serde_json::from_str(answer.text()).unwrap();
        let time = body["timestamp"].as_str().unwrap().split_once('T').unwrap().1.to_owned();
        let parts: Vec<f64> = time[..15].split(':').map(|part| part.parse().unwrap()).collect();
        (parts[0] * 60.0 + parts[1]) * 60.0 + parts[2]
    };
    // A day is added where midnight lies between.
    let since = |later: f64, earlier: f64| (later - earlier + 86_400.0) % 86_400.0;
    assert!(
        since(seconds(&answer), seconds(&asked)) < 1.0,
        "when it came, not when it was answered"
    );
    assert!(since(seconds(&refused), seconds(&answer)) >= 1.5, "after the one that took long");
}

#[tokio::test]
async fn every_name_of_a_student_signs_in() {
    let site = Site::with(&[]).await;
    let student = demo_students().swap_remove(0);
    assert!(student.usernames.len() >= 4);
    for username in &student.usernames {
        let known = Known { username: username.clone(), password: student.password.clone() };
        let _ = site.sign_in(&known).await.expect(200);
    }
}

#[tokio::test]
async fn the_form_is_the_one_of_the_mobile_app() {
    let site = Site::with(&[("PORTAL_INSTITUTES", "3,4")]).await;
    let known = site.student();
    let typed = Known { username: format!("  {} ", known.username), ..known.clone() };
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
        let known = Known { username: username.clone(), password: password.to_owned() };
        let _ = site.sign_in(&known).await.expect(200);
        assert_eq!(site.portal.received(&username)[0].field("password"), Some(password));
    }
}

#[tokio::test]
async fn a_rejection_is_401_and_a_successful_call() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let wrong = Known { password: "wrong".into(), ..known.clone() };
    let unknown = Known { username: "nobody".into(), password: "wrong".into() };
    for refused in [&wrong, &unknown] {
        let answer = site.ask(refused, json!({ "profile": true })).await.expect(401);
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
async fn an_unexpected_answer_is_502_and_a_successful_call() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let login = |login: Value| json!({ "mobileJsonObject": { "login": login } });
    for (what, status, behaviour) in [
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
        ("other case", 200, Behaviour::answer(200, login(json!("success")))),
        ("no string", 200, Behaviour::answer(200, login(json!(true)))),
    ] {
        let before = site.scrape().await;
        site.portal.script(&known.username, Operation::Login, behaviour);
        let answer = site.sign_in(&known).await.expect(502);
        assert!(answer.text().contains(r#""status":false"#), "{what}");
        let after = site.scrape().await;
        let grown = |pointer: &str| after.count(pointer) - before.count(pointer);
        assert_eq!(grown("/errorsByType/UpstreamError"), 1, "{what}");
        assert_eq!(grown("/upstream/login/success"), 1, "{what}");
        assert_eq!(grown("/upstream/login/error"), 0, "{what}");
        assert_eq!(grown(&format!("/upstream/login/responsesByStatus/{status}")), 1, "{what}");
    }
}

#[tokio::test]
async fn success_may_have_white_space_around_it() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let answer = json!({ "mobileJsonObject": { "login": " SUCCESS\n" } });
    site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, answer));
    let _ = site.sign_in(&known).await.expect(200);
}

#[tokio::test]
async fn without_a_token_there_is_no_second_call() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for token in [json!(null), json!(""), json!("  "), json!(7), json!({})] {
        let answer = json!({ "mobileJsonObject": { "login": "SUCCESS" }, "accessToken": token });
        site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, answer));
        let _ = site.sign_in(&known).await.expect(200);
        let _ = site.profile(&known).await.expect(502);
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/errorsByType/UpstreamError"), 5);
    assert_eq!(scrape.json()["upstream"]["profile_fetch"]["success"], 0);
    assert_eq!(scrape.json()["profileFieldFiltering"], json!({ "false": 0, "true": 0 }));
}
