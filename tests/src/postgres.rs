//! A PostgreSQL of the tests' own, thrown away after them.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
};

use uuid::Uuid;

/// Makes a cluster, then does with it what it reads, a word of pg_ctl's a line. It answers with the
/// directory of the socket. When nobody can write to it any more, because the tests are over or have
/// been killed, it stops the server and removes everything.
const KEEPER: &str = r#"
    PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    command -v initdb >/dev/null || {
        echo "PostgreSQL is missing; install it with: scripts/install test"
        exit 1
    }
    place=$(mktemp -d)
    cd "$place"
    trap '' PIPE
    trap 'pg_ctl -D data -m immediate stop >/dev/null 2>&1; cd /; rm -rf "$place"' EXIT
    initdb -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1 || cat log
    while read -r word; do
        pg_ctl -D data -l log -m fast -w -o "-k $place -h '' -N 500" "$word" >log.ctl 2>&1 || cat log.ctl log
        echo "$place"
    done
"#;

/// A server.
#[derive(Debug)]
pub struct Cluster {
    keeper: Mutex<(Child, ChildStdin, BufReader<ChildStdout>)>,
    place: String,
}

/// A database of a server, empty at first.
#[derive(Debug, Clone)]
pub struct Database {
    url: String,
}

static SHARED: LazyLock<Cluster> = LazyLock::new(Cluster::start);

impl Cluster {
    /// A server of one's own, to be stopped and started.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL, or it does not start.
    pub fn start() -> Self {
        let mut command = shell();
        command.args(["-c", KEEPER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Whoever interrupts the tests does not interrupt what cleans up after them.
        let mut keeper = command.process_group(0).spawn().expect("sh can be started");
        let input = keeper.stdin.take().expect("piped");
        let output = BufReader::new(keeper.stdout.take().expect("piped"));
        let mut cluster =
            Self { keeper: Mutex::new((keeper, input, output)), place: String::new() };
        cluster.place = cluster.tell("start");
        cluster
    }

    /// The server that all tests of a process share.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// A new database.
    pub fn database(&self) -> Database {
        let name = format!("test_{}", Uuid::new_v4().simple());
        self.at("postgres").run(&format!("CREATE DATABASE {name}"));
        self.at(&name)
    }

    /// Has the server end as it does when its machine is switched off with care.
    pub fn stop(&self) {
        self.tell("stop");
    }

    /// Has a server that was stopped start again.
    pub fn resume(&self) {
        self.tell("start");
    }

    fn at(&self, database: &str) -> Database {
        Database {
            url: format!("postgres://postgres@{}/{database}", self.place.replace('/', "%2F")),
        }
    }

    fn tell(&self, word: &str) -> String {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, input, output) = &mut *keeper;
        writeln!(input, "{word}").expect("is read");
        let mut answer = String::new();
        output.read_line(&mut answer).expect("is answered");
        let place = answer.trim_end();
        assert!(place.starts_with('/'), "{word}: {place}");
        place.to_owned()
    }
}

impl Database {
    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs a statement and returns what psql says of it: rows, or what was done to how many.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn run(&self, sql: &str) -> String {
        let ended = Command::new("psql")
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", sql, &self.url])
            .output()
            .expect("psql can be started");
        let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
        assert!(ended.status.success(), "{sql}: {said}{}", String::from_utf8_lossy(&ended.stderr));
        said
    }
}

/// A shell of a user that PostgreSQL runs for: it refuses root.
fn shell() -> Command {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return Command::new("sh");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh"]);
    command
}
