//! What the kernel says of a process.

use std::{fs, process, time::Duration};

use anyhow::{Context, Result};

/// Resident memory in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

/// The most resident memory in bytes since [`forget_peak`].
pub(crate) fn peak(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// Makes the present resident memory the peak.
pub(crate) fn forget_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
        .context("resetting the peak of resident memory")
}

fn status(pid: u32, field: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB"))
        .with_context(|| format!("no {field}"))?;
    Ok(kib.parse::<u64>()? * 1024)
}

/// Time on a processor so far, of all threads, in user and kernel mode.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    times(pid, 2)
}

/// The same of a process and its children, those that have ended included.
pub(crate) fn cpu_of_family(pid: u32) -> Result<Duration> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let mut sum = times(pid, 4)?;
    for child in children.split_whitespace() {
        // One that ends just now is counted with its parent from then on.
        sum += times(child.parse()?, 4).unwrap_or_default();
    }
    Ok(sum)
}

/// So many of: time in user mode and in kernel mode, and both of children that have ended.
fn times(pid: u32, count: usize) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the name in brackets, and may hold anything; the 14th is the first of the times.
    let (_, fields) = text.rsplit_once(") ").context("no name in stat")?;
    ticks(fields.split(' ').skip(11).take(count))
}

/// Time on a processor so far, of everything on this machine and of what the machine had to leave to others.
pub(crate) fn machine_cpu() -> Result<Duration> {
    let text = fs::read_to_string("/proc/stat")?;
    let total = text.lines().next().and_then(|line| line.strip_prefix("cpu ")).context("no cpu")?;
    // user, nice, system, idle, iowait, irq, softirq, steal
    let fields = total.split_whitespace();
    ticks(fields.clone().take(3).chain(fields.skip(5).take(3)))
}

fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> Result<Duration> {
    const TICKS_A_SECOND: u64 = 100;
    let mut ticks = 0;
    for field in fields {
        ticks += field.parse::<u64>()?;
    }
    Ok(Duration::from_millis(ticks * (1_000 / TICKS_A_SECOND)))
}

/// This process.
pub(crate) fn own() -> u32 {
    process::id()
}
