//! The documents: they name every metric, and no other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{
    expressions::{is_metric, is_of_name},
    one_line, path, read,
    scrape::Family,
    traffic,
};

/// Suffixes of the series of histograms and summaries.
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

#[tokio::test]
async fn the_tables_of_the_page_are_the_metrics_of_the_services() {
    let scraped = traffic::scraped().await;
    let page = read("docs/monitoring.md");
    let mut shown = BTreeMap::new();
    for line in page.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, name, kind, labels, meaning, _] = cells[..] else { continue };
        let name = name.trim_matches('`');
        if !is_metric(name) {
            continue;
        }
        assert!(!meaning.is_empty(), "{line}");
        let labels = labels.split(", ").filter_map(|label| {
            label.strip_prefix('`').and_then(|label| label.strip_suffix('`')).map(str::to_owned)
        });
        let family = Family { kind: kind.to_owned(), labels: labels.collect() };
        assert!(shown.insert(name.to_owned(), family).is_none(), "{name} is there twice");
    }
    for (name, family) in &scraped.families {
        assert_eq!(shown.remove(name).as_ref(), Some(family), "{name}: the page, the service");
    }
    assert!(shown.is_empty(), "no service has these metrics: {shown:?}");
}

#[tokio::test]
async fn every_metric_that_a_document_names_exists() {
    let scraped = traffic::scraped().await;
    let tests = files(&path("tests"), "rs");
    let tests: String = tests.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let mut unknown = BTreeSet::new();
    for file in files(&path(""), "md") {
        let text = fs::read_to_string(&file).unwrap();
        for name in code(&text).iter().flat_map(|code| names(code)) {
            let series = SUFFIXES.iter().filter_map(|suffix| name.strip_suffix(suffix));
            let mut families = series.chain([&*name]);
            let exists = families.any(|family| scraped.families.contains_key(family));
            let is_test = tests.contains(&format!("fn {name}("));
            if !exists && !is_test && !scraped.has_label_value(&name) {
                unknown.insert(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[tokio::test]
async fn log_messages_of_the_page_stand_in_the_code() {
    let page = read("docs/monitoring.md");
    let (_, section) = page.split_once("\n## Log messages\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let sources = files(&path("crates"), "rs");
    let sources: String = sources.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let messages: Vec<_> = rows.map(|(message, _)| message).collect();
    assert!(messages.len() > 10, "{messages:?}");
    for message in messages {
        assert!(sources.contains(&format!("\"{message}\"")), "no such message: {message}");
    }
}

/// The files of a kind below a folder, except those that are hidden, built or stored there.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || ["target", "data"].contains(&&*name) {
            continue;
        } else if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}

/// The code of a document: what stands in back quotes, and blocks of PromQL.
fn code(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 0 {
            code.extend(part.split('`').skip(1).step_by(2).map(one_line));
        } else if part.starts_with("promql\n") {
            code.push(part.to_owned());
        }
    }
    code
}

/// The names of metrics in code. A name that is cut short, such as `objstore_…`, is none, and
/// neither is the name of a Rust crate.
fn names(code: &str) -> Vec<String> {
    let words = code.split(|letter| !is_of_name(letter));
    let names = words.filter(|word| is_metric(word) && !word.ends_with("_svc"));
    names.map(str::to_owned).collect()
}

#[test]
fn names_are_found_in_code_alone() {
    let text = "a `payments_x{b=\"c\"}` objstore_y\n```text\nauthsvc_z\n```\n`authsvc_v`\n\
                ```promql\nrate(objstore_w[5m])\n```\n`payments_…` `objstore_svc`";
    let found: Vec<_> = code(text).iter().flat_map(|code| names(code)).collect();
    assert_eq!(found, ["payments_x", "authsvc_v", "objstore_w"]);
}
