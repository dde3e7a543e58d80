//! Describes the machine of a run, and the versions of what it measures.

use std::{ffi::OsStr, fs, io::Write, path::Path, thread, time::Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::{peers::postgres, report::median};

/// Synced writes for [`Machine::sync`].
const SYNCS: usize = 200;
const LOCKED: &str = include_str!("../../Cargo.lock");

#[derive(Deserialize, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    /// In GiB.
    pub(crate) memory: f64,
    /// Name and release.
    pub(crate) kernel: String,
    /// File system and device of the servers' data.
    pub(crate) disk: String,
    /// Median time in milliseconds to append 4 KiB to a file and sync it, one at a time.
    pub(crate) sync: f64,
}

impl Machine {
    /// Describes this machine. `data` is the directory of the servers' data.
    pub(crate) async fn here(data: &Path) -> Result<Self> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (processors, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
        let kib =
            field(&memory, "MemTotal").and_then(|text| text.strip_suffix(" kB")?.parse().ok());
        let columns = ["--noheadings", "--output", "FSTYPE,SOURCE", "--target"].map(OsStr::new);
        let disk = output_of("findmnt", &[&columns[..], &[data.as_os_str()]].concat()).await;
        let words: Vec<_> = disk.iter().flat_map(|disk| disk.split_whitespace()).collect();
        Ok(Self {
            processor: field(&processors, "model name").unwrap_or("unknown processor").to_owned(),
            cores: thread::available_parallelism().map_or(0, usize::from),
            memory: kib.unwrap_or(0.0) / 1024.0 / 1024.0,
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            disk: words.join(" on "),
            sync: sync(data)?,
        })
    }
}

/// Returns the value of the first line `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Measures [`Machine::sync`].
fn sync(data: &Path) -> Result<f64> {
    let mut file = NamedTempFile::new_in(data)?;
    let mut milliseconds = Vec::new();
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[b'x'; 4096])?;
        file.as_file().sync_data()?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(milliseconds))
}

/// Returns names and versions of the installed programs and libraries, the services first.
pub(crate) async fn versions(programs: &Path) -> Vec<(String, String)> {
    let pgbench = postgres::programs().unwrap_or_default().join("pgbench");
    let mut versions = Vec::new();
    for (name, program) in [
        ("objstore-svc", programs.join("objstore-svc")),
        ("authsvc", programs.join("authsvc")),
        ("payments-svc", programs.join("payments-svc")),
        ("etcd", "etcd".into()),
        ("Redis", "redis-server".into()),
        ("PostgreSQL and pgbench", pgbench),
    ] {
        let text = output_of(program, &["--version"]).await;
        versions.extend(text.and_then(|text| Some((name.to_owned(), number(&text)?.to_owned()))));
    }
    versions.extend(locked("axum").map(|version| ("axum".to_owned(), version.to_owned())));
    let here = env!("CARGO_MANIFEST_DIR");
    let commit = output_of("git", &["-C", here, "describe", "--always", "--dirty"]).await;
    versions.extend(commit.map(|commit| ("commit".to_owned(), commit.trim().to_owned())));
    versions
}

/// Returns the output of a program. `None` if the program is missing or fails.
pub(crate) async fn output_of(
    program: impl AsRef<OsStr>,
    arguments: &[impl AsRef<OsStr>],
) -> Option<String> {
    let ended = Command::new(program).args(arguments).output().await.ok()?;
    ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// Returns the first word that begins with a digit.
fn number(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| c.is_whitespace() || c == '=');
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
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
    fn a_field_is_found_by_its_whole_name() {
        let text = "MemTotalOther: 1 kB\nMemTotal:       24608112 kB\n";
        assert_eq!(field(text, "MemTotal"), Some("24608112 kB"));
        assert_eq!(field(text, "Mem"), None);
    }

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
        let axum = locked("axum").unwrap();
        assert_eq!(number(axum), Some(axum));
    }
}
