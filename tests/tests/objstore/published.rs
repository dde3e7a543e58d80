//! `GET /streams`: snapshots and changes for published clients.

use std::{collections::BTreeMap, time::Duration};

use blackbox::{
    objstore::{
        Change, Client, Key, Object, Part, Service, Stopped, exact, revision, stream_path, unique,
    },
    postgres::Cluster,
};
use reqwest::Method;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

type Copy = BTreeMap<(String, String), Object>;

/// The pattern of a type that no other test uses.
fn pattern() -> Key {
    Key::new(&unique("kind"), "", "")
}

fn object(pattern: &Key, namespace: &str, name: &str) -> Object {
    Object::new(&Key::new(&pattern.r#type, namespace, name), "{\"n\":0}")
}

fn apply(copy: &mut Copy, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Insert(_, object) | Change::Update(_, object) => {
                let Key { namespace, name, .. } = object.key.clone();
                copy.insert((namespace, name), object);
            }
            Change::Delete(_, key, _) => drop(copy.remove(&(key.namespace, key.name))),
            Change::Reset => copy.clear(),
            Change::SnapshotStart | Change::SnapshotEnd => {}
        }
    }
}

async fn found(client: &Client, pattern: &Key) -> Copy {
    let mut copy = Copy::new();
    let found = client.find(pattern).await;
    apply(&mut copy, found.into_iter().map(|object| Change::Update(0, object)).collect());
    copy
}

/// Reads parts until one is up to date.
async fn catch_up(client: &Client, pattern: &Key, offset: &mut String, copy: &mut Copy) -> usize {
    for count in 1.. {
        let part = client.part(pattern, &format!("?offset={offset}")).await;
        assert!(part.offset > *offset || part.changes.is_empty(), "{offset}, {}", part.offset);
        *offset = part.offset;
        apply(copy, part.changes);
        if part.up_to_date {
            assert!(exact(offset).is_some(), "{offset}");
            return count;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn each_mode_has_the_snapshot_and_the_changes() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    let [first, second] = ["first", "ü/%\u{2028}"].map(|name| object(&pattern, "a b", name));
    let set = revision(&client.set(&first).await);
    let snapshot = client.part(&pattern, "").await;
    let expected = [Change::SnapshotStart, Change::Insert(set, first.clone()), Change::SnapshotEnd];
    assert_eq!(snapshot.changes, expected);
    assert!(snapshot.up_to_date && exact(&snapshot.offset) >= Some(set), "{snapshot:?}");
    assert_eq!(client.part(&pattern, "?offset=-1").await.changes, expected);

    let update = revision(&client.set(&second).await);
    client.delete(&first.key).await;
    let query = format!("?offset={}", snapshot.offset);
    let caught_up = client.part(&pattern, &query).await;
    let [Change::Update(updated, object), Change::Delete(deleted, key, None)] =
        &caught_up.changes[..]
    else {
        panic!("{caught_up:?}");
    };
    assert_eq!((*updated, object, key), (update, &second, &first.key));
    assert!(*deleted > update && exact(&caught_up.offset) >= Some(*deleted), "{caught_up:?}");
    let polled = client.part(&pattern, &format!("{query}&live=long-poll")).await;
    assert_eq!(polled.changes, caught_up.changes);
    assert!(polled.up_to_date && polled.cursor.is_some(), "{polled:?}");
    let mut stream = client.stream(&pattern, &snapshot.offset).await;
    let mut streamed = stream.next().await.unwrap();
    while !streamed.up_to_date {
        let part = stream.next().await.unwrap();
        streamed.changes.extend(part.changes);
        streamed.up_to_date = part.up_to_date;
    }
    assert_eq!(streamed.changes, caught_up.changes);

    let third = revision(&client.set(&first).await);
    assert_eq!(stream.next_change().await, Change::Update(third, first));
}

#[tokio::test]
async fn the_path_is_a_pattern() {
    let service = Service::any().await;
    let client = service.client().await;
    let (kind, namespace) = (unique("a/b %"), unique("?&ü"));
    let object = |namespace: &str, name: &str| Object::new(&Key::new(&kind, namespace, name), "{}");
    let all = [object(&namespace, "1"), object(&namespace, "2"), object("ü", "1")];
    for object in &all {
        client.set(object).await;
    }
    for (pattern, expected) in [
        (Key::new(&kind, "", ""), vec![0, 1, 2]),
        (Key::new(&kind, &namespace, ""), vec![0, 1]),
        (Key::new("", &namespace, ""), vec![0, 1]),
        (Key::new("", &namespace, "2"), vec![1]),
        (Key::new(&kind, "", "1"), vec![0, 2]),
        (Key::new(&kind, &namespace, "1"), vec![0]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|index| all[index].clone()).collect();
        let (mut copy, mut offset) = (Copy::new(), "-1".to_owned());
        catch_up(&client, &pattern, &mut offset, &mut copy).await;
        assert_eq!(copy.into_values().collect::<Vec<_>>(), expected, "{pattern:?}");
    }
    let path = stream_path(&Key::new(&kind, "", ""));
    for same in [format!("{path}/"), format!("{path}//")] {
        let part = Part::of(&client.request(Method::GET, &same).send_undescribed().await);
        assert_eq!(part.changes.len(), 5, "{same}");
    }
    let everything = client.fetch("/streams?offset=now").await.expect(200);
    assert_eq!(everything.text(), "[]");
    client.fetch("/streams/a/b/c/d").await.refused(404, "not_found");
    for path in ["/streams/%FF", "/streams/a%00", &format!("/streams/{}", "x".repeat(513))] {
        client.fetch(path).await.refused(400, "invalid_path");
    }
}

#[tokio::test]
async fn wrong_queries_are_refused() {
    let service = Service::any().await;
    let client = service.client().await;
    let zeros = "0".repeat(16);
    for query in [
        "offset=x".to_owned(),
        "offset=".to_owned(),
        "offset=-2".to_owned(),
        "offset=NOW".to_owned(),
        "offset=-1&offset=-1".to_owned(),
        "offset=-1&live=true".to_owned(),
        "live=sse".to_owned(),
        "live=long-poll".to_owned(),
        "since=1".to_owned(),
        format!("offset={zeros}_{zeros}"),
        format!("offset={zeros}_{zeros}_61"),
    ] {
        client.fetch(&format!("/streams/a?{query}")).await.refused(400, "invalid_query");
        client.fetch(&format!("/streams?{query}")).await.refused(400, "invalid_query");
    }
    for method in [Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
        let answer = client.request(method, "/streams/a").send().await;
        answer.refused(405, "method_not_allowed");
    }
}

#[tokio::test]
async fn now_is_after_the_newest_change() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    let object = object(&pattern, "a", "a");
    let set = revision(&client.set(&object).await);
    let head = client.request(Method::HEAD, &stream_path(&pattern)).send().await.expect(200);
    let tail = head.header("stream-next-offset").unwrap();
    assert!(exact(tail) >= Some(set), "{head:?}");
    for (name, value) in [
        ("cache-control", "no-store, no-transform"),
        ("x-accel-buffering", "no"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(head.header(name), Some(value));
    }
    let now = client.part(&pattern, "?offset=now").await;
    assert!(now.changes.is_empty() && now.up_to_date, "{now:?}");
    assert!(*now.offset >= *tail, "{now:?}");

    let (query, mut stream) = ("?offset=now&live=long-poll", client.stream(&pattern, "now").await);
    let first = stream.next().await.unwrap();
    assert!(first.changes.is_empty() && first.up_to_date, "{first:?}");
    let (polled, changed) = tokio::join!(client.part(&pattern, query), async {
        sleep(Duration::from_millis(300)).await;
        revision(&client.set(&object.numbered(2)).await)
    });
    let expected = Change::Update(changed, object.numbered(2));
    assert_eq!(polled.changes, std::slice::from_ref(&expected));
    assert_eq!(stream.next_change().await, expected);
}

#[tokio::test]
async fn unknown_offsets_begin_with_a_reset() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let pattern = pattern();
    let object = object(&pattern, "a", "a");
    let set = revision(&client.set(&object).await);
    let known = client.part(&pattern, "").await.offset;
    let (epoch, _) = known.split_once('_').unwrap();
    let zeros = "0".repeat(16);
    let key = hex::encode(format!("{}\0a\0a", pattern.r#type));
    for offset in [
        format!("{zeros}_{zeros}_~"),
        format!("{epoch}_{zeros}_~"),
        format!("{epoch}_{}_~", "f".repeat(16)),
        format!("{zeros}_{:016x}_~", exact(&known).unwrap()),
        format!("{zeros}_{:016x}_{key}", exact(&known).unwrap()),
        format!("{epoch}_{}_z", "f".repeat(16)),
    ] {
        for live in ["", "&live=long-poll"] {
            let part = client.part(&pattern, &format!("?offset={offset}{live}")).await;
            let expected = [
                Change::Reset,
                Change::SnapshotStart,
                Change::Insert(set, object.clone()),
                Change::SnapshotEnd,
            ];
            assert_eq!(part.changes, expected, "{offset}");
            assert!(part.up_to_date, "{part:?}");
        }
    }
}

#[tokio::test]
async fn a_store_made_anew_resets_old_copies() {
    // On PostgreSQL, the databases of tests are copies of one, with its epoch.
    let first = Stopped::on(None, &[]).start().await;
    let client = first.client().await;
    let pattern = pattern();
    let object = object(&pattern, "a", "a");
    client.set(&object.numbered(1)).await;
    let offset = client.part(&pattern, "").await.offset;
    let second = Stopped::on(None, &[]).start().await;
    let client = second.client().await;
    for number in 2..5 {
        client.set(&object.numbered(number)).await;
    }
    let part = client.part(&pattern, &format!("?offset={offset}")).await;
    assert_eq!(part.changes.first(), Some(&Change::Reset));
    let mut copy = Copy::new();
    apply(&mut copy, part.changes);
    assert_eq!(copy, found(&client, &pattern).await);
}

#[tokio::test]
async fn a_client_that_the_log_has_left_behind_is_reset() {
    let settings = [("OBJSTORE_LOG_SIZE", "64KiB"), ("OBJSTORE_LOG_RETENTION", "1s")];
    let mut service = Service::with(&settings).await;
    let mut client = service.client().await;
    let pattern = pattern();
    let object = object(&pattern, "a", "a");
    client.set(&object).await;
    let offset = client.part(&pattern, "").await.offset;
    for number in 0..50 {
        let value = format!("{{\"n\":{number},\"x\":\"{}\"}}", "y".repeat(9000));
        client.set(&Object { value, ..object.clone() }).await;
    }
    // A service that runs has the newest records in memory.
    let part = loop {
        sleep(Duration::from_secs(1)).await;
        client.set(&Object::fresh()).await;
        service = service.stop().await.start().await;
        client = client.at(&service);
        let part = client.part(&pattern, &format!("?offset={offset}")).await;
        if part.changes.contains(&Change::Reset) {
            break part;
        }
    };
    let mut copy = Copy::new();
    apply(&mut copy, part.changes);
    assert_eq!(copy, found(&client, &pattern).await);
}

#[tokio::test]
async fn a_large_snapshot_comes_in_parts_while_objects_change() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let pattern = pattern();
    let value = format!("{{\"x\":\"{}\"}}", "y".repeat(4000));
    for number in 0..600 {
        let name = format!("{number:03}");
        client.set(&Object { value: value.clone(), ..object(&pattern, "a", &name) }).await;
    }
    let kind = &pattern;
    let mut deleted = 0;
    for pattern in [kind, &Key::new(&kind.r#type, "a", ""), &Key::new("", "a", "")] {
        let (mut copy, mut offset) = (Copy::new(), "-1".to_owned());
        let mut parts = Vec::new();
        loop {
            let part = client.part(pattern, &format!("?offset={offset}")).await;
            assert!(part.offset > offset, "{offset} {}", part.offset);
            apply(&mut copy, part.changes.clone());
            offset.clone_from(&part.offset);
            parts.push(part);
            if parts.last().unwrap().up_to_date {
                break;
            }
            assert_eq!(exact(&offset), None);
            // One that was sent, one that was not, and a new one.
            let count = parts.len();
            for name in ["000", "599", &format!("new{count}")] {
                client.set(&object(kind, "a", name).numbered(count)).await;
            }
            client.delete(&object(kind, "a", &format!("{:03}", 100 + deleted)).key).await;
            deleted += 1;
        }
        assert!(parts.len() >= 5, "{} parts", parts.len());
        let changes: Vec<_> = parts.iter().flat_map(|part| &part.changes).collect();
        let count = |wanted: &Change| changes.iter().filter(|change| **change == wanted).count();
        assert_eq!(count(&Change::SnapshotStart) * 10 + count(&Change::SnapshotEnd), 11);
        let end = changes.iter().position(|change| *change == &Change::SnapshotEnd).unwrap();
        let is_insert = |change: &&Change| matches!(change, Change::Insert(..));
        assert!(changes[1..end].iter().all(is_insert) && !changes[end..].iter().any(is_insert));
        assert_eq!(copy, found(&client, pattern).await);
    }
}

#[tokio::test]
async fn a_repeated_read_is_not_sent_again() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    client.set(&object(&pattern, "a", "a")).await;
    let path = format!("{}?offset=-1", stream_path(&pattern));
    // Other tests change other objects of the service.
    for _ in 0..50 {
        let tag = client.fetch(&path).await.expect(200).header("etag").unwrap().to_owned();
        let again = client.request(Method::GET, &path).header("if-none-match", &tag).send().await;
        if again.status == 304 {
            assert_eq!(again.text(), "");
            assert!(again.header("stream-next-offset").is_some(), "{again:?}");
            return;
        }
        assert_ne!(again.header("etag"), Some(&*tag));
    }
    panic!("no answer was the same");
}

#[tokio::test]
async fn cursors_only_rise() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    let mut last = 0;
    for number in 0..5 {
        let offset = client.part(&pattern, "?offset=now").await.offset;
        client.set(&object(&pattern, "a", "a").numbered(number)).await;
        let query = format!("?offset={offset}&live=long-poll&cursor={last}");
        let cursor = client.part(&pattern, &query).await.cursor.unwrap().parse::<u64>().unwrap();
        assert!(cursor > last, "{last} {cursor}");
        last = cursor;
    }
}

#[tokio::test]
async fn deletions_name_their_cause() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    let object = object(&pattern, "a", "a");
    let mut stream = client.stream(&pattern, "now").await;
    client.set_with("?ttl=1s", &object).await;
    assert!(matches!(stream.next_change().await, Change::Update(_, set) if set == object));
    let Change::Delete(_, key, cause) = stream.next_change().await else { panic!("no deletion") };
    assert_eq!((key, cause.as_deref()), (object.key, Some("expired")));
}

#[tokio::test]
async fn a_stream_moves_no_position() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    let object = object(&pattern, "a", "a");
    client.watch(&object.key).await;
    let mut stream = client.stream(&pattern, "now").await;
    let set = revision(&client.set(&object).await);
    assert_eq!(stream.next_change().await, Change::Update(set, object.clone()));
    drop(stream);
    assert_eq!(client.socket().await.next_push().await, object);
}

#[tokio::test]
async fn a_quiet_stream_has_comments_and_ends_after_a_minute() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let pattern = pattern();
    let begun = Instant::now();
    let mut stream = client.stream(&pattern, "now").await;
    let first = stream.next().await.unwrap();
    let other = revision(&client.set(&Object::fresh()).await);
    // The last event moves the client past the changes of others.
    let last = timeout(Duration::from_secs(80), stream.next()).await.unwrap().unwrap();
    assert!(begun.elapsed() > Duration::from_secs(55), "{:?}", begun.elapsed());
    assert!(last.changes.is_empty() && last.up_to_date && last.offset > first.offset, "{last:?}");
    assert!(last.exact() >= Some(other), "{last:?}");
    assert!((3..=4).contains(&stream.comments()), "{}", stream.comments());
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_poll_without_a_change_is_204() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let pattern = pattern();
    let offset = client.part(&pattern, "").await.offset;
    let query = format!("?offset={offset}&live=long-poll");
    let (part, other) = tokio::join!(client.part(&pattern, &query), async {
        sleep(Duration::from_secs(1)).await;
        revision(&client.set(&Object::fresh()).await)
    });
    assert!(part.changes.is_empty() && part.up_to_date, "{part:?}");
    assert!(part.exact() >= Some(other) && part.cursor.is_some(), "{part:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_others_delay_no_poll() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = pattern();
    let mut busy = JoinSet::new();
    for _ in 0..8 {
        let other = service.client().await;
        let object = Object::fresh();
        busy.spawn(async move {
            for number in 0.. {
                other.set(&object.numbered(number)).await;
            }
        });
    }
    let mut offset = client.part(&pattern, "").await.offset;
    let mut stream = client.stream(&pattern, &offset).await;
    let value = format!("{{\"text\":\"{}\"}}", "x".repeat(500_000));
    for number in 0..30 {
        let key = pattern.named(&number.to_string());
        let object = Object::new(&Key { namespace: "n".to_owned(), ..key }, value.clone());
        let query = format!("?offset={offset}&live=long-poll");
        let (polled, _) = tokio::join!(client.part(&pattern, &query), client.set(&object));
        // It may not be up to date: a long part ends before the changes of others are looked at.
        assert_eq!(polled.changes.len(), 1, "{}", polled.offset);
        offset = polled.offset;
        while !stream.next().await.unwrap().up_to_date {}
    }
}

#[tokio::test]
async fn a_logout_ends_the_streams_of_the_session() {
    let service = Service::any().await;
    let client = service.client().await;
    let other = service.client_with(client.id()).await;
    let pattern = pattern();
    let mut stream = client.stream(&pattern, "now").await;
    let mut stays = other.stream(&pattern, "now").await;
    assert!(stream.next().await.unwrap().up_to_date);
    let (polled, ()) = tokio::join!(client.part(&pattern, "?offset=now&live=long-poll"), async {
        sleep(Duration::from_millis(300)).await;
        let _ = client.post("/logout", "").await.expect(204);
    });
    assert!(polled.changes.is_empty(), "{polled:?}");
    assert_eq!(stream.next().await, None);
    let object = object(&pattern, "a", "a");
    let set = revision(&other.set(&object).await);
    assert_eq!(stays.next_change().await, Change::Update(set, object));
}

#[tokio::test]
async fn a_stopping_service_ends_its_streams() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let pattern = pattern();
    let mut stream = client.stream(&pattern, "now").await;
    let begun = Instant::now();
    let (polled, ()) = tokio::join!(client.part(&pattern, "?offset=now&live=long-poll"), async {
        sleep(Duration::from_millis(300)).await;
        service.process().terminate().await;
    });
    assert!(polled.changes.is_empty() && begun.elapsed() < Duration::from_secs(10), "{polled:?}");
    while stream.next().await.is_some() {}
    service.ended().await;
}

#[tokio::test]
async fn a_store_that_is_away_answers_before_the_headers() {
    let cluster = Cluster::start();
    let service = Stopped::on(Some(cluster.database()), &[]).start().await;
    let client = service.client().await;
    let pattern = pattern();
    client.part(&pattern, "").await;
    cluster.stop();
    for live in ["", "&live=long-poll", "&live=sse"] {
        let path = format!("{}?offset=-1{live}", stream_path(&pattern));
        let answer = client.fetch(&path).await;
        answer.refused(503, "storage_unavailable");
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
    }
}
