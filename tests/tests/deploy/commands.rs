//! Every command of the table in docs/operations/configure.md runs: beside processes of this test, or in the
//! containers of `docker-compose.yml` if variables name their URLs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use blackbox::{
    acquirer::today,
    objstore::{self, Object},
    page::Page,
    payments::{self, minimal},
    postgres::{Address, Cluster},
    process::{self, Process, output, run_with},
    project::{read, root},
    service::{Program, Service},
    settings,
};
use demo_portal::CAMPUSES;
use jiff::{ToSpan as _, civil};
use rand::RngExt as _;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

const PAGE: &str = "docs/operations/configure.md";

const PROGRAMS: [&str; 5] =
    ["authsvc", "objstore-svc", "payments-svc", "demo-portal", "demo-acquirer"];

/// A student of demo-portal: username and password.
const STUDENT: &str = "QLV2PG19VD041\ndemo-bela\n";

const IBAN: &str = "DK5000400440116243";

/// The commands of the table, such as `payments-svc payout`.
fn documented() -> BTreeSet<String> {
    let page = Page::parse(&read(PAGE), PAGE.to_owned());
    let rows = page.rows.iter().filter(|row| row.heading == "Subcommands");
    let names = rows.skip(1).flat_map(|row| match row.cells[0].strip_suffix(" of every program") {
        Some(name) => PROGRAMS.map(|program| format!("{program} {name}")).to_vec(),
        None => row.cells[0].split(", ").map(str::to_owned).collect(),
    });
    names.collect()
}

#[tokio::test]
async fn the_table_lists_every_subcommand() {
    let mut known = BTreeSet::new();
    for program in PROGRAMS {
        let help = settings::help(program, &[]).await;
        let (_, list) = help.split_once("Commands:\n").unwrap();
        let lines = list.lines().take_while(|line| line.starts_with("  "));
        let names = lines.filter_map(|line| line.split_whitespace().next());
        known.extend(names.filter(|name| *name != "help").map(|name| format!("{program} {name}")));
    }
    assert_eq!(documented(), known);
}

#[tokio::test]
async fn every_documented_command_runs() {
    let mut site = Site::start().await;
    for program in PROGRAMS {
        site.run(&[program, "healthcheck"]).await;
    }
    let probed = site.run_with(&["authsvc", "probe"], STUDENT).await;
    assert!(probed.contains("profile_fetch: 200"), "{probed}");
    for program in ["objstore-svc", "payments-svc"] {
        site.run(&[program, "confirm-clock"]).await;
        site.makes_a_backup(program).await;
    }
    site.controls_merchants().await;
    site.pays_out().await;

    let client = site.objstore.client().await;
    site.run(&["objstore-svc", "end-sessions", &client.id().to_string()]).await;
    client.fetch("/watches").await.refused(401, "unauthenticated");

    let Site { objstore, payments, mut ran, .. } = site;
    let (client, object) = (objstore.client().await, Object::fresh());
    let tag = client.set(&object).await;
    let objstore = run_stopped(objstore, &mut ran, "new-epoch", None).await;
    let anew = client.at(&objstore).etag(&object.key).await;
    assert_ne!(anew.split('-').next(), tag.split('-').next());
    imports(objstore, &mut ran, "objects").await;
    imports(payments, &mut ran, "payouts").await;
    assert_eq!(ran, documented());
}

/// The settings of a program that has no store.
type Variables = Vec<(&'static str, String)>;

/// The programs, and the commands that have run.
struct Site {
    objstore: objstore::Service,
    payments: payments::Service,
    /// The others. Empty in containers.
    others: BTreeMap<&'static str, (Process, Variables)>,
    ran: BTreeSet<String>,
    folder: TempDir,
}

impl Site {
    async fn start() -> Self {
        let mut site = Self {
            objstore: Service::any().await,
            payments: Service::any().await,
            others: BTreeMap::new(),
            ran: BTreeSet::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        assert_eq!(site.objstore.is_own(), site.payments.is_own(), "name the URLs of all or none");
        if site.payments.is_own() {
            let file = |name: &str| site.folder.path().join(name).to_str().unwrap().to_owned();
            let (portal, acquirer) = (file("portal.pem"), file("acquirer.pem"));
            site.add("demo-portal", vec![("DEMO_PORTAL_CA_FILE", portal.clone())]).await;
            let (process, _) = &site.others["demo-portal"];
            let url = format!("https://localhost:{}", process.address().port());
            let settings = vec![
                ("PORTAL_URL", url),
                ("PORTAL_CA_FILE", portal),
                ("PORTAL_CAMPUSES", CAMPUSES.join(";")),
            ];
            site.add("authsvc", settings).await;
            let settings = vec![
                ("ACQUIRER_SECRET", "for-trying-only".to_owned()),
                ("DEMO_ACQUIRER_CA_FILE", acquirer),
                ("DEMO_ACQUIRER_CONTROL_PORT", "0".to_owned()),
            ];
            site.add("demo-acquirer", settings).await;
        }
        site
    }

    async fn add(&mut self, program: &'static str, settings: Variables) {
        let mut command = process::command(program, &[("PORT", "0")]);
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        self.others.insert(program, (Process::start(command).await, settings));
    }

    fn command(&self, program: &str) -> Command {
        if !self.payments.is_own() {
            return in_container(program);
        }
        let (mut command, process) = match program {
            "objstore-svc" => (self.objstore.data().command(), self.objstore.process()),
            "payments-svc" => (self.payments.data().command(), self.payments.process()),
            other => {
                let (process, settings) = &self.others[other];
                let mut command = process::command(program, &[]);
                command.envs(settings.iter().map(|(name, value)| (name, value)));
                (command, process)
            }
        };
        command.env("PORT", process.address().port().to_string());
        command
    }

    /// Runs a command, which must succeed. Returns its standard output.
    async fn run(&mut self, words: &[&str]) -> String {
        self.run_with(words, "").await
    }

    /// As [`Self::run`], with this standard input.
    async fn run_with(&mut self, words: &[&str], input: &str) -> String {
        let mut command = self.command(words[0]);
        command.args(&words[1..]);
        self.ran.insert(words[..2].join(" "));
        succeeds(command, input).await
    }

    /// Copies a store to a new file in the data directory.
    async fn makes_a_backup(&mut self, program: &str) {
        let name = objstore::unique("copy");
        let own = match program {
            "objstore-svc" => data(&self.objstore),
            _ => data(&self.payments),
        };
        let path = format!("{own}/{name}");
        self.run(&[program, "backup", "--to", &path]).await;
        let copy = self.folder.path().join(&name);
        if self.payments.is_own() {
            fs::copy(path, &copy).unwrap();
        } else {
            docker(&["cp", &format!("{}:{path}", id(program).await), copy.to_str().unwrap()]).await;
        }
        let copy = Connection::open(copy).unwrap();
        let intact: String =
            copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(intact, "ok");
    }

    /// The commands about apps and their merchants, of which the service learns at once.
    async fn controls_merchants(&mut self) {
        self.run(&["payments-svc", "seed"]).await;
        let app = self.payments.app().await;
        let key = self.run(&["payments-svc", "new-key", &app.id]).await;
        let app = app.with_key(key.trim_end());
        let merchant = app.merchant_with(&minimal()).await;
        let id = merchant.id.as_str();
        let approved = self.run(&["payments-svc", "approve", id]).await;
        assert_eq!(approved, format!("{id} is approved\n"));
        self.run(&["payments-svc", "hold", id, "--reason", "stolen cards"]).await;
        assert_eq!(merchant.fetch().await["held"]["reason"], "stolen cards");
        let released = self.run(&["payments-svc", "release", id]).await;
        assert_eq!(released, format!("{id} is not held\n"));
        merchant.invite("ann@shop.example").await;
        let link = ["payments-svc", "sign-in-link", "ann@shop.example"];
        let link = [&link[..], &["--desk-url", "http://localhost:5004/"]].concat();
        assert!(self.run(&link).await.starts_with("http://localhost:5004/link/"));
        self.run(&["payments-svc", "reset-user", "ann@shop.example"]).await;
        let bank = ["payments-svc", "set-bank", id, "--iban", IBAN, "--holder", "Ann Larsen"];
        self.run(&bank).await;
        let expected = json!({ "iban": IBAN, "holder": "Ann Larsen" });
        assert_eq!(merchant.fetch().await["bank"], expected);
    }

    /// The commands with files for others, which come through pipes.
    async fn pays_out(&mut self) {
        let mut body = minimal();
        body["test"] = true.into();
        body["bank"] = json!({ "iban": IBAN, "holder": "Ann Larsen" });
        let merchant = self.payments.app().await.merchant_with(&body).await;
        merchant.pay("EUR", 995).await.capture(995).await;
        // Not `/dev/stdout` beside processes: a payout that replaced it would harm this machine.
        let stdout = if self.payments.is_own() { "/proc/self/fd/1" } else { "/dev/stdout" };
        // A day that is not closed: the containers may have served other tests.
        let days: i32 = rand::rng().random_range(0..7000);
        let day = civil::date(2000, 1, 1).saturating_add(days.days()).to_string();
        let payout = ["payments-svc", "payout", "--test", "--day", &day, "--csv", stdout];
        let transfers = self.run(&payout).await;
        let row = transfers.lines().find(|row| row.contains(&merchant.id)).unwrap();
        let payout = row.split(',').next().unwrap();
        let returned = format!(
            "end_to_end_id,amount,currency,reason,date\n{payout},9.45,EUR,AC04,{}\n",
            today()
        );
        let returns = ["payments-svc", "returns", "--from", "/dev/stdin"];
        assert_eq!(self.run_with(&returns, &returned).await, "");
        assert_eq!(merchant.fetch().await["held"]["payouts"], true);

        let header = "operation,type,transactionId,currency,amount,fee,settled\n";
        let reconcile = ["payments-svc", "reconcile", "--day", &day, "--from", "/dev/stdin"];
        assert_eq!(self.run_with(&reconcile, header).await, "");
        self.run(&["payments-svc", "check"]).await;
    }
}

/// The data directory, as a command of the service sees it.
fn data<P: Program>(service: &Service<P>) -> String {
    if !service.is_own() {
        return "/data".to_owned();
    }
    service.data().data().to_str().unwrap().to_owned()
}

/// Imports the store into PostgreSQL, and sees rows of this table there.
async fn imports<P: Program>(service: Service<P>, ran: &mut BTreeSet<String>, table: &str) {
    let (cluster, database) = (Cluster::shared(), Cluster::shared().database());
    let address = Address::of(cluster).await;
    let url = database.url_on(&address.host());
    run_stopped(service, ran, "import", Some(&url)).await;
    assert_ne!(database.run(&format!("SELECT count(*) FROM {table}")), "0");
}

/// Runs a command while the service is stopped, and starts the service again. With a URL, the command
/// fills this database from the data directory, and its mark is deleted.
async fn run_stopped<P: Program>(
    service: Service<P>,
    ran: &mut BTreeSet<String>,
    subcommand: &str,
    url: Option<&str>,
) -> Service<P> {
    let directory = data(&service);
    let (stopped, mut command) = if service.is_own() {
        let stopped = service.stop().await;
        let command = stopped.command();
        (Some(stopped), command)
    } else {
        compose(&["stop", P::NAME]).await;
        // As `docker-compose run`, with this machine's network: PostgreSQL is there.
        let mut command = Command::new("docker");
        command.args(["run", "--rm", "--network", "host", "--read-only", "--cap-drop", "ALL"]);
        command.args(["--security-opt", "no-new-privileges", "--env", P::DATABASE_URL]);
        command.args(["--volumes-from", &id(P::NAME).await, P::NAME]);
        (None, command)
    };
    command.arg(subcommand);
    if let Some(url) = url {
        command.args(["--from", &directory]).env(P::DATABASE_URL, url);
    }
    succeeds(command, "").await;
    ran.insert(format!("{} {subcommand}", P::NAME));
    let is_import = url.is_some();
    if is_import && let Some(stopped) = &stopped {
        fs::remove_file(stopped.data().join("imported")).unwrap();
    }
    let Some(stopped) = stopped else {
        if is_import {
            let volumes = ["run", "--rm", "--volumes-from", &id(P::NAME).await];
            let remove = ["debian:bookworm-slim", "rm", "/data/imported"];
            docker(&[&volumes[..], &remove].concat()).await;
        }
        compose(&["start", P::NAME]).await;
        let is_healthy = async || {
            let mut command = in_container(P::NAME);
            run_with(command.arg("healthcheck"), "").await.status.success()
        };
        process::until(is_healthy).await;
        return Service::any().await;
    };
    stopped.start().await
}

/// A command of a program in its container, as docs/operations/configure.md shows it.
fn in_container(program: &str) -> Command {
    let mut command = Command::new(root().join("scripts/compose"));
    command.current_dir(root()).args(["exec", "-T", program, &format!("/{program}")]);
    command
}

/// Runs a command, which must succeed. Returns its standard output.
async fn succeeds(mut command: Command, input: &str) -> String {
    let ended = run_with(&mut command, input).await;
    assert!(ended.status.success(), "{command:?}: {}", output(&ended));
    String::from_utf8(ended.stdout).unwrap()
}

async fn compose(arguments: &[&str]) -> String {
    let mut command = Command::new(root().join("scripts/compose"));
    command.current_dir(root()).args(arguments);
    succeeds(command, "").await
}

async fn docker(arguments: &[&str]) {
    let mut command = Command::new("docker");
    command.args(arguments);
    succeeds(command, "").await;
}

/// The ID of a service's container.
async fn id(service: &str) -> String {
    compose(&["ps", "-aq", service]).await.trim().to_owned()
}
