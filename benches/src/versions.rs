//! Versions of the services and of the peers.

use std::{ffi::OsStr, path::Path};

use tokio::process::Command;

use crate::{
    figures::Bench,
    peers::{FASTAPI, postgres},
};

const REQUIREMENTS: &str = include_str!("../fastapi/requirements.txt");
const LOCKED: &str = include_str!("../../Cargo.lock");

/// Returns names and versions of the installed programs and libraries, the services first.
pub(crate) async fn installed(bench: &Bench) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pgbench = postgres::programs().unwrap_or_default().join("pgbench");
    let python = root.join(FASTAPI).join("python");
    let python = output_of(&python, &["--version"]).await;
    let described =
        output_of("git", &["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"]);
    let known = [
        ("objstore-svc", output_of(&bench.service, &["--version"]).await),
        ("authsvc", output_of(&bench.authsvc, &["--version"]).await),
        ("payments-svc", output_of(&bench.payments, &["--version"]).await),
        ("etcd", output_of("etcd", &["--version"]).await),
        ("Redis", output_of("redis-server", &["--version"]).await),
        ("PostgreSQL and pgbench", output_of(&pgbench, &["--version"]).await),
        ("axum", locked("axum").map(str::to_owned)),
        ("FastAPI", python.as_ref().and(required("fastapi")).map(str::to_owned)),
        ("uvicorn", python.as_ref().and(required("uvicorn")).map(str::to_owned)),
        ("Python", python.clone()),
    ];
    let mut versions: Vec<_> = known
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), number(&text?)?.to_owned())))
        .collect();
    versions.extend(described.await.map(|commit| ("commit".to_owned(), commit.trim().to_owned())));
    versions
}

/// Returns the output of a program. `None` if the program is missing or fails.
async fn output_of(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let ended = Command::new(program).args(arguments).output().await.ok()?;
    ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// Returns the first word that begins with a digit.
fn number(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| c.is_whitespace() || c == '=');
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the version of a Python package in `requirements.txt`.
fn required(package: &str) -> Option<&'static str> {
    REQUIREMENTS.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="))
}

/// Returns the version of a crate in `Cargo.lock`.
fn locked(package: &str) -> Option<&'static str> {
    let (_, entry) = LOCKED.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    entry.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_the_output_of_each_program() {
        for (text, version) in [
            ("authsvc 0.1.0\n", "0.1.0"),
            ("etcd Version: 3.4.23\nGo Version: go1.19.8\n", "3.4.23"),
            ("Redis server v=7.0.15 sha=00000000:0 bits=64", "7.0.15"),
            ("pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
        ] {
            assert_eq!(number(text), Some(version));
        }
    }

    #[test]
    fn versions_of_libraries_are_numbers() {
        for version in [required("fastapi"), required("uvicorn"), locked("axum")] {
            assert_eq!(number(version.unwrap()), version);
        }
    }
}
