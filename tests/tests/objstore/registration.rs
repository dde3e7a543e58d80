//! `POST /register`.

use std::{collections::BTreeSet, fs};

use blackbox::{
    objstore::{Object, Service},
    rereading::SettingFile,
};
use reqwest::Method;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

fn registration(id: impl std::fmt::Display) -> String {
    format!(r#"{{"ID":"{id}"}}"#)
}

#[tokio::test]
async fn registering_sets_an_http_only_token_cookie_for_all_paths() {
    let service = Service::with(&[]).await;
    let answer = service.stranger().register().await;
    let cookie = answer.header("set-cookie").unwrap().to_owned();
    let mut attributes: BTreeSet<&str> = cookie.split("; ").collect();
    assert!(attributes.pop_last().unwrap().starts_with("token="), "{cookie}");
    let expected = ["HttpOnly", "Max-Age=2592000", "Path=/", "SameSite=Lax"];
    assert_eq!(attributes, BTreeSet::from(expected), "{cookie}");
}

#[tokio::test]
async fn the_cookie_is_secure_if_so_configured() {
    let service = Service::with(&[("OBJSTORE_COOKIE_SECURE", "true")]).await;
    let answer = service.stranger().register().await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.split("; ").any(|attribute| attribute == "Secure"), "{cookie}");
}

#[tokio::test]
async fn the_cookie_is_for_all_sites_if_so_configured() {
    let settings = [("OBJSTORE_COOKIE_SECURE", "true"), ("OBJSTORE_COOKIE_SAME_SITE", "none")];
    let service = Service::with(&settings).await;
    let mut client = service.stranger();
    for answer in [client.register().await, client.post("/logout", "").await] {
        let cookie = answer.header("set-cookie").unwrap();
        for wanted in ["SameSite=None", "Secure"] {
            assert!(cookie.split("; ").any(|attribute| attribute == wanted), "{cookie}");
        }
    }
}

#[tokio::test]
async fn the_cookie_lasts_as_long_as_the_session() {
    let service = Service::with(&[("OBJSTORE_SESSION_TTL", "2h")]).await;
    let answer = service.stranger().register().await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.split("; ").any(|attribute| attribute == "Max-Age=7200"), "{cookie}");
}

#[tokio::test]
async fn tokens_are_unique_and_have_256_bits() {
    let service = Service::any().await;
    let mut tokens = BTreeSet::new();
    for _ in 0..16 {
        let token = service.client().await.token().to_owned();
        let bits_per_letter =
            if token.bytes().all(|byte| byte.is_ascii_hexdigit()) { 4 } else { 6 };
        assert!(token.len() * bits_per_letter >= 256, "{token}");
        assert!(tokens.insert(token));
    }
}

#[tokio::test]
async fn tokens_are_not_logged_or_stored_and_values_not_logged() {
    // At its finest level the websocket library prints the messages it handles.
    let service = Service::with(&[("RUST_LOG", "trace,tungstenite=debug")]).await;
    let client = service.client().await;
    let object = Object { value: r#"{"secret":"xyzzy-plugh"}"#.to_owned(), ..Object::fresh() };
    client.watch(&object.key).await;
    let mut socket = client.socket().await;
    client.set(&object).await;
    client.get(&object.key).await;
    assert_eq!(socket.next_push().await, object);
    socket.close().await;
    let log = service.process().log().join("\n");
    assert!(!log.contains(client.token()), "{log}");
    assert!(!log.contains("xyzzy-plugh"), "{log}");
    let place = service.stop().await;
    for entry in fs::read_dir(place.data()).unwrap() {
        let data = fs::read(entry.unwrap().path()).unwrap();
        let token = client.token().as_bytes();
        assert!(!data.windows(token.len()).any(|window| window == token));
    }
}

#[tokio::test]
async fn ids_are_hyphenated_uuids_in_either_case() {
    let service = Service::any().await;
    let client = service.stranger();
    let id = Uuid::new_v4();
    for id in [id.to_string(), id.to_string().to_uppercase(), Uuid::max().to_string()] {
        let _ = client.post("/register", registration(id)).await.expect(200);
    }
}

#[tokio::test]
async fn ids_are_compared_without_regard_to_case() {
    let service = Service::any().await;
    let client = service.client().await;
    let upper = registration(client.id().to_string().to_uppercase());
    let answer = client.post("/register", upper).await.expect(200);
    let cookie = answer.header("set-cookie").unwrap();
    let token = cookie.split(['=', ';']).nth(1).unwrap();
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.set(&object).await;
    assert_eq!(client.with_token(token).socket().await.next_push().await, object);
}

#[tokio::test]
async fn an_id_that_is_not_a_uuid_is_400() {
    let service = Service::any().await;
    let client = service.stranger();
    let id = Uuid::new_v4();
    for (label, id) in [
        ("empty", String::new()),
        ("a word", "client".to_owned()),
        ("without hyphens", id.simple().to_string()),
        ("in braces", id.braced().to_string()),
        ("a URN", id.urn().to_string()),
        ("one digit short", id.to_string()[1..].to_owned()),
        ("one digit long", format!("{id}0")),
        ("with a space before", format!(" {id}")),
        ("with a space after", format!("{id} ")),
        ("with a letter that is no digit", format!("g{}", &id.to_string()[1..])),
        ("with a hyphen out of place", "123e4567e-89b-12d3-a456-426614174000".to_owned()),
        ("with a letter of two bytes", format!("é{}", &id.to_string()[2..])),
    ] {
        println!("{label}");
        client.post("/register", registration(id)).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn the_nil_uuid_is_422() {
    let service = Service::any().await;
    let client = service.stranger();
    client.post("/register", registration(Uuid::nil())).await.refused(422, "identity_refused");
}

#[tokio::test]
async fn with_a_list_only_listed_ids_are_accepted() {
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("clients");
    let text =
        format!("# allowed clients\n{first}\n\n  # and\n{}\n", second.to_string().to_uppercase());
    fs::write(&list, text).unwrap();
    let service = Service::with(&[("OBJSTORE_CLIENTS_FILE", list.to_str().unwrap())]).await;
    service.client_with(first).await;
    service.client_with(second).await;
    let other = registration(Uuid::new_v4());
    service.stranger().post("/register", other).await.refused(422, "identity_refused");
}

#[tokio::test]
async fn an_id_with_a_digest_needs_its_secret() {
    let (proven, plain) = (Uuid::new_v4(), Uuid::new_v4());
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("clients");
    let digest = hex::encode(Sha256::digest("open sesame"));
    fs::write(&list, format!("{proven}  sha256:{digest} # Ann\n{plain}\n")).unwrap();
    let service = Service::with(&[("OBJSTORE_CLIENTS_FILE", list.to_str().unwrap())]).await;
    let register = async |id: Uuid, authorization: Option<&str>| {
        let request = service.stranger().request(Method::POST, "/register").body(registration(id));
        let request = request.header("content-type", "application/json");
        match authorization {
            Some(value) => request.header("authorization", value).send().await,
            None => request.send().await,
        }
    };
    let _ = register(proven, Some("Bearer open sesame")).await.expect(200);
    let _ = register(proven, Some("bearer open sesame")).await.expect(200);
    let wrong = ["Bearer open", "Bearer ", "Basic open sesame", ""];
    for wrong in wrong.map(Some).into_iter().chain([None]) {
        let answer = register(proven, wrong).await;
        answer.refused(401, "identity_not_proven");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(answer.header("set-cookie"), None);
    }
    let digest = format!("Bearer sha256:{digest}");
    register(proven, Some(&digest)).await.refused(401, "identity_not_proven");
    let _ = register(plain, Some("Bearer anything")).await.expect(200);
    register(Uuid::new_v4(), None).await.refused(422, "identity_refused");
}

#[tokio::test]
async fn registering_needs_no_session_and_ignores_one() {
    let service = Service::any().await;
    let mut client = service.stranger().with_token("no-such-session");
    client.register().await;
    client.find(&Object::fresh().key).await;
}

#[tokio::test]
async fn registering_again_adds_a_session_to_the_same_client() {
    let service = Service::any().await;
    let first = service.client().await;
    let second = service.client_with(first.id()).await;
    assert_ne!(first.token(), second.token());
    let object = Object::fresh();
    first.watch(&object.key).await;
    second.set(&object).await;
    assert_eq!(second.socket().await.next_push().await, object);
    assert_eq!(first.get(&object.key).await, object);
}

#[tokio::test]
async fn a_rejected_registration_sets_no_cookie() {
    let service = Service::any().await;
    let client = service.stranger();
    for body in [registration(Uuid::nil()), registration("x"), String::new()] {
        let request = client.request(Method::POST, "/register").body(body);
        assert_eq!(request.send().await.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn the_client_limit_holds_across_restarts() {
    let service = Service::with(&[("OBJSTORE_MAX_CLIENTS", "2")]).await;
    let first = service.client().await;
    service.client().await;
    rejects_new_clients(&service).await;
    service.client_with(first.id()).await;

    let service = service.stop().await.start().await;
    rejects_new_clients(&service).await;
    service.client_with(first.id()).await;
}

async fn rejects_new_clients(service: &Service) {
    let other = registration(Uuid::new_v4());
    service.stranger().post("/register", other).await.refused(422, "too_many_clients");
}

#[tokio::test]
async fn the_client_list_is_read_again_at_sighup() {
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    let list = SettingFile::new("OBJSTORE_CLIENTS_FILE", &format!("{first}\n"));
    let service = Service::with(&[list.variable()]).await;
    let register = async |id: Uuid| service.stranger().post("/register", registration(id)).await;
    let _ = register(first).await.expect(200);
    register(second).await.refused(422, "identity_refused");

    list.accepted(service.process(), &format!("{second}\n")).await;
    let _ = register(second).await.expect(200);
    register(first).await.refused(422, "identity_refused");

    list.refused(service.process(), &format!("{first}\nnobody\n")).await;
    service.process().logged(|line| line.contains("ERROR") && line.contains("line 2")).await;
    let _ = register(second).await.expect(200);
    register(first).await.refused(422, "identity_refused");
    service.stop().await;
}
