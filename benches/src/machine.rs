//! The machine a table was made on.

use std::{fs, thread};

use tokio::process::Command;

/// Processor, cores, kernel and date, in one line.
pub(crate) async fn line() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let today = Command::new("date")
        .args(["-u", "+%F"])
        .output()
        .await
        .map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    format!(
        "Machine: {model}, {cores} cores shared by servers and load, Linux {}, {}.",
        kernel.trim(),
        today.unwrap_or_default()
    )
}
