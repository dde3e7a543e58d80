//! The published tests of the Durable Streams protocol, as far as they read. `tests/conformance` has a
//! server that makes their streams from objects.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, process::Stdio, time::Duration};

use blackbox::{objstore::Service, process, project::root};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    process::Command,
    time::{sleep, timeout},
};

/// The sections of the protocol's tests that read.
const SECTIONS: [&str; 17] = [
    "Append Operations",
    "Basic Stream Operations",
    "Browser Security Headers",
    "Caching and ETag",
    "Case-Insensitivity",
    "Chunking and Large Payloads",
    "HEAD Metadata",
    "HEAD Metadata Edge Cases",
    "HTTP Protocol",
    "JSON Mode",
    "Long-Poll Edge Cases",
    "Long-Poll Operations",
    "Offset Validation and Resumability",
    "Protocol Edge Cases",
    "Read Operations",
    "Read-Your-Writes Consistency",
    "SSE Mode",
];

/// Tests that fail, with the reason.
const LEFT_OUT: [(&str, &[&str]); 5] = [
    (
        "the server for tests has no Stream-Seq, TTL, or CORS, and compares types exactly",
        &[
            "should enforce sequence ordering with seq",
            "should enforce sequence ordering",
            "should enforce lexicographic seq ordering (\"2\" then \"10\" rejects)",
            "should reject duplicate seq values",
            "should enforce case-sensitive seq ordering",
            "should allow idempotent create with different case content-type",
            "should return TTL metadata if configured",
            "should allow If-None-Match in CORS preflight responses",
        ],
    ),
    (
        "streams are not forked",
        &["should fork a JSON stream", "should read forked JSON across boundary"],
    ),
    (
        "messages are JSON, so nothing is encoded as base64",
        &[
            "base64 SSE catch-up pairs every data event with a control event",
            "should auto-detect binary streams and return base64 encoded data in SSE mode",
            "should include Stream-SSE-Data-Encoding header for binary streams",
            "should base64 encode data events only, control events remain JSON",
            "should handle empty binary payload with auto-detected base64 encoding",
            "should handle large binary payload with auto-detected base64 encoding",
            "should handle binary data with special bytes using auto-detected base64 encoding",
            "should auto-detect base64 encoding for application/x-protobuf streams",
            "should auto-detect base64 encoding for image/png streams",
            "should handle offset=now with auto-detected base64 encoding for binary streams",
        ],
    ),
    (
        "an unknown parameter is a typing error: see docs/decisions/objstore-svc.md",
        &["should ignore unknown query parameters"],
    ),
    (
        "no-store says more than no-cache",
        &["should have correct SSE headers (no Content-Length, proper Cache-Control)"],
    ),
];

#[tokio::test]
async fn streams_pass_the_published_tests_of_the_protocol() {
    let service = Service::with(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let modules = root().join("target/tools/streams/node_modules");
    assert!(modules.exists(), "install them with: scripts/install test");
    symlink(&modules, folder.path().join("node_modules")).unwrap();
    for file in ["front.mjs", "protocol.test.mjs"] {
        fs::copy(root().join("tests/conformance").join(file), folder.path().join(file)).unwrap();
    }

    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut front = Command::new("node");
    front.current_dir(folder.path()).args(["front.mjs", &port.to_string(), service.url()]);
    let _front = front.kill_on_drop(true).spawn().unwrap();
    let listening = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(process::DEADLINE, listening).await.unwrap();

    let mut tests = Command::new("node");
    tests.current_dir(folder.path()).env("FRONT_URL", format!("http://127.0.0.1:{port}"));
    tests.arg(modules.join("vitest/vitest.mjs")).args(["run", "protocol.test.mjs"]);
    tests.args(["--reporter=json", "--outputFile=result.json", "--testTimeout=60000", "--retry=2"]);
    tests
        .args(["-t", &format!("^(.* )?({}) ", SECTIONS.join("|"))])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = tests.kill_on_drop(true).status().await.unwrap();

    let result = fs::read_to_string(folder.path().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let files = result["testResults"].as_array().unwrap();
    let all = || files.iter().flat_map(|file| file["assertionResults"].as_array().unwrap());
    let of = |status: &'static str| all().filter(move |test| test["status"] == status);
    let failed: BTreeSet<_> = of("failed").map(|test| test["title"].as_str().unwrap()).collect();
    let expected: BTreeSet<_> =
        LEFT_OUT.iter().flat_map(|(_, titles)| titles.iter().copied()).collect();
    assert_eq!(failed, expected);
    assert!(of("passed").count() > 110, "{} passed", of("passed").count());
}
