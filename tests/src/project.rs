//! The files of the project.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The project's folder.
///
/// # Panics
///
/// When the tests are not in a folder of their own.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests have a folder").to_owned()
}

/// Every file of the project, by its path in the project's folder.
///
/// # Panics
///
/// When the project is not a Git checkout.
pub fn files() -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(list).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "the project is not a Git checkout");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let files = listed.lines().filter(|file| root().join(file).is_file());
    files.map(str::to_owned).collect()
}

/// The text of a file; bytes that are no text are replaced.
///
/// # Panics
///
/// When there is no such file.
pub fn read(file: &str) -> String {
    let bytes = fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}
