//! The programs of the documentation that keep a copy with a published client.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::project::{read, root};

/// A folder with the packages of the programs.
pub struct Documented(TempDir);

impl Default for Documented {
    fn default() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let packages = root().join("target/tools/streams/node_modules");
        symlink(packages, folder.path().join("node_modules")).expect("a link");
        Self(folder)
    }
}

impl Documented {
    /// The program in this language, and `rest` behind it.
    pub fn program(&self, language: &str, rest: &str) -> PathBuf {
        let page = read("docs/objstore-svc.md");
        let (_, chapter) = page.split_once("### Keep a copy\n").expect("a chapter");
        let (_, program) = chapter.split_once(&format!("```{language}\n")).expect("a program");
        let program = program.split("```").next().unwrap_or_default();
        // Node.js takes a module only by this name.
        let path = self.0.path().join(format!("{language}.mjs"));
        fs::write(&path, format!("{program}{rest}")).expect("can be written");
        path
    }

    /// A script for a page that sets `copies.copyOf`.
    pub fn script(&self) -> String {
        let bundle = self.0.path().join("bundle.js");
        let bundler = self.0.path().join("node_modules/rolldown/bin/cli.mjs");
        let mut command = Command::new("node");
        command.arg(bundler).arg(self.program("js", "")).arg("--file").arg(&bundle);
        command.args(["--format", "iife", "--name", "copies"]).current_dir(&self.0);
        let made = command.output().expect("the bundler runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::read_to_string(&bundle).expect("a bundle")
    }
}
