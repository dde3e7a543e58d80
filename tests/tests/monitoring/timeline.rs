//! The metrics of services over simulated time, and the alerts that Prometheus makes of them.
//! promtool evaluates the rules as Prometheus does, but with a clock of its own, so that hours take
//! seconds and the times of alerts do not depend on the machine.

use std::{collections::BTreeMap, fmt::Write as _, fs, time::Duration};

use blackbox::{http, payments::seconds, project::root};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    promtool,
    scrape::{Line, lines},
};

/// Seconds between two scrapes, as in prometheus.yml.
const SCRAPE: u32 = 15;

/// Scrapes in a minute.
const PER_MINUTE: u32 = 60 / SCRAPE;

/// How long a scrape waits for the writes of jobs: in simulated time they would wait at each scrape.
/// Much less than the time after which a write that a lock holds up is answered.
const WAIT: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

/// Seconds of a request that is slow on any machine: a bound of the buckets.
const SLOW: f64 = 4.096;

/// An alert that an incident fires.
pub(crate) struct Fires {
    alert: &'static str,
    severity: &'static str,
    /// Time from the beginning of the incident, in seconds.
    after: i32,
    /// Its labels, without the severity.
    labels: &'static [(&'static str, &'static str)],
    /// Its text at this time.
    summary: &'static str,
}

impl Fires {
    pub(crate) const fn critical(
        alert: &'static str,
        after: i32,
        labels: &'static [(&'static str, &'static str)],
        summary: &'static str,
    ) -> Self {
        Self { alert, severity: "critical", after, labels, summary }
    }

    pub(crate) const fn warning(
        alert: &'static str,
        after: i32,
        labels: &'static [(&'static str, &'static str)],
        summary: &'static str,
    ) -> Self {
        Self { severity: "warning", ..Self::critical(alert, after, labels, summary) }
    }
}

/// A process that Prometheus scrapes.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) job: &'static str,
    pub(crate) instance: &'static str,
    /// The base URL of the process. `None` while there is none.
    pub(crate) url: Option<String>,
}

/// The values of a series so far.
struct Series {
    /// In the notation of promtool.
    values: String,
    /// Scrapes that the values cover.
    scrapes: u32,
    /// The last value. `None` if the last scrapes do not have the series.
    last: Option<f64>,
}

/// Services that Prometheus scrapes, and what it has scraped.
pub(crate) struct Timeline {
    targets: Vec<Target>,
    http: reqwest::Client,
    scrapes: u32,
    series: BTreeMap<String, Series>,
}

/// A sample as a process shows it.
struct Sample {
    is_counter: bool,
    is_time: bool,
    value: f64,
}

/// What a process shows, by series.
type Shown = BTreeMap<String, Sample>;

impl Timeline {
    pub(crate) fn of(targets: impl IntoIterator<Item = Target>) -> Self {
        let (targets, http) = (targets.into_iter().collect(), http::client());
        Self { targets, http, scrapes: 0, series: BTreeMap::new() }
    }

    /// Lets minutes pass. `traffic` is that of the time between two scrapes. It is sent once, and
    /// Prometheus sees its effect at each scrape.
    pub(crate) async fn pass(&mut self, minutes: u32, traffic: impl AsyncFnOnce()) {
        self.extend((minutes * PER_MINUTE).max(1), traffic).await;
    }

    /// Processes that have started anew count from zero.
    pub(crate) fn restarted(&mut self, instance: &str, url: &str) {
        let target = self.targets.iter_mut().find(|target| target.instance == instance).unwrap();
        target.url = Some(url.to_owned());
        let label = format!("instance=\"{instance}\"");
        for (_, series) in self.series.iter_mut().filter(|(name, _)| name.contains(&label)) {
            series.last = series.last.map(|_| 0.0);
        }
    }

    /// Nothing answers there any more.
    pub(crate) fn gone(&mut self, instance: &str) {
        let target = self.targets.iter_mut().find(|target| target.instance == instance).unwrap();
        target.url = None;
    }

    async fn extend(&mut self, scrapes: u32, traffic: impl AsyncFnOnce()) {
        let targets = self.targets.clone();
        let mut before = Vec::new();
        for target in &targets {
            before.push(target.shown(&self.http).await);
        }
        traffic().await;
        for (target, before) in targets.iter().zip(before) {
            let now = target.shown(&self.http).await;
            let up = f64::from(u8::from(target.url.is_some()));
            let name = format!("up{{job=\"{}\",instance=\"{}\"}}", target.job, target.instance);
            self.append(name, up, 0.0, scrapes);
            for (name, sample) in &now {
                let Sample { is_counter, is_time, value } = *sample;
                let earlier = before.get(name).map(|sample| sample.value);
                let step = value - earlier.unwrap_or(0.0);
                if is_counter {
                    let last = self.series.get(name).and_then(|series| series.last);
                    self.append(name.clone(), last.unwrap_or(0.0) + step, step, scrapes);
                } else if is_time && value > 0.0 {
                    let moves = earlier.is_some_and(|earlier| earlier != value);
                    let step = if moves { f64::from(SCRAPE) } else { 0.0 };
                    let age = seconds_since(value);
                    self.append(
                        name.clone(),
                        f64::from(self.scrapes * SCRAPE) - age,
                        step,
                        scrapes,
                    );
                } else {
                    self.append(name.clone(), value, 0.0, scrapes);
                }
            }
            let label = format!("{{job=\"{}\",instance=\"{}\"", target.job, target.instance);
            for (name, series) in &mut self.series {
                let is_gone = name.contains(&label) && !name.starts_with("up{");
                if is_gone && !now.contains_key(name) && series.last.take().is_some() {
                    series.values += " stale";
                    series.scrapes += 1;
                }
            }
        }
        self.scrapes += scrapes;
    }

    /// Appends values to a series: `first`, and the next ones with this step.
    fn append(&mut self, name: String, first: f64, step: f64, scrapes: u32) {
        let new = || Series { values: String::new(), scrapes: 0, last: None };
        let series = self.series.entry(name).or_insert_with(new);
        let missing = self.scrapes - series.scrapes;
        if missing > 0 {
            write!(series.values, " _x{missing}").unwrap();
        }
        write!(series.values, " {first}{step:+}x{}", scrapes - 1).unwrap();
        series.scrapes = self.scrapes + scrapes;
        series.last = Some(first + step * f64::from(scrapes - 1));
    }

    /// Evaluates the alerts on all that was scraped. Exactly these have to fire, at these times
    /// after the scrape with the number `begin`, and with these texts. Returns what differs.
    pub(crate) async fn differs(
        &self,
        name: &str,
        begin: u32,
        expected: &[Fires],
    ) -> Option<String> {
        let at = |fires: &Fires| i64::from(begin * SCRAPE) + i64::from(fires.after);
        let firing = "min by (alertname, severity) (min_over_time(
            timestamp(ALERTS{alertstate=\"firing\"})[4h:15s]))";
        let first = expected.iter().map(|fires| {
            let Fires { alert, severity, .. } = fires;
            let labels = format!("{{alertname=\"{alert}\",severity=\"{severity}\"}}");
            json!({ "labels": labels, "value": at(fires) })
        });
        let texts = expected.iter().map(|fires| {
            let mut labels: BTreeMap<_, _> = fires.labels.iter().copied().collect();
            labels.insert("severity", fires.severity);
            let runbook = format!("docs/monitoring.md#{}", fires.alert.to_lowercase());
            let annotations = json!({ "summary": fires.summary, "runbook": runbook });
            json!({
                "eval_time": format!("{}s", at(fires)),
                "alertname": fires.alert,
                "exp_alerts": [{ "exp_labels": labels, "exp_annotations": annotations }],
            })
        });
        let series = self
            .series
            .iter()
            .map(|(name, series)| json!({ "series": name, "values": series.values.trim_start() }));
        let rules = json!({
            "rule_files": [root().join("deploy/monitoring/alerts.yml").canonicalize().unwrap()],
            "evaluation_interval": format!("{SCRAPE}s"),
            "tests": [{
                "name": name,
                "interval": format!("{SCRAPE}s"),
                "input_series": series.collect::<Value>(),
                "alert_rule_test": texts.collect::<Value>(),
                "promql_expr_test": [{
                    "expr": firing,
                    "eval_time": format!("{}s", (self.scrapes - 1) * SCRAPE),
                    "exp_samples": first.collect::<Value>(),
                }],
            }],
        });
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("incident.json"), rules.to_string()).unwrap();
        promtool::failure(&["test", "rules", "incident.json"], folder.path()).await
    }

    /// The number of the next scrape.
    pub(crate) fn next(&self) -> u32 {
        self.scrapes
    }
}

impl Target {
    /// The metrics of the process when no write waits, or after [`WAIT`].
    async fn shown(&self, http: &reqwest::Client) -> Shown {
        let Some(url) = &self.url else { return Shown::new() };
        let until = Instant::now() + WAIT;
        loop {
            let answer = http.get(format!("{url}/metrics")).send().await.unwrap();
            let text = answer.error_for_status().unwrap().text().await.unwrap();
            let shown: Shown = lines(&text).map(|line| self.sample(&line)).collect();
            let is_waiting =
                |name: &String| name.contains("limit_used") && name.contains("queued_writes");
            let waits = shown.iter().any(|(name, sample)| sample.value != 0.0 && is_waiting(name));
            if !waits || Instant::now() >= until {
                return without_slowness(shown);
            }
            sleep(PAUSE).await;
        }
    }

    fn sample(&self, line: &Line<'_>) -> (String, Sample) {
        let sample = Sample {
            is_counter: line.kind != "gauge",
            is_time: line.name.ends_with("_timestamp_seconds"),
            value: line.value,
        };
        (line.series(self.job, self.instance), sample)
    }
}

/// Requests that took at most [`SLOW`] seconds count as the fastest: how fast this machine is decides
/// no alert.
fn without_slowness(mut shown: Shown) -> Shown {
    let bound_of = |name: &str| {
        let (before, rest) = name.split_once("_http_request_duration_seconds_bucket{")?;
        let (labels, bound) = rest.rsplit_once(",le=\"")?;
        let bound: f64 = bound.strip_suffix("\"}")?.parse().ok()?;
        Some(((before.to_owned(), labels.to_owned()), bound))
    };
    let mut up_to_slow = BTreeMap::new();
    for (name, sample) in &shown {
        if let Some((histogram, SLOW)) = bound_of(name) {
            up_to_slow.insert(histogram, sample.value);
        }
    }
    for (name, sample) in &mut shown {
        if let Some((histogram, _)) = bound_of(name).filter(|(_, bound)| *bound < SLOW) {
            sample.value = up_to_slow[&histogram];
        }
    }
    shown
}

/// The seconds since a Unix time, in scrapes: the services and this process read their clocks at
/// different times.
fn seconds_since(time: f64) -> f64 {
    let passed = f64::from(u32::try_from(seconds()).unwrap()) - time;
    (passed / f64::from(SCRAPE)).round() * f64::from(SCRAPE)
}
