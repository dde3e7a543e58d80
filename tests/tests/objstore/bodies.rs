//! Bodies that are decoded, and bodies that are rejected with 400.

use blackbox::objstore::{Client, Object, Service};
use reqwest::Method;
use uuid::Uuid;

/// The endpoints that take an object.
const OBJECTS: [&str; 6] = ["/get", "/set", "/find", "/delete", "/watch", "/unwatch"];

/// The endpoints that use only the key of their object.
const SELECTORS: [&str; 5] = ["/get", "/find", "/delete", "/watch", "/unwatch"];

/// Every endpoint that takes a body, each with a valid one.
fn valid() -> Vec<(&'static str, String)> {
    let registration = ("/register", format!(r#"{{"ID":"{}"}}"#, Uuid::new_v4()));
    let object = Object::fresh().body();
    let objects = OBJECTS.map(|path| (path, object.clone()));
    [registration].into_iter().chain(objects).collect()
}

/// Checks that the body is decoded. The request itself may still fail, because no object exists.
async fn is_decoded(client: &Client, path: &str, body: &str) {
    let answer = client.post(path, body).await;
    let statuses =
        if path == "/get" || path == "/delete" { [200, 204, 422] } else { [200, 204, 204] };
    assert!(statuses.contains(&answer.status.as_u16()), "{answer:?}");
}

#[tokio::test]
async fn a_body_with_invalid_json_or_wrong_members_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    for (path, body) in valid() {
        let open = body.strip_suffix('}').unwrap();
        for (label, body) in [
            ("nothing", String::new()),
            ("white space", " \r\n\t".to_owned()),
            ("a word", "object".to_owned()),
            ("null", "null".to_owned()),
            ("a number", "1".to_owned()),
            ("a string", r#""object""#.to_owned()),
            ("no members", "{}".to_owned()),
            ("no items", "[]".to_owned()),
            ("the object in an array", format!("[{body}]")),
            ("cut off", open.to_owned()),
            ("followed by a letter", format!("{body}x")),
            ("followed by a bracket", format!("{body}}}")),
            ("twice", format!("{body}{body}")),
            ("with a comma at the end", format!("{open},}}")),
            ("with an unknown member", format!(r#"{open},"Extra":1}}"#)),
            ("with an unknown member of no name", format!(r#"{open},"":null}}"#)),
            ("with a comment", format!("/**/{body}")),
            ("after a byte order mark", format!("\u{feff}{body}")),
            ("in single quotes", body.replace('"', "'")),
            ("in lower case", body.replace("Key", "key").replace("ID", "id")),
            ("with a line break in a name", body.replace("Key", "Key\n").replace("ID", "ID\n")),
            ("as a form", "Key=a&ID=b".to_owned()),
        ] {
            println!("{path}: {label}");
            client.post(path, body).await.refused(400, "invalid_body");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_utf8_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    for (path, body) in valid() {
        for (label, bytes) in [
            ("a byte of no letter", &b"\xff"[..]),
            ("a letter cut off", b"\xc3"),
            ("a surrogate", b"\xed\xa0\x80"),
            ("an overlong letter", b"\xc0\xaf"),
        ] {
            println!("{path}: {label}");
            let at = body.rfind("\"}").unwrap();
            let damaged = [&body.as_bytes()[..at], bytes, &body.as_bytes()[at..]].concat();
            client.post(path, damaged).await.refused(400, "invalid_body");
        }
        println!("{path}: UTF-16");
        let wide: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
        client.post(path, wide).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn white_space_around_and_within_a_body_is_allowed() {
    let service = Service::any().await;
    let client = service.client().await;
    for (path, body) in valid() {
        let spaced = body.replace(':', " :\t").replace("{\"", "{\r\n \"").replace('}', " }");
        is_decoded(&client, path, &format!(" \n{spaced}\r\n\t ")).await;
    }
}

#[tokio::test]
async fn member_names_may_be_escaped_and_come_in_any_order() {
    let service = Service::any().await;
    let client = service.client().await;
    for path in OBJECTS {
        let body = r#"{"Owner":"o","\u0056alue":{},"\u004bey":{"Name":"n","Typ\u0065":"t","Namespace":"s"}}"#;
        is_decoded(&client, path, body).await;
    }
    let id = Uuid::new_v4();
    is_decoded(&client, "/register", &format!(r#"{{"\u0049D":"{id}"}}"#)).await;
}

#[tokio::test]
async fn a_missing_incomplete_or_mistyped_key_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    for path in OBJECTS {
        for (label, key) in [
            ("missing", ""),
            ("null", r#""Key":null,"#),
            ("a string", r#""Key":"t/s/n","#),
            ("an array", r#""Key":["t","s","n"],"#),
            ("empty", r#""Key":{},"#),
            ("without Type", r#""Key":{"Namespace":"s","Name":"n"},"#),
            ("without Namespace", r#""Key":{"Type":"t","Name":"n"},"#),
            ("without Name", r#""Key":{"Type":"t","Namespace":"s"},"#),
            ("with a null part", r#""Key":{"Type":null,"Namespace":"s","Name":"n"},"#),
            ("with a number", r#""Key":{"Type":"t","Namespace":1,"Name":"n"},"#),
            ("with a boolean", r#""Key":{"Type":"t","Namespace":"s","Name":true},"#),
            ("with an array", r#""Key":{"Type":["t"],"Namespace":"s","Name":"n"},"#),
            (
                "with a fourth part",
                r#""Key":{"Type":"t","Namespace":"s","Name":"n","Version":"1"},"#,
            ),
            ("with a part twice", r#""Key":{"Type":"t","Namespace":"s","Name":"n","Name":"n"},"#),
            ("with a part in lower case", r#""Key":{"type":"t","Namespace":"s","Name":"n"},"#),
            (
                "there twice",
                r#""Key":{"Type":"t","Namespace":"s","Name":"n"},"Key":{"Type":"t","Namespace":"s","Name":"n"},"#,
            ),
            (
                "there twice, once escaped",
                r#""Key":{"Type":"t","Namespace":"s","Name":"n"},"\u004bey":{"Type":"t","Namespace":"s","Name":"n"},"#,
            ),
        ] {
            println!("{path}: {label}");
            let body = format!(r#"{{{key}"Value":{{}},"Owner":"o"}}"#);
            client.post(path, body).await.refused(400, "invalid_body");
        }
    }
}

#[tokio::test]
async fn an_array_in_place_of_an_object_is_400() {
    let service = Service::any().await;
    let client = service.client().await;
    for path in OBJECTS {
        for body in [
            r#"[{"Type":"t","Namespace":"s","Name":"n"},{},"o"]"#,
            r#"[["t","s","n"],{},"o"]"#,
            r#"[["t","s","n"]]"#,
            r#"{"Key":["t","s","n"],"Value":{},"Owner":"o"}"#,
        ] {
            client.post(path, body).await.refused(400, "invalid_body");
        }
    }
    let body = format!(r#"["{}"]"#, Uuid::new_v4());
    client.post("/register", body).await.refused(400, "invalid_body");
}

#[tokio::test]
async fn set_needs_an_object_value_and_a_string_owner() {
    let service = Service::any().await;
    let client = service.client().await;
    for (label, members) in [
        ("no Value", r#""Owner":"o""#),
        ("Value null", r#""Value":null,"Owner":"o""#),
        ("Value a string", r#""Value":"{}","Owner":"o""#),
        ("Value an array", r#""Value":[{}],"Owner":"o""#),
        ("Value a number", r#""Value":1,"Owner":"o""#),
        ("Value a boolean", r#""Value":true,"Owner":"o""#),
        ("Value twice", r#""Value":{},"Value":{},"Owner":"o""#),
        ("Value broken", r#""Value":{"a":},"Owner":"o""#),
        ("Value with a number of two points", r#""Value":{"a":1.0.0},"Owner":"o""#),
        ("Value with a number that begins with 0", r#""Value":{"a":01},"Owner":"o""#),
        ("Value with a number without digits", r#""Value":{"a":-},"Owner":"o""#),
        ("Value with infinity", r#""Value":{"a":Infinity},"Owner":"o""#),
        ("Value with an unknown escape", r#""Value":{"a":"\x41"},"Owner":"o""#),
        ("Value with a short escape", r#""Value":{"a":"\u41"},"Owner":"o""#),
        ("Value with a tab in a string", "\"Value\":{\"a\":\"\t\"},\"Owner\":\"o\""),
        ("Value with a number for a name", r#""Value":{1:1},"Owner":"o""#),
        ("no Owner", r#""Value":{}"#),
        ("Owner null", r#""Value":{},"Owner":null"#),
        ("Owner a number", r#""Value":{},"Owner":7"#),
        ("Owner an object", r#""Value":{},"Owner":{}"#),
        ("Owner twice", r#""Value":{},"Owner":"o","Owner":"o""#),
    ] {
        println!("{label}");
        let body = format!(r#"{{"Key":{{"Type":"t","Namespace":"s","Name":"n"}},{members}}}"#);
        client.post("/set", body).await.refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn every_endpoint_but_set_ignores_value_and_owner() {
    let service = Service::any().await;
    let client = service.client().await;
    let long = format!(r#","Owner":"{}""#, "o".repeat(5000));
    for path in SELECTORS {
        for members in [
            "",
            r#","Value":null,"Owner":null"#,
            r#","Value":{},"Owner":"""#,
            r#","Value":[1,{"a":1,"a":2}],"Owner":{"a":[]}"#,
            r#","Value":1e400,"Owner":-0.0"#,
            r#","Value":"\u0000","Owner":"\u0000""#,
            r#","Owner":false"#,
            &long,
        ] {
            let body = Object::fresh().key.body();
            is_decoded(&client, path, &format!("{}{members}}}", body.strip_suffix('}').unwrap()))
                .await;
        }
    }
}

#[tokio::test]
async fn a_body_needs_a_json_content_type_or_none() {
    let service = Service::any().await;
    let client = service.client().await;
    for (path, body) in valid() {
        let request = client.request(Method::POST, path).body(body.clone());
        assert!(request.send().await.status != 400, "{path} without a type");
        for media in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=UTF-8",
            "application/json ; odata=verbose",
        ] {
            println!("{path}: {media}");
            let request = client.request(Method::POST, path).header("content-type", media);
            assert_ne!(request.body(body.clone()).send().await.status, 400);
        }
        for media in [
            "text/plain",
            "text/json",
            "application/jsonp",
            "application/problem+json",
            "application/x-www-form-urlencoded",
            "application",
            "*/*",
            "json",
        ] {
            println!("{path}: {media}");
            let request = client.request(Method::POST, path).header("content-type", media);
            request.body(body.clone()).send().await.refused(400, "invalid_content_type");
        }
    }
}
