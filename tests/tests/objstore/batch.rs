//! `POST /batch`: several objects at once. `copies.rs` has batches beside kills, and the model suite
//! batches with conditions beside each other.

use std::fs;

use blackbox::{
    objstore::{Client, Event, Key, Object, Service, Socket, batch, revision},
    process::DEADLINE,
};
use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use crate::{copies::Stream, streams::until_state};

/// Objects in one namespace, with numbered names and values.
fn objects(count: usize) -> Vec<Object> {
    let key = Key::fresh();
    (0..count)
        .map(|number| Object::new(&key.named(&number.to_string()), "{}").numbered(number))
        .collect()
}

fn sets(objects: &[Object]) -> Vec<String> {
    objects.iter().map(|object| object.operation("")).collect()
}

/// The pattern of [`objects`].
fn all(objects: &[Object]) -> Key {
    objects[0].key.named("")
}

/// Sends operations of which one is refused, alone and among others.
async fn is_refused(client: &Client, operation: &str, status: u16, code: &str) {
    let others = objects(3);
    let [first, second, missing] = &others[..] else { unreachable!() };
    let later = missing.key.deletion("");
    let operations = [first.operation(""), operation.to_owned(), second.operation(""), later];
    for (index, operations) in [(1, &operations[..]), (0, &operations[1..2])] {
        let answer = client.post("/batch", batch(operations)).await;
        answer.refused(status, code);
        assert_eq!(answer.json()["operation"], index, "{answer:?}");
    }
    assert_eq!(client.find(&all(&others)).await, []);
}

/// Reads to the first mark after a change. Other tests change their objects in the same service, so the
/// mark can be later than the last change, and a mark can come at any time.
async fn next_burst(socket: &mut Socket) -> (Vec<Event>, u64) {
    loop {
        let (events, mark) = until_state(socket).await;
        if !events.is_empty() {
            return (events, mark);
        }
    }
}

#[tokio::test]
async fn a_batch_makes_all_changes_in_order() {
    let service = Service::any().await;
    let client = service.client().await;
    let objects = objects(512);
    client.watch(&all(&objects)).await;
    let mut socket = client.socket_with("?events=true&marks=true").await;
    let first = client.batch(&sets(&objects)).await;
    let set = |(object, revision): (&Object, u64)| Event::Set(revision, object.clone());
    let (events, mark) = next_burst(&mut socket).await;
    assert_eq!(events, objects.iter().zip(first..).map(set).collect::<Vec<_>>());
    assert!(mark >= first + 511);

    let deleted = |object: &Object| object.key.deletion("");
    let mut operations: Vec<_> = objects[1..].iter().map(deleted).collect();
    operations.push(objects[0].numbered(512).operation(""));
    let next = client.batch(&operations).await;
    assert!(next > first + 511);
    assert_eq!(client.find(&all(&objects)).await, [objects[0].numbered(512)]);
    assert_eq!(revision(&client.etag(&objects[0].key).await), next + 511);
    let deletion = |(object, revision): (&Object, u64)| Event::Delete(revision, object.clone());
    let mut expected: Vec<_> = objects[1..].iter().zip(next..).map(deletion).collect();
    expected.push(Event::Set(next + 511, objects[0].numbered(512)));
    let (events, mark) = next_burst(&mut socket).await;
    assert_eq!(events, expected);
    assert!(mark >= next + 511);
}

#[tokio::test]
async fn the_first_refused_operation_refuses_the_batch() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let stale = client.set(&object).await;
    let tag = client.set(&object).await;
    let with = |member: &str, tag: &str| format!(",\"{member}\":{}", Value::from(tag));
    for (operation, status, code) in [
        (object.operation(&with("IfMatch", &stale)), 412, "precondition_failed"),
        (object.operation(r#","IfNoneMatch":"*""#), 412, "precondition_failed"),
        (object.key.deletion(&with("IfMatch", &stale)), 412, "precondition_failed"),
        (Object::fresh().operation(r#","IfMatch":"*""#), 412, "precondition_failed"),
        (Key::fresh().deletion(""), 422, "object_not_found"),
        (object.key.named("").deletion(""), 422, "object_not_found"),
    ] {
        is_refused(&client, &operation, status, code).await;
        assert_eq!(client.etag(&object.key).await, tag, "{operation}");
    }
    // The same conditions hold with the right tag, and a repeat changes nothing.
    let (new, moved) = (Object::fresh(), object.numbered(1));
    let operations =
        [new.operation(r#","IfNoneMatch":"*""#), moved.operation(&with("IfMatch", &tag))];
    client.batch(&operations).await;
    let repeated = client.post("/batch", batch(&operations)).await;
    repeated.refused(412, "precondition_failed");
    assert_eq!(repeated.json()["operation"], 0);
}

#[tokio::test]
async fn each_operation_needs_its_own_permission() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.toml");
    let rules = "[[rule]]\nwho = [\"*\"]\nmay = [\"find\", \"get\"]\n
                 [[rule]]\nwho = [\"*\"]\nmay = [\"set\", \"delete\"]\nType = \"type*\"\n
                 [[rule]]\nwho = [\"owner\"]\nmay = [\"set\", \"delete\"]\nType = \"own\"\n";
    fs::write(&file, rules).unwrap();
    let ruled = Service::with(&[("OBJSTORE_RULES_FILE", file.to_str().unwrap())]).await;
    let client = ruled.client().await;
    let other = Object::new(&Key::new("other", "s", "n"), "{}");
    let foreign = Object { key: Key::new("own", "s", "n"), ..other.clone() };
    let own = Object { owner: client.id().to_string(), ..foreign.clone() };
    is_refused(&client, &other.operation(""), 401, "not_allowed").await;
    is_refused(&client, &other.key.deletion(""), 401, "not_allowed").await;
    is_refused(&client, &foreign.operation(""), 401, "not_allowed").await;
    client.batch(&[own.operation("")]).await;
    is_refused(&ruled.client().await, &own.key.deletion(""), 401, "not_allowed").await;

    let matching = Service::with(&[("OBJSTORE_OWNER", "match")]).await;
    let client = matching.client().await;
    let own = Object { owner: client.id().to_string(), ..Object::fresh() };
    let answer = client.post("/batch", batch(&[own.operation(""), foreign.operation("")])).await;
    answer.refused(401, "not_owner");
    assert_eq!(answer.json()["operation"], 1);
}

#[tokio::test]
async fn a_malformed_batch_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    let many = sets(&objects(513));
    for operations in [&[][..], &many] {
        client.post("/batch", batch(operations)).await.refused(400, "invalid_body");
    }
    for more in [
        r#","IfMatch":null"#,
        r#","IfMatch":1"#,
        r#","IfMatch":"1-1""#,
        r#","IfNoneMatch":null"#,
        r#","IfNoneMatch":"\"1-1\"""#,
        r#","TTL":"1ms""#,
        r#","TTL":5"#,
        r#","Presence":"true""#,
        r#","Presence":null"#,
        r#","Delete":{"Key":{"Type":"t","Namespace":"s","Name":"n"}}"#,
        r#","Set":{}"#,
        r#","Other":1"#,
    ] {
        let operations = [Object::fresh().operation(""), object.operation(more)];
        client.post("/batch", batch(&operations)).await.refused(400, "invalid_body");
    }
    for more in [r#","IfNoneMatch":"*""#, r#","TTL":"1s""#, r#","Presence":true"#] {
        let operations = [object.key.deletion(more)];
        client.post("/batch", batch(&operations)).await.refused(400, "invalid_body");
    }
    for body in ["{}", r#"{"Operations":{}}"#, r#"{"Operations":[[]]}"#, r#"{"Operations":[{}]}"#] {
        client.post("/batch", body).await.refused(400, "invalid_body");
    }
    let empty = Object { key: object.key.named(""), ..object.clone() };
    for [first, second] in [
        [object.operation(""), object.operation("")],
        [object.operation(""), object.key.deletion("")],
        [object.operation(""), empty.operation("")],
    ] {
        let answer = client.post("/batch", batch(&[first, second])).await;
        answer.refused(400, "invalid_body");
        assert_eq!(answer.json()["operation"], 1);
    }
    client.post("/get", object.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn too_many_operations_take_no_memory() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let before = service.process().peak().unwrap();
    let tags = format!(r#","IfMatch":"{}""#, "1-1,".repeat(1_000_000));
    for operations in [vec!["{}".to_owned(); 2_500_000], vec![Object::fresh().operation(&tags)]] {
        client.post("/batch", batch(&operations)).await.refused(400, "invalid_body");
    }
    let more = service.process().peak().unwrap() - before;
    assert!(more < 100 * 1024 * 1024, "{more} bytes");
}

#[tokio::test]
async fn a_batch_may_be_eight_times_as_long_as_another_body() {
    let service = Service::with(&[("OBJSTORE_MAX_BODY", "1KiB")]).await;
    let client = service.client().await;
    let sized = |size: usize| Object {
        value: format!(r#"{{"x":"{}"}}"#, "x".repeat(size)),
        ..Object::fresh()
    };
    let some: Vec<_> = (0..7).map(|_| sized(700)).collect();
    client.batch(&sets(&some)).await;
    let answer =
        client.post("/batch", batch(&[sized(10).operation(""), sized(1024).operation("")])).await;
    answer.refused(413, "body_too_large");
    assert_eq!(answer.json()["operation"], 1);
    let many: Vec<_> = (0..9).map(|_| sized(900)).collect();
    let answer = client.post("/batch", batch(&sets(&many))).await;
    answer.refused(413, "body_too_large");
    assert!(answer.json().get("operation").is_none());
}

/// Records have the deleted objects, so a batch must not delete without a limit.
#[tokio::test]
async fn a_batch_deletes_at_most_64_mib() {
    let service = Service::any().await;
    let client = service.client().await;
    let value = format!("{{\"text\":\"{}\"}}", "x".repeat(1_000_000));
    let large: Vec<_> =
        objects(70).into_iter().map(|object| Object { value: value.clone(), ..object }).collect();
    for object in &large {
        client.set(object).await;
    }
    let deletions: Vec<_> = large.iter().map(|object| object.key.deletion("")).collect();
    let answer = client.post("/batch", batch(&deletions)).await;
    answer.refused(413, "body_too_large");
    assert!(answer.json()["operation"].is_u64(), "{answer:?}");
    for object in &large {
        client.etag(&object.key).await;
    }

    // Deletions beside each other are not refused for good.
    let ends = deletions
        .chunks(35)
        .map(async |half| while client.post("/batch", batch(half)).await.status == 503 {});
    join_all(ends).await;
    for object in &large {
        client.post("/get", object.key.body()).await.refused(422, "object_not_found");
    }
}

#[tokio::test]
async fn operations_have_lifespans_of_their_own() {
    let service = Service::with(&[("OBJSTORE_PRESENCE_GRACE", "1s")]).await;
    let client = service.client().await;
    let objects = objects(4);
    client.watch(&all(&objects)).await;
    let more = [r#","TTL":"1s""#, r#","Presence":true"#, r#","TTL":"1h","Presence":false"#, ""];
    let with = |more: [&str; 4]| -> Vec<_> {
        objects.iter().zip(more).map(|(object, more)| object.operation(more)).collect()
    };
    client.batch(&with(more)).await;
    let kept = [r#","TTL":"keep""#; 4];
    client.batch(&with(kept)).await;
    let answer = client.post("/get", objects[2].key.body()).await;
    assert!(
        answer.header("object-expires").is_some() && answer.header("object-presence").is_none()
    );
    let left = async { while client.find(&all(&objects)).await != objects[2..] {} };
    timeout(DEADLINE, left).await.unwrap();
}

/// A client can have acknowledged a part of a batch.
#[tokio::test]
async fn marks_show_whole_batches_to_a_stream_that_resumes_anywhere() {
    let mut service = Service::with(&[]).await;
    let mut client = service.client().await;
    let objects = objects(400);
    let pattern = all(&objects);
    client.watch(&pattern).await;
    let first = client.batch(&sets(&objects)).await;
    let second = client.batch(&sets(&objects)).await;
    let last = second + 399;
    for since in [first - 1, first, first + 150, last - 1].repeat(2) {
        for pattern in [None, Some(&pattern)] {
            let mut stream = Stream::open(&client, pattern, Some(since)).await.unwrap();
            let mut at = since;
            loop {
                match stream.next().await.unwrap() {
                    Event::Set(revision, _) => at += u64::from(revision == at + 1),
                    Event::Mark(revision) => {
                        assert_eq!(revision, at);
                        assert!([second - 1, last].contains(&at), "{at}, {second}, {last}");
                        if at == last {
                            break;
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        if since == last - 1 {
            // A new process has no records in memory, so its streams read the change log.
            service = service.stop().await.start().await;
            client = client.at(&service);
        }
    }
}
