//! The worked example of docs/acquirer-protocol.md: its code signs its own request and answer.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use blackbox::{acquirer, page, payments::signature};
use serde_json::{Value, json};

const PAGE: &str = "docs/acquirer-protocol.md";
const SECRET: &str = "whsec_test";
const SIGNATURE: &str = "Acquirer-Signature: ";

/// Runs the functions of the page on the values in standard input.
const DRIVER: &str = r#"
import json, sys
it = json.load(sys.stdin)
signed, path, key, body = it["signature"], it["path"], it["key"], it["body"]
for secret, text, now in [("whsec_test", body, 0), ("whsec_test", body + " ", 0), ("other", body, 0),
                          ("whsec_test", body, 300), ("whsec_test", body, 301), ("whsec_test", body, -301)]:
    print(is_genuine(secret, signed, "POST", path, key, text, it["time"] + now))
print(answer_header("whsec_test", signed, 200, it["answer"], it["time"] + 1))
"#;

/// The head and the body of an HTTP message.
fn parts(message: &str) -> (&str, &str) {
    let (head, body) = message.split_once("\n\n").unwrap();
    (head, body.trim_end())
}

/// The value of a line of the head.
fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines().find_map(|line| line.strip_prefix(name)).unwrap()
}

#[test]
fn the_code_of_the_protocol_verifies_and_signs_its_example() {
    let pages = page::pages();
    let page = pages.iter().find(|page| page.path == PAGE).unwrap();
    let [request, answer] = page.blocks_of(&["http"]).collect::<Vec<_>>()[..] else {
        panic!("{PAGE} must have one request and one answer");
    };
    let ((request, body), (answer, outcome)) = (parts(request), parts(answer));
    let (path, key) = ("/captures", header(request, "Idempotency-Key: "));
    assert!(request.starts_with(&format!("POST {path} HTTP/1.1\n")));
    let signed = header(request, SIGNATURE);
    let time: i64 = signed[2..].split(',').next().unwrap().parse().unwrap();
    assert_eq!(signed, signature(SECRET, time, &format!("POST.{path}.{key}.{body}")));
    let (_, tag) = signed.split_once("v1=").unwrap();
    let signed_answer = signature(SECRET, time + 1, &format!("200.{tag}.{outcome}"));
    assert_eq!(header(answer, SIGNATURE), signed_answer);
    acquirer::DOCUMENT.check_text("/components/schemas/Movement", body);
    acquirer::DOCUMENT.check_text("/components/schemas/Done", outcome);

    let code: String = page.blocks_of(&["python"]).collect();
    assert!(code.lines().count() <= 15, "{code}");
    let values = json!({
        "signature": signed, "path": path, "key": key, "body": body, "answer": outcome, "time": time,
    });
    let printed = run(&format!("{code}{DRIVER}"), &values);
    let verified = ["True", "False", "False", "True", "False", "False"];
    assert_eq!(printed.lines().collect::<Vec<_>>(), [&verified[..], &[&signed_answer]].concat());
}

#[test]
fn the_examples_of_the_protocol_satisfy_their_schemas() {
    let pages = page::pages();
    let page = pages.iter().find(|page| page.path == PAGE).unwrap();
    let schemas = ["Approved", "OperationRefused", "Facts"];
    for (schema, example) in schemas.iter().zip(page.blocks_of(&["json"])) {
        acquirer::DOCUMENT.check_text(&format!("/components/schemas/{schema}"), example);
    }
    assert_eq!(page.blocks_of(&["json"]).count(), schemas.len());
}

/// The output of a Python program with these values as its input.
fn run(program: &str, input: &Value) -> String {
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}");
    String::from_utf8(output.stdout).unwrap()
}
