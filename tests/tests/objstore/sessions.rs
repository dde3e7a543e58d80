//! The session cookie, on every endpoint that needs it.

use std::time::Duration;

use blackbox::{
    objstore::{Client, Object, Service, Stopped, unique},
    process::{self, output},
};
use futures_util::future::{join, join_all};
use jiff::Timestamp;
use reqwest::Method;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

/// The endpoints that need a session and take a body.
const BODIED: [&str; 7] = ["/get", "/set", "/find", "/delete", "/batch", "/watch", "/unwatch"];

async fn is_rejected_everywhere(client: &Client) {
    for path in BODIED {
        client.post(path, Object::fresh().body()).await.refused(401, "unauthenticated");
    }
    for path in ["/watches", "/socket", "/streams", "/streams/a?offset=x"] {
        client.fetch(path).await.refused(401, "unauthenticated");
    }
    let upgrade = client.request(Method::GET, "/socket").upgrade().await;
    upgrade.unwrap_err().refused(401, "unauthenticated");
}

#[tokio::test]
async fn every_endpoint_but_register_needs_the_cookie() {
    let service = Service::any().await;
    is_rejected_everywhere(&service.stranger()).await;
}

#[tokio::test]
async fn an_unknown_token_is_401() {
    let service = Service::any().await;
    let client = service.client().await;
    let token = client.token();
    let changed = if token.starts_with('A') { "B" } else { "A" };
    for (label, token) in [
        ("none", String::new()),
        ("a word", "token".to_owned()),
        ("the first half", token[..token.len() / 2].to_owned()),
        ("one letter more", format!("{token}A")),
        ("another first letter", format!("{changed}{}", &token[1..])),
        ("the identity", client.id().to_string()),
        ("as many letters, all alike", "A".repeat(token.len())),
        ("far too many letters", "A".repeat(5000)),
    ] {
        println!("{label}");
        is_rejected_everywhere(&client.with_token(&token)).await;
    }
}

#[tokio::test]
async fn the_token_is_accepted_only_in_its_cookie() {
    let service = Service::any().await;
    let token = service.client().await.token().to_owned();
    let body = Object::fresh().body();
    let stranger = service.stranger();
    for (name, value) in [
        ("authorization", format!("Bearer {token}")),
        ("cookie", format!("session={token}")),
        ("cookie", format!("Token={token}")),
        ("cookie", format!("xtoken={token}")),
        ("cookie", token.clone()),
        ("x-token", token.clone()),
    ] {
        println!("{name}: {value}");
        let request = stranger.request(Method::POST, "/find").header(name, value);
        request.body(body.clone()).send().await.refused(401, "unauthenticated");
    }
    stranger.post(&format!("/get?token={token}"), body).await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn the_cookie_is_found_among_others() {
    let service = Service::any().await;
    let token = service.client().await.token().to_owned();
    for cookies in [
        format!("theme=dark; token={token}"),
        format!("token={token}; theme=dark"),
        format!("a=1; token={token}; b=2; c"),
        format!("theme=\"a b\";token={token}"),
    ] {
        println!("{cookies}");
        let request = service.stranger().request(Method::POST, "/find").header("cookie", cookies);
        let _ = request.body(Object::fresh().key.body()).send().await.expect(200);
    }
}

#[tokio::test]
async fn authentication_is_checked_before_the_rest_of_the_request() {
    let service = Service::any().await;
    let stranger = service.stranger();
    for path in BODIED {
        stranger.post(path, "{").await.refused(401, "unauthenticated");
        let request = stranger.request(Method::POST, path).header("content-type", "text/plain");
        request.body("{}").send().await.refused(401, "unauthenticated");
        let request = stranger.request(Method::POST, path).header("if-match", "?");
        request.body("{}").send().await.refused(401, "unauthenticated");
    }
    stranger.post("/find?limit=0", "{}").await.refused(401, "unauthenticated");
    stranger.fetch("/socket?events=perhaps").await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn the_cookie_is_not_renewed_on_the_first_day() {
    let service = Service::any().await;
    let client = service.client().await;
    for path in BODIED {
        let answer = client.post(path, Object::fresh().body()).await;
        assert_eq!(answer.header("set-cookie"), None, "{answer:?}");
    }
}

#[tokio::test]
async fn sessions_watches_and_pending_pushes_survive_a_restart() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.set(&object).await;
    let service = service.stop().await.start().await;
    let client = client.at(&service);
    assert_eq!(client.get(&object.key).await, object);
    assert_eq!(client.socket().await.next_push().await, object);
    client.set(&object.numbered(1)).await;
}

#[tokio::test]
async fn clients_receive_only_what_they_watch() {
    let service = Service::any().await;
    let (watching, other) = (service.client().await, service.client().await);
    let (watched, own) = (Object::fresh(), Object::fresh());
    watching.watch(&watched.key).await;
    other.watch(&own.key).await;
    let mut socket = other.socket().await;
    watching.set(&watched).await;
    watching.set(&own).await;
    assert_eq!(socket.next_push().await, own);
}

#[tokio::test]
async fn objects_are_shared_between_clients() {
    let service = Service::any().await;
    let (first, second) = (service.client().await, service.client().await);
    let object = Object { owner: unique("owner"), ..Object::fresh() };
    first.set(&object).await;
    assert_eq!(second.get(&object.key).await, object);
    second.delete(&object.key).await;
    first.post("/get", object.key.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn a_logout_ends_the_session_and_its_sockets() {
    let service = Service::any().await;
    let client = service.client().await;
    let other_session = service.client_with(client.id()).await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let (mut socket, mut other) = (client.socket().await, other_session.socket().await);
    let answer = client.post("/logout", "").await.expect(204);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("token=;") && cookie.contains("Max-Age=0"), "{cookie}");
    assert_eq!(socket.next_push_or_close().await.unwrap_err(), Some(1008));
    is_rejected_everywhere(&client).await;
    client.post("/logout", "").await.refused(401, "unauthenticated");
    // The client and its other session go on.
    other_session.set(&object).await;
    assert_eq!(other.next_push().await, object);
    let again = service.client_with(client.id()).await;
    assert_eq!(again.fetch("/watches").await.expect(200).json().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_logout_counts_although_its_caller_has_gone() {
    let service = Service::with(&[]).await;
    let mut ended = 0;
    for _ in 0..20 {
        let client = service.client().await;
        let _ = client.post("/find", Object::fresh().key.body()).await.expect(200);
        let mut caller = service.connect().await;
        let token = client.token();
        let request = format!(
            "POST /logout HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\n\
             Content-Length: 0\r\n\r\n"
        );
        caller.write_all(request.as_bytes()).await.unwrap();
        drop(caller);
        let is_over = async || {
            let now = Timestamp::now().as_millisecond();
            let live = format!("SELECT count(*) FROM sessions WHERE expires > {now}");
            service.data().number(&live) == 0
        };
        // A request whose connection is closed before it was read does nothing.
        if timeout(Duration::from_secs(2), process::until(is_over)).await.is_ok() {
            is_rejected_everywhere(&client).await;
            ended += 1;
        }
        service.data().change("DELETE FROM sessions");
    }
    assert!(ended > 0);
}

/// A use extends a session at most once a day.
const TWO_DAYS: Duration = Duration::from_secs(2 * 24 * 3600);

#[tokio::test]
async fn a_logged_out_session_is_not_extended() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let stopped = service.stop().await;
    let older = format!("UPDATE sessions SET expires = expires - {}", TWO_DAYS.as_millis());
    assert_eq!(stopped.change(&older), 1);
    let service = stopped.start().await;
    let client = client.at(&service);
    let key = Object::fresh().key;
    let requests = (0..20).map(|_| client.post("/find", key.body()));
    let (logout, answers) = join(client.post("/logout", ""), join_all(requests)).await;
    let _ = logout.expect(204);
    assert!(answers.iter().all(|answer| [200, 401].contains(&answer.status.as_u16())));
    is_rejected_everywhere(&client).await;
    let now = Timestamp::now().as_millisecond();
    let live = format!("SELECT count(*) FROM sessions WHERE expires > {now}");
    assert_eq!(service.data().number(&live), 0);
}

/// `end-sessions` for a client.
fn end_sessions(place: &Stopped, client: &Client) -> Command {
    let mut command = place.command();
    command.arg("end-sessions").arg(client.id().to_string());
    command
}

async fn is_accepted(client: &Client) {
    let _ = client.fetch("/watches").await.expect(200);
}

#[tokio::test]
async fn end_sessions_ends_all_sessions_of_one_client() {
    let service = Stopped::on(None, &[]).start().await;
    let [client, other] = [service.client().await, service.client().await];
    let mut second = service.client_with(client.id()).await;
    is_accepted(&client).await;
    let ended = process::run(end_sessions(service.data(), &client)).await;
    assert!(ended.status.success(), "{}", output(&ended));
    for ended in [&client, &second] {
        is_rejected_everywhere(ended).await;
    }
    is_accepted(&other).await;
    let _ = second.register().await;
    is_accepted(&second).await;

    let unknown = process::exits_with(2, end_sessions(service.data(), &service.stranger())).await;
    assert!(unknown.starts_with("no client "), "{unknown}");
    let mut command = service.data().command();
    command.args(["end-sessions", "7"]);
    let malformed = process::exits_with(2, command).await;
    assert!(malformed.contains("ID is not a UUID"), "{malformed}");
}

#[tokio::test]
async fn end_sessions_needs_no_running_service() {
    let service = Service::with(&[]).await;
    let [client, other] = [service.client().await, service.client().await];
    let place = service.stop().await;
    for _ in 0..2 {
        let ended = process::run(end_sessions(&place, &client)).await;
        assert!(ended.status.success(), "{}", output(&ended));
    }
    let service = place.start().await;
    client.at(&service).fetch("/watches").await.refused(401, "unauthenticated");
    is_accepted(&other.at(&service)).await;
}
