//! The portal without a script, and what it records.

use std::time::Duration;

use demo_portal::{
    Behaviour, CAMPUSES, Operation, Options, Outcome, Portal, Student, demo_students,
};
use reqwest::{
    multipart::{Form, Part},
    redirect::Policy,
};
use rustls::client::Resumption;
use serde_json::{Value, json};

use crate::client::{SHARED, builder, client, login, profile, sign_in, until};

#[tokio::test]
async fn every_demo_student_signs_in_under_every_name() {
    for student in demo_students() {
        for username in &student.usernames {
            let (login, profile) = sign_in(&SHARED, username, &student.password).await;
            assert_eq!(login["mobileJsonObject"]["login"], "SUCCESS");
            assert_eq!(profile["MESSAGE"], "SUCCESS");
            assert_eq!(profile["STUDENT_INFO"], json!(student.info));
            assert_eq!(profile["STUDENT_PHOTO"], json!(student.photo));
        }
    }
}

#[test]
fn demo_students_cover_the_special_cases_of_profiles() {
    let students = demo_students();
    let all = |key: &str| -> Vec<Value> {
        students.iter().map(|student| student.info[key].clone()).collect()
    };
    assert_eq!(students[0].usernames.len(), 4);
    assert_eq!((&all("ClassName")[1], &all("SectionName")[1]), (&Value::Null, &Value::Null));
    assert_eq!(all("MiddleName")[2], "");
    let campus = students[3].photo["instituteName"].as_str().unwrap();
    assert!(!CAMPUSES.contains(&campus));
    assert_eq!(all("SRN")[4], all("LoginId")[4]);
    assert_eq!((&all("MiddleName")[5], &all("SectionName")[5]), (&json!("NA"), &json!(" NA ")));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_user_are_401() {
    SHARED.enrol(Student::new("wrong-1", "right"));
    let client = client(&SHARED);
    for (username, password) in [("wrong-1", "Right"), ("wrong-1", "right "), ("nobody", "right")] {
        let answer = login(&client, &SHARED.url(), username, password).await.unwrap();
        assert_eq!(answer.status(), 401, "{username} {password:?}");
    }
}

#[tokio::test]
async fn a_profile_requires_a_token_of_this_portal() {
    let elsewhere = Portal::start(Options::default()).unwrap();
    elsewhere.enrol(Student::new("token-1", "right"));
    SHARED.enrol(Student::new("token-1", "right"));
    let (login, _) = sign_in(&elsewhere, "token-1", "right").await;
    let client = client(&SHARED);
    for token in ["", "a.b.c", login["accessToken"].as_str().unwrap()] {
        let answer = profile(&client, &SHARED.url(), token).await.unwrap();
        assert_eq!(answer.status(), 401, "{token}");
    }
    let tokens =
        [sign_in(&SHARED, "token-1", "right").await, sign_in(&SHARED, "token-1", "right").await];
    assert_ne!(tokens[0].0["accessToken"], tokens[1].0["accessToken"]);
}

#[tokio::test]
async fn a_call_that_differs_from_the_mobile_app_is_rejected() {
    let client = client(&SHARED);
    let address = |path: &str| format!("{}/MAcademy/mobile/{path}", SHARED.url());
    let form = || Form::new().text("userName", "odd").text("password", "x").text("j_appId", "YES");
    let file = form().part("instId", Part::text("1").file_name("a.txt"));
    let auth = address("mobilelogin/auth");
    let mobile = || client.post(&auth).header("X-Client-Type", "MOBILE");
    for (call, status) in [
        (client.get(&auth), 405),
        (client.post(address("elsewhere")), 404),
        (client.post(&auth).multipart(form().text("instId", "1")), 400),
        (mobile(), 400),
        (mobile().json(&json!({})), 400),
        (mobile().header("content-type", "multipart/form-data; boundary=x").body("--x"), 400),
        (mobile().multipart(form()), 400),
        (mobile().multipart(file), 400),
        (mobile().multipart(form().text("instId", "1")), 401),
    ] {
        assert_eq!(call.send().await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn calls_are_recorded_unchanged() {
    let portal = Portal::start(Options::default()).unwrap();
    portal.enrol(Student::new("kept", " pässword "));
    sign_in(&portal, "kept", " pässword ").await;
    let calls = portal.received("kept");
    let [login, profile] = &calls[..] else { panic!("{calls:?}") };
    let fields = [
        ("userName", "kept"),
        ("password", " pässword "),
        ("j_appId", "YES"),
        ("instId", "1,6,7,14"),
    ];
    assert_eq!(login.fields, fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(
        (login.method.as_str(), login.path.as_str()),
        ("POST", "/MAcademy/mobile/mobilelogin/auth")
    );
    assert_eq!(login.header("x-client-type"), Some("MOBILE"));
    assert_eq!(
        profile.fields.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(),
        ["27", "1", "11172"]
    );
    assert_eq!((profile.field("password"), profile.header("cookie")), (None, None));
    assert_eq!((login.connection, profile.connection), (1, 1));
    assert_eq!((login.outcome, profile.outcome), (Outcome::Answered, Outcome::Answered));
    until(&portal, |controller| controller.counters().open == 0).await;
    let counters = portal.counters();
    assert_eq!((counters.connections, counters.handshakes, counters.resumptions), (1, 1, 0));
}

#[tokio::test]
async fn cookies_and_resumed_sessions_are_recorded() {
    let portal = Portal::start(Options::default()).unwrap();
    portal.enrol(Student::new("leaky", "right"));
    let leaky = builder(portal.ca_pem(), Resumption::in_memory_sessions(8));
    let leaky = leaky.cookie_store(true).pool_max_idle_per_host(0).build().unwrap();
    for _ in 0..2 {
        login(&leaky, &portal.url(), "leaky", "right").await.unwrap().bytes().await.unwrap();
    }
    assert!(portal.received("leaky")[1].header("cookie").unwrap().starts_with("JSESSIONID="));
    assert_eq!((portal.counters().handshakes, portal.counters().resumptions), (2, 1));
}

#[tokio::test]
async fn a_call_in_flight_is_answered_while_the_portal_stops() {
    let drain = Duration::from_secs(10);
    let portal = Portal::start(Options { drain, ..Options::default() }).unwrap();
    let late = Behaviour::answer(200, "").after(Duration::from_millis(300));
    portal.script("last", Operation::Login, late);
    let (client, url) = (client(&portal), portal.url());
    let call = tokio::spawn(async move { login(&client, &url, "last", "x").await });
    until(&portal, |controller| !controller.received("last").is_empty()).await;
    tokio::task::spawn_blocking(|| portal.stop()).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a_followed_redirect_is_recorded() {
    let nosy = builder(SHARED.ca_pem(), Resumption::disabled());
    let nosy = nosy.redirect(Policy::limited(3)).build().unwrap();
    SHARED.script("followed", Operation::Login, Behaviour::redirect(Operation::Login));
    assert!(login(&nosy, &SHARED.url(), "followed", "x").await.unwrap_err().is_redirect());
    let methods: Vec<_> = SHARED.received("followed").into_iter().map(|call| call.method).collect();
    assert_eq!(methods, ["POST", "GET", "GET", "GET"]);
}

#[tokio::test]
async fn a_stopped_portal_refuses_connections() {
    let portal = Portal::start(Options::default()).unwrap();
    let (client, url) = (client(&portal), portal.url());
    portal.stop();
    assert!(login(&client, &url, "x", "x").await.unwrap_err().is_connect());
}
