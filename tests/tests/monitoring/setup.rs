//! The configuration of Prometheus and Grafana in docker-compose.yml.

use std::{collections::BTreeSet, fs};

use blackbox::project::{read, root};
use serde_norway::Value;

use crate::{SERVICES, promtool};

/// The file in the container of Prometheus that holds the token.
const TOKEN: &str = "/tmp/metrics-token";

/// The file in the pod of Prometheus that holds the token.
const TOKEN_ON_KUBERNETES: &str = "/etc/prometheus/secrets/metrics-token";

fn yaml(file: &str) -> Value {
    let mut value: Value = serde_norway::from_str(&read(file)).unwrap();
    value.apply_merge().unwrap();
    value
}

#[tokio::test]
async fn prometheus_scrapes_every_service_of_compose() {
    let (compose, config) = (yaml("docker-compose.yml"), yaml("deploy/monitoring/prometheus.yml"));
    let jobs = config["scrape_configs"].as_sequence().unwrap();
    let mut names = BTreeSet::new();
    for job in jobs {
        let name = job["job_name"].as_str().unwrap();
        let port = compose["services"][name]["environment"]["PORT"].as_u64().unwrap();
        let target = job["static_configs"][0]["targets"][0].as_str().unwrap();
        assert_eq!(target, format!("{name}:{port}"));
        assert_eq!(job["authorization"]["credentials_file"], TOKEN);
        names.insert(name);
    }
    assert_eq!(names, SERVICES.into());
    let entry = compose["services"]["prometheus"]["entrypoint"][2].as_str().unwrap();
    assert!(entry.contains(&format!("\"$$METRICS_TOKEN\" >{TOKEN}")), "{entry}");
}

#[tokio::test]
async fn prometheus_accepts_its_configurations() {
    for file in ["prometheus.yml", "kubernetes.yml"] {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        fs::write(&token, "").unwrap();
        let config = read(&format!("deploy/monitoring/{file}"));
        let config = [TOKEN, TOKEN_ON_KUBERNETES]
            .iter()
            .fold(config, |config, path| config.replace(path, token.to_str().unwrap()));
        // Debian's promtool cannot discover pods.
        let config = config.replace(
            "kubernetes_sd_configs:\n      - role: pod",
            "file_sd_configs:\n      - files: [pods.json]",
        );
        fs::write(folder.path().join(file), config).unwrap();
        fs::copy(root().join("deploy/monitoring/alerts.yml"), folder.path().join("alerts.yml"))
            .unwrap();
        promtool::run(&["check", "config", file], folder.path()).await;
    }
}

#[test]
fn monitoring_needs_its_profile_and_listens_on_localhost() {
    let compose = yaml("docker-compose.yml");
    for (name, port) in [("prometheus", 9090), ("grafana", 3000)] {
        let service = &compose["services"][name];
        assert_eq!(service["profiles"][0], "monitoring", "{name}");
        assert_eq!(*service["ports"][0].as_str().unwrap(), format!("127.0.0.1:{port}:{port}"));
        let (_, tag) = service["image"].as_str().unwrap().split_once(':').unwrap();
        assert!(tag.trim_start_matches('v').split('.').count() == 3, "{name}: {tag} is not pinned");
    }
    let services = compose["services"].as_mapping().unwrap();
    for (name, service) in services {
        let needs = service["depends_on"].as_mapping().into_iter().flat_map(|needs| needs.keys());
        for needed in needs {
            let needed = &compose["services"][needed];
            assert!(
                needed["profiles"].is_null(),
                "{name:?} depends on a service that starts only with a profile"
            );
        }
    }
}

#[test]
fn grafana_finds_prometheus_and_the_dashboards() {
    let compose = yaml("docker-compose.yml");
    let source = yaml("deploy/monitoring/grafana/datasources/prometheus.yml");
    let url = source["datasources"][0]["url"].as_str().unwrap();
    assert_eq!(url, "http://prometheus:9090");
    let mounted = compose["services"]["grafana"]["volumes"][0].as_str().unwrap();
    assert_eq!(mounted, "./deploy/monitoring/grafana:/etc/grafana/provisioning:ro");
    let provider = yaml("deploy/monitoring/grafana/dashboards/dashboards.yml");
    let folder = provider["providers"][0]["options"]["path"].as_str().unwrap();
    assert_eq!(folder, "/etc/grafana/provisioning/dashboards");
}
