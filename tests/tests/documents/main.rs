//! The documents, held against the project: links, commands, settings, endpoints and diagrams.

#![expect(clippy::unwrap_used, reason = "a document that cannot be read is a failed test")]

mod commands;
mod diagrams;
mod links;
mod names;
mod page;
mod settings;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file of the project, by its path in the project's folder.
fn files() -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(list).current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "the project is not a Git checkout");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let files = listed.lines().filter(|file| root().join(file).is_file());
    files.map(str::to_owned).collect()
}

fn read(file: &str) -> String {
    let bytes = fs::read(root().join(file)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}
