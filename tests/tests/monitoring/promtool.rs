//! promtool reads rules and evaluates expressions with the code of Prometheus itself.

use std::{path::Path, process::Stdio};

use blackbox::{process, project::root};
use tokio::process::Command;

/// Runs promtool in this folder. Panics if it reports an error.
pub(crate) async fn run(arguments: &[&str], folder: &Path) {
    let failure = failure(arguments, folder).await;
    assert!(failure.is_none(), "{arguments:?}: {}", failure.unwrap_or_default());
}

/// Runs promtool in this folder. Returns the error that it reports.
pub(crate) async fn failure(arguments: &[&str], folder: &Path) -> Option<String> {
    let promtool = root().join("target/tools/promtool");
    assert!(promtool.exists(), "promtool is missing; install it with: scripts/install test");
    let mut command = Command::new(promtool.canonicalize().unwrap());
    command.args(arguments).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = process::run(command).await;
    (!ended.status.success()).then(|| process::output(&ended))
}
