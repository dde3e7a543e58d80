//! Compares the deployment files with the programs, and with each other.

#![expect(clippy::unwrap_used, reason = "an unreadable file fails the test")]

use std::collections::BTreeMap;

use blackbox::{project::read, settings};
use serde_norway::Value;

mod commands;
mod drill;
mod kubernetes;
mod proxies;
mod proxy;
mod replacement;
mod writes;

/// The services with a folder in `deploy`.
const SERVICES: [&str; 3] = ["authsvc", "objstore-svc", "payments-svc"];

/// Settings whose value in `docker-compose.yml` differs from the default.
const PLACE: [&str; 13] = [
    "OBJSTORE_DATA_DIR",
    "PAYMENTS_DATA_DIR",
    "PAYMENTS_DESK_URL",
    "PAYMENTS_DESK_KEY",
    "PORTAL_URL",
    "PORTAL_CA_FILE",
    "PORTAL_CAMPUSES",
    "DEMO_PORTAL_CA_FILE",
    "DEMO_PORTAL_NAMES",
    "ACQUIRER_SECRET",
    "DEMO_ACQUIRER_CA_FILE",
    "DEMO_ACQUIRER_NAMES",
    "DEMO_ACQUIRER_EVENTS_URL",
];

type Settings = BTreeMap<String, String>;

#[test]
fn labels_documents_and_changelog_have_the_version_of_the_programs() {
    let version = env!("CARGO_PKG_VERSION");
    let label = format!("org.opencontainers.image.version=\"{version}\"");
    assert!(read("deploy/Dockerfile").contains(&label), "deploy/Dockerfile has not {label}");
    for service in SERVICES {
        let path = format!("crates/{service}/assets/openapi.yaml");
        let document: Value = serde_norway::from_str(&read(&path)).unwrap();
        assert_eq!(document["info"]["version"], version, "{path}");
    }
    let changelog = read("CHANGELOG.md");
    let mut sections = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    let newest = sections.find(|section| *section != "[Unreleased]").unwrap();
    assert!(newest.starts_with(&format!("[{version}] - ")), "CHANGELOG.md begins with {newest}");
}

#[tokio::test]
async fn compose_passes_every_setting_on_and_gives_what_differs() {
    let mut compose: Value = serde_norway::from_str(&read("docker-compose.yml")).unwrap();
    compose.apply_merge().unwrap();
    for program in SERVICES.into_iter().chain(["demo-portal", "demo-acquirer"]) {
        let mut known = settings(program).await;
        known.remove("HOST"); // The image has it.
        let passed = compose["services"][program]["environment"].as_mapping().unwrap();
        for (name, value) in passed {
            let name = text(name);
            let default = known.remove(&name).unwrap_or_else(|| panic!("{program} has no {name}"));
            // The ports are fixed, since they are published.
            let is_given = PLACE.contains(&&*name) || name.ends_with("PORT") && !default.is_empty();
            assert_eq!(!value.is_null(), is_given, "{program}: {name}");
        }
        assert!(known.is_empty(), "{program} does not get {known:?}");
    }
}

#[tokio::test]
async fn an_example_environment_has_known_settings_without_their_defaults() {
    for service in SERVICES {
        let known = settings(service).await;
        let text = read(&format!("deploy/{service}/{service}.env"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once('=').unwrap();
            assert!(value.is_empty() || value != known[name], "{name} has its default value");
        }
    }
}

#[tokio::test]
async fn units_set_only_known_settings() {
    for service in SERVICES {
        let expected = settings(service).await;
        let unit = read(&format!("deploy/{service}/{service}.service"));
        let lines = unit.lines().filter_map(|line| line.strip_prefix("Environment="));
        for (name, _) in lines.map(|line| line.split_once('=').unwrap()) {
            assert!(expected.contains_key(name), "{service} has no setting {name}");
        }
    }
}

/// The settings of a program with their defaults.
async fn settings(program: &str) -> Settings {
    let settings = settings::of(program).await;
    settings.into_iter().map(|(name, setting)| (name, setting.default)).collect()
}

/// Converts the names and values of a mapping to text.
fn texts(mapping: &Value) -> Settings {
    let members = mapping.as_mapping().unwrap().iter();
    members.map(|(name, value)| (text(name), text(value))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.as_i64().unwrap().to_string(), str::to_owned)
}
