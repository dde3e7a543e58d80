//! Subcommands that are asked to stop.

use std::{
    fs,
    pin::pin,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rusqlite::Connection;
use tokio::{process::Command, time::timeout};

use crate::{
    postgres::{self, Database},
    process::{DEADLINE, piped, send, until},
    soak::{rounds, seed},
};

/// The exit code of a command that was asked to stop.
pub const INTERRUPTED: i32 = 130;

/// Runs a command and sends it a signal after this time. Returns whether it stopped, instead of
/// ending with success before the signal. A command that stops has to print `message` and nothing
/// else.
pub async fn is_stopped(
    mut command: Command,
    signal: &str,
    after: Duration,
    message: &str,
) -> bool {
    let child = command.spawn().expect("can be started");
    let pid = child.id().expect("is not waited for");
    let mut ended = pin!(child.wait_with_output());
    let output = match timeout(after, &mut ended).await {
        Ok(output) => output,
        Err(_) => {
            send(pid, signal).await;
            timeout(DEADLINE, ended).await.expect("ends in time")
        }
    };
    let Output { status, stdout, stderr } = output.expect("can be waited for");
    let output = String::from_utf8([stdout, stderr].concat()).expect("text");
    // On a slow machine, there are lines about the progress, too.
    let lines: Vec<_> = output.lines().filter(|line| !is_progress(line)).collect();
    match status.code() {
        Some(INTERRUPTED) => assert_eq!(lines, [format!("error: {message}")]),
        // Ended, or the signal came before the program had begun.
        Some(0) | None => {
            let is_report = |line: &&str| line.starts_with("payout: ");
            assert!(lines.iter().all(is_report), "{output}");
        }
        Some(_) => panic!("{status}: {output}"),
    }
    !status.success()
}

/// Sends SIGHUP to an import that waits. It stops, unless `nohup` has started it: then it goes on and
/// succeeds. `service` is the name of the program.
pub async fn hang_up_import(import: Command, database: &Database, service: &str) {
    let lock = format!("SELECT pg_advisory_lock(hashtext('{service} migrations'))");
    let sessions = |is_granted| {
        format!(
            "FROM pg_locks WHERE locktype = 'advisory' AND granted = {is_granted}
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    };
    let count = |is_granted| database.run(&format!("SELECT count(*) {}", sessions(is_granted)));
    let line = import.as_std();
    let started_by = |starter: &[&str]| {
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).arg(line.get_program()).args(line.get_args());
        let variables = line.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(variables);
        piped(&mut command);
        command
    };
    // These tests may run under `nohup`, too.
    let stopped = started_by(&["env", "--default-signal=HUP"]);
    for (mut command, is_stopped) in [(stopped, true), (started_by(&["nohup"]), false)] {
        let mut holder = Command::from(postgres::program("psql"))
            .args(["--no-psqlrc", "--command", &lock, "--command", "SELECT pg_sleep(3600)"])
            .arg(database.url())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("psql can be started");
        until(async || count(true) == "1").await;
        let child = command.spawn().expect("can be started");
        until(async || count(false) == "1").await;
        send(child.id().expect("is not waited for"), "HUP").await;
        let mut ended = pin!(child.wait_with_output());
        let mut output = None;
        if is_stopped {
            output = Some(timeout(DEADLINE, &mut ended).await.expect("ends in time"));
        }
        database.run(&format!("SELECT pg_terminate_backend(pid) {}", sessions(true)));
        holder.wait().await.expect("psql ends");
        let output = match output {
            Some(output) => output,
            None => timeout(DEADLINE, ended).await.expect("ends in time"),
        };
        until(async || count(true) == "0" && count(false) == "0").await;
        let Output { status, stderr, .. } = output.expect("can be waited for");
        let error = String::from_utf8(stderr).expect("text");
        let expected = if is_stopped { INTERRUPTED } else { 0 };
        assert_eq!(status.code(), Some(expected), "{error}");
        assert_eq!(error.contains("interrupted: nothing was imported"), is_stopped, "{error}");
    }
}

fn is_progress(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(_, rest)| {
        rest == "preparing" || rest.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// The most runs of a command until a signal has stopped one.
pub const MOST_RUNS: usize = 200;

/// Runs a command to its end, then again and again with a signal at a random moment, until a run was
/// stopped. Calls `after` after each run, with whether it was stopped.
#[expect(clippy::print_stdout, reason = "a test shows what it printed when it fails")]
pub async fn stop_often(command: impl Fn() -> Command, message: &str, after: impl AsyncFn(bool)) {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let begin = Instant::now();
    assert!(!is_stopped(command(), "TERM", DEADLINE, "").await, "a whole run takes too long");
    let whole = begin.elapsed();
    after(false).await;
    let (mut runs, mut stopped) = (0, 0);
    while runs < rounds(2, 200) || stopped == 0 && runs < MOST_RUNS {
        runs += 1;
        let moment = whole.mul_f64(rng.random());
        let signal = if rng.random() { "INT" } else { "TERM" };
        let was_stopped = is_stopped(command(), signal, moment, message).await;
        stopped += u32::from(was_stopped);
        after(was_stopped).await;
    }
    assert!(stopped > 0, "each command was faster than the signal: the test shows nothing");
}

/// Stops `backup` as [`stop_often`] does. Checks that a whole run creates nothing but its file, in
/// which `check` finds every row, and that a stopped run leaves no file. `backup` is the subcommand
/// without options.
pub async fn stop_backup(backup: impl Fn() -> Command, check: impl Fn(&Connection)) {
    let directory = tempfile::tempdir().expect("can be created");
    let file = directory.path().join("copy.db");
    let to_file = || {
        let mut command = backup();
        command.arg("--to").arg(&file);
        command
    };
    stop_often(to_file, "interrupted: no file was created", async |stopped| {
        if !stopped {
            check(&Connection::open(&file).expect("there is a backup"));
            fs::remove_file(&file).expect("can be removed");
        }
        let left: Vec<_> = fs::read_dir(directory.path()).expect("can be listed").collect();
        assert!(left.is_empty(), "{left:?}");
    })
    .await;
}
