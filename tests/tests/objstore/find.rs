//! `POST /find`: patterns, order, pages and unpaged answers.

use std::collections::BTreeMap;

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, Service},
};
use futures_util::{StreamExt as _, future::join_all, stream};

/// Texts that sort differently by bytes, by UTF-16 units and by letters.
const PARTS: [&str; 4] = ["B", "a", "a!", "\u{fffd}"];

/// Like `PARTS`, with a character outside the basic multilingual plane.
const NAMES: [&str; 4] = ["B", "a\u{301}", "\u{fffd}", "\u{1f600}"];

/// Sets the objects, up to 64 at a time.
async fn set_all(client: &Client, objects: &[Object]) {
    stream::iter(objects)
        .map(|object| client.set(object))
        .buffer_unordered(64)
        .collect::<Vec<_>>()
        .await;
}

fn all_combinations() -> Vec<Object> {
    let mut objects = Vec::new();
    for r#type in PARTS {
        for namespace in PARTS {
            for name in NAMES {
                objects.push(Object::new(&Key::new(r#type, namespace, name), "{}"));
            }
        }
    }
    objects
}

/// The matches of a pattern among `objects`, in the order in which `/find` returns them.
fn expected(objects: &[Object], pattern: &Key) -> Vec<Object> {
    let given = |part: &str| !part.is_empty();
    let shape = (given(&pattern.r#type), given(&pattern.namespace), given(&pattern.name));
    let matches = |pattern: &str, part: &str| pattern.is_empty() || pattern == part;
    let mut found: Vec<_> = objects
        .iter()
        .filter(|object| matches(&pattern.r#type, &object.key.r#type))
        .filter(|object| matches(&pattern.namespace, &object.key.namespace))
        .filter(|object| matches(&pattern.name, &object.key.name))
        .cloned()
        .collect();
    found.sort_by_key(|object| {
        let Key { r#type, namespace, name } = object.key.clone();
        match shape {
            (false, true, _) => [namespace, name, r#type],
            (_, false, true) => [name, r#type, namespace],
            _ => [r#type, namespace, name],
        }
    });
    found
}

/// Patterns of all eight shapes.
fn patterns() -> Vec<Key> {
    let mut patterns = Vec::new();
    for r#type in ["", PARTS[0], PARTS[3]] {
        for namespace in ["", PARTS[1]] {
            for name in ["", NAMES[2]] {
                patterns.push(Key::new(r#type, namespace, name));
            }
        }
    }
    patterns
}

/// Reads one page, and returns the cursor of the next one.
async fn page(
    client: &Client,
    pattern: &Key,
    limit: usize,
    after: Option<&str>,
) -> (Vec<Object>, Option<String>) {
    let after = after.map(|cursor| format!("&after={}", encoded(cursor))).unwrap_or_default();
    let answer =
        client.post(&format!("/find?limit={limit}{after}"), pattern.body()).await.expect(200);
    (Object::parse_all(answer.text()), answer.header("next-cursor").map(str::to_owned))
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn every_pattern_shape_finds_its_matches_in_its_order() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let objects = all_combinations();
    set_all(&client, &objects).await;
    for pattern in patterns() {
        let found = client.find(&pattern).await;
        assert_eq!(found, expected(&objects, &pattern), "{pattern:?}");
        assert!(!found.is_empty(), "{pattern:?}");
    }
}

#[tokio::test]
async fn all_pages_together_equal_the_unpaged_answer() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    set_all(&client, &all_combinations()).await;
    for pattern in patterns() {
        let whole = client.find(&pattern).await;
        for limit in [1, 3, 16, 1000] {
            let mut found = Vec::new();
            let mut cursor = None;
            loop {
                let (objects, next) = page(&client, &pattern, limit, cursor.as_deref()).await;
                assert!(
                    objects.len() == limit || next.is_none(),
                    "{pattern:?}: only the last page may be short"
                );
                found.extend(objects);
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(found, whole, "{pattern:?} by {limit}");
        }
    }
}

#[tokio::test]
async fn a_full_last_page_has_no_cursor() {
    let service = Service::any().await;
    let client = service.client().await;
    let key = Key::fresh();
    let objects = ["a", "b", "c", "d"].map(|name| Object::new(&key.named(name), "{}"));
    set_all(&client, &objects).await;
    let (first, cursor) = page(&client, &key.named(""), 2, None).await;
    assert_eq!(first, objects[..2]);
    let (second, end) = page(&client, &key.named(""), 2, cursor.as_deref()).await;
    assert_eq!(second, objects[2..]);
    assert_eq!(end, None);
    let (whole, end) = page(&client, &key.named(""), 4, None).await;
    assert_eq!((whole.len(), end), (4, None));
}

#[tokio::test]
async fn paging_continues_after_the_cursor_object_is_deleted() {
    let service = Service::any().await;
    let client = service.client().await;
    let key = Key::fresh();
    let objects = ["a", "b", "c", "d"].map(|name| Object::new(&key.named(name), "{}"));
    set_all(&client, &objects).await;
    let (_, cursor) = page(&client, &key.named(""), 2, None).await;
    client.delete(&objects[1].key).await;
    client.delete(&objects[2].key).await;
    let (rest, end) = page(&client, &key.named(""), 2, cursor.as_deref()).await;
    assert_eq!((rest, end), (objects[3..].to_vec(), None));
}

#[tokio::test]
async fn an_unpaged_find_has_no_cursor() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.set(&object).await;
    let answer = client.post("/find", object.key.body()).await.expect(200);
    assert_eq!(answer.header("next-cursor"), None);
}

#[tokio::test]
async fn no_match_is_an_empty_array() {
    let service = Service::any().await;
    let client = service.client().await;
    let nothing = |answer: Answer| assert_eq!(answer.expect(200).text(), "[]");
    nothing(client.post("/find", Key::fresh().body()).await);
    nothing(client.post("/find", Key::fresh().named("").body()).await);
    nothing(client.post("/find?limit=10", Key::fresh().body()).await);
}

#[tokio::test]
async fn a_part_matches_only_the_exact_text() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::new(&Key::fresh().named("Name%_*"), "{}");
    client.set(&object).await;
    for name in ["Name", "Name%", "name%_*", "NAME%_*", "%", "*", "_______", "Name%_* "] {
        assert_eq!(client.find(&object.key.named(name)).await, [], "{name}");
    }
    assert_eq!(client.find(&object.key).await, [object]);
}

#[tokio::test]
async fn an_invalid_limit_or_cursor_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=1.5",
        "limit=many",
        "limit=",
        "limit=+",
        "limit=1e2",
        "limit=99999999999999999999",
        "limit=1&limit=2",
        "limit=2&after=",
        "limit=2&after=x",
        "limit=2&after=%00",
        "limit=2&after=%F0%9F",
        "limit=2&after=AAAA",
        "limit=2&after=a&after=b",
    ] {
        println!("{query}");
        client
            .post(&format!("/find?{query}"), Key::fresh().body())
            .await
            .refused(400, "invalid_query");
    }
}

#[tokio::test]
async fn results_of_several_reads_are_complete_and_in_order() {
    let service = Service::any().await;
    let client = service.client().await;
    let key = Key::fresh();
    let mut objects: Vec<_> = (0..2500)
        .map(|number| {
            Object::new(&key.named(&format!("{number:05}")), format!(r#"{{"n":{number}}}"#))
        })
        .collect();
    objects.reverse();
    set_all(&client, &objects).await;
    objects.reverse();
    assert!(client.find(&key.named("")).await == objects);
    let by_namespace = Key::new("", &key.namespace, "");
    assert!(client.find(&by_namespace).await == objects);
    let (page, cursor) = page(&client, &key.named(""), 1000, None).await;
    assert!(page == objects[..1000]);
    assert!(cursor.is_some());
}

#[tokio::test]
async fn unchanged_objects_appear_exactly_once_during_concurrent_writes() {
    let service = Service::any().await;
    let client = service.client().await;
    let key = Key::fresh();
    let named = |name: String| Object::new(&key.named(&name), "{}");
    let stable: Vec<_> = (0..1500).map(|number| named(format!("{number:05}"))).collect();
    set_all(&client, &stable).await;
    let churn = async {
        for number in 0..30 {
            let passing = named(format!("{:05}+", number * 50));
            client.set(&passing).await;
            client.delete(&passing.key).await;
        }
    };
    let pattern = key.named("");
    let finds = join_all((0..6).map(|_| client.find(&pattern)));
    let (found, ()) = tokio::join!(finds, churn);
    for found in found {
        let mut times = BTreeMap::<&str, usize>::new();
        for object in &found {
            *times.entry(&object.key.name).or_default() += 1;
        }
        for object in &stable {
            assert_eq!(times.get(&*object.key.name), Some(&1), "{}", object.key.name);
        }
    }
}
