//! Counts what a running service does.

use std::{fs, path::Path, process::Stdio};

use blackbox::{
    process::{DEADLINE, Process, run, send},
    wrapped::wrapped,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use crate::{Costs, optimised};

/// Of one request, in the order of [`Tool`]. Zero if not measured.
pub(crate) type Figures = [f64; 3];

/// The number of measurements. The least counts: other work, such as checkpoints, only adds.
pub(crate) const ROUNDS: u32 = 5;

/// System calls that do not count: threads wait, look for input, and wake each other by a `write`; the
/// allocator protects memory; SQLite reads what has left its cache. The last one is the sum of all.
const BY_CHANCE: [&str; 10] = [
    "epoll_pwait",
    "epoll_wait",
    "futex",
    "mprotect",
    "pread64",
    "recvfrom",
    "restart_syscall",
    "sched_yield",
    "write",
    "total",
];

/// What counts. Only one tool can trace a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Counts instructions.
    Callgrind,
    /// Counts system calls.
    Strace,
    /// Counts the bytes that are written to files and pipes.
    Kernel,
}

pub(crate) struct Meter<'c> {
    tool: Tool,
    costs: &'c mut Costs,
    place: TempDir,
}

impl<'c> Meter<'c> {
    pub(crate) fn new(tool: Tool, costs: &'c mut Costs) -> Self {
        Self { tool, costs, place: tempfile::tempdir().unwrap() }
    }

    /// The command that runs a service on one core, so with one worker, and measurable.
    pub(crate) fn command(&self, service: &Command) -> Command {
        let mut program = program(service);
        if self.tool == Tool::Callgrind {
            let file = format!("--callgrind-out-file={}", self.path("out"));
            let pipe = format!("--vgdb-prefix={}", self.path("vgdb"));
            let options = ["--tool=callgrind", "--quiet", &file, &pipe];
            program = wrapped(&program, "/usr/bin/valgrind", "valgrind", &options);
        }
        wrapped(&program, "/usr/bin/taskset", "util-linux", &["--cpu-list", "0"])
    }

    /// Measures requests, one after the other. Some before warm the service up.
    pub(crate) async fn measure(
        &mut self,
        process: &Process,
        name: &str,
        requests: u32,
        mut request: impl AsyncFnMut(),
    ) {
        let mut repeat = async || {
            for _ in 0..requests {
                request().await;
            }
        };
        repeat().await;
        let mut counts = Vec::new();
        for _ in 0..ROUNDS {
            counts.push(match self.tool {
                Tool::Callgrind => {
                    let _before = self.instructions(process).await;
                    repeat().await;
                    self.instructions(process).await
                }
                Tool::Strace => {
                    let mut strace = self.strace(process).await;
                    repeat().await;
                    send(strace.id().unwrap(), "INT").await;
                    let _ended = timeout(DEADLINE, strace.wait()).await.unwrap();
                    self.calls()
                }
                Tool::Kernel => {
                    let before = bytes(process);
                    repeat().await;
                    bytes(process) - before
                }
            });
        }
        let least = counts.into_iter().fold(f64::INFINITY, f64::min);
        let figures = self.costs.entry(name.to_owned()).or_default();
        figures[self.tool as usize] = least / f64::from(requests);
    }

    /// The instructions since the last call.
    async fn instructions(&self, process: &Process) -> f64 {
        let mut command = Command::new("vgdb");
        command.arg(format!("--vgdb-prefix={}", self.path("vgdb")));
        command.args([format!("--pid={}", process.id()), "dump".to_owned()]);
        let ended = run(command).await;
        assert!(ended.status.success(), "{ended:?}");
        let dumps = fs::read_dir(self.place.path()).unwrap().map(|file| file.unwrap().path());
        let dumps =
            dumps.filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with("out."));
        let [dump] = dumps.collect::<Vec<_>>().try_into().unwrap();
        let text = fs::read_to_string(&dump).unwrap();
        fs::remove_file(dump).unwrap();
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        total.unwrap().trim().parse().unwrap()
    }

    async fn strace(&self, process: &Process) -> tokio::process::Child {
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-o", &self.path("calls"), "-p", &process.id().to_string()]);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut strace = command.spawn().unwrap();
        let mut lines = BufReader::new(strace.stderr.take().unwrap()).lines();
        let attached = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("attached") {
                    return;
                }
            }
            panic!("strace ended");
        };
        timeout(DEADLINE, attached).await.unwrap();
        // It says more, and nobody reads it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        strace
    }

    /// The calls that strace has counted.
    fn calls(&self) -> f64 {
        let table = fs::read_to_string(self.path("calls")).unwrap();
        let rows = table.lines().filter_map(|line| {
            let columns: Vec<_> = line.split_whitespace().collect();
            let (name, calls) = (columns.last()?, columns.get(3)?.parse::<f64>().ok()?);
            (!BY_CHANCE.contains(name)).then_some(calls)
        });
        rows.sum()
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).to_str().unwrap().to_owned()
    }
}

/// The bytes that a process has written to files and pipes.
fn bytes(process: &Process) -> f64 {
    let text = fs::read_to_string(process.proc("io")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

/// The same command with the program of this name in the folder of optimised programs, if there is one.
fn program(service: &Command) -> Command {
    let service = service.as_std();
    let name = Path::new(service.get_program());
    let optimised = optimised().map(|folder| Path::new(&folder).join(name.file_name().unwrap()));
    let mut command = Command::new(optimised.unwrap_or_else(|| name.to_owned()));
    command.args(service.get_args()).env_clear();
    command.envs(service.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}
