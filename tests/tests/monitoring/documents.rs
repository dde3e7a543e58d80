//! The documents name every metric, and no metric that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use blackbox::{
    page::{self, Page},
    project::{files, read},
};

use crate::{
    expressions::{is_metric, is_of_name},
    scrape::Family,
    traffic,
};

const PAGE: &str = "docs/monitoring.md";

/// Suffixes of the series of histograms and summaries.
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

#[tokio::test]
async fn the_tables_list_exactly_the_metrics_of_the_services() {
    let scraped = traffic::scraped().await;
    let mut shown = BTreeMap::new();
    for row in Page::parse(&read(PAGE), PAGE.to_owned()).rows {
        let [name, meaning] = &row.cells[..] else { continue };
        let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap_or((name, ""));
        if !is_metric(name) {
            continue;
        }
        assert!(!meaning.is_empty(), "{name} has no meaning");
        let labels = labels.split(',').filter(|label| !label.is_empty()).map(str::to_owned);
        let family = Family { kind: kind(name).to_owned(), labels: labels.collect() };
        assert!(shown.insert(name.to_owned(), family).is_none(), "{name} is listed twice");
    }
    for (name, family) in &scraped.families {
        assert_eq!(
            shown.remove(name).as_ref(),
            Some(family),
            "{name}: left is the page, right is the service"
        );
    }
    assert!(shown.is_empty(), "no service has these metrics: {shown:?}");
}

/// The type of a metric, as the page derives it from the name.
fn kind(name: &str) -> &'static str {
    let kinds = [
        ("_total", "counter"),
        ("_duration_seconds", "histogram"),
        ("_latency_seconds", "summary"),
    ];
    kinds.iter().find(|(end, _)| name.ends_with(end)).map_or("gauge", |(_, kind)| kind)
}

#[tokio::test]
async fn every_metric_that_a_document_names_exists() {
    let scraped = traffic::scraped().await;
    let mut unknown = BTreeSet::new();
    for page in page::pages() {
        for name in code(&page).flat_map(names) {
            let series = SUFFIXES.iter().filter_map(|suffix| name.strip_suffix(suffix));
            let mut families = series.chain([name]);
            let exists = families.any(|family| scraped.families.contains_key(family));
            if !exists && !scraped.has_label_value(name) {
                unknown.insert(format!("{}: {name}", page.path));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[tokio::test]
async fn documented_log_messages_exist_in_the_code() {
    let page = read(PAGE);
    let (_, section) = page.split_once("\n## Log messages\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut sources = files();
    sources.retain(|file| file.starts_with("crates/") && file.ends_with(".rs"));
    let sources: String = sources.iter().map(|file| read(file)).collect();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let messages: Vec<_> = cells.flat_map(|cell| cell.split('`').step_by(2)).collect();
    assert!(messages.len() > 10, "{messages:?}");
    for message in messages {
        assert!(sources.contains(&format!("\"{message}\"")), "no such message: {message}");
    }
}

/// The code of a document that can name metrics: inline code and PromQL blocks, except links to
/// items of source files.
fn code(page: &Page) -> impl Iterator<Item = &str> {
    let to_sources = page.links.iter().filter(|link| link.target.ends_with(".rs"));
    let items: BTreeSet<_> = to_sources.filter_map(|link| link.code.as_deref()).collect();
    let code = page.code.iter().map(String::as_str).filter(move |code| !items.contains(code));
    code.chain(page.blocks_of(&["promql"]))
}

/// The names of metrics in code, without shortened names, such as `objstore_…`, and names of Rust
/// crates.
fn names(code: &str) -> impl Iterator<Item = &str> {
    let words = code.split(|letter| !is_of_name(letter));
    words.filter(|word| is_metric(word) && !word.ends_with("_svc"))
}

#[test]
fn metric_names_are_found_only_in_code() {
    let text = "a `payments_x{b=\"c\"}` objstore_y\n```text\nauthsvc_z\n```\n`authsvc_v`\n\
                ```promql\nrate(objstore_w[5m])\n```\n`payments_…` `objstore_svc` [`objstore_u`](a.rs)";
    let page = Page::parse(text, "a.md".to_owned());
    let found: Vec<_> = code(&page).flat_map(names).collect();
    assert_eq!(found, ["payments_x", "authsvc_v", "objstore_w"]);
}
