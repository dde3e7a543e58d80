use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn needed() -> Vec<Needed> {
    vec![Needed::value("a"), Needed::object("b", ["c", "d"]), Needed::value("e")]
}

fn skim(text: impl AsRef<[u8]>) -> Result<String, Unreadable> {
    let needed = needed();
    let mut skimmer = Skimmer::new(&needed);
    skimmer.push(text.as_ref())?;
    Ok(String::from_utf8(skimmer.finish()?).unwrap())
}

#[test]
fn only_needed_members_are_kept() {
    for (text, kept) in [
        ("{}", "{}"),
        (" {\n} ", "{}"),
        (r#"{"a": 1, "x": 2, "e": [3, {"c": 4}]}"#, r#"{"a":1,"e":[3, {"c": 4}]}"#),
        (r#"{"x":{"a":1},"b":{"x":"}","c":"\"}","d":null}}"#, r#"{"b":{"c":"\"}","d":null}}"#),
        (r#"{"b":[{"c":1}]}"#, r#"{"b":[{"c":1}]}"#),
        (r#"{"b":{"x":1},"a":true}"#, r#"{"b":{},"a":true}"#),
        (r#"{"\u0061":1,"\ud800":2,"a\"":3}"#, r#"{"a":1}"#),
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
    ] {
        assert_eq!(skim(text).as_deref(), Ok(kept), "{text}");
    }
}

#[test]
fn members_that_are_not_kept_need_no_valid_values() {
    for text in [
        r#"{"photo":"\ud83d","a":1}"#,
        r#"{"photo":1e999,"a":1}"#,
        r#"{"x":[{"photo":"\ud83d\q"},-],"a":1}"#,
    ] {
        assert_eq!(skim(text).as_deref(), Ok(r#"{"a":1}"#), "{text}");
    }
    assert_eq!(skim(b"{\"x\":\"\xff\",\"a\":1}").as_deref(), Ok(r#"{"a":1}"#));
    let nested = |levels: usize| {
        format!("{{\"x\":{}{},\"a\":1}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
    };
    assert_eq!(skim(nested(MAX_DEPTH)).as_deref(), Ok(r#"{"a":1}"#));
    assert_eq!(skim(nested(MAX_DEPTH + 1)), Err(Unreadable::TooDeep));
}

#[test]
fn texts_that_are_no_object_are_unreadable() {
    let wrong =
        r#"SUCCESS|null|[]|"{}"|{|}|{}{}|{} x|{,}|{"a"}|{"a":}|{"a":1|{"a":1,}|{"a":1]|{"a" 1}"#;
    let more = r#"| |{"a":1 2}|{a:1}|{"a":"}|{"b":{"c":1}|{"x":[}|{"a"::1}|{"a":,"e":1}"#;
    for text in wrong.split('|').chain(more.split('|')) {
        assert_eq!(skim(text), Err(Unreadable::NotAnObject), "{text}");
    }
}

#[test]
fn kept_members_have_a_limit() {
    let long = |key: &str, length: usize| format!("{{\"{key}\":\"{}\"}}", "x".repeat(length));
    assert_eq!(skim(long("x", 100 * MAX_KEPT)).as_deref(), Ok("{}"));
    assert!(skim(long("a", MAX_KEPT - 8)).is_ok());
    assert_eq!(skim(long("a", MAX_KEPT)), Err(Unreadable::TooMuchKept));
    let long_key = format!("{{\"{}\":1}}", "a".repeat(10 * MAX_KEY));
    assert_eq!(skim(long_key).as_deref(), Ok("{}"));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
        ".{0,6}".prop_map(Value::from),
        "[\\\\\"{}:,]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![
            Just("a".to_owned()),
            Just("b".to_owned()),
            Just("c".to_owned()),
            Just("d".to_owned()),
            ".{0,3}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The members that a skimmer should keep.
fn select(object: &Map<String, Value>, needed: &[Needed]) -> Value {
    let kept = needed.iter().filter_map(|Needed { name, members }| {
        let kept = match object.get(*name)? {
            Value::Object(value) if !members.is_empty() => select(value, members),
            value => value.clone(),
        };
        Some(((*name).to_owned(), kept))
    });
    Value::Object(kept.collect())
}

proptest! {
    #[test]
    fn needed_members_are_kept_however_the_text_is_cut(
        value in values(),
        pretty in any::<bool>(),
        size in 1_usize..9,
    ) {
        let needed = needed();
        let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        let text = text.unwrap();
        let mut skimmer = Skimmer::new(&needed);
        let pushed = text.chunks(size).try_for_each(|chunk| skimmer.push(chunk));
        let kept = pushed.and_then(|()| skimmer.finish());
        match &value {
            Value::Object(object) => {
                let kept: Value = serde_json::from_slice(&kept.unwrap()).unwrap();
                prop_assert_eq!(kept, select(object, &needed));
            }
            _ => prop_assert_eq!(kept, Err(Unreadable::NotAnObject)),
        }
    }

    #[test]
    fn any_bytes_are_skimmed_or_unreadable(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let needed = needed();
        let mut skimmer = Skimmer::new(&needed);
        let _ = skimmer.push(&text).and_then(|()| skimmer.finish());
    }

    #[test]
    fn a_text_that_is_cut_off_is_unreadable(value in values(), cut in any::<prop::sample::Index>()) {
        let text = json!({ "a": value, "x": value }).to_string();
        prop_assert_eq!(skim(&text[..text.floor_char_boundary(cut.index(text.len()))]),
            Err(Unreadable::NotAnObject));
    }
}
