//! The alerts: their tests, their annotations, and the series that they read.

use std::collections::{BTreeMap, BTreeSet};

use blackbox::project::{read, root};
use serde_norway::Value;

use crate::{expressions::selectors, one_line, promtool, traffic};

/// Selectors that match no series here, because the traffic of these tests causes no internal error.
/// Their label names are still compared.
const NOT_CAUSED: [&str; 3] = [
    r#"objstore_http_requests_total{route!="/socket", status="500"}"#,
    r#"payments_http_requests_total{status="500"}"#,
    r#"authsvc_errors_total{type="InternalError"}"#,
];

/// An alert rule of alerts.yml.
pub(crate) struct Alert {
    pub(crate) name: String,
    pub(crate) expression: String,
    runbook: String,
}

/// Reads all alert rules.
pub(crate) fn alerts() -> Vec<Alert> {
    let rules = rules();
    rules.iter().filter(|rule| rule["alert"].is_string()).map(Alert::parse).collect()
}

/// The rules that record a series, as the names of the series and their expressions.
fn records() -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map(one_line);
    rules().iter().filter_map(|rule| text(&rule["record"]).zip(text(&rule["expr"]))).collect()
}

fn rules() -> Vec<Value> {
    let file: Value = serde_norway::from_str(&read("deploy/monitoring/alerts.yml")).unwrap();
    let groups = file["groups"].as_sequence().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_sequence().unwrap()).cloned().collect()
}

impl Alert {
    fn parse(rule: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{rule:?}")).to_owned();
        assert!(rule["annotations"]["summary"].is_string(), "{rule:?}");
        assert!(rule["for"].is_string() && rule["labels"]["severity"].is_string(), "{rule:?}");
        Self {
            name: text(&rule["alert"]),
            expression: one_line(&text(&rule["expr"])),
            runbook: text(&rule["annotations"]["runbook"]),
        }
    }
}

#[tokio::test]
async fn the_alert_rules_pass_their_tests() {
    let folder = root().join("deploy/monitoring");
    promtool::run(&["check", "rules", "alerts.yml"], &folder).await;
    promtool::run(&["test", "rules", "alerts.test.yml"], &folder).await;
}

/// The incidents, which fire alerts, and the tests of alerts that no incident here can fire.
const TESTED: [&str; 3] = [
    include_str!("portal_incidents.rs"),
    include_str!("store_incidents.rs"),
    include_str!("../../../deploy/monitoring/alerts.test.yml"),
];

#[test]
fn every_alert_is_fired_by_a_test() {
    for Alert { name, .. } in alerts() {
        let quoted = [format!("\"{name}\""), format!("alertname: {name}\n")];
        let is_tested = TESTED.iter().any(|file| quoted.iter().any(|name| file.contains(name)));
        assert!(is_tested, "{name}");
    }
}

#[test]
fn every_alert_links_to_its_section_of_the_page() {
    let page = read("docs/monitoring.md");
    for Alert { name, runbook, .. } in alerts() {
        assert_eq!(runbook, format!("docs/monitoring.md#{}", name.to_lowercase()));
        assert!(page.contains(&format!("\n### {name}\n")), "no section {name}");
    }
}

#[tokio::test]
async fn every_series_that_an_alert_reads_exists() {
    let scraped = traffic::scraped().await;
    let (mut expressions, mut not_caused) = (BTreeSet::new(), BTreeSet::new());
    let records = records();
    let alerts = alerts().into_iter().map(|alert| alert.expression);
    for expression in alerts.chain(records.values().cloned()) {
        let selectors = selectors(&expression).into_iter();
        for selector in selectors.filter(|selector| !records.contains_key(&selector.name)) {
            expressions.insert(selector.of_names());
            let caused = !NOT_CAUSED.contains(&&*selector.text);
            if caused { &mut expressions } else { &mut not_caused }.insert(selector.text);
        }
    }
    assert_eq!(not_caused.len(), NOT_CAUSED.len(), "{not_caused:?}");
    scraped.evaluate(&Vec::from_iter(expressions)).await;
}
