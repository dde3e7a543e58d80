//! The Grafana dashboards: the properties that Grafana requires, and queries that find series.

use std::collections::BTreeSet;

use blackbox::project::read;
use serde_json::Value;

use crate::{SERVICES, expressions::selectors, traffic};

/// The width of Grafana's grid.
const COLUMNS: u64 = 24;

fn dashboard(service: &str) -> Value {
    let file = read(&format!("deploy/monitoring/grafana/dashboards/{service}.json"));
    serde_json::from_str(&file).unwrap()
}

/// The panels, rows included.
fn panels(dashboard: &Value) -> &[Value] {
    dashboard["panels"].as_array().unwrap()
}

/// The panels without the rows.
fn charts(dashboard: &Value) -> impl Iterator<Item = &Value> {
    panels(dashboard).iter().filter(|panel| panel["type"] != "row")
}

/// The queries of a panel.
fn targets(panel: &Value) -> &[Value] {
    panel["targets"].as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[tokio::test]
async fn every_query_of_a_dashboard_finds_series() {
    let scraped = traffic::scraped().await;
    let mut expressions = Vec::new();
    for service in SERVICES {
        let dashboard = dashboard(service);
        let mut queries: Vec<_> = charts(&dashboard).flat_map(targets).collect();
        queries.retain(|target| !text(&target["expr"]).is_empty());
        expressions.extend(queries.into_iter().map(|target| text(&target["expr"]).to_owned()));
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let found = selectors(text(variable["query"].get("query").unwrap_or(&Value::from(""))));
            expressions.extend(found.into_iter().map(|selector| selector.text));
        }
        for expression in &mut expressions {
            *expression = expression
                .replace("$job", service)
                .replace("$instance", ".+")
                .replace("$__rate_interval", "5m");
        }
    }
    assert!(expressions.iter().all(|expression| !expression.contains('$')), "{expressions:?}");
    scraped.evaluate(&expressions).await;
}

#[test]
fn every_selector_filters_by_job_and_instance() {
    for service in SERVICES {
        let dashboard = dashboard(service);
        for target in charts(&dashboard).flat_map(targets) {
            for selector in selectors(text(&target["expr"])) {
                let chosen = r#"{job=~"$job", instance=~"$instance""#;
                assert!(selector.text.contains(chosen), "{service}: {}", selector.text);
            }
        }
    }
}

#[test]
fn panels_have_unique_ids_and_do_not_overlap() {
    for service in SERVICES {
        let dashboard = dashboard(service);
        let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
        for panel in panels(&dashboard) {
            let title = text(&panel["title"]);
            assert!(ids.insert(number(&panel["id"])), "{service}: the id of {title} is not unique");
            let [x, y, width, height] =
                ["x", "y", "w", "h"].map(|side| number(&panel["gridPos"][side]));
            assert!(width > 0 && height > 0 && x + width <= COLUMNS, "{service}: {title}");
            for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
                assert!(cells.insert(cell), "{service}: {title} overlaps another panel");
            }
        }
    }
}

#[test]
fn panels_have_titles_descriptions_units_and_legends() {
    for service in SERVICES {
        let dashboard = dashboard(service);
        let mut titles = BTreeSet::new();
        for panel in charts(&dashboard) {
            let title = text(&panel["title"]);
            assert!(titles.insert(title), "{service}: two panels are titled {title}");
            assert!(["stat", "timeseries"].contains(&text(&panel["type"])), "{service}: {title}");
            assert!(!text(&panel["description"]).is_empty(), "{service}: {title}");
            assert!(!text(&panel["fieldConfig"]["defaults"]["unit"]).is_empty(), "{title}");
            let mut references = BTreeSet::new();
            assert!(!targets(panel).is_empty(), "{service}: {title}");
            for target in targets(panel) {
                assert!(references.insert(text(&target["refId"])), "{service}: {title}");
                assert!(!text(&target["legendFormat"]).is_empty(), "{service}: {title}");
                assert_eq!(text(&target["datasource"]["uid"]), "${datasource}", "{title}");
            }
        }
    }
}

#[test]
fn dashboards_do_not_conflict_in_one_grafana() {
    for service in SERVICES {
        let dashboard = dashboard(service);
        assert_eq!((text(&dashboard["uid"]), text(&dashboard["title"])), (service, service));
        assert_eq!(number(&dashboard["schemaVersion"]), 39, "{service}");
        // An `id` is valid only in the database of one Grafana.
        assert!(dashboard.get("id").is_none(), "{service}");
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let names: Vec<_> = variables.iter().map(|variable| text(&variable["name"])).collect();
        assert_eq!(names, ["datasource", "job", "instance"], "{service}");
    }
}
