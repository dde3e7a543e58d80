//! Runs a service inside another program.

use std::{
    path::Path,
    process::{self, Stdio},
};

use tokio::process::Command;

/// The command that runs `inner` through `program`, which executes its last arguments. `package` is
/// the Debian package with the program.
pub fn wrapped(inner: &Command, program: &str, package: &str, arguments: &[&str]) -> Command {
    assert!(
        Path::new(program).exists(),
        "{program} is missing; install it with: apt-get install {package}"
    );
    let inner = inner.as_std();
    let mut command = process::Command::new(program);
    command.args(arguments).arg(inner.get_program()).args(inner.get_args());
    command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}
