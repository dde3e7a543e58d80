//! PostgreSQL as it comes: what services stand on there, and what pgbench makes of it alone.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use tempfile::Builder;
use tokio::process::Command;

use crate::{
    figures::{Bench, Scale},
    load::{line::HOLE, object, window::Latency},
    peers::{
        directory,
        server::{Ready, Server, free_port},
    },
};

/// The user and the group that PostgreSQL runs as where we are root, which it refuses to.
const NOBODY: u32 = 65534;

/// A running PostgreSQL.
pub(crate) struct Postgres {
    programs: PathBuf,
    server: Server,
    scripts: PathBuf,
}

/// What pgbench does, again and again: on one table with the keys and values of the other peers, or
/// on what a payments service has made.
#[derive(Clone, Copy)]
pub(crate) enum Script {
    /// Upserts one row.
    Upsert,
    /// Selects one row.
    Select,
    /// Captures of one transaction, by the statements of payments-svc, one after the other.
    Capture,
}

/// The outcome of a round.
pub(crate) struct Transacted {
    /// Transactions a second.
    pub(crate) rate: f64,
    /// Of a sample of the transactions.
    pub(crate) latency: Latency,
}

/// The share of its transactions that pgbench logs: enough for percentiles, too few to slow it down.
const LOGGED: &str = "0.1";

/// The transactions that are captured, numbered from 1. The latest come first: they belong to many
/// merchants, so that captures do not wait for each other at one balance.
const CAPTURABLE: &str = "CREATE TABLE capturable AS
     SELECT row_number() OVER (ORDER BY id DESC) AS number, id FROM transactions;
     CREATE UNIQUE INDEX ON capturable (number);
     ANALYZE";

impl Postgres {
    /// Starts one; `None` when it is not installed.
    pub(crate) async fn start(bench: &Bench) -> Result<Option<Self>> {
        let Some(programs) = programs() else { return Ok(None) };
        let (port, directory) = (free_port()?, directory(bench)?);
        let data = directory.path().join("data");
        let is_root = fs::metadata("/proc/self")?.uid() == 0;
        if is_root {
            chown(directory.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let command = |program: &str| {
            let program = programs.join(program);
            if !is_root {
                return Command::new(program);
            }
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
            command
        };
        let mut initdb = command("initdb");
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"]);
        let made = initdb.arg(&data).stdout(Stdio::null()).status().await?;
        ensure!(made.success(), "initdb failed");
        let mut postgres = command("postgres");
        postgres.args(["-h", "127.0.0.1", "-k", "", "-N", "400", "-p", &port.to_string()]);
        postgres.arg("-D").arg(&data);
        let scripts = directory.path().to_owned();
        let server = Server::start(postgres, port, Ready::Accepting, directory).await?;
        let server = server.context("postgres is gone")?;
        let postgres = Self { programs, server, scripts };
        let text = "text COLLATE \"C\" NOT NULL";
        let table = format!(
            "CREATE TABLE peer (type {text}, namespace {text}, name {text}, value bytea NOT NULL,
                 PRIMARY KEY (type, namespace, name))"
        );
        // It accepts connections before it takes them.
        for _ in 0..100 {
            if postgres.run(&table).await? {
                return Ok(Some(postgres));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("PostgreSQL makes no table")
    }

    /// Numbers the transactions that are there, for [`Script::Capture`].
    pub(crate) async fn number_transactions(&self) -> Result<()> {
        ensure!(self.run(CAPTURABLE).await?, "PostgreSQL numbers no transactions");
        Ok(())
    }

    /// Whether these statements succeed.
    async fn run(&self, sql: &str) -> Result<bool> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-q", "-c", sql, &self.url()]).stderr(Stdio::null());
        Ok(psql.status().await?.success())
    }

    /// The process that all others of it are children of.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.server.address)
    }

    /// A round of pgbench on so many connections.
    pub(crate) async fn pgbench(
        &self,
        bench: &Bench,
        script: Script,
        connections: u64,
    ) -> Result<Transacted> {
        let file = self.scripts.join("script.sql");
        fs::write(&file, script.text(&bench.scale))?;
        let seconds = bench.scale.measured.as_secs().max(1);
        let mut pgbench = Command::new(self.programs.join("pgbench"));
        pgbench.args(["-n", "-M", "prepared", "-j", "2", "-c", &connections.to_string()]);
        pgbench.args(["-T", &seconds.to_string(), "-f"]).arg(&file);
        let logs = Builder::new().prefix("log-").tempdir_in(&self.scripts)?;
        pgbench.args(["--log", "--sampling-rate", LOGGED, "--log-prefix"]);
        pgbench.arg(logs.path().join("log")).arg(self.url());
        let ended = pgbench.output().await?;
        let said = String::from_utf8_lossy(&ended.stdout);
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
        let rate = rate
            .with_context(|| format!("pgbench: {}", String::from_utf8_lossy(&ended.stderr)))?
            .parse()
            .context("pgbench tells no rate")?;
        let mut microseconds = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
        for log in fs::read_dir(logs.path())? {
            for line in fs::read_to_string(log?.path())?.lines() {
                microseconds.saturating_record(elapsed(line)?);
            }
        }
        let at = |quantile| microseconds.value_at_quantile(quantile) as f64 / 1e3;
        Ok(Transacted { rate, latency: Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) } })
    }
}

impl Script {
    fn text(self, scale: &Scale) -> String {
        let keys = scale.keys;
        let (kind, namespace, digits) = (object::TYPE, object::NAMESPACE, HOLE.len());
        let name = format!("lpad(:n::text, {digits}, '0')");
        let value = object::value(256);
        match self {
            Self::Upsert => format!(
                "\\set n random(0, {keys} - 1)\n\
                 INSERT INTO peer VALUES ('{kind}', '{namespace}', {name}, '{value}') \
                 ON CONFLICT (type, namespace, name) DO UPDATE SET value = excluded.value;\n"
            ),
            Self::Select => format!(
                "\\set n random(0, {keys} - 1)\n\
                 SELECT * FROM peer WHERE type = '{kind}' AND namespace = '{namespace}' \
                 AND name = {name};\n"
            ),
            Self::Capture => {
                format!(
                    "\\set number random(1, {})\n{}",
                    scale.captured,
                    include_str!("capture.sql")
                )
            }
        }
    }
}

/// The microseconds of a transaction, in a line of pgbench's log.
fn elapsed(line: &str) -> Result<u64> {
    // client, transaction, microseconds, script, end in seconds, end in microseconds
    let field = line.split(' ').nth(2).context("a line of pgbench's log is cut short")?;
    field.parse().with_context(|| format!("pgbench logged {line}"))
}

/// The directory of PostgreSQL's newest programs.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(Path::new("/usr/lib/postgresql")).ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.flatten().map(|entry| entry.path()).max_by_key(version)?;
    Some(newest.join("bin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_holds_the_time_of_a_transaction() {
        assert_eq!(elapsed("7 12 48253 0 1763700000 123456").unwrap(), 48_253);
        elapsed("7 12").unwrap_err();
        elapsed("7 12 skipped 0 1763700000 123456").unwrap_err();
    }
}
