//! The program: its settings, its health check and its end.

use blackbox::{
    acquirer::{Acquirer, PROGRAM, SECRET, key},
    process,
};
use serde_json::json;

#[tokio::test]
async fn a_wrong_setting_ends_the_process_and_is_named() {
    for (name, value, expected) in [
        ("ACQUIRER_SECRET", "", "ACQUIRER_SECRET is not set"),
        ("ACQUIRER_SECRET_FILE", "missing", "ACQUIRER_SECRET and ACQUIRER_SECRET_FILE"),
        ("PORT", "70000", "PORT (--port)"),
        ("DEMO_ACQUIRER_CONTROL_PORT", "x", "DEMO_ACQUIRER_CONTROL_PORT (--control-port)"),
        ("DEMO_ACQUIRER_NAMES", "é", "DEMO_ACQUIRER_NAMES (--names)"),
        ("DEMO_ACQUIRER_CA_FILE", "/missing/ca.pem", "DEMO_ACQUIRER_CA_FILE (--ca-file)"),
        ("DEMO_ACQUIRER_URL", "bank", "DEMO_ACQUIRER_URL (--url)"),
        ("DEMO_ACQUIRER_EVENTS_URL", "/events", "DEMO_ACQUIRER_EVENTS_URL (--events-url)"),
        (
            "DEMO_ACQUIRER_EVENTS_CA_FILE",
            "missing",
            "DEMO_ACQUIRER_EVENTS_CA_FILE (--events-ca-file)",
        ),
        ("DEMO_ACQUIRER_SEED", "-1", "DEMO_ACQUIRER_SEED (--seed)"),
    ] {
        let mut command = process::command(PROGRAM, &[SECRET, ("PORT", "0")]);
        command.env("DEMO_ACQUIRER_CONTROL_PORT", "0").env(name, value);
        let line = process::failure_line(command).await;
        assert!(line.contains(expected), "{line}");
    }
}

#[tokio::test]
async fn a_port_in_use_ends_the_process() {
    let acquirer = Acquirer::start().await;
    let port = acquirer.port().to_string();
    let mut command = process::command(PROGRAM, &[SECRET, ("PORT", &port)]);
    command.env("DEMO_ACQUIRER_CONTROL_PORT", "0");
    let line = process::failure_line(command).await;
    assert!(line.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{line}");
}

#[tokio::test]
async fn the_health_check_trusts_only_the_ca_file() {
    let acquirer = Acquirer::start().await;
    let port = acquirer.port().to_string();
    let check = async |ca_file: &str| {
        let mut command = process::command(PROGRAM, &[("PORT", &port)]);
        command.env("DEMO_ACQUIRER_CA_FILE", ca_file).arg("healthcheck");
        process::run(command).await.status.success()
    };
    assert!(check(&acquirer.ca_file()).await);
    assert!(!check("").await);
    let another = Acquirer::start().await;
    assert!(!check(&another.ca_file()).await);
}

#[tokio::test]
async fn a_stop_waits_for_requests_in_flight() {
    let acquirer = Acquirer::with(&[("RUST_LOG", "demo_acquirer=debug,info")]).await;
    acquirer.delay(500).await;
    let asked = key();
    let asking = acquirer.ask(&asked);
    let stopping = async {
        acquirer.process().logged(|line| line.contains("request received")).await;
        acquirer.process().terminate().await;
    };
    let (answer, ()) = tokio::join!(asking, stopping);
    let _ = answer.expect(404);
    acquirer.into_process().ended().await;
}

#[tokio::test]
async fn the_control_interface_is_not_on_the_port_of_the_protocol() {
    let acquirer = Acquirer::start().await;
    for (method, path) in [("GET", "/book"), ("POST", "/faults"), ("POST", "/delay")] {
        let method = method.parse().unwrap();
        let request = acquirer.plain(method, path).json(&json!({ "ms": 1 }));
        let _ = request.send_undescribed().await.expect(404);
    }
}
