//! Checks by third-party tools: parsers of the metrics, and a fuzzer that reads the OpenAPI
//! document.

use std::path::{Path, PathBuf};

use blackbox::{
    authsvc::{Service, Site, families},
    process::run_with,
};
use serde_json::{Value, json};
use tokio::process::Command;

/// Parses the text format, and prints every sample as `[name, labels, value]`.
const PARSER: &str = r"
import json, sys
from prometheus_client.parser import text_string_to_metric_families
samples = [s for family in text_string_to_metric_families(sys.stdin.read()) for s in family.samples]
print(json.dumps([[s.name, s.labels, s.value] for s in samples]))
";

/// The path of a tool, which `scripts/install` puts into the build directory.
fn tool(name: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools").join(name);
    assert!(
        tools.exists(),
        "{} is missing; install it with: scripts/install test",
        tools.display()
    );
    tools
}

/// The metrics of a service that has counted something in every family, in the text format.
async fn scraped() -> String {
    let site = Site::with(&[]).await;
    let known = site.student_with(|student| student.without("Email"));
    let _ = site.ask(&known, json!({ "profile": true, "fields": ["name"] })).await.expect(200);
    let _ = site.authenticate("{}").await.expect(400);
    let _ = site.page("/\"quoted\\path\"").await.expect(404);
    site.fetch("/metrics").await.expect(200).text().to_owned()
}

#[tokio::test]
async fn promtool_accepts_the_metrics() {
    let fresh = Service::with(&[]).await.fetch("/metrics").await.expect(200);
    for text in [fresh.text(), &scraped().await] {
        let checked =
            run_with(Command::new(tool("promtool")).args(["check", "metrics"]), text).await;
        let output = String::from_utf8_lossy(&checked.stderr).into_owned()
            + &String::from_utf8_lossy(&checked.stdout);
        assert!(checked.status.success() && output.is_empty(), "{output}");
    }
}

#[tokio::test]
async fn a_client_library_reads_the_same_samples() {
    let text = scraped().await;
    let parsed =
        run_with(Command::new(tool("python/bin/python")).args(["-c", PARSER]), &text).await;
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let parsed: Vec<(String, serde_json::Map<String, Value>, f64)> =
        serde_json::from_slice(&parsed.stdout).unwrap();
    let series = |name: String, labels: serde_json::Map<String, Value>| {
        let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if labels.is_empty() { name } else { format!("{name}{{{}}}", labels.join(",")) }
    };
    let mut read: Vec<_> =
        parsed.into_iter().map(|(name, labels, value)| (series(name, labels), value)).collect();
    let families = families(&text);
    let mut sent: Vec<_> =
        families.into_values().flat_map(|family| family.samples.into_iter()).collect();
    read.sort_by(|one, other| one.0.cmp(&other.0));
    sent.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(read, sent);
}

#[tokio::test]
async fn a_fuzzer_finds_only_documented_answers() {
    let site = Site::with(&[]).await;
    let mut fuzzer = Command::new(tool("python/bin/st"));
    fuzzer.args(["run", &format!("{}/openapi.json", site.url()), "--checks", "all"]).args([
        "--max-examples",
        "60",
        "--workers",
        "2",
        "--no-color",
    ]);
    let directory = tempfile::tempdir().unwrap();
    let fuzzed = run_with(fuzzer.current_dir(directory.path()), "").await;
    let output = String::from_utf8_lossy(&fuzzed.stdout).into_owned();
    assert!(fuzzed.status.success(), "{output}");
    assert!(output.contains("Tested: 4"), "{output}");
    assert_eq!(site.scrape().await.count("/requestsInFlight"), 1);
}
