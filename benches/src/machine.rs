//! Describes the machine of a run.

use std::{
    fmt::{self, Display, Formatter},
    fs,
    io::Write,
    path::Path,
    thread,
    time::Instant,
};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::report::{Spread, count};

/// Synced writes for [`Machine::sync`].
const SYNCS: usize = 200;

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
        let mut findmnt = Command::new("findmnt");
        findmnt.args(["--noheadings", "--output", "FSTYPE,SOURCE", "--target"]).arg(data);
        let disk =
            findmnt.output().await.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
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

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { processor, cores, memory, kernel, disk, sync } = self;
        write!(
            f,
            "{processor}, {cores} cores shared by servers and load, {} GiB, {kernel}, {disk} (a sync takes {} ms)",
            count(*memory),
            count(*sync)
        )
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
    let mut milliseconds = Spread::default();
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[b'x'; 4096])?;
        file.as_file().sync_data()?;
        milliseconds.add(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(milliseconds.median())
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
}
