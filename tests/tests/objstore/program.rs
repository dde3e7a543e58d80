//! The command line: settings, help and subcommands.

use std::fs;

use blackbox::{
    objstore::{Object, PROGRAM, Service, Stopped},
    process::{self, output},
};
use reqwest::Method;

#[tokio::test]
async fn a_wrong_setting_ends_the_process_and_is_named() {
    for (name, value) in [
        ("HOST", "nowhere"),
        ("PORT", "65536"),
        ("ALLOWED_HOSTS", "a.example,https://b.example"),
        ("RUST_LOG", "a=b=c"),
        ("LOG_FORMAT", "xml"),
        ("DRAIN_TIMEOUT", "soon"),
        ("METRICS_TOKEN_FILE", "/no/such/file"),
        ("OBJSTORE_SESSION_TTL", "for ever"),
        ("OBJSTORE_PRESENCE_GRACE", "999ms"),
        ("OBJSTORE_COOKIE_SECURE", "perhaps"),
        ("OBJSTORE_COOKIE_SAME_SITE", "strict"),
        ("OBJSTORE_CONSOLE", "perhaps"),
        ("OBJSTORE_OWNER", "nobody"),
        ("OBJSTORE_CLIENTS_FILE", "/no/such/file"),
        ("OBJSTORE_RULES_FILE", "/no/such/file"),
        ("OBJSTORE_MAX_CLIENTS", "many"),
        ("OBJSTORE_MAX_BODY", "huge"),
        ("OBJSTORE_MAX_WATCHES", "-1"),
        ("OBJSTORE_LOG_RETENTION", "1"),
        ("OBJSTORE_LOG_SIZE", "1 shelf"),
        ("OBJSTORE_CACHE", "much"),
        ("OBJSTORE_DATABASE_URL_FILE", "/no/such/file"),
        ("OBJSTORE_DATABASE_CONNECTIONS", "0"),
    ] {
        let complaint = process::failure_line(Stopped::new(&[]).with(name, value).command()).await;
        assert!(complaint.contains(name), "{name}={value}: {complaint}");
    }
}

#[tokio::test]
async fn a_cookie_for_all_sites_must_be_secure() {
    for secure in ["", "false"] {
        let place = Stopped::new(&[("OBJSTORE_COOKIE_SECURE", secure)])
            .with("OBJSTORE_COOKIE_SAME_SITE", "none");
        let ended = process::run(place.command()).await;
        let complaint = output(&ended);
        assert_eq!(ended.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
        for name in ["OBJSTORE_COOKIE_SAME_SITE", "OBJSTORE_COOKIE_SECURE"] {
            assert!(complaint.contains(name), "{complaint}");
        }
    }
}

#[tokio::test]
async fn a_newer_store_is_used_only_if_its_migration_permits_this_version() {
    let mut place = Service::with(&[]).await.stop().await;
    place.has_later_migration("future_from_0_1_0");
    let service = place.start().await;
    service.process().logged(|line| line.contains("a newer version of this program wrote")).await;
    let client = service.client().await;
    client.set(&Object::fresh()).await;
    place = service.stop().await;
    place.has_later_migration("far_future_from_7_1_0");
    let complaint = process::failure_line(place.command()).await;
    let expected = "newer version of this program wrote the store: use version 7.1.0 or a newer";
    assert!(complaint.contains(expected), "{complaint}");
}

#[tokio::test]
async fn a_store_from_before_the_first_version_is_rejected_with_one_line() {
    let place = Service::with(&[]).await.stop().await;
    place.change("UPDATE refinery_schema_history SET checksum = '1'");
    let complaint = process::failure_line(place.command()).await;
    assert!(complaint.contains("before version 0.1.0 wrote the store"), "{complaint}");
}

#[tokio::test]
async fn an_invalid_line_in_the_client_list_fails_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("clients");
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let digest = format!("sha256:{}", "0f".repeat(32));
    for lines in [
        "not-a-uuid".to_owned(),
        format!("{id} {}", digest.to_uppercase()),
        format!("{id} {digest}0"),
        format!("{id} {digest} {digest}"),
        format!("{id} secret"),
        format!("{id}\n{id} {digest}"),
    ] {
        fs::write(&list, format!("# clients\n{lines}\n")).unwrap();
        let place = Stopped::new(&[("OBJSTORE_CLIENTS_FILE", list.to_str().unwrap())]);
        let ended = process::run(place.command()).await;
        let complaint = output(&ended);
        assert!(!ended.status.success(), "{lines}");
        assert!(
            complaint.contains("OBJSTORE_CLIENTS_FILE")
                && complaint.contains(&format!("line {}", 1 + lines.lines().count()))
                && complaint.trim_end().lines().count() == 1,
            "{complaint}"
        );
        assert!(!complaint.contains("secret") && !complaint.contains("0f0f"), "{complaint}");
    }
}

#[tokio::test]
async fn an_unusable_data_directory_fails_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let place = Stopped::on(None, &[]).with("OBJSTORE_DATA_DIR", file.to_str().unwrap());
    let ended = process::run(place.command()).await;
    assert!(!ended.status.success(), "{}", output(&ended));
}

#[tokio::test]
async fn flags_override_variables() {
    let place = Stopped::new(&[("OBJSTORE_OWNER", "free"), ("OBJSTORE_MAX_WATCHES", "0")]);
    let mut command = place.command();
    command.args([
        "--owner",
        "match",
        "--max-watches=1",
        "--session-ttl",
        "1h",
        "--max-body",
        "1KiB",
    ]);
    command.args([
        "--log-retention",
        "1d",
        "--log-size",
        "1GiB",
        "--max-clients",
        "5",
        "--host",
        "127.0.0.1",
    ]);
    let service = place.start_with(command).await;
    let client = service.client().await;
    client.watch(&Object::fresh().key).await;
    client.post("/set", Object::fresh().body()).await.refused(401, "not_owner");
    client.post("/set", " ".repeat(1025)).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn help_shows_no_value() {
    let settings = [
        ("METRICS_TOKEN", "xyzzy-token"),
        ("OBJSTORE_DATA_DIR", "/xyzzy-directory"),
        ("OBJSTORE_CLIENTS_FILE", "/xyzzy-clients"),
        ("OBJSTORE_ORIGINS", "https://xyzzy.example"),
        ("OBJSTORE_DATABASE_URL", "postgres://xyzzy@xyzzy/xyzzy"),
        ("OBJSTORE_DATABASE_CA_FILE", "/xyzzy-roots"),
    ];
    process::help_hides(PROGRAM, &settings).await;
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
async fn a_backup_of_a_running_service_can_be_restored() {
    let service = Stopped::on(None, &[]).start().await;
    let client = service.client().await;
    let (object, missed) = (Object::fresh(), Object::fresh());
    client.watch(&missed.key).await;
    client.set(&missed).await;
    let tag = client.set(&object).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("copy.db");
    let mut command = service.data().command();
    command.args(["backup", "--to", file.to_str().unwrap()]);
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{}", output(&ended));
    let mut command = service.data().command();
    command.args(["backup", "--to", "/no/such/copy.db"]);
    let line = process::exits_with(2, command).await;
    assert_eq!(line, "there is no directory \"/no/such\"");
    client.set(&object.numbered(1)).await;

    let restored = Stopped::on(None, &[]);
    fs::copy(&file, restored.data().join("objstore.db")).unwrap();
    let restored = restored.start().await;
    let client = client.at(&restored);
    assert_eq!(client.get(&object.key).await, object);
    assert_eq!(client.socket().await.next_push().await, missed);
    let anew = client.etag(&object.key).await;
    assert_ne!(anew.split('-').next(), tag.split('-').next(), "a restored store needs a new epoch");
    let request = client.request(Method::POST, "/set").header("if-match", tag);
    request.body(object.body()).send().await.refused(412, "precondition_failed");
    client.set(&object.numbered(2)).await;
}

#[tokio::test]
async fn the_exit_code_is_2_for_settings_and_3_for_what_others_hold() {
    let place = Stopped::on(None, &[]).with("OBJSTORE_CACHE", "much");
    process::exits_with(2, place.command()).await;
    let service = Stopped::on(None, &[]).start().await;
    let output = process::exits_with(3, service.data().command()).await;
    assert!(output.contains("in use"), "{output}");
    let port = service.process().address().port().to_string();
    process::exits_with(3, Stopped::on(None, &[]).with("PORT", &port).command()).await;
    let source = Stopped::on(None, &[]).start().await.stop().await;
    for url in ["postgres://ann@127.0.0.1:1/none", "postgres://ann@none.invalid/none"] {
        let place = Stopped::on(None, &[]).with("OBJSTORE_DATABASE_URL", url);
        process::exits_with(3, place.command()).await;
        let mut command = place.command();
        command.args(["import", "--from"]).arg(source.data());
        process::exits_with(3, command).await;
    }
    let place = Stopped::on(None, &[]).with("OBJSTORE_DATABASE_URL", "postgres://?sslmode=maybe");
    process::exits_with(2, place.command()).await;
    let mut command = process::command(PROGRAM, &[("PORT", "1")]);
    command.arg("healthcheck");
    let output = process::exits_with(3, command).await;
    assert!(output.contains("http://127.0.0.1:1/health: Connection refused"), "{output}");
}

#[tokio::test]
async fn errors_show_everything_that_is_missing_or_similar() {
    for (arguments, expected) in [
        (&["backup"][..], "the following required arguments were not provided:\n  --to <TO>"),
        (&["import"], "the following required arguments were not provided:\n  --from <FROM>"),
        (
            &["backups"],
            "unrecognized subcommand 'backups'\n  tip: a similar subcommand exists: 'backup'",
        ),
        (
            &["--max-watch", "1"],
            "unexpected argument '--max-watch' found\n  \
             tip: a similar argument exists: '--max-watches'",
        ),
    ] {
        let mut command = process::command(PROGRAM, &[]);
        command.args(arguments);
        assert_eq!(process::exits_with(2, command).await, expected);
    }
}

#[tokio::test]
async fn no_error_shows_a_password() {
    for name in ["OBJSTORE_DATABASE_URL", "TRUSTED_PROXIES", "HOST"] {
        process::hides_passwords(name, |value| Stopped::on(None, &[]).with(name, value).command())
            .await;
    }
}
