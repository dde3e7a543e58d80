//! Checks `find` against a filter: its result, and the pages of its result.

use std::collections::BTreeMap;

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, Service},
    soak::rounds,
};
use futures_util::future::join_all;
use proptest::{
    collection::vec,
    prelude::{Just, ProptestConfig, Strategy},
    prop_oneof,
    sample::select,
    test_runner::{TestCaseError, TestRunner},
};
use tokio::runtime::Runtime;

use crate::actor::matches;

/// Texts that are easily confused with each other, with patterns, with syntax, or in their order.
const PARTS: [&str; 20] = [
    "a", "A", "aa", "b", "ab", "a ", " ", "%", "_", "*", "'", "\"", "\\", "\u{1}", "a\u{1}", "é",
    "e\u{301}", "\u{ffff}", "𝄞", "null",
];

/// The content of a store, and the searches: pattern and page size.
#[derive(Debug)]
struct Case {
    objects: Vec<Object>,
    searches: Vec<(Key, usize)>,
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(&PARTS[..]).prop_map(str::to_owned),
        1 => "[ab]{1,3}",
        1 => "\\PC{1,4}",
    ]
}

fn case() -> impl Strategy<Value = Case> {
    // Few texts for each part, so that patterns match more than one object.
    let pools = (vec(part(), 1..4), vec(part(), 1..4), vec(part(), 1..5));
    pools.prop_flat_map(|(kinds, namespaces, names)| {
        let key = (select(kinds.clone()), select(namespaces.clone()), select(names.clone()));
        let object = (key, 0..1000_usize).prop_map(|((kind, namespace, name), number)| {
            Object::new(&Key::new(&kind, &namespace, &name), format!(r#"{{"n":{number}}}"#))
        });
        let given = |pool: Vec<String>| {
            prop_oneof![2 => Just(String::new()), 4 => select(pool), 1 => part()]
        };
        let pattern = (given(kinds), given(namespaces), given(names))
            .prop_map(|(kind, namespace, name)| Key::new(&kind, &namespace, &name));
        (vec(object, 0..40), vec((pattern, 1..8_usize), 12))
            .prop_map(|(objects, searches)| Case { objects, searches })
    })
}

/// The objects that match, in the order of `find`, which depends on the given parts of the pattern.
fn filtered(objects: &BTreeMap<[String; 3], Object>, pattern: &Key) -> Vec<Object> {
    let given = [&pattern.r#type, &pattern.namespace, &pattern.name].map(|part| !part.is_empty());
    let order = match given {
        [false, true, _] => [1, 2, 0],
        [_, false, true] => [2, 0, 1],
        _ => [0, 1, 2],
    };
    let mut found: Vec<_> =
        objects.iter().filter(|(_, object)| matches(pattern, &object.key)).collect();
    found.sort_by_key(|(parts, _)| order.map(|part| parts[part].as_bytes()));
    found.into_iter().map(|(_, object)| object.clone()).collect()
}

async fn paged(client: &Client, pattern: &Key, limit: usize) -> Vec<Vec<Object>> {
    let mut pages = Vec::new();
    let mut path = format!("/find?limit={limit}");
    loop {
        let answer: Answer = client.post(&path, pattern.body()).await.expect(200);
        pages.push(Object::parse_all(answer.text()));
        match answer.header("next-cursor") {
            Some(cursor) => path = format!("/find?limit={limit}&after={cursor}"),
            None => return pages,
        }
    }
}

async fn check_case(case: Case) {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let objects: BTreeMap<_, _> = case
        .objects
        .into_iter()
        .map(|object| {
            let Key { r#type, namespace, name } = object.key.clone();
            ([r#type, namespace, name], object)
        })
        .collect();
    join_all(objects.values().map(|object| client.set(object))).await;
    for (pattern, limit) in case.searches {
        let expected = filtered(&objects, &pattern);
        assert_eq!(client.find(&pattern).await, expected, "{pattern:?}");
        let pages = paged(&client, &pattern, limit).await;
        assert_eq!(pages.concat(), expected, "{pattern:?} in pages of {limit}");
        let (last, full) = pages.split_last().unwrap();
        assert!(full.iter().all(|page| page.len() == limit), "{pattern:?} in pages of {limit}");
        assert!(!last.is_empty() || expected.is_empty(), "{pattern:?} in pages of {limit}");
    }
}

#[test]
fn find_and_its_pages_match_a_filter() {
    let cases = u32::try_from(rounds(24, 2000)).unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let runtime = Runtime::new().unwrap();
    let checked = TestRunner::new(config).run(&case(), |case| {
        runtime
            .block_on(async { tokio::spawn(check_case(case)).await })
            .map_err(|panic| TestCaseError::fail(panic.to_string()))
    });
    checked.unwrap();
}
