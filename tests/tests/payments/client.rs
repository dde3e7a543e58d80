//! Runs the tests of a published client of this kind of API. They are independent of this project.

use std::{fs, path::Path};

use blackbox::{
    payments::{App, Card, Merchant, Service, Transaction},
    process::DEADLINE,
};
use serde_json::json;
use tokio::{process::Command, time::timeout};

/// Constants in the client's tests. A copy of the tests has the values of the service under test.
const WRITTEN: [&str; 4] = [
    "require('../')('4ff7de37-dddf-4e51-8cc9-48b61a102923')",
    "'555eca95ed59804d2cf12b11'",
    "'55006bdfe0308c4cbfdbd0e1'",
    "'560fd96b7973ff3d2362a78c'",
];

/// The one assertion that must fail: it expects a card without its creation time.
const EXPECTED_FAILURES: [&str; 1] = ["returned card"];

/// Creates two test merchants. The first has an original, two more transactions and a line.
async fn prepare(app: &App) -> (Merchant, Transaction) {
    let merchant = app.merchant("EUR").await;
    let _ = app.merchant("DKK").await;
    let mut payment = merchant.payment(Card::VISA, "EUR", 1000);
    payment["card"]["expiry"] = json!({ "month": 8, "year": 2066 });
    let original = merchant.transaction(&merchant.charge(&payment).await.expect(201));
    for _ in 0..2 {
        merchant.repeat(&original, 500).await;
    }
    let _ = original.capture(100).await;
    (merchant, original)
}

#[tokio::test]
async fn the_published_client_passes_its_own_tests() {
    let service = Service::any().await;
    let app = service.app().await;
    let (merchant, original) = prepare(&app).await;

    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/paylike");
    let package = tools.join("node_modules/paylike");
    let suite = fs::read_to_string(package.join("test/index.js"));
    let suite = suite.expect("the client is missing; install it with: scripts/install test");
    let (key, url) = (&app.key, service.url());
    let here = [
        format!("require('paylike')('{key}', {{ url: '{url}' }})"),
        format!("'{}'", app.id),
        format!("'{}'", merchant.id),
        format!("'{}'", original.id),
    ];
    let suite = WRITTEN.iter().zip(&here).fold(suite, |suite, (written, here)| {
        assert!(suite.contains(written), "the client's tests do not contain {written}");
        suite.replace(written, here)
    });

    let copy = tempfile::tempdir().unwrap();
    // Open connections of the client would keep the process running.
    let end = "\nrequire('tape').onFinish(function () { process.exit(); });\n";
    fs::write(copy.path().join("suite.js"), suite + end).unwrap();
    let mut node = Command::new("node");
    node.arg("suite.js").current_dir(copy.path()).kill_on_drop(true);
    node.env("NODE_PATH", tools.join("node_modules"));
    let ended = timeout(10 * DEADLINE, node.output()).await.unwrap().unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let lines = |prefix| stdout.lines().filter_map(move |line| line.strip_prefix(prefix));
    let failures: Vec<_> =
        lines("not ok ").filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    assert_eq!(failures, EXPECTED_FAILURES, "{stdout}");
    assert!(lines("ok ").count() >= 40, "{stdout}");
}
