//! A Prometheus server with the shipped configuration, in which a second is a minute.

use std::{collections::BTreeMap, fs, net::TcpListener, process::Stdio};

use blackbox::{
    authsvc::Site,
    http, objstore, payments,
    postgres::Cluster,
    process::{Process, until},
    project::{read, root},
};
use demo_portal::{ANYONE, Behaviour, Delivery, Operation};
use serde_json::Value;
use tokio::process::{Child, Command};

/// A duration of PromQL, or of the configuration, is this much shorter.
const FASTER: u64 = 60;

/// A running server.
struct Prometheus {
    url: String,
    http: reqwest::Client,
    _process: Child,
    _place: tempfile::TempDir,
}

impl Prometheus {
    /// Scrapes these targets, by the names in prometheus.yml.
    fn start(targets: &[(&str, String)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let token = place.path().join("token");
        fs::write(&token, "").unwrap();
        let mut config = read("deploy/monitoring/prometheus.yml");
        config = config.replace("/tmp/metrics-token", token.to_str().unwrap());
        for (name, address) in targets {
            config = config.replace(name, address);
        }
        fs::write(place.path().join("prometheus.yml"), faster(&config)).unwrap();
        let alerts = read("deploy/monitoring/alerts.yml");
        fs::write(place.path().join("alerts.yml"), faster(&alerts)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = root().join("target/tools/prometheus");
        assert!(program.exists(), "Prometheus is missing; install it with: scripts/install test");
        let mut command = Command::new(program.canonicalize().unwrap());
        command.arg("--config.file=prometheus.yml").current_dir(place.path());
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let process = command.spawn().unwrap();
        let url = format!("http://127.0.0.1:{port}");
        Self { url, http: http::client(), _process: process, _place: place }
    }

    /// The texts of the alerts that fire, by their names. `None` if the server does not answer yet.
    async fn firing(&self) -> Option<BTreeMap<String, String>> {
        let answer = self.http.get(format!("{}/api/v1/alerts", self.url)).send().await.ok()?;
        let answer: Value = serde_json::from_str(&answer.text().await.ok()?).ok()?;
        let alerts = answer["data"]["alerts"].as_array()?.iter();
        let firing = alerts.filter(|alert| alert["state"] == "firing").map(|alert| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&alert["labels"]["alertname"]), text(&alert["annotations"]["summary"]))
        });
        Some(firing.collect())
    }
}

/// The text with each duration divided by [`FASTER`].
fn faster(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let is_word =
            rest[..start].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let digits = rest[start..].find(|letter: char| !letter.is_ascii_digit());
        let end = start + digits.unwrap_or(rest.len() - start);
        let (number, after) = (&rest[start..end], &rest[end..]);
        let unit = after.chars().next().filter(|_| !is_word);
        let ends = !after.chars().nth(1).is_some_and(|letter| letter.is_alphanumeric());
        let seconds = match unit.filter(|_| ends) {
            Some('s') => Some(1),
            Some('m') => Some(60),
            Some('h') => Some(3600),
            _ => None,
        };
        out.push_str(&rest[..start]);
        rest = after;
        match seconds {
            None => out.push_str(number),
            Some(seconds) => {
                let duration: u64 = number.parse().unwrap();
                out.push_str(&format!("{}ms", duration * seconds * 1000 / FASTER));
                rest = &after[1..];
            }
        }
    }
    out + rest
}

#[test]
fn durations_become_shorter() {
    let text = faster("for: 2m\nexpr: a:rate5m[15s] offset 1h > 0.256 or p99[30m]");
    let expected = "for: 2000ms\nexpr: a:rate5m[250ms] offset 60000ms > 0.256 or p99[30000ms]";
    assert_eq!(text, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_pages_for_three_incidents_and_nothing_else() {
    let (site, cluster) = (Site::with(&[]).await, Cluster::start());
    let objects = objstore::Stopped::on(Some(cluster.database()), &[]).start().await;
    let payments = payments::Service::with(&[]).await;
    let address = |process: &Process| process.address().to_string();
    let processes = [site.process(), objects.process(), payments.process()].map(address);
    let [portal, store, gone] = &processes;
    let names = ["authsvc:5000", "objstore-svc:5001", "payments-svc:5002"];
    let targets: Vec<_> = names.into_iter().zip(processes.iter().cloned()).collect();
    let prometheus = Prometheus::start(&targets);
    until(async || prometheus.firing().await.is_some()).await;

    let silent = Behaviour::from(Delivery::ResetBefore);
    site.portal.script(ANYONE, Operation::Login, silent);
    cluster.stop();
    let _stopped = payments.stop().await;
    let expected = BTreeMap::from([
        (
            "SignInsFail".to_owned(),
            format!(
                "% of the sign-ins get 502, most of them at {portal}. Calls to the portal: 100% get \
                 no answer, and `cause` in the log says why"
            ),
        ),
        (
            "DatabaseDown".to_owned(),
            format!("objstore-svc: the database of {store} does not answer, or takes no writes"),
        ),
        ("ServiceDown".to_owned(), format!("payments-svc: {gone} does not answer /metrics")),
    ]);
    let known = site.student();
    until(async || {
        let _ = site.sign_in(&known).await;
        prometheus.firing().await.is_some_and(|firing| firing.len() >= expected.len())
    })
    .await;
    let mut firing = prometheus.firing().await.unwrap();
    // Sign-ins in flight count, so the share is a little less than 100 %.
    let share = firing.get_mut("SignInsFail").unwrap();
    *share = share[share.find('%').unwrap()..].to_owned();
    assert_eq!(firing, expected);
}
