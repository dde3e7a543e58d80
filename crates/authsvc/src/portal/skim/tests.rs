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
    skimmer.finish().map(|members| shown(&members))
}

/// The members in the order of their names, as sent.
fn shown(members: &Members) -> String {
    let members = members.iter().map(|(name, member)| match member {
        Member::Value(value) => format!("{name}={}", value.escape_ascii()),
        Member::Object(members) => format!("{name}={{{}}}", shown(members)),
    });
    members.collect::<Vec<_>>().join(" ")
}

#[test]
fn only_needed_members_are_kept() {
    for (text, kept) in [
        ("{}", ""),
        (" {\n} ", ""),
        (r#"{"a": 1, "x": 2, "e" : nul }"#, "a=1 e=nul"),
        (r#"{"x":{"a":1},"b":{"x":"}","c":5,"d":null}}"#, "b={c=5 d=null}"),
        (r#"{"a":[3, {"c": 4}],"b":[{"c":1}],"e":{"a":[]}}"#, "a=[ b=[ e={"),
        (r#"{"b":{"x":1},"a":true}"#, "a=true b={}"),
        (r#"{"\u0061":1,"\ud800":2,"a\"":3}"#, "a=1"),
        (r#"{"a":1,"a":2,"b":{"c":1},"b":{"d":1},"e":[],"e":""}"#, r#"a=2 b={d=1} e=\"\""#),
    ] {
        assert_eq!(skim(text).as_deref(), Ok(kept), "{text}");
    }
}

#[test]
fn values_need_not_be_valid() {
    for value in [
        &br#""\ud83d""#[..],
        b"\"a\tb\n\"",
        b"\"\xc9\"",
        b"\xc9",
        br#""\q\"]}""#,
        b"1e999",
        b"-",
        b"nil",
        b"[nil,{\"\xff\":-}]",
    ] {
        let text = |key: &str| [b"{\"", key.as_bytes(), b"\":", value, b",\"e\":1}"].concat();
        assert_eq!(skim(text("x")).as_deref(), Ok("e=1"), "{}", value.escape_ascii());
        let kept = if value[0] == b'[' { &value[..1] } else { value };
        let kept = format!("a={} e=1", kept.escape_ascii());
        assert_eq!(skim(text("a")), Ok(kept));
    }
}

#[test]
fn nesting_has_a_limit() {
    for key in ["x", "a", "b"] {
        let nested = |levels: usize| {
            let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
            format!("{{\"{key}\":{open}{close},\"e\":1}}")
        };
        assert!(skim(nested(MAX_DEPTH)).is_ok());
        assert_eq!(skim(nested(MAX_DEPTH + 1)), Err(Unreadable::TooDeep));
    }
}

#[test]
fn a_byte_order_mark_before_the_text_is_ignored() {
    for good in ["\u{feff}{\"a\":1}", "\u{feff} \n{\"a\":1}"] {
        let needed = needed();
        let mut skimmer = Skimmer::new(&needed);
        for byte in good.as_bytes() {
            skimmer.push(&[*byte]).unwrap();
        }
        assert_eq!(shown(&skimmer.finish().unwrap()), "a=1");
    }
    for bad in ["\u{feff}", "\u{feff}\u{feff}{}", " \u{feff}{}", "{}\u{feff}", "{\u{feff}}"] {
        assert_eq!(skim(bad), Err(Unreadable::NotAnObject), "{bad:?}");
    }
    for bad in [&b"\xef\xbb{}"[..], b"\xef{}", b"\xef\xbb \xbf{}", b"\xbb\xbf{}", b"\xfe\xff{}"] {
        assert_eq!(skim(bad), Err(Unreadable::NotAnObject));
    }
}

#[test]
fn texts_that_are_no_object_are_unreadable() {
    let wrong = r#"SUCCESS|null|[]|"{}"|{|}|{}{}|{} x|{},|{}]|{,}|{"a"}|{"a":}|{"a":1|{"a":1,}|{"a":1]|{"a" 1}"#;
    let more = r#"| |{"a":1 2}|{a:1}|{"a":"}|{"b":{"c":1}|{"x":[}|{"a"::1}|{"a":,"e":1}"#;
    for text in wrong.split('|').chain(more.split('|')) {
        assert_eq!(skim(text), Err(Unreadable::NotAnObject), "{text}");
    }
    for value in
        r#"[}|{]|[1,]|[,1]|{"c":1,}|{c:1}|{"c"}|nil"l"|1"|a[]|a{}|{"c":1]|[1:2]|""x"#.split('|')
    {
        for key in ["x", "a", "b"] {
            let text = format!("{{\"{key}\":{value},\"e\":1}}");
            assert_eq!(skim(&text), Err(Unreadable::NotAnObject), "{text}");
        }
    }
}

#[test]
fn kept_members_have_a_limit() {
    let long = |key: &str, length: usize| format!("{{\"{key}\":\"{}\"}}", "x".repeat(length));
    assert_eq!(skim(long("x", 100 * MAX_KEPT)).as_deref(), Ok(""));
    assert!(skim(long("a", MAX_KEPT - 2)).is_ok());
    assert_eq!(skim(long("a", MAX_KEPT - 1)), Err(Unreadable::TooMuchKept));
    let long_key = format!("{{\"{}\":1}}", "a".repeat(10 * MAX_KEY));
    assert_eq!(skim(long_key).as_deref(), Ok(""));
    let twice = format!("{{\"a\":\"{0}\",\"a\":\"{0}\"}}", "x".repeat(MAX_KEPT / 2));
    assert_eq!(skim(twice), Err(Unreadable::TooMuchKept));
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

/// The members that a skimmer should keep, with `null` for those that no reader wants.
fn select(object: &Map<String, Value>, needed: &[Needed]) -> Value {
    let kept = needed.iter().filter_map(|Needed { name, members }| {
        let kept = match object.get(*name)? {
            Value::Object(value) if !members.is_empty() => select(value, members),
            Value::Object(_) | Value::Array(_) => Value::Null,
            value => value.clone(),
        };
        Some(((*name).to_owned(), kept))
    });
    Value::Object(kept.collect())
}

/// Kept members, with `null` for those that cannot be parsed.
fn parsed(members: Members) -> Value {
    let members = members.into_iter().map(|(name, member)| match member {
        Member::Value(value) => {
            (name.to_owned(), serde_json::from_slice(&value).unwrap_or_default())
        }
        Member::Object(members) => (name.to_owned(), parsed(members)),
    });
    Value::Object(members.collect())
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
                prop_assert_eq!(kept.map(parsed), Ok(select(object, &needed)));
            }
            _ => prop_assert_eq!(kept.map(parsed), Err(Unreadable::NotAnObject)),
        }
    }

    #[test]
    fn a_value_ends_at_the_same_byte_whether_it_is_kept_or_not(
        value in prop::collection::vec(prop::sample::select(&b"\"\\{}[]:,ct1 \x01\xc9"[..]), 0..24),
    ) {
        let of_e = |key: &str| {
            let text = [b"{\"", key.as_bytes(), b"\":", &*value, b",\"e\":7}"].concat();
            let needed = needed();
            let mut skimmer = Skimmer::new(&needed);
            let kept = skimmer.push(&text).and_then(|()| skimmer.finish());
            kept.map(|mut kept| kept.remove("e").map(|e| shown(&[("e", e)].into())))
        };
        let skipped = of_e("x");
        prop_assert_eq!(&of_e("a"), &skipped);
        prop_assert_eq!(&of_e("b"), &skipped);
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
