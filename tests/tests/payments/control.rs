//! Commands that change the store: they go to the running service, or open the store themselves.

use std::fs::{self, File};

use blackbox::{
    payments::{App, Service, Stopped, ids},
    process::{self, output, until},
};
use rusqlite::Connection;
use tokio::process::Command;

use crate::payouts::{DANISH, funded, pay_out, transfers};

const SOCKET: &str = "control.sock";

/// The limit that docs/payments-svc.md promises.
const MOST_KEYS: usize = 20;

const KEYS: &str = "/apps/me/keys";

/// `new-key` for an app.
fn new_key(place: &Stopped, app: &App, options: &[&str]) -> Command {
    let mut command = place.command();
    command.arg("new-key").arg(&app.id).args(options);
    command
}

/// The app with its new key.
async fn with_new_key(place: &Stopped, app: &App, options: &[&str]) -> App {
    let ended = process::run(new_key(place, app, options)).await;
    assert!(ended.status.success(), "{}", output(&ended));
    app.with_key(String::from_utf8(ended.stdout).unwrap().strip_suffix('\n').unwrap())
}

async fn names(app: &App) -> Vec<String> {
    let keys = app.list(&format!("{KEYS}?limit=100")).await;
    keys.iter().map(|key| key["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_new_key_works_at_once() {
    let service = Service::with(&[]).await;
    let lost = service.app().await;
    let app = with_new_key(service.data(), &lost, &["--name", "Found"]).await;
    assert_eq!(names(&app).await, ["Found", ""]);
    let _ = lost.get("/me").await.expect(200);

    let stopped = service.stop().await;
    let another = with_new_key(&stopped, &lost, &[]).await;
    let service = stopped.start().await;
    assert_eq!(names(&another.at(&service)).await, ["", "Found", ""]);
}

#[tokio::test]
async fn new_key_replaces_even_the_most_keys() {
    let service = Service::with(&[]).await;
    let lost = service.app().await;
    for number in 1..MOST_KEYS {
        lost.further_key(&number.to_string()).await;
    }
    let full = process::exits_with(2, new_key(service.data(), &lost, &[])).await;
    assert!(full.contains("20 keys, the maximum"), "{full}");
    let app = with_new_key(service.data(), &lost, &["--replace"]).await;
    assert_eq!(names(&app).await, [""]);
    let _ = lost.get("/me").await.expect(401);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn new_key_names_what_is_wrong() {
    let service = Service::with(&[]).await;
    let app = service.app().await;
    let unknown = "1".repeat(24);
    for (arguments, expected) in [
        (&[&*unknown][..], &*format!("there is no app {unknown}")),
        (&["7"], "must be 24 hexadecimal digits"),
        (&[&*app.id, "--name", &"x".repeat(1000)], "--name"),
    ] {
        let mut command = service.data().command();
        command.arg("new-key").args(arguments);
        let line = process::exits_with(2, command).await;
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(names(&app).await, [""]);
}

#[tokio::test]
async fn seed_works_beside_a_running_service() {
    let service = Service::with(&[]).await;
    let mut command = service.data().command();
    command.arg("seed");
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{}", output(&ended));
    let made = fs::read_to_string(service.data().data().join("demo.env")).unwrap();
    let value = |name: &str| made.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let app = service.app().await.with_key(value("PAYMENTS_API_KEY="));
    let me = app.get("/me").await.expect(200).json();
    assert!(me.to_string().contains(value("PAYMENTS_APP_ID=")), "{me}");
    let mut app = app;
    app.id = value("PAYMENTS_APP_ID=").to_owned();
    let merchants = ids(&app.list(&app.merchants("?limit=10")).await);
    let expected = ["PAYMENTS_DKK_MERCHANT_ID=", "PAYMENTS_EUR_MERCHANT_ID="].map(value);
    assert_eq!(merchants, expected);
}

#[tokio::test]
async fn the_process_that_owns_the_store_writes_for_commands() {
    let service = Stopped::on(None, &[]).start().await;
    funded(&service, Some(DANISH)).await;
    let commits = async || service.metric("payments_commits_total").await;
    let before = commits().await;
    assert_eq!(transfers(&pay_out(service.data(), &["--test"]).await).len(), 1);
    // Begin the run, pay, close it.
    assert!(commits().await >= before + 3);
    let place = service.stop().await;
    assert!(!place.data().join(SOCKET).exists());
    place.agrees().await;
}

#[tokio::test]
async fn the_socket_of_a_killed_service_is_in_nobodys_way() {
    let service = Stopped::on(None, &[]).start().await;
    let merchant = funded(&service, Some(DANISH)).await;
    let place = service.kill().await;
    assert!(place.data().join(SOCKET).exists());
    assert_eq!(transfers(&pay_out(&place, &["--test"]).await).len(), 1);
    assert!(place.data().join(SOCKET).exists(), "the command listened");
    let service = place.start().await;
    let app = with_new_key(service.data(), &merchant.app.at(&service), &[]).await;
    assert_eq!(merchant.by(&app).balance().await, 0);
}

#[tokio::test]
async fn a_service_does_not_start_while_a_command_has_the_store() {
    let service = Stopped::on(None, &[]).start().await;
    for _ in 0..20 {
        funded(&service, Some(DANISH)).await;
    }
    let place = service.stop().await;
    let is_held = || File::open(place.data().join("lock")).unwrap().try_lock().is_err();
    let file = place.data().join("transfers.csv");
    let mut command = place.command();
    command.args(["payout", "--test", "--csv"]).arg(&file);
    // The command waits for this write, so it cannot be too fast.
    let other = Connection::open(place.data().join("payments.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let payout = command.spawn().unwrap();
    until(async || is_held()).await;
    process::send(payout.id().unwrap(), "STOP").await;
    drop(other);
    let line = process::exits_with(3, place.command()).await;
    assert!(line.contains("in use by another process"), "{line}");
    process::send(payout.id().unwrap(), "CONT").await;
    let ended = payout.wait_with_output().await.unwrap();
    assert!(ended.status.success(), "{}", output(&ended));
    assert_eq!(transfers(&fs::read_to_string(file).unwrap()).len(), 20);
    place.start().await.stop().await.agrees().await;
}

#[tokio::test]
async fn a_command_does_not_wait_for_ever_for_a_process_that_does_not_listen() {
    let service = Stopped::on(None, &[]).start().await;
    let app = service.app().await;
    let place = service.stop().await;
    let lock = File::create(place.data().join("lock")).unwrap();
    lock.lock().unwrap();
    let line = process::exits_with(3, new_key(&place, &app, &[])).await;
    assert!(line.contains("in use by another process"), "{line}");
    drop(lock);

    // Something else is in the place of the socket: the service serves its clients.
    let blocked = place.data().join(SOCKET);
    fs::create_dir_all(blocked.join("directory")).unwrap();
    let service = place.start().await;
    let app = app.at(&service);
    process::exits_with(3, new_key(service.data(), &app, &[])).await;
    assert_eq!(names(&app).await, [""]);
    let log = service.process().log().join("\n");
    assert!(log.contains("cannot listen for commands"), "{log}");
}

/// The address of a socket has at most 108 bytes.
#[tokio::test]
async fn the_path_of_the_data_directory_may_be_long() {
    let place = Stopped::on(None, &[]);
    let directory = place.data().join("d".repeat(200)).join("e".repeat(200));
    let place = place.with("PAYMENTS_DATA_DIR", directory.to_str().unwrap());
    let service = place.start().await;
    let app = with_new_key(service.data(), &service.app().await, &[]).await;
    assert_eq!(names(&app).await, ["", ""]);
    let mode = fs::metadata(directory.join(SOCKET)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn two_services_have_their_own_commands() {
    let [one, other] = [Stopped::on(None, &[]).start().await, Stopped::on(None, &[]).start().await];
    let app = one.app().await;
    process::exits_with(2, new_key(other.data(), &app, &[])).await;
    assert_eq!(names(&with_new_key(one.data(), &app, &[]).await).await, ["", ""]);
}

#[tokio::test]
async fn commands_need_a_store() {
    let place = Stopped::on(None, &[]);
    let app = "1".repeat(24);
    for arguments in [&["new-key", &app][..], &["confirm-clock"], &["check"]] {
        let mut command = place.command();
        command.args(arguments);
        let line = process::exits_with(2, command).await;
        assert!(line.contains("there is no database at"), "{line}");
    }
    assert!(!place.data().join("payments.db").exists());
}
