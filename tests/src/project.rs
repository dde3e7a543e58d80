//! The files of the project, for the tests of documents and scripts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests have a folder").to_owned()
}

/// The paths of all files, relative to [`root`]: tracked by Git, or untracked and not ignored.
pub fn files() -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(list).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "the project is not a Git checkout");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let files = listed.lines().filter(|file| root().join(file).is_file());
    files.map(str::to_owned).collect()
}

/// The text of a file. Bytes that are not UTF-8 are replaced.
pub fn read(file: &str) -> String {
    let bytes = fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}
