//! The rules for key parts and owners.

use std::slice::from_ref;

use blackbox::objstore::{Key, Object, Service, unique};

/// A fresh key with one part replaced: 0 is the type, 1 the namespace, 2 the name.
fn with_part(part: usize, text: &str) -> Key {
    let mut key = Key::fresh();
    *[&mut key.r#type, &mut key.namespace, &mut key.name][part] = text.to_owned();
    key
}

#[tokio::test]
async fn a_key_part_has_1_to_512_bytes() {
    let service = Service::any().await;
    let client = service.client().await;
    for part in 0..3 {
        for text in ["x".to_owned(), "x".repeat(512), "é".repeat(256), "😀".repeat(128)] {
            let object = Object::new(&with_part(part, &text), "{}");
            client.set(&object).await;
            assert_eq!(client.get(&object.key).await, object);
            assert_eq!(client.find(&object.key).await, from_ref(&object));
            client.watch(&object.key).await;
            client.unwatch(&object.key).await;
            client.delete(&object.key).await;
        }
    }
}

#[tokio::test]
async fn an_oversized_key_part_or_one_with_u0000_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    for part in 0..3 {
        for text in
            ["x".repeat(513), format!("{}é", "x".repeat(511)), "a\0b".to_owned(), "\0".to_owned()]
        {
            let body = Object::new(&with_part(part, &text), "{}").body();
            for path in ["/get", "/set", "/find", "/delete", "/watch", "/unwatch"] {
                client.post(path, body.clone()).await.refused(400, "invalid_body");
            }
        }
    }
}

#[tokio::test]
async fn empty_key_parts_are_rejected_by_set_get_and_delete() {
    let service = Service::any().await;
    let client = service.client().await;
    for part in 0..3 {
        let object = Object::new(&with_part(part, ""), "{}");
        client.post("/set", object.body()).await.refused(400, "invalid_body");
        client.post("/get", object.body()).await.refused(422, "object_not_found");
        client.post("/delete", object.body()).await.refused(422, "object_not_found");
    }
    let nothing = Key::new("", "", "").body();
    client.post("/get", nothing.clone()).await.refused(422, "object_not_found");
    client.post("/delete", nothing).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn an_owner_has_1_to_1024_bytes_without_u0000() {
    let service = Service::any().await;
    let client = service.client().await;
    for owner in ["o".to_owned(), "o".repeat(1024), "é".repeat(512), " ".to_owned()] {
        let object = Object { owner, ..Object::fresh() };
        client.set(&object).await;
        assert_eq!(client.get(&object.key).await, object);
    }
    for owner in
        [String::new(), "o".repeat(1025), format!("{}é", "o".repeat(1023)), "a\0".to_owned()]
    {
        let object = Object { owner, ..Object::fresh() };
        client.post("/set", object.body()).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn keys_are_compared_byte_by_byte() {
    let service = Service::any().await;
    let client = service.client().await;
    let (r#type, namespace) = (unique("type"), unique("namespace"));
    let names = [
        "name",
        "Name",
        "NAME",
        " name",
        "name ",
        "kin\u{e9}",
        "name\u{301}",
        "kin\u{65}\u{301}",
        "n/ame",
        "n\tame",
        "kin%65",
        "*",
        "%",
        "_",
        "?",
        "name*",
        "\\",
        "\"",
        "'",
        "\u{7f}",
        "\u{1}",
        "\u{feff}name",
        "\u{fffd}",
        "\u{10ffff}",
        "null",
    ];
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    for (number, name) in names.iter().enumerate() {
        client
            .set(&Object::new(&Key::new(&r#type, &namespace, name), format!(r#"{{"n":{number}}}"#)))
            .await;
    }
    assert_eq!(client.find(&Key::new(&r#type, &namespace, "")).await.len(), distinct.len());
    for name in names {
        let key = Key::new(&r#type, &namespace, name);
        let found = client.find(&key).await;
        assert_eq!(found.len(), 1, "{key:?}");
        assert_eq!(found[0], client.get(&key).await);
        assert_eq!(found[0].key, key);
    }
}

#[tokio::test]
async fn key_parts_are_not_concatenated() {
    let service = Service::any().await;
    let client = service.client().await;
    let (a, b) = (unique("a"), unique("b"));
    let left = Object::new(&Key::new(&format!("{a}/{b}"), "x", "y"), r#"{"left":1}"#);
    let right = Object::new(&Key::new(&a, &format!("{b}/x"), "y"), r#"{"right":1}"#);
    client.set(&left).await;
    client.set(&right).await;
    assert_eq!(client.get(&left.key).await, left);
    assert_eq!(client.get(&right.key).await, right);
    let swapped = Key::new(&left.key.namespace, &left.key.r#type, &left.key.name);
    client.post("/get", swapped.body()).await.refused(422, "object_not_found");
}
