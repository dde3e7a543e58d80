//! promtool reads rules and evaluates expressions with the code of Prometheus itself.

use std::{
    path::Path,
    process::{Output, Stdio},
};

use blackbox::{process, project::root};
use tokio::process::Command;

/// Runs promtool in this folder. Panics if it reports an error.
pub(crate) async fn run(arguments: &[&str], folder: &Path) {
    let promtool = root().join("target/tools/promtool");
    assert!(promtool.exists(), "promtool is missing; install it with: scripts/install test");
    let mut command = Command::new(promtool.canonicalize().unwrap());
    command.args(arguments).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let Output { status, stdout, stderr } = process::run(command).await;
    let output = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{arguments:?}: {output}");
}
