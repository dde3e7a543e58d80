//! The alerts: their tests, their annotations, and the series that they read.

use std::collections::{BTreeMap, BTreeSet};

use blackbox::project::{read, root};
use serde_norway::Value;

use crate::{expressions::selectors, one_line, promtool, traffic};

/// Selectors that match no series here, because the traffic of these tests causes neither a service
/// that is not ready nor an internal error. Their label names are still compared.
const NOT_CAUSED: [&str; 5] = [
    r#"objstore_http_requests_total{route="/ready", status="503"}"#,
    r#"payments_http_requests_total{route="/ready", status="503"}"#,
    r#"objstore_http_requests_total{route!="/socket", status="500"}"#,
    r#"payments_http_requests_total{status="500"}"#,
    r#"authsvc_errors_total{type="InternalError"}"#,
];

/// An alert rule of alerts.yml.
pub(crate) struct Alert {
    pub(crate) name: String,
    pub(crate) expression: String,
    pub(crate) delay: String,
    pub(crate) severity: String,
    runbook: String,
}

/// Reads all alert rules.
pub(crate) fn alerts() -> Vec<Alert> {
    let file: Value = serde_norway::from_str(&read("deploy/monitoring/alerts.yml")).unwrap();
    let groups = file["groups"].as_sequence().unwrap();
    let rules = groups.iter().flat_map(|group| group["rules"].as_sequence().unwrap());
    rules.map(Alert::parse).collect()
}

impl Alert {
    fn parse(rule: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{rule:?}")).to_owned();
        assert!(rule["annotations"]["summary"].is_string(), "{rule:?}");
        Self {
            name: text(&rule["alert"]),
            expression: one_line(&text(&rule["expr"])),
            delay: text(&rule["for"]),
            severity: text(&rule["labels"]["severity"]),
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

#[test]
fn every_alert_has_a_firing_and_a_quiet_test() {
    let file: Value = serde_norway::from_str(&read("deploy/monitoring/alerts.test.yml")).unwrap();
    let tests = file["tests"].as_sequence().unwrap();
    let cases = tests.iter().flat_map(|test| test["alert_rule_test"].as_sequence().unwrap());
    let mut tested: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for case in cases {
        let fires = !case["exp_alerts"].as_sequence().unwrap().is_empty();
        tested.entry(case["alertname"].as_str().unwrap()).or_default()[usize::from(fires)] = true;
    }
    let alerts = alerts();
    for Alert { name, .. } in &alerts {
        assert_eq!(tested.remove(&**name), Some([true, true]), "{name}: [quiet, firing]");
    }
    assert!(tested.is_empty(), "no such alerts: {tested:?}");
}

#[test]
fn every_alert_links_to_its_section_of_the_page() {
    let page = read("docs/monitoring.md");
    let sections: BTreeMap<_, _> = page
        .split("\n### ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(heading, text)| (heading, text.split("\n## ").next().unwrap_or(text)))
        .collect();
    for Alert { name, expression, delay, severity, runbook } in alerts() {
        assert_eq!(runbook, format!("docs/monitoring.md#{}", name.to_lowercase()));
        let section = sections.get(&*name).unwrap_or_else(|| panic!("no section {name}"));
        let rest = section.split_once("```promql\n").map(|(_, rest)| rest);
        let shown = rest.and_then(|rest| rest.split_once("```")).map(|(shown, _)| one_line(shown));
        assert_eq!(shown.as_deref(), Some(&*expression), "{name}");
        let opening = format!("Severity: {severity}, after {delay}.");
        assert!(section.contains(&opening), "{name}: {opening}");
    }
}

#[tokio::test]
async fn every_series_that_an_alert_reads_exists() {
    let scraped = traffic::scraped().await;
    let (mut expressions, mut not_caused) = (BTreeSet::new(), BTreeSet::new());
    for alert in alerts() {
        let selectors = selectors(&alert.expression);
        assert!(!selectors.is_empty(), "{}", alert.name);
        for selector in selectors {
            expressions.insert(selector.of_names());
            let caused = !NOT_CAUSED.contains(&&*selector.text);
            if caused { &mut expressions } else { &mut not_caused }.insert(selector.text);
        }
    }
    assert_eq!(not_caused.len(), NOT_CAUSED.len(), "{not_caused:?}");
    scraped.evaluate(&Vec::from_iter(expressions)).await;
}
