//! The command line: settings, help and subcommands.

use std::time::Duration;

use blackbox::{
    authsvc::{PROGRAM, Service},
    http,
    process::{self, output},
};
use tokio::{
    process::Command,
    time::{Instant, sleep, timeout},
};

#[tokio::test]
async fn a_wrong_setting_ends_the_process_and_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (name, value) in [
        ("HOST", "nowhere"),
        ("PORT", "65536"),
        ("ALLOWED_HOSTS", "a.example,https://b.example"),
        ("METRICS_TOKEN_FILE", "/no/such/file"),
        ("PORTAL_URL", "portal.test"),
        ("PORTAL_URL", "http://portal.test"),
        ("PORTAL_URL", "ftp://127.0.0.1"),
        ("PORTAL_CA_FILE", "/no/such/file"),
        ("PORTAL_CA_FILE", empty.to_str().unwrap()),
        ("PORTAL_TIMEOUT", "soon"),
        ("PORTAL_TIMEOUT", "0s"),
        ("PORTAL_CAMPUSES", "a;b;c"),
        ("README_URL", "nowhere"),
        ("README_URL", "javascript:alert(1)"),
        ("README_URL", "//elsewhere.test"),
        ("README_URL", "/a\nSet-Cookie: b=c"),
        ("METRICS_TOKEN_FILE", empty.to_str().unwrap()),
        ("METRICS_TOKEN", "token "),
        ("METRICS_TOKEN", "\ttoken"),
        ("METRICS_TOKEN", "token\n\n"),
        ("METRICS_TOKEN", "   "),
        ("PORTAL_MAX_RESPONSE", "much"),
    ] {
        let settings = [("PORT", "0"), (name, value)];
        let output = process::failure_line(process::command(PROGRAM, &settings)).await;
        assert!(output.contains(name), "{name}={value}: {output}");
    }
    let output =
        process::failure_line(process::command(PROGRAM, &[("PORTAL_URL", "portal.test")])).await;
    assert!(output.contains("must begin with https://"), "{output}");
    let spaced = directory.path().join("spaced");
    std::fs::write(&spaced, "token \n").unwrap();
    let settings = [("PORT", "0"), ("METRICS_TOKEN_FILE", spaced.to_str().unwrap())];
    let output = process::failure_line(process::command(PROGRAM, &settings)).await;
    assert!(output.contains("METRICS_TOKEN begins or ends with white space"), "{output}");
}

#[tokio::test]
async fn the_port_flag_overrides_the_variable_and_the_default() {
    for (variables, flag, rejected_port) in [
        (&[("PORT", "70001")][..], Some("--port=70002"), "70002"),
        (&[("PORT", "70001")], None, "70001"),
    ] {
        let mut command = process::command(PROGRAM, variables);
        command.args(flag);
        let output = output(&process::run(command).await);
        assert!(output.contains(rejected_port), "{output}");
    }
    let mut help = process::command(PROGRAM, &[]);
    help.arg("--help");
    let output = output(&process::run(help).await);
    assert!(output.contains("[default: 5000]"), "{output}");
}

#[tokio::test]
async fn help_shows_no_value() {
    process::help_hides(PROGRAM, &[("PORTAL_INSTITUTES", "xyzzy")]).await;
}

#[tokio::test]
async fn healthcheck_succeeds_only_while_the_service_runs() {
    let service = Service::with(&[]).await;
    let port = service.process().address().port();
    assert!(process::is_healthy(PROGRAM, port).await);
    service.stop().await;
    assert!(!process::is_healthy(PROGRAM, port).await);
}

#[tokio::test]
async fn an_unread_log_does_not_block_requests() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let port = free.port().to_string();
    let mut child = process::command(PROGRAM, &[("PORT", &port)]).spawn().unwrap();
    let url = format!("http://{free}/authenticate");
    let client = http::client();
    let sign_in = || {
        let request = client.post(&url).header("content-type", "application/json");
        request.body(r#"{"username":"u","password":"p"}"#).send()
    };
    let begun = Instant::now();
    while sign_in().await.is_err() {
        assert!(begun.elapsed() < process::DEADLINE, "the service did not start");
        sleep(Duration::from_millis(10)).await;
    }
    // Each request logs a line. Together they are several times larger than the buffer of a pipe.
    for _ in 0..600 {
        let answered = timeout(process::DEADLINE, sign_in()).await.unwrap();
        assert_eq!(answered.unwrap().status(), 502);
    }
    let pid = child.id().unwrap();
    let killed = Command::new("sh").arg("-c").arg(format!("kill -TERM {pid}")).status().await;
    assert!(killed.unwrap().success());
    let ended = timeout(process::DEADLINE, child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn the_exit_code_is_2_for_settings_and_3_for_a_used_port() {
    let with = |name, value| process::command(PROGRAM, &[("PORT", "0"), (name, value)]);
    process::exits_with(2, with("PORTAL_TIMEOUT", "0s")).await;
    process::exits_with(2, with("PORTAL_CA_FILE", "/no/such/file")).await;
    process::exits_with(2, with("METRICS_TOKEN_FILE", "/no/such/file")).await;
    let used = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = used.local_addr().unwrap().port().to_string();
    let output = process::exits_with(3, process::command(PROGRAM, &[("PORT", &port)])).await;
    assert!(output.contains("error: HOST and PORT"), "{output}");
}

#[tokio::test]
async fn errors_show_what_is_similar() {
    let mut command = process::command(PROGRAM, &[]);
    command.arg("prob");
    assert_eq!(
        process::exits_with(2, command).await,
        "unrecognized subcommand 'prob'\n  tip: a similar subcommand exists: 'probe'"
    );
    let mut command = process::command(PROGRAM, &[]);
    command.args(["--portal-ulr", "https://me:xyzzy@portal.test"]);
    assert_eq!(
        process::exits_with(2, command).await,
        "unexpected argument '--portal-ulr' found\n  \
         tip: a similar argument exists: '--portal-url'"
    );
}

#[tokio::test]
async fn no_error_shows_a_password() {
    for name in ["PORTAL_URL", "README_URL", "TRUSTED_PROXIES", "HOST"] {
        process::hides_passwords(name, |value| {
            process::command(PROGRAM, &[("PORT", "0"), (name, value)])
        })
        .await;
    }
    let url = "https://me:xyzzy@portal.test";
    let output =
        process::exits_with(2, process::command(PROGRAM, &[("PORTAL_CA_FILE", url)])).await;
    assert!(output.contains("PORTAL_CA_FILE") && !output.contains("me:"), "{output}");
    let mut command = process::command(PROGRAM, &[]);
    command.arg("https://me:xyzzy@portal.test");
    let output = process::exits_with(2, command).await;
    assert!(!output.contains("xyzzy"), "{output}");
}
