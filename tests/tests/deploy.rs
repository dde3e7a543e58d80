//! What deploys the services, held against the settings that they say they have.

#![expect(clippy::unwrap_used, reason = "a file that cannot be read is a failed test")]

use std::collections::BTreeMap;

use blackbox::{project::read, settings};
use serde::Deserialize as _;
use serde_norway::Value;

/// The services that have a folder of their own.
const SERVICES: [&str; 3] = ["authsvc", "objstore-svc", "payments-svc"];

/// What has another value in a container than by default, or none that anybody else could use.
const PLACE: [&str; 8] = [
    "HOST",
    "OBJSTORE_DATA_DIR",
    "PAYMENTS_DATA_DIR",
    "PORTAL_URL",
    "PORTAL_CA_FILE",
    "PORTAL_CAMPUSES",
    "DEMO_PORTAL_CA_FILE",
    "DEMO_PORTAL_NAMES",
];

/// Settings and their values.
type Settings = BTreeMap<String, String>;

#[tokio::test]
async fn compose_shows_every_setting_with_its_default() {
    let mut compose: Value = serde_norway::from_str(&read("docker-compose.yml")).unwrap();
    compose.apply_merge().unwrap();
    for program in SERVICES.into_iter().chain(["demo-portal"]) {
        let mut expected = settings(program).await;
        let mut shown = texts(&compose["services"][program]["environment"]);
        for (name, value) in &mut shown {
            let variable = value.strip_prefix("${").and_then(|value| value.strip_suffix('}'));
            if let Some((variable, default)) = variable.and_then(|it| it.split_once(":-")) {
                assert_eq!(variable, name);
                *value = default.to_owned();
            }
        }
        for name in PLACE {
            assert_eq!(shown.remove(name).is_some(), expected.remove(name).is_some(), "{name}");
        }
        assert_eq!(shown, expected, "{program}");
    }
}

#[tokio::test]
async fn an_example_environment_shows_every_setting_with_its_default() {
    for service in SERVICES {
        let mut expected = settings(service).await;
        expected.retain(|name, _| !name.ends_with("_DATA_DIR"));
        let text = read(&format!("deploy/{service}/{service}.env"));
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.map(|line| line.split_once('=').unwrap());
        let mut shown: Settings = pairs.map(|(name, value)| (name.into(), value.into())).collect();
        for portal in [&mut shown, &mut expected] {
            portal.insert("PORTAL_URL".to_owned(), String::new());
        }
        assert_eq!(shown, expected, "{service}");
    }
}

#[tokio::test]
async fn whatever_a_manifest_or_a_unit_sets_is_a_setting() {
    for service in SERVICES {
        let expected = settings(service).await;
        let mut set = Vec::new();
        let manifests = read(&format!("deploy/{service}/kubernetes.yaml"));
        for manifest in serde_norway::Deserializer::from_str(&manifests) {
            let manifest = Value::deserialize(manifest).unwrap();
            if manifest["kind"] == "ConfigMap" {
                set.extend(texts(&manifest["data"]).into_keys());
            }
            let containers = manifest["spec"]["template"]["spec"]["containers"].as_sequence();
            for variable in containers.into_iter().flatten().flat_map(|it| it["env"].as_sequence())
            {
                set.extend(variable.iter().map(|it| it["name"].as_str().unwrap().to_owned()));
            }
        }
        let unit = read(&format!("deploy/{service}/{service}.service"));
        let lines = unit.lines().filter_map(|line| line.strip_prefix("Environment="));
        set.extend(lines.map(|line| line.split_once('=').unwrap().0.to_owned()));
        assert!(set.contains(&"METRICS_TOKEN".to_owned()), "{service}: {set:?}");
        for name in set {
            assert!(expected.contains_key(&name), "{service} has no setting {name}");
        }
    }
}

/// The settings of a program and their defaults.
async fn settings(program: &str) -> Settings {
    let settings = settings::of(program).await;
    settings.into_iter().map(|(name, setting)| (name, setting.default)).collect()
}

/// The members of a mapping, as text.
fn texts(mapping: &Value) -> Settings {
    let members = mapping.as_mapping().unwrap().iter();
    members.map(|(name, value)| (text(name), text(value))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.as_i64().unwrap().to_string(), str::to_owned)
}
