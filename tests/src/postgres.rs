//! Temporary PostgreSQL servers for the tests.

mod address;
mod pooler;

use std::{
    fs::{self, DirEntry},
    io::{self, BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use uuid::Uuid;

pub use self::{address::Address, pooler::Pooler};
use crate::{process::DEADLINE, project::root, service::variable};

/// The port of a cluster that listens only on its own socket.
const PORT: u16 = 5432;

/// Debian has the programs of each version here.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The major version of the servers. Without one, that of Debian, whose clients all servers get; so
/// tests with standbys and dumps need a server that is not newer.
const VERSION: &str = "POSTGRES_VERSION";

/// Runs the keeper, the arguments, as a user who may be unable to read the programs of `$SERVER`: it
/// gets a copy through the pipe, and its commands through another descriptor.
const OPEN: &str = r#"exec 3<&0; ${SERVER:+tar -c -C "$SERVER" .} | "$@""#;

/// Creates a cluster, or a standby of the one whose socket is in `$PRIMARY`. Then each input line
/// holds arguments for pg_ctl; the answer is the directory of the socket. At the end of input,
/// because the tests have ended or were killed, the script stops the server and removes all files.
const KEEPER: &str = r#"
    PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    command -v initdb >/dev/null || {
        echo "PostgreSQL is missing; install it with: scripts/install test"
        exit 1
    }
    # In memory if there is room: a file system works longer on the files of a database than PostgreSQL.
    [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 8000000 ] && memory="-p /dev/shm"
    place=$(mktemp -d $memory)
    cd "$place"
    trap '' PIPE
    trap 'pg_ctl -D data -m immediate stop >/dev/null 2>&1; cd /; rm -rf "$place"' EXIT
    [ -z "$SERVER" ] || { mkdir server && tar -x -C server; }
    PATH=$place/server/bin:$PATH
    exec <&3
    if [ "$PRIMARY" ]; then
        pg_basebackup -D data -h "$PRIMARY" -U postgres -R --checkpoint=fast --no-sync >log 2>&1
    else
        initdb -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
    fi || cat log
    (umask 077 && printf %s "$CERTIFICATE" >data/server.crt && printf %s "$KEY" >data/server.key)
    while read -r line; do
        pg_ctl -D data -l log -w -o "-k $place -N 500 -F $OPTIONS" $line >log.ctl 2>&1 || cat log.ctl log
        echo "$place"
    done
"#;

#[derive(Debug)]
pub struct Cluster {
    keeper: Mutex<(Child, ChildStdin, BufReader<ChildStdout>)>,
    place: String,
    port: u16,
}

/// A database on a [`Cluster`], empty at first.
#[derive(Debug, Clone)]
pub struct Database {
    url: String,
    port: u16,
}

static SHARED: LazyLock<Cluster> = LazyLock::new(Cluster::start);
static APART: LazyLock<Cluster> = LazyLock::new(Cluster::start);

impl Cluster {
    /// A server for one test, which may stop and restart it.
    pub fn start() -> Self {
        Self::with(&[("OPTIONS", "-h ''")], PORT)
    }

    /// A standby of this server. It follows by streaming replication, asynchronously at first.
    pub fn standby(&self) -> Self {
        let standby = Self::with(&[("OPTIONS", "-h ''"), ("PRIMARY", &self.place)], PORT);
        standby.until("SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'");
        standby
    }

    /// A server with TLS on a port of 127.0.0.1, and its self-signed certificate as PEM.
    pub fn secured() -> (Self, String) {
        let names = ["127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate can be made");
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("there is a free port").port();
        let options = format!("-l -h 127.0.0.1 -p {port}");
        let variables = [("OPTIONS", &*options), ("CERTIFICATE", &certificate), ("KEY", &key)];
        (Self::with(&variables, port), certificate)
    }

    fn with(variables: &[(&str, &str)], port: u16) -> Self {
        let keeper = shell();
        let mut command = Command::new("sh");
        command.args(["-c", OPEN, "sh"]).arg(keeper.get_program()).args(keeper.get_args());
        command.args(["-c", KEEPER]).env("SERVER", server()).envs(variables.iter().copied());
        // In its own process group, Ctrl-C on the tests does not interrupt the clean-up.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut keeper = command.spawn().expect("sh can be started");
        let input = keeper.stdin.take().expect("piped");
        let output = BufReader::new(keeper.stdout.take().expect("piped"));
        let keeper = Mutex::new((keeper, input, output));
        let mut cluster = Self { keeper, place: String::new(), port };
        cluster.place = cluster.command_keeper("start");
        cluster
    }

    /// The server shared by all tests of a process.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// The server for tests with database transactions of seconds: the services of other tests would
    /// wait for their end before a page of a list, although they use other databases.
    pub fn apart() -> &'static Self {
        &APART
    }

    /// Creates a database with a unique name.
    pub fn database(&self) -> Database {
        self.create("")
    }

    /// Creates a copy of a database that nobody uses. Copies of files cost a fraction of migrations.
    pub fn copied(&self, template: &Database) -> Database {
        // Earlier versions know this strategy only, and no name for it.
        let is_default = self.at("postgres").run("SHOW server_version_num").as_str() < "150000";
        let strategy = if is_default { "" } else { "STRATEGY FILE_COPY" };
        self.create(&format!("TEMPLATE {} {strategy}", template.name()))
    }

    fn create(&self, options: &str) -> Database {
        let name = format!("test_{}", Uuid::new_v4().simple());
        self.at("postgres").run(&format!("CREATE DATABASE {name} {options}"));
        self.at(&name)
    }

    /// Shuts the server down in order (`fast`).
    pub fn stop(&self) {
        self.command_keeper("stop -m fast");
    }

    /// Shuts the server down as in a crash (`immediate`): the next start runs recovery.
    pub fn crash(&self) {
        self.command_keeper("stop -m immediate");
    }

    /// Restarts a stopped or crashed server.
    pub fn resume(&self) {
        self.command_keeper("start");
    }

    /// Makes every commit wait until a standby has it on disk.
    pub fn commit_synchronously(&self) {
        self.set("synchronous_standby_names", "*");
        self.until("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
    }

    /// Waits until this standby has all that the primary has committed.
    pub fn catch_up(&self, primary: &Self) {
        let head = primary.at("postgres").run("SELECT pg_current_wal_flush_lsn()");
        self.until(&format!("SELECT pg_last_wal_replay_lsn() >= '{head}'"));
    }

    /// Waits until this standby has all that the primary has committed, and ends the replication.
    pub fn detach(&self, primary: &Self) {
        self.catch_up(primary);
        self.set("primary_conninfo", "");
        self.until("SELECT count(*) = 0 FROM pg_stat_wal_receiver");
    }

    /// Makes this standby a primary.
    pub fn promote(&self) {
        self.command_keeper("promote");
    }

    /// The database of the same name on this server.
    pub fn copy_of(&self, database: &Database) -> Database {
        self.at(database.name())
    }

    fn set(&self, setting: &str, value: &str) {
        let server = self.at("postgres");
        server.run(&format!("ALTER SYSTEM SET {setting} = '{value}'"));
        server.run("SELECT pg_reload_conf()");
    }

    /// Waits until a query returns true.
    fn until(&self, query: &str) {
        let (server, begun) = (self.at("postgres"), Instant::now());
        while server.run(query) != "t" {
            assert!(begun.elapsed() < DEADLINE, "never true: {query}");
            sleep(Duration::from_millis(20));
        }
    }

    fn at(&self, database: &str) -> Database {
        let url = format!("postgres://postgres@{}/{database}", self.host());
        Database { url, port: self.port }
    }

    /// The directory of the socket and the port, as in a URL.
    fn host(&self) -> String {
        format!("{}:{}", self.place.replace('/', "%2F"), self.port)
    }

    fn command_keeper(&self, line: &str) -> String {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, input, output) = &mut *keeper;
        writeln!(input, "{line}").expect("is read");
        let mut answer = String::new();
        output.read_line(&mut answer).expect("is answered");
        let place = answer.trim_end();
        assert!(place.starts_with('/'), "{line}: {place}");
        place.to_owned()
    }
}

impl Database {
    pub fn url(&self) -> &str {
        &self.url
    }

    fn name(&self) -> &str {
        self.url.rsplit_once('/').expect("it has a name").1
    }

    /// The URL over TCP at 127.0.0.1, for a [`Cluster::secured`].
    pub fn tcp_url(&self) -> String {
        self.url_on(&format!("127.0.0.1:{}", self.port))
    }

    /// The URL with this host and port, or with several of them, separated by commas.
    pub fn url_on(&self, hosts: &str) -> String {
        format!("postgres://postgres@{hosts}/{}", self.name())
    }

    /// Writes a backup of this database to a file.
    pub fn dump(&self, file: &Path) {
        self.copy("pg_dump", &["--format=custom", "--file"], file);
    }

    /// Restores a backup into this empty database.
    pub fn restore(&self, file: &Path) {
        self.copy("pg_restore", &["--no-owner", "--exit-on-error"], file);
    }

    fn copy(&self, program: &str, options: &[&str], file: &Path) {
        let dbname = format!("--dbname={}", self.url);
        let ended = self::program(program).arg(dbname).args(options).arg(file).output();
        let ended = ended.expect("the programs of PostgreSQL can be started");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }

    /// The number of open connections of this program.
    pub fn connections(&self, program: &str) -> usize {
        let count = format!(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = '{program}'"
        );
        self.run(&count).parse().expect("a number")
    }

    /// Migrates the schema to a version that the programs do not know, while they run.
    pub async fn migrate_as_a_later_version(&self) {
        let database = self.clone();
        let migrated = tokio::task::spawn_blocking(move || database.run(LATER_VERSION));
        assert_eq!(migrated.await.expect("psql ends"), "DO");
    }

    /// Changes a setting, such as `deadlock_timeout = 50`, for later sessions.
    pub fn set(&self, setting: &str) {
        self.run(&format!(
            "DO $do$ BEGIN EXECUTE format($$ALTER DATABASE %I SET {setting}$$, current_database());
             END $do$"
        ));
    }

    /// What the server has logged so far.
    pub fn server_log(&self) -> String {
        self.run("SELECT pg_read_file(current_setting('data_directory') || '/../log')")
    }

    /// Runs a statement and returns the output of psql: rows, or the command tag with the row
    /// count.
    pub fn run(&self, sql: &str) -> String {
        let ended = program("psql")
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", sql, &self.url])
            .output()
            .expect("psql can be started");
        let output = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
        assert!(
            ended.status.success(),
            "{sql}: {output}{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        output
    }
}

/// Migrates as a later version does, if it follows the rules in CONTRIBUTING.md: it adds a table,
/// and to each other table a column with a default value and an index. The program does not know
/// the new version. Each table has a transaction of its own: a migration that locks all tables in
/// one transaction, and the writers, would wait for each other again and again.
const LATER_VERSION: &str = "DO $$
    DECLARE
        changed text;
        is_changed bool;
    BEGIN
        PERFORM set_config('lock_timeout', '200ms', false);
        FOR changed IN SELECT relname FROM pg_stat_user_tables
            WHERE relname <> 'refinery_schema_history'
        LOOP
            is_changed := false;
            FOR attempt IN 1..100 LOOP
                BEGIN
                    EXECUTE format('ALTER TABLE %I ADD added_later int NOT NULL DEFAULT 7', changed);
                    EXECUTE format('CREATE INDEX ON %I (added_later)', changed);
                    is_changed := true;
                    EXIT;
                EXCEPTION WHEN lock_not_available THEN
                    PERFORM pg_sleep(0.1);
                END;
            END LOOP;
            ASSERT is_changed, 'table ' || changed || ' stays locked';
            COMMIT;
        END LOOP;
        CREATE TABLE added_later (id int PRIMARY KEY);
        INSERT INTO refinery_schema_history
            SELECT max(version) + 1, 'later_from_0_1_0', '2030-01-01T00:00:00Z', '1'
            FROM refinery_schema_history;
    END $$";

/// The directory of the server's programs and libraries. Empty for Debian's.
fn server() -> PathBuf {
    let Some(version) = variable(VERSION) else { return PathBuf::new() };
    let server = root().join(format!("target/tools/postgresql-{version}"));
    let install = format!("{VERSION}={version} scripts/install test");
    assert!(server.is_dir(), "PostgreSQL {version} is missing; install it with: {install}");
    server
}

/// The directory with the programs of the newest PostgreSQL of Debian. Those of the same name in the
/// path are scripts, which take longer to start than most queries take to run.
pub fn directory() -> PathBuf {
    let version = |entry: io::Result<DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let versions = fs::read_dir(VERSIONS).into_iter().flatten();
    let newest: Option<u32> = versions.filter_map(version).max();
    newest.map_or_else(PathBuf::new, |newest| format!("{VERSIONS}/{newest}/bin").into())
}

pub(crate) fn program(name: &str) -> Command {
    Command::new(directory().join(name))
}

/// A shell as an unprivileged user: PostgreSQL refuses to run as root.
fn shell() -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return Command::new("sh");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh"]);
    command
}
