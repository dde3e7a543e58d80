//! The binary and its control interface.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use demo_portal::{Counters, Outcome, Received};
use reqwest::{Client, Response};
use rustls::client::Resumption;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{builder, login};

const BINARY: &str = env!("CARGO_BIN_EXE_demo-portal");

/// A running binary, which is killed when dropped.
struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
    listening: Value,
    shown: String,
    folder: TempDir,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        let mut child = Command::new(BINARY)
            .args(["--port", "0", "--log-format", "json", "--rust-log", "debug", "--ca-file"])
            .arg(ca_file)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut shown = String::new();
        let listening = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "{shown}");
            shown.push_str(&line);
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["message"] == "listening" {
                break line;
            }
        };
        Self { child, output, listening, shown, folder }
    }

    fn port(&self) -> &str {
        self.listening["server.address"].as_str().unwrap().rsplit_once(':').unwrap().1
    }

    async fn login(&self, username: &str) -> Response {
        let ca_pem = fs::read_to_string(self.folder.path().join("ca.pem")).unwrap();
        let client = builder(&ca_pem, Resumption::disabled()).build().unwrap();
        login(&client, &format!("https://localhost:{}", self.port()), username, "s3cret")
            .await
            .unwrap()
    }

    fn healthcheck(&self, ca_file: &str) -> bool {
        let mut check = Command::new(BINARY);
        check.args(["healthcheck", "--port", self.port(), "--ca-file", ca_file]);
        check.stderr(Stdio::null()).status().unwrap().success()
    }

    /// Stops the binary with SIGTERM and returns its log.
    fn stop(mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.output.read_to_string(&mut self.shown).unwrap();
        assert!(self.child.wait().unwrap().success());
        std::mem::take(&mut self.shown)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has ended, as it has unless the test failed.
        let _ = self.child.kill();
    }
}

#[tokio::test]
async fn the_binary_serves_and_logs_no_received_password() {
    let process = Process::start(&["--delay", "1ms"]);
    assert!(process.shown.contains("\"password\":\"demo-asha\""));
    assert!(process.healthcheck(process.folder.path().join("ca.pem").to_str().unwrap()));
    assert!(!process.healthcheck("missing.pem"));
    assert_eq!(process.login("QLV1UG23CS217").await.status(), 401);
    assert!(process.listening.get("control.address").is_none());
    let shown = process.stop();
    assert!(shown.contains("call received") && shown.contains("\"stopped\""), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn the_control_interface_offers_the_functions_of_the_desk() {
    let process = Process::start(&["--control-port", "0"]);
    let base = format!("http://{}", process.listening["control.address"].as_str().unwrap());
    let client = Client::builder().no_proxy().tls_backend_preconfigured(tls()).build().unwrap();
    let put = async |path: &str, body: Value| {
        client.put(format!("{base}{path}")).json(&body).send().await.unwrap().status().as_u16()
    };
    assert_eq!(put("/_students/zoe%40x", json!({ "password": "s3cret", "info": {} })).await, 204);
    assert_eq!(process.login("zoe@x").await.status(), 200);
    let script = json!({ "next": [{ "delay_ms": 1, "answer": { "status": 503, "body": { "text": "no" } } }] });
    assert_eq!(put("/_script/zoe%40x", json!({ "login": script })).await, 204);
    assert_eq!(process.login("zoe@x").await.status(), 503);
    assert_eq!(process.login("zoe@x").await.status(), 200);
    assert_eq!(put("/_tls", json!({ "next": ["valid"], "then": null })).await, 204);
    for wrong in
        [json!({ "logon": {} }), json!({ "login": { "then": { "delivery": "fast" } } }), json!(1)]
    {
        assert_eq!(put("/_script/zoe", wrong).await, 422);
    }

    let get = async |path: &str| client.get(format!("{base}{path}")).send().await.unwrap();
    let received: Vec<Received> = get("/_received/zoe%40x").await.json().await.unwrap();
    assert_eq!((received.len(), received[0].field("password")), (3, Some("s3cret")));
    assert!(received.iter().all(|call| call.outcome == Outcome::Answered));
    let counters: Counters = get("/_counters").await.json().await.unwrap();
    assert_eq!((counters.connections, counters.failed_handshakes), (3, 0));
    assert!(!process.stop().contains("s3cret"));
}

/// reqwest requires a TLS configuration, even for plain HTTP.
fn tls() -> rustls::ClientConfig {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}
