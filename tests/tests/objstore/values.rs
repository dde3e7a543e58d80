//! Values are returned as they were written.

use blackbox::objstore::{Client, Event, Key, Object, Service};

/// A label, the value as written, and the value as returned. Only white space between tokens may be
/// dropped.
const SPELLINGS: [(&str, &str, &str); 16] = [
    ("nothing", "{}", "{}"),
    (
        "numbers with trailing zeros",
        r#"{"a":1.0,"b":0.1000,"c":100}"#,
        r#"{"a":1.0,"b":0.1000,"c":100}"#,
    ),
    (
        "numbers beyond every float",
        r#"{"a":1e400,"b":-1E+400,"c":1e-999}"#,
        r#"{"a":1e400,"b":-1E+400,"c":1e-999}"#,
    ),
    ("minus zero", r#"{"a":-0,"b":-0.0,"c":0e0}"#, r#"{"a":-0,"b":-0.0,"c":0e0}"#),
    (
        "integers beyond 64 bits",
        r#"{"a":18446744073709551616,"b":123456789012345678901234567890}"#,
        r#"{"a":18446744073709551616,"b":123456789012345678901234567890}"#,
    ),
    (
        "more digits than a float has",
        r#"{"a":0.1234567890123456789012345}"#,
        r#"{"a":0.1234567890123456789012345}"#,
    ),
    ("the order of members", r#"{"z":1,"a":2,"M":3}"#, r#"{"z":1,"a":2,"M":3}"#),
    ("members of one name", r#"{"a":1,"a":2,"":0,"a":1}"#, r#"{"a":1,"a":2,"":0,"a":1}"#),
    ("a member in two spellings", r#"{"a":1,"\u0061":2}"#, r#"{"a":1,"\u0061":2}"#),
    (
        "escapes",
        r#"{"a":"\u0041\/\\\"\b\f\n\r\t\u000a\u00E9\u00e9\ud83d\ude00"}"#,
        r#"{"a":"\u0041\/\\\"\b\f\n\r\t\u000a\u00E9\u00e9\ud83d\ude00"}"#,
    ),
    ("letters as they are", "{\"é😀\":\"\u{7f}\u{2028}/é😀\"}", "{\"é😀\":\"\u{7f}\u{2028}/é😀\"}"),
    ("U+0000 in a value", r#"{"a\u0000":"\u0000"}"#, r#"{"a\u0000":"\u0000"}"#),
    (
        "words that look like members",
        r#"{"Key":null,"Value":[],"Owner":{}}"#,
        r#"{"Key":null,"Value":[],"Owner":{}}"#,
    ),
    (
        "white space between tokens",
        "{ \"a\" :\t[ 1 ,\r\n{ } , [ ] ] ,\n\"b\" : true }",
        r#"{"a":[1,{},[]],"b":true}"#,
    ),
    (
        "white space in strings",
        r#"{ "a b" : " { x : 1 ,  y } " }"#,
        r#"{"a b":" { x : 1 ,  y } "}"#,
    ),
    (
        "a quote before white space",
        r#"{ "a" : "\\\" " , "b" : "\\" }"#,
        r#"{"a":"\\\" ","b":"\\"}"#,
    ),
];

#[tokio::test]
async fn values_are_returned_as_written_except_white_space() {
    let service = Service::any().await;
    let client = service.client().await;
    for (label, written, returned) in SPELLINGS {
        println!("{label}");
        let object = Object::new(&Key::fresh(), written);
        let expected = Object::new(&object.key, returned);
        client.set(&object).await;
        assert_eq!(client.get(&object.key).await, expected);
        assert_eq!(client.find(&object.key).await, [expected]);
    }
}

#[tokio::test]
async fn values_are_pushed_as_written_except_white_space() {
    let service = Service::any().await;
    let client = service.client().await;
    let key = Key::fresh();
    client.watch(&key).await;
    let mut pushes = client.socket().await;
    let mut events = client.socket_with("?events=true").await;
    for (label, written, returned) in SPELLINGS {
        println!("{label}");
        client.set(&Object::new(&key, written)).await;
        let expected = Object::new(&key, returned);
        assert_eq!(pushes.next_push().await, expected);
        let Event::Set(_, object) = events.next_event().await else { panic!("no set") };
        assert_eq!(object, expected);
    }
}

#[tokio::test]
async fn a_value_keeps_its_spelling_through_a_restart() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let key = Key::fresh();
    for (label, written, _) in SPELLINGS {
        client.set(&Object::new(&key.named(label), written)).await;
    }
    let service = service.stop().await.start().await;
    for (label, _, returned) in SPELLINGS {
        let expected = Object::new(&key.named(label), returned);
        assert_eq!(client.at(&service).get(&expected.key).await, expected);
    }
}

async fn is_rejected(client: &Client, body: &str) {
    for path in ["/get", "/set", "/find", "/delete", "/watch", "/unwatch"] {
        client.post(path, body).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn a_lone_surrogate_escape_is_400_everywhere() {
    let service = Service::any().await;
    let client = service.client().await;
    for lone in [
        r"\ud800",
        r"\uDFFF",
        r"\udc00",
        r"\ud83dx",
        r"\ud83d\n",
        r"\ud83d\u0041",
        r"\ud83d\ud83d",
        r"\ude00\ud83d",
        r"\ud83d\ude00\ude00",
        r"\ud83d\\ude00",
        r"\\\ud83d",
    ] {
        println!("{lone}");
        let key = r#""Key":{"Type":"t","Namespace":"s","Name":"n"}"#;
        is_rejected(&client, &format!(r#"{{{key},"Value":{{"a":"{lone}"}},"Owner":"o"}}"#)).await;
        is_rejected(&client, &format!(r#"{{{key},"Value":{{"{lone}":1}},"Owner":"o"}}"#)).await;
        is_rejected(
            &client,
            &format!(r#"{{{key},"Value":{{"a":[[{{"b":"x{lone}"}}]]}},"Owner":"o"}}"#),
        )
        .await;
        is_rejected(&client, &format!(r#"{{{key},"Value":{{}},"Owner":"{lone}"}}"#)).await;
        let key = format!(r#""Key":{{"Type":"t","Namespace":"{lone}","Name":"n"}}"#);
        is_rejected(&client, &format!(r#"{{{key},"Value":{{}},"Owner":"o"}}"#)).await;
    }
}

#[tokio::test]
async fn escapes_that_resemble_lone_surrogates_are_accepted() {
    let service = Service::any().await;
    let client = service.client().await;
    for text in
        [r"\ud83d\ude00", r"\uD83D\uDE00", r"\\ud800", r"\\\\udc00", r"\ud7ff\ue000", "ud800"]
    {
        let object = Object::new(&Key::fresh(), format!(r#"{{"{text}":"{text}"}}"#));
        client.set(&object).await;
        assert_eq!(client.get(&object.key).await, object);
    }
    let key = Key::fresh();
    let escaped = format!(
        r#"{{"Key":{{"Type":"{}","Namespace":"{}","Name":"\ud83d\ude00"}},"Value":{{}},"Owner":"\u006f"}}"#,
        key.r#type, key.namespace
    );
    let _ = client.post("/set", escaped).await.expect(204);
    let object = client.get(&key.named("😀")).await;
    assert_eq!(object.owner, "o");
}
