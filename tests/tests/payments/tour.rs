//! "From a payment link to a payout" in docs/payments-svc.md: each command prints what stands there.

use std::{fs, net::TcpListener, os::unix::fs::symlink};

use blackbox::{
    payments::{PROGRAM, Service},
    postgres::Database,
    process,
    project::{read, root},
};
use tokio::process::Command;

const TITLE: &str = "## From a payment link to a payout\n";

const RECEIVER: &str = "node docs/examples/receiver.js";

/// The first command: ends the receiver if a later one fails.
const CLEAN_UP: &str = "```shell\n$ trap 'kill $(jobs -p)' EXIT\n```\n";

/// Runs the commands of the section, with this receiver, against a service of its own.
async fn run(receiver: &str) {
    let service = Service::with(&[("PAYMENTS_WEBHOOKS_INSECURE", "true")]).await;
    let page = read("docs/payments-svc.md");
    let section = page.split_once(TITLE).and_then(|(_, rest)| rest.split("\n## ").next()).unwrap();
    let [api, pos] = [service.url(), service.pos_url()].map(|url| url.replace("http://", ""));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let here = [
        ("localhost:5002", api.as_str()),
        ("localhost:5003", &pos),
        ("5010", &port),
        (RECEIVER, receiver),
    ];
    let section = here.iter().fold(section.to_owned(), |section, (written, here)| {
        assert!(section.contains(written), "the section does not contain {written}");
        section.replace(written, here)
    });

    // The files that the commands name, as `make up` and `npm install` leave them.
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::create_dir_all(place.join("data/tour")).unwrap();
    fs::create_dir_all(place.join("target/release")).unwrap();
    let program = service.data().command().as_std().get_program().to_owned();
    let libraries = root().join("target/tools/standardwebhooks/node_modules");
    symlink(program, place.join("target/release").join(PROGRAM)).unwrap();
    symlink(service.data().data(), place.join("data/payments")).unwrap();
    symlink(libraries, place.join("data/tour/node_modules")).unwrap();
    symlink(root().join("docs"), place.join("docs")).unwrap();
    fs::write(place.join("tour.md"), CLEAN_UP.to_owned() + &section).unwrap();

    let byexample = root().join("target/tools/docs/bin/byexample");
    assert!(byexample.exists(), "byexample is missing; install it with: scripts/install test");
    let mut command = Command::new(byexample);
    command.args(["--language", "shell", "--timeout", "20", "--fail-fast", "tour.md"]);
    let database = service.data().database().map_or("", Database::url);
    command.env("PAYMENTS_DATABASE_URL", database).current_dir(place).kill_on_drop(true);
    let ended = process::run(command).await;
    let output = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{output}");
}

#[tokio::test]
async fn the_tour_prints_what_the_document_says() {
    run(RECEIVER).await;
}

#[tokio::test]
async fn the_receiver_in_python_prints_the_same() {
    let python = root().join("target/tools/python/bin/python");
    run(&format!("{} docs/examples/receiver.py", python.display())).await;
}
