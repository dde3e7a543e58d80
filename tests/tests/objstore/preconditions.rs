//! `If-Match` and `If-None-Match` on `/set` and `/delete`.

use blackbox::{
    http::Answer,
    objstore::{Client, Object, Service, revision},
};
use futures_util::future::join_all;
use reqwest::Method;

async fn with(client: &Client, path: &str, headers: &[(&str, &str)], object: &Object) -> Answer {
    let request = client.request(Method::POST, path).body(object.body());
    headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send().await
}

/// An entity tag of the same epoch that belongs to no object.
fn stale(tag: &str) -> String {
    tag.replace(&format!("-{}\"", revision(tag)), &format!("-{}\"", revision(tag) + 1_000_000))
}

/// Conditions that hold, and conditions that fail, for an object with this entity tag.
fn conditions(tag: &str) -> [Vec<(&'static str, String)>; 2] {
    let stale = stale(tag);
    let epoch = format!("\"ffffffffffffffff-{}\"", revision(tag));
    let holding = vec![
        ("if-match", tag.to_owned()),
        ("if-match", "*".to_owned()),
        ("if-match", format!("{stale}, {tag}")),
        ("if-match", format!("\"other\" ,{tag},{stale}")),
        ("if-none-match", stale.clone()),
        ("if-none-match", format!("{stale}, \"other\"")),
    ];
    let failing = vec![
        ("if-match", stale),
        ("if-match", epoch),
        ("if-match", "\"\"".to_owned()),
        ("if-match", format!("W/{tag}")),
        ("if-none-match", "*".to_owned()),
        ("if-none-match", tag.to_owned()),
        ("if-none-match", format!("W/{tag}")),
        ("if-none-match", format!("\"other\", {tag}")),
    ];
    [holding, failing]
}

#[tokio::test]
async fn a_write_happens_exactly_when_its_condition_holds() {
    let service = Service::any().await;
    let client = service.client().await;
    for path in ["/set", "/delete"] {
        let object = Object::fresh();
        let tag = client.set(&object).await;
        let [holding, failing] = conditions(&tag);
        for (name, value) in failing {
            println!("{path} {name}: {value}");
            let answer = with(&client, path, &[(name, &value)], &object.numbered(1)).await;
            answer.refused(412, "precondition_failed");
            assert_eq!(client.get(&object.key).await, object);
            assert_eq!(client.etag(&object.key).await, tag);
        }
        for index in 0..holding.len() {
            let tag = client.set(&object).await;
            let (name, value) = &conditions(&tag)[0][index];
            println!("{path} {name}: {value}");
            let _ = with(&client, path, &[(name, value)], &object.numbered(1)).await.expect(204);
        }
    }
}

#[tokio::test]
async fn setting_a_missing_object_fails_only_if_match() {
    let service = Service::any().await;
    let client = service.client().await;
    for value in ["*", "\"0000000000000000-1\""] {
        let object = Object::fresh();
        with(&client, "/set", &[("if-match", value)], &object)
            .await
            .refused(412, "precondition_failed");
        client.post("/get", object.body()).await.refused(422, "object_not_found");
        let _ = with(&client, "/set", &[("if-none-match", value)], &object).await.expect(204);
    }
}

#[tokio::test]
async fn deleting_a_missing_object_is_422_under_any_condition() {
    let service = Service::any().await;
    let client = service.client().await;
    for name in ["if-match", "if-none-match"] {
        for value in ["*", "\"0000000000000000-1\""] {
            let answer = with(&client, "/delete", &[(name, value)], &Object::fresh()).await;
            answer.refused(422, "object_not_found");
        }
    }
}

#[tokio::test]
async fn both_conditions_have_to_hold() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let tag = client.set(&object).await;
    let both = [("if-match", tag.as_str()), ("if-none-match", "*")];
    with(&client, "/set", &both, &object).await.refused(412, "precondition_failed");
    let both = [("if-match", tag.as_str()), ("if-none-match", "\"other\"")];
    let _ = with(&client, "/set", &both, &object).await.expect(204);
}

#[tokio::test]
async fn repeated_condition_headers_form_one_list() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let tag = client.set(&object).await;
    let none = [("if-none-match", "\"other\""), ("if-none-match", tag.as_str())];
    with(&client, "/set", &none, &object).await.refused(412, "precondition_failed");
    let any = [("if-match", "\"other\""), ("if-match", tag.as_str())];
    let _ = with(&client, "/set", &any, &object).await.expect(204);
}

#[tokio::test]
async fn a_tag_from_before_a_deletion_never_matches_again() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let tag = client.set(&object).await;
    client.delete(&object.key).await;
    client.set(&object).await;
    with(&client, "/set", &[("if-match", &tag)], &object).await.refused(412, "precondition_failed");
}

#[tokio::test]
async fn a_malformed_condition_is_400_and_changes_nothing() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    for name in ["if-match", "if-none-match"] {
        for value in [
            "word",
            "\"open",
            "close\"",
            "*, \"a\"",
            "**",
            "w/\"a\"",
            "W/a",
            "\"a\" \"b\"",
            "\"a b\"",
            "'a'",
        ] {
            for path in ["/set", "/delete"] {
                println!("{path} {name}: {value}");
                let answer = with(&client, path, &[(name, value)], &object.numbered(1)).await;
                answer.refused(400, "invalid_header");
            }
        }
    }
    assert_eq!(client.get(&object.key).await, object);
}

#[tokio::test]
async fn one_of_many_concurrent_creates_succeeds() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let condition = [("if-none-match", "*")];
    let candidates: Vec<_> = (0..32).map(|number| object.numbered(number)).collect();
    let answers =
        join_all(candidates.iter().map(|one| with(&client, "/set", &condition, one))).await;
    let winners: Vec<_> = (0..32).filter(|&number| answers[number].status == 204).collect();
    let [winner] = winners[..] else { panic!("{winners:?} succeeded") };
    assert_eq!(client.get(&object.key).await, object.numbered(winner));
    for answer in answers.iter().filter(|answer| answer.status != 204) {
        answer.refused(412, "precondition_failed");
    }
}

#[tokio::test]
async fn increments_guarded_by_if_match_are_all_counted() {
    const EACH: usize = 10;
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh().numbered(0);
    client.set(&object).await;
    let increment = || async {
        for _ in 0..EACH {
            loop {
                let read = client.post("/get", object.key.body()).await.expect(200);
                let count = Object::parse(read.text()).number();
                let condition = [("if-match", read.header("etag").unwrap())];
                let answer = with(&client, "/set", &condition, &object.numbered(count + 1)).await;
                if answer.status == 204 {
                    break;
                }
                answer.refused(412, "precondition_failed");
            }
        }
    };
    join_all((0..4).map(|_| increment())).await;
    assert_eq!(client.get(&object.key).await.number(), 4 * EACH);
}
