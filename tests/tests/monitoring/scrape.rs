//! Parses the answers of `/metrics`, and evaluates expressions on them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::{Value, json};

use crate::promtool;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The type in the line `# TYPE`.
    pub(crate) kind: String,
    /// The names of the labels, without `le`.
    pub(crate) labels: BTreeSet<String>,
}

struct Sample {
    kind: String,
    value: f64,
}

/// A line of an answer with a sample.
pub(crate) struct Line<'a> {
    /// Name of the family in the line `# TYPE`.
    family: &'a str,
    /// Type of the family.
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    /// As in the line, without braces.
    pub(crate) labels: &'a str,
    pub(crate) value: f64,
}

impl Line<'_> {
    /// The series as Prometheus stores it.
    pub(crate) fn series(&self, job: &str, instance: &str) -> String {
        let comma = if self.labels.is_empty() { "" } else { "," };
        format!("{}{{job=\"{job}\",instance=\"{instance}\"{comma}{}}}", self.name, self.labels)
    }
}

/// The samples of an answer of `/metrics`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut family, mut kind) = ("", "");
    text.lines().filter_map(move |line| {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            (family, kind) = rest.split_once(' ').unwrap();
        }
        let (series, value) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}').unwrap();
        Some(Line { family, kind, name, labels, value: value.parse().unwrap() })
    })
}

/// The metrics of several services.
#[derive(Default)]
pub(crate) struct Scraped {
    /// The families, by name.
    pub(crate) families: BTreeMap<String, Family>,
    /// The samples, by series with `job` and `instance`.
    samples: BTreeMap<String, Sample>,
}

impl Scraped {
    /// Adds the answer of a service under the name of its Prometheus job.
    pub(crate) fn add(&mut self, job: &str, text: &str) {
        let instance = format!("{job}:1");
        let up = Sample { kind: "gauge".to_owned(), value: 1.0 };
        self.samples.insert(format!("up{{job=\"{job}\",instance=\"{instance}\"}}"), up);
        for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let (name, kind) = line.split_once(' ').unwrap();
            let family = Family { kind: kind.to_owned(), labels: BTreeSet::new() };
            self.families.insert(name.to_owned(), family);
        }
        for line in lines(text) {
            let family = self.families.get_mut(line.family).unwrap();
            let names = line.labels.split("\",").filter_map(|label| label.split_once("=\""));
            let names = names.map(|(name, _)| name).filter(|name| *name != "le");
            family.labels.extend(names.map(str::to_owned));
            let sample = Sample { kind: line.kind.to_owned(), value: line.value };
            self.samples.insert(line.series(job, &instance), sample);
        }
    }

    /// Whether a label has this value, such as the name of a limit.
    pub(crate) fn has_label_value(&self, value: &str) -> bool {
        let label = format!("=\"{value}\"");
        self.samples.keys().any(|series| series.contains(&label))
    }

    /// Evaluates the expressions on the samples with promtool. Panics unless each yields a series.
    /// Counters grow by one per minute, so that they have rates.
    pub(crate) async fn evaluate(&self, expressions: &[String]) {
        let series = self.samples.iter().map(|(series, Sample { kind, value })| {
            let step = u8::from(kind != "gauge");
            json!({ "series": series, "values": format!("{value}+{step}x60") })
        });
        let tests = expressions.iter().map(|expression| {
            json!({
                "expr": format!("count({expression}) > bool 0"),
                "eval_time": "50m",
                "exp_samples": [{ "labels": "{}", "value": 1 }],
            })
        });
        let rules = json!({
            "rule_files": [],
            "evaluation_interval": "1m",
            "tests": [{
                "interval": "1m",
                "input_series": series.collect::<Value>(),
                "promql_expr_test": tests.collect::<Value>(),
            }],
        });
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rules.json"), rules.to_string()).unwrap();
        promtool::run(&["test", "rules", "rules.json"], folder.path()).await;
    }
}

#[test]
fn families_and_samples_are_read() {
    let mut scraped = Scraped::default();
    let text = "# HELP a_x Some help.\n# TYPE a_x histogram\n\
                a_x_bucket{route=\"/{id}\",le=\"1\"} 2\na_x_sum{route=\"/{id}\"} 0.5\n\
                # HELP a_y Other help.\n# TYPE a_y gauge\na_y 3\n";
    scraped.add("a", text);
    let labels = BTreeSet::from(["route".to_owned()]);
    let histogram = Family { kind: "histogram".to_owned(), labels };
    let gauge = Family { kind: "gauge".to_owned(), labels: BTreeSet::new() };
    let expected = [("a_x".to_owned(), histogram), ("a_y".to_owned(), gauge)];
    assert_eq!(scraped.families, BTreeMap::from(expected));
    let series: Vec<_> = scraped.samples.keys().map(String::as_str).collect();
    let expected = [
        r#"a_x_bucket{job="a",instance="a:1",route="/{id}",le="1"}"#,
        r#"a_x_sum{job="a",instance="a:1",route="/{id}"}"#,
        r#"a_y{job="a",instance="a:1"}"#,
        r#"up{job="a",instance="a:1"}"#,
    ];
    assert_eq!(series, expected);
}
