//! PostgreSQL with default settings, as the database of the services, and pgbench as their peer.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use tempfile::Builder;
use tokio::{process::Command, time::sleep};

use crate::{
    figures::Bench,
    peers::{
        directory,
        server::{Server, free_port},
    },
    report::{Latency, Round, Table},
};

/// User and group of PostgreSQL if this process runs as root, because PostgreSQL refuses to run as
/// root.
const NOBODY: u32 = 65534;

/// A running PostgreSQL.
pub(crate) struct Postgres {
    /// Directory of the programs of PostgreSQL.
    programs: PathBuf,
    server: Server,
    /// Directory of the scripts and logs of pgbench.
    scripts: PathBuf,
}

/// Share of the transactions that pgbench logs. It suffices for percentiles. A complete log would
/// slow pgbench down.
const LOGGED: &str = "0.1";

/// Numbers the transactions from 1, the latest first. The latest belong to many merchants, so that
/// captures do not wait for a lock on the same balance.
const CAPTURABLE: &str = "CREATE TABLE capturable AS
     SELECT row_number() OVER (ORDER BY id DESC) AS number, id FROM transactions;
     CREATE UNIQUE INDEX ON capturable (number);
     ANALYZE";

impl Postgres {
    /// Starts a new cluster. Returns `None`, with a note in the table, if PostgreSQL is not
    /// installed.
    pub(crate) async fn start(bench: &Bench, table: &mut Table) -> Result<Option<Self>> {
        let Some(programs) = programs() else {
            table.note("PostgreSQL is left out: install Debian's postgresql.");
            return Ok(None);
        };
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
        let server = Server::start(postgres, port, directory).await?;
        let postgres = Self { programs, server, scripts };
        // PostgreSQL listens before it can execute statements.
        for _ in 0..100 {
            if postgres.run("SELECT 1").await? {
                return Ok(Some(postgres));
            }
            sleep(Duration::from_millis(50)).await;
        }
        bail!("PostgreSQL executes no statements")
    }

    /// Numbers the existing transactions, for [`Postgres::pgbench`].
    pub(crate) async fn number_transactions(&self) -> Result<()> {
        ensure!(self.run(CAPTURABLE).await?, "PostgreSQL cannot number the transactions");
        Ok(())
    }

    /// Executes statements. Returns whether they succeeded.
    async fn run(&self, sql: &str) -> Result<bool> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-q", "-c", sql, &self.url()]).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(psql.status().await?.success())
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.server.address)
    }

    /// Runs one round of captures by pgbench, with the same statements as payments-svc.
    pub(crate) async fn pgbench(&self, bench: &Bench, connections: u64) -> Result<Round> {
        let file = self.scripts.join("script.sql");
        let draw = format!("\\set number random(1, {})\n", bench.scale.captured);
        fs::write(&file, draw + include_str!("capture.sql"))?;
        let seconds = bench.scale.measured.as_secs().max(1);
        let mut pgbench = Command::new(self.programs.join("pgbench"));
        pgbench.args(["-n", "-M", "prepared", "-j", "2", "-c", &connections.to_string()]);
        pgbench.args(["-T", &seconds.to_string(), "-f"]).arg(&file);
        let logs = Builder::new().prefix("log-").tempdir_in(&self.scripts)?;
        pgbench.args(["--log", "--sampling-rate", LOGGED, "--log-prefix"]);
        pgbench.arg(logs.path().join("log")).arg(self.url());
        let ended = pgbench.output().await?;
        let output = String::from_utf8_lossy(&ended.stdout);
        let rate = output.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
        let rate = rate
            .with_context(|| format!("pgbench: {}", String::from_utf8_lossy(&ended.stderr)))?
            .parse()
            .context("the rate of pgbench is not a number")?;
        let mut microseconds = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
        for log in fs::read_dir(logs.path())? {
            for line in fs::read_to_string(log?.path())?.lines() {
                microseconds.saturating_record(elapsed(line)?);
            }
        }
        Ok(Round { rate, latency: Some(Latency::of(&microseconds, 1e3)), others: 0.0 })
    }
}

/// Returns the microseconds of a transaction from a line of pgbench's log.
fn elapsed(line: &str) -> Result<u64> {
    // client, transaction, microseconds, script, end in seconds, end in microseconds
    let field = line.split(' ').nth(2).context("a line of pgbench's log is incomplete")?;
    field.parse().with_context(|| format!("pgbench logged {line}"))
}

/// Returns the directory of the newest programs of PostgreSQL, as Debian installs them.
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
    fn the_log_of_pgbench_is_parsed() {
        assert_eq!(elapsed("7 12 48253 0 1763700000 123456").unwrap(), 48_253);
        elapsed("7 12").unwrap_err();
        elapsed("7 12 skipped 0 1763700000 123456").unwrap_err();
    }
}
