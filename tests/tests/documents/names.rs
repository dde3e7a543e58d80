//! Names between backticks: variables, paths and endpoints.

use std::collections::BTreeSet;

use blackbox::{
    objstore, page, payments,
    project::{files, read, root},
    settings,
};
use serde_norway::Value;

use crate::{PROGRAMS, assert_none};

/// Prefixes of metrics: those of the services, and that of Prometheus' node exporter.
const METRICS: [&str; 5] = ["authsvc_", "objstore_", "payments_", "process_", "node_"];

/// A setting of PostgreSQL that no file of the project contains.
const POSTGRES_SETTING: &str = "synchronous_standby_names";

/// Pages for browsers, which are in no OpenAPI document.
const PAGES: [&str; 5] = ["GET /", "GET /docs", "GET /redoc", "GET /returned", "POST /challenge"];

/// A word that begins with one of these folders is a path of the project.
const FOLDERS: [&str; 8] =
    [".ci/", ".github/", "benches/", "crates/", "deploy/", "docs/", "scripts/", "tests/"];

#[tokio::test]
async fn every_variable_is_a_setting_or_occurs_in_a_file() {
    let mut known = BTreeSet::new();
    for program in PROGRAMS {
        for (name, setting) in settings::of(program).await {
            known.extend(setting.flag.is_none().then(|| format!("{name}_FILE")));
            known.insert(name);
        }
    }
    for file in files().into_iter().filter(|file| !file.ends_with(".md")) {
        known.extend(variables(&read(&file)).map(str::to_owned));
    }
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for page in page::pages() {
        let blocks = page.blocks_of(&["sh", "shell"]);
        for text in blocks.chain(page.code.iter().map(String::as_str)) {
            for variable in variables(text) {
                seen.insert(variable.to_owned());
                if !known.contains(variable) {
                    violations.push(format!("{}: {variable}", page.path));
                }
            }
        }
    }
    assert!(seen.len() > 50, "only {} variables found", seen.len());
    assert_none(&violations);
}

#[test]
fn every_path_exists() {
    let files = files();
    let mut seen = 0;
    let mut violations = Vec::new();
    for page in page::pages() {
        let blocks = page.blocks_of(&["sh", "shell"]);
        for text in blocks.chain(page.code.iter().map(String::as_str)) {
            for path in paths(text) {
                seen += 1;
                if !root().join(&path).exists() || path.ends_with(".rs") && !files.contains(&path) {
                    violations.push(format!("{}: {path}", page.path));
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} paths found");
    assert_none(&violations);
}

#[test]
fn every_endpoint_is_described() {
    let mut known: BTreeSet<_> = PAGES.map(str::to_owned).into();
    let is_description =
        |file: &&String| file.ends_with("/openapi.yaml") || *file == "docs/acquirer-protocol.yaml";
    for file in files().iter().filter(is_description) {
        let document: Value = serde_norway::from_str(&read(file)).unwrap();
        for (path, operations) in document["paths"].as_mapping().unwrap() {
            for method in operations.as_mapping().unwrap().keys() {
                let method = method.as_str().unwrap().to_uppercase();
                known.insert(format!("{method} {}", template(path.as_str().unwrap())));
            }
        }
    }
    let mut seen = 0;
    let mut violations = Vec::new();
    for page in page::pages() {
        for code in &page.code {
            let Some((method, path)) = code.split_once(" /") else { continue };
            if ["GET", "POST", "PUT", "DELETE"].contains(&method) {
                seen += 1;
                let path = path.split(['?', ' ', ':']).next().unwrap();
                if !known.contains(&format!("{method} {}", template(&format!("/{path}")))) {
                    violations.push(format!("{}: {code}", page.path));
                }
            }
        }
    }
    assert!(seen > 30, "only {seen} endpoints found");
    assert_none(&violations);
}

#[tokio::test]
async fn every_limit_is_described() {
    let pages = page::pages();
    let code = pages.iter().flat_map(|page| &page.code);
    let described: BTreeSet<&str> = code.flat_map(|code| words(code)).collect();
    let objstore = objstore::Service::with(&[]).await;
    let payments = payments::Service::with(&[]).await;
    for scraped in [objstore.stranger().fetch("/metrics").await, payments.fetch("/metrics").await] {
        let maximums = scraped.text().lines().filter_map(|line| line.split_once("_limit_max{"));
        let limits = maximums.filter_map(|(_, labels)| labels.split('"').nth(1));
        let limits: BTreeSet<_> = limits.map(|limit| limit.trim_start_matches("test_")).collect();
        assert!(limits.len() > 5, "{limits:?}");
        let missing = limits.difference(&described);
        assert_none(&missing.map(|limit| (*limit).to_owned()).collect::<Vec<_>>());
    }
}

/// Most of these are names of tests. The test target `monitoring` checks the names of metrics.
#[test]
fn every_long_name_occurs_in_a_file() {
    let files = files();
    let sources = files.iter().filter(|file| !file.ends_with(".md"));
    let sources: Vec<_> = sources.map(|file| read(file)).collect();
    let known: BTreeSet<_> = sources.iter().flat_map(|source| words(source)).collect();
    let mut seen = 0;
    let mut violations = Vec::new();
    for page in page::pages() {
        for name in page.code.iter().filter(|name| name.matches('_').count() > 1 && is_name(name)) {
            seen += 1;
            let is_metric = METRICS.iter().any(|prefix| name.starts_with(prefix));
            if !is_metric && name != POSTGRES_SETTING && !known.contains(name.as_str()) {
                violations.push(format!("{}: {name}", page.path));
            }
        }
    }
    assert!(seen > 50, "only {seen} names found");
    assert_none(&violations);
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Replaces every parameter of a path with `{}`.
fn template(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with(['{', '<']) { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// The words of a text that look like environment variables: upper case, with an underscore.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| {
        let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        word.trim_matches('_').contains('_')
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().all(is_upper)
            && !word.ends_with('_')
    })
}

/// The paths of a text in the project's folders. `<service>` stands for each of the three services.
/// Paths with other placeholders are skipped.
fn paths(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'(),=`".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', ';']).trim_start_matches("./"));
    let inside = words.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
    let inside = inside.map(|word| word.split([':', '#']).next().unwrap());
    let mut paths = Vec::new();
    for path in inside {
        if path.contains("<service>") {
            let services = ["authsvc", "objstore-svc", "payments-svc"];
            paths.extend(services.map(|service| path.replace("<service>", service)));
        } else if !path.contains(['*', '{', '<', '$', '…', '[']) {
            paths.push(path.to_owned());
        }
    }
    paths
}

#[test]
fn names_are_found_in_text() {
    let text = "`PORT=1 X_Y A_ tests/a.rs:12` deploy/<service>/x <docs/> POST /a/{id}";
    assert_eq!(variables("X_Y A_ PORT _B_C").collect::<Vec<_>>(), ["X_Y"]);
    let expected =
        ["tests/a.rs", "deploy/authsvc/x", "deploy/objstore-svc/x", "deploy/payments-svc/x"];
    assert_eq!(paths(text), expected);
    assert_eq!(template("/a/{id}"), template("/a/<appId>"));
}
