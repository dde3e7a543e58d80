//! The system calls of a process, traced with strace.

use std::{collections::HashMap, fs, path::Path};

use blackbox::process::DEADLINE;
use tokio::process::Command;

use crate::{eventually::eventually, wrapped::wrapped};

/// The calls that write or sync.
const CALLS: &str = "trace=write,pwrite64,writev,pwritev,sendto,sendmsg,fsync,fdatasync";

/// Bytes of data printed for each call: more than a database page.
const DATA: &str = "8192";

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// As printed by strace, with the paths of files.
    pub(crate) arguments: String,
    pub(crate) result: i64,
    /// The line number of the call's beginning.
    pub(crate) began: usize,
    /// The line number of the call's return.
    pub(crate) ended: usize,
}

/// The command that runs `inner` and writes its system calls to `log`. The traced process stays the
/// direct child of its caller.
pub(crate) fn traced(inner: &Command, log: &Path) -> Command {
    let log = log.to_str().unwrap();
    let arguments = ["-D", "-f", "-y", "-s", DATA, "-e", CALLS, "-o", log];
    wrapped(inner, "/usr/bin/strace", "strace", &arguments)
}

/// The calls of a process, which has to end.
pub(crate) async fn calls(log: &Path) -> Vec<Call> {
    eventually("the trace ends", DEADLINE, async || {
        let text = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
        let last = text.lines().last()?;
        last.contains("+++ exited with 0 +++").then(|| parse(&text))
    })
    .await
}

fn parse(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut unfinished = HashMap::new();
    for (at, line) in text.lines().enumerate() {
        let (thread, event) = line.split_once(' ').unwrap_or_default();
        let event = event.trim_start();
        if event.starts_with("+++") || event.starts_with("---") {
            continue;
        }
        if let Some(begun) = event.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (at, begun));
            continue;
        }
        let (began, begun, returned) = match event.strip_prefix("<... ") {
            Some(resumed) => {
                let Some((at, begun)) = unfinished.remove(thread) else { continue };
                (at, begun, resumed)
            }
            None => (at, event, event),
        };
        let (name, arguments) = begun.split_once('(').unwrap();
        let (_, result) = returned.rsplit_once(" = ").unwrap();
        // A call interrupted by the end of the process has no result.
        if let Ok(result) = result.split(' ').next().unwrap().parse() {
            let (name, arguments) = (name.to_owned(), arguments.to_owned());
            calls.push(Call { name, arguments, result, began, ended: at });
        }
    }
    calls
}
