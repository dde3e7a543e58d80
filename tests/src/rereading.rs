//! Files of settings that a running service reads again.

use std::fs;

use tempfile::TempDir;

use crate::{
    postgres::Database,
    process::{Process, until},
    raw::{Connection, get},
};

/// Ends all other sessions of a database.
const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// The file of a setting whose name ends in `_FILE`.
pub struct SettingFile {
    name: &'static str,
    path: String,
    directory: TempDir,
}

impl SettingFile {
    pub fn new(name: &'static str, content: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("file").into_os_string().into_string();
        let file = Self { name, path: path.expect("a plain path"), directory };
        file.replace(content);
        file
    }

    /// The variable that names the file.
    pub fn variable(&self) -> (&str, &str) {
        (self.name, &self.path)
    }

    /// Replaces the file at once, so that no part of the content can be read.
    pub fn replace(&self, content: &str) {
        let new = self.directory.path().join("new");
        fs::write(&new, content).expect("can be written");
        fs::rename(&new, &self.path).expect("can be replaced");
    }

    pub fn remove(&self) {
        fs::remove_file(&self.path).expect("can be removed");
    }

    /// Replaces the file, sends SIGHUP, and waits until the service uses the content.
    pub async fn accepted(&self, process: &Process, content: &str) {
        self.reread(process, content, "file read again").await;
    }

    /// As [`Self::accepted`], for content that the service cannot use.
    pub async fn refused(&self, process: &Process, content: &str) {
        self.reread(process, content, "file not usable: its old content stays in use").await;
    }

    async fn reread(&self, process: &Process, content: &str, result: &str) {
        let level = if result.contains("not usable") { "ERROR" } else { "INFO" };
        let is_result =
            |line: &str| [level, self.name, result].iter().all(|part| line.contains(part));
        let before = process.log().iter().filter(|line| is_result(line)).count();
        self.replace(content);
        process.signal("HUP").await;
        process.logged_times(before + 1, is_result).await;
    }
}

/// Checks that new connections of a service use the user of the URL and the CA that its files have.
/// At first, these files have the URL of a [`crate::postgres::Cluster::secured`], and its
/// certificate.
pub async fn follows_database(
    process: &Process,
    (database, certificate): (&Database, &str),
    (url, ca): (&SettingFile, &SettingFile),
) {
    let users = || {
        database.run(
            "SELECT string_agg(DISTINCT usename, ',') FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
    };
    let first = database.tcp_url();
    database.run("CREATE ROLE another SUPERUSER LOGIN");
    url.refused(process, &format!("{first}_xyzzy")).await;
    url.refused(process, "postgres://postgres:xyzzy@").await;
    let log = process.log();
    assert_eq!(log.iter().find(|line| line.contains("xyzzy")), None);
    url.accepted(process, &first.replace("postgres@", "another:secret@")).await;
    database.run(END_SESSIONS);
    until(async || users() == "another" && is_ready(process).await).await;

    ca.refused(process, "no certificate").await;
    database.run(END_SESSIONS);
    until(async || !users().is_empty() && is_ready(process).await).await;
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    ca.accepted(process, &other.expect("a certificate can be made").cert.pem()).await;
    database.run(END_SESSIONS);
    until(async || !is_ready(process).await).await;
    ca.accepted(process, certificate).await;
    until(async || is_ready(process).await).await;
}

async fn is_ready(process: &Process) -> bool {
    Connection::open(process.address()).await.ask(get("/ready")).await.status == 200
}
