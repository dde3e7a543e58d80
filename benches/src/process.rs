//! Memory and processor time of processes, read from `/proc`.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// Current resident memory in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

/// Highest resident memory in bytes since [`reset_peak`], or since the start of the process.
pub(crate) fn peak(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// Resets the peak to the current resident memory.
pub(crate) fn reset_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
        .context("resetting the peak of resident memory")
}

fn status(pid: u32, field: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB"))
        .with_context(|| format!("no {field} in the status of process {pid}"))?;
    Ok(kib.parse::<u64>()? * 1024)
}

/// Processor time so far, of all threads, in user and kernel mode.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    times(pid, 2)
}

/// Processor time of a process and its children, including children that have ended.
pub(crate) fn cpu_of_family(pid: u32) -> Result<Duration> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let mut sum = times(pid, 4)?;
    for child in children.split_whitespace() {
        // A child that has just ended is included in the times of its parent.
        sum += times(child.parse()?, 4).unwrap_or_default();
    }
    Ok(sum)
}

/// Sums the first `count` of these times: the process in user mode and in kernel mode, its ended
/// children in user mode and in kernel mode.
fn times(pid: u32, count: usize) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the name in parentheses, which can contain any character. The times begin
    // with the 14th field.
    let (_, fields) = text.rsplit_once(") ").context("no process name in /proc/<pid>/stat")?;
    ticks(fields.split(' ').skip(11).take(count))
}

/// Processor time so far of everything on this machine, including the time that the hypervisor gave
/// to other machines (steal).
pub(crate) fn machine_cpu() -> Result<Duration> {
    let text = fs::read_to_string("/proc/stat")?;
    let total = text.lines().next().and_then(|line| line.strip_prefix("cpu "));
    let total = total.context("no line \"cpu\" in /proc/stat")?;
    // user, nice, system, idle, iowait, irq, softirq, steal
    let fields = total.split_whitespace();
    ticks(fields.clone().take(3).chain(fields.skip(5).take(3)))
}

fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> Result<Duration> {
    const TICKS_PER_SECOND: u64 = 100;
    let mut ticks = 0;
    for field in fields {
        ticks += field.parse::<u64>()?;
    }
    Ok(Duration::from_millis(ticks * (1_000 / TICKS_PER_SECOND)))
}
