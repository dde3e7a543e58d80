//! Property tests of bodies: every answer is in the OpenAPI document, and none is a server error.

use blackbox::objstore::{Client, Key, Object, Service, batch};
use proptest::{
    collection::vec,
    prelude::{Just, ProptestConfig, Strategy, any},
    prop_oneof,
    sample::{Index, select},
    test_runner::{TestCaseError, TestRunner},
};
use tokio::runtime::Runtime;

const PATHS: [&str; 8] =
    ["/register", "/get", "/set", "/find", "/delete", "/batch", "/watch", "/unwatch"];

/// Fragments of JSON, valid and invalid.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\\u",
    "\\ud83d",
    "\\u0000",
    "null",
    "true",
    "1e400",
    "-0",
    "0.",
    r#""Key""#,
    r#""Value""#,
    r#""Owner""#,
    r#""ID""#,
    r#""Type":"t""#,
    r#"{"Type":"t","Namespace":"s","Name":"n"}"#,
    " ",
    "\u{feff}",
];

/// A valid body with some bytes removed and some inserted.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let whole = prop_oneof![
        Just(Object::fresh().body()),
        Just(Object::fresh().key.body()),
        Just(batch(&[
            Object::fresh().operation(r#","IfNoneMatch":"*","TTL":"1s""#),
            Key::fresh().deletion(r#","IfMatch":"*""#),
        ])),
        Just(format!(r#"{{"ID":"{}"}}"#, uuid::Uuid::new_v4())),
    ];
    (whole, any::<Index>(), 0..4_usize, vec(any::<u8>(), 0..4)).prop_map(
        |(whole, at, removed, inserted)| {
            let mut bytes = whole.into_bytes();
            let at = at.index(bytes.len());
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, inserted);
            bytes
        },
    )
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..64),
        vec(select(&PIECES[..]), 0..24).prop_map(|pieces| pieces.concat().into_bytes()),
        damaged(),
    ]
}

/// `Err` on a server error. The client already checks the answer against the document.
async fn is_no_server_error(
    client: &Client,
    path: &str,
    body: Vec<u8>,
) -> Result<(), TestCaseError> {
    let answer = client.post(path, body).await;
    if answer.status.is_server_error() {
        return Err(TestCaseError::fail(format!("{answer:?}")));
    }
    Ok(())
}

#[test]
fn arbitrary_bodies_get_documented_answers() {
    let runtime = Runtime::new().unwrap();
    let service = runtime.block_on(Service::with(&[]));
    let client = runtime.block_on(service.client());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let cases = (select(&PATHS[..]), body());
    let outcome = runner
        .run(&cases, |(path, body)| runtime.block_on(is_no_server_error(&client, path, body)));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let _ = runtime.block_on(client.fetch("/ready")).expect(200);
}
