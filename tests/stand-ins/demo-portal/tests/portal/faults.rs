//! Scripted answers.

use std::{
    error::Error as _,
    io::ErrorKind,
    time::{Duration, Instant},
};

use demo_portal::{
    ANYONE, Behaviour, Delivery, Operation, Options, Outcome, Portal, Script, Student,
};
use reqwest::{Client, Response};
use rustls::client::Resumption;
use serde_json::{Value, json};

use crate::client::{SHARED, builder, client, login, profile, until};

async fn scripted(
    username: &str,
    script: impl Into<Script<Behaviour>>,
) -> Result<Response, reqwest::Error> {
    SHARED.script(username, Operation::Login, script);
    login(&client(&SHARED), &SHARED.url(), username, "x").await
}

/// The kind of the first I/O error among the sources of `error`.
fn kind(error: &reqwest::Error) -> Option<ErrorKind> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Some(io.kind());
        }
        source = error.source();
    }
    None
}

fn outcome(username: &str) -> Outcome {
    SHARED.received(username)[0].outcome
}

#[tokio::test]
async fn a_script_sets_status_headers_and_body() {
    let behaviour =
        Behaviour::answer(599, vec![0xff, 0]).header("x-a", "1").header("set-cookie", "a=b");
    let answer = scripted("any", behaviour).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["set-cookie"]),
        (599, &"a=b".parse().unwrap())
    );
    assert_eq!(answer.bytes().await.unwrap(), [0xff, 0].as_slice());
    let json: Value =
        scripted("any", Behaviour::answer(200, json!([1]))).await.unwrap().json().await.unwrap();
    assert_eq!(json, json!([1]));
    let moved = scripted("any", Behaviour::redirect(Operation::Login)).await.unwrap();
    assert_eq!(
        (moved.status().as_u16(), &moved.headers()["location"]),
        (302, &Operation::Login.path().parse().unwrap())
    );
}

#[tokio::test]
async fn a_script_that_http_does_not_allow_is_501() {
    for behaviour in [
        Behaviour::answer(101, ""),
        Behaviour::answer(1000, ""),
        Behaviour::honest().header("a b", ""),
    ] {
        assert_eq!(scripted("no-http", behaviour).await.unwrap().status(), 501);
    }
}

#[tokio::test]
async fn a_queue_ends_and_belongs_to_one_user() {
    let client = client(&SHARED);
    let status = async |username| {
        login(&client, &SHARED.url(), username, "x").await.unwrap().status().as_u16()
    };
    SHARED.enrol(Student::new("queue-1", "x"));
    SHARED.enrol(Student::new("queue-2", "x"));
    SHARED.script(
        "queue-1",
        Operation::Login,
        Script::queue([500, 503].map(|code| Behaviour::answer(code, ""))),
    );
    assert_eq!([status("queue-1").await, status("queue-2").await], [500, 200]);
    assert_eq!([status("queue-1").await, status("queue-1").await], [503, 200]);
}

#[tokio::test]
async fn a_user_script_overrides_the_script_for_anyone() {
    let portal = Portal::start(Options::default()).unwrap();
    portal.script(ANYONE, Operation::Login, Behaviour::answer(500, ""));
    portal.script("own", Operation::Login, Behaviour::answer(503, ""));
    let client = client(&portal);
    for (username, status) in [("own", 503), ("other", 500)] {
        assert_eq!(login(&client, &portal.url(), username, "x").await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn a_profile_with_an_invented_token_follows_the_script() {
    let client = client(&SHARED);
    let accepted = json!({ "mobileJsonObject": { "login": "SUCCESS" }, "accessToken": "made up" });
    SHARED.script("made-up", Operation::Login, Behaviour::answer(200, accepted));
    SHARED.script("made-up", Operation::Profile, Behaviour::answer(200, json!({ "MESSAGE": 1 })));
    login(&client, &SHARED.url(), "made-up", "x").await.unwrap().bytes().await.unwrap();
    let answer = profile(&client, &SHARED.url(), "made up").await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap(), json!({ "MESSAGE": 1 }));
    assert_eq!(SHARED.received("made-up").len(), 2);
}

#[tokio::test]
async fn an_answer_waits_for_its_delay() {
    let started = Instant::now();
    let late = Behaviour::answer(200, "late").after(Duration::from_millis(300));
    assert_eq!(scripted("late", late).await.unwrap().status(), 200);
    assert!(started.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_client_that_disconnects_is_recorded_as_abandoned() {
    let impatient =
        builder(SHARED.ca_pem(), Resumption::disabled()).timeout(Duration::from_millis(500));
    let impatient: Client = impatient.build().unwrap();
    let late = Behaviour::honest().after(Duration::from_secs(60));
    let drip = Behaviour::answer(200, "slowly").delivered(Delivery::Drip);
    for (username, behaviour) in [("up-1", Delivery::Hang.into()), ("up-2", late), ("up-3", drip)] {
        SHARED.script(username, Operation::Login, behaviour);
        let answer = login(&impatient, &SHARED.url(), username, "x").await;
        let answer = match answer {
            Ok(answer) => answer.bytes().await,
            Err(error) => Err(error),
        };
        assert!(answer.unwrap_err().is_timeout());
        until(&SHARED, |controller| controller.received(username)[0].outcome == Outcome::Abandoned)
            .await;
    }
}

#[tokio::test]
async fn a_dripped_body_is_complete() {
    let started = Instant::now();
    let mut answer =
        scripted("drip", Behaviour::answer(200, "ab").delivered(Delivery::Drip)).await.unwrap();
    assert_eq!(answer.content_length(), Some(2));
    for byte in ["a", "b"] {
        assert_eq!(answer.chunk().await.unwrap().unwrap(), byte);
    }
    assert!(started.elapsed() >= Duration::from_secs(2));
    assert_eq!((answer.chunk().await.unwrap(), outcome("drip")), (None, Outcome::Answered));
}

#[tokio::test]
async fn a_flood_ends_only_at_its_content_length() {
    let mut answer =
        scripted("flood", Behaviour::answer(200, "{}").delivered(Delivery::Flood)).await.unwrap();
    let mut taken = 0;
    while taken < 8 << 20 {
        taken += answer.chunk().await.unwrap().unwrap().len();
    }
    drop(answer);
    until(&SHARED, |controller| controller.received("flood")[0].outcome == Outcome::Abandoned)
        .await;

    let behaviour = Behaviour::answer(200, "{}").header("content-length", "3000000");
    let answer = scripted("announced", behaviour.delivered(Delivery::Flood)).await.unwrap();
    assert_eq!(answer.bytes().await.unwrap().len(), 3_000_000);
}

#[tokio::test]
async fn a_connection_can_end_before_its_answer() {
    for (username, delivery, expected) in [
        ("before-1", Delivery::ResetBefore, Some(ErrorKind::ConnectionReset)),
        ("before-2", Delivery::CloseBefore, None),
        ("before-3", Delivery::NotHttp, None),
    ] {
        let error = scripted(username, Behaviour::from(delivery)).await.unwrap_err();
        assert_eq!((kind(&error), outcome(username)), (expected, Outcome::BrokenOff), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_can_end_before_its_body_is_complete() {
    for (username, delivery, expected) in [
        ("midway-1", Delivery::ResetMidway, Some(ErrorKind::ConnectionReset)),
        ("midway-2", Delivery::CloseEarly, Some(ErrorKind::UnexpectedEof)),
    ] {
        let mut answer =
            scripted(username, Behaviour::answer(200, "{}").delivered(delivery)).await.unwrap();
        assert_eq!(answer.content_length(), Some(3));
        assert_eq!(answer.chunk().await.unwrap().unwrap(), "{}");
        let error = answer.chunk().await.unwrap_err();
        assert_eq!((kind(&error), outcome(username)), (expected, Outcome::BrokenOff), "{error:?}");
    }
}
