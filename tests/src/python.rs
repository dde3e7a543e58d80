//! Programs in Python that the tests talk to.

use std::{path::Path, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

/// Starts a program, with the packages that `scripts/install test` installs. Dropping the process
/// kills it. Returns its output, too, line by line.
pub(crate) fn start(program: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/bin/python");
    let mut command = Command::new(python);
    command.args(["-W", "ignore", "-c", program]).stdin(Stdio::null()).stdout(Stdio::piped());
    let started = command.kill_on_drop(true).spawn();
    let mut process = started.expect("Python is there; install it with: scripts/install test");
    let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
    (process, lines)
}
