//! A small file system in memory, in a mount namespace that ends with the test.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::wrapped::wrapped;

/// A tmpfs of limited size.
pub struct SmallDisk {
    place: TempDir,
    /// Keeps the mount namespace alive until its input ends.
    holder: Child,
}

impl SmallDisk {
    pub async fn new(mebibytes: u32) -> Self {
        let place = tempfile::tempdir().expect("a directory can be made");
        let script = format!(
            "mount -t tmpfs -o size={mebibytes}m tmpfs '{}' && echo mounted && exec cat",
            place.path().display()
        );
        let mut command = Command::new("/usr/bin/unshare");
        if !is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "sh", "-c", &script]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut holder = command.spawn().expect("unshare is missing: apt-get install util-linux");
        let mut output = String::new();
        BufReader::new(holder.stdout.take().expect("piped"))
            .read_line(&mut output)
            .await
            .expect("its output");
        assert_eq!(
            output, "mounted\n",
            "no small disk: mounting is not permitted here. Run the tests as root with \
             CAP_SYS_ADMIN (in a container: --privileged), or where users may unshare"
        );
        Self { place, holder }
    }

    /// The mount point inside the namespace.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// The path to the disk from outside the namespace.
    pub fn seen_from_here(&self) -> PathBuf {
        let root = format!("/proc/{}/root", self.holder.id().expect("it runs"));
        Path::new(&root).join(self.path().strip_prefix("/").expect("an absolute path"))
    }

    /// The command that runs `inner` inside the namespace.
    pub fn beside(&self, inner: &Command) -> Command {
        let target = format!("--target={}", self.holder.id().expect("it runs"));
        let mut arguments = vec![&*target, "--mount"];
        if !is_root() {
            arguments.extend(["--user", "--preserve-credentials"]);
        }
        wrapped(inner, "/usr/bin/nsenter", "util-linux", &arguments)
    }

    /// Runs a shell script in the mount point. Returns whether it succeeded.
    pub async fn run(&self, script: &str) -> bool {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("cd {} && {script}", self.path().display())]);
        shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        self.beside(&shell).status().await.expect("it can be started").success()
    }

    /// Resizes the disk and keeps its content.
    pub async fn resize(&self, mebibytes: u32) {
        let size = format!("remount,size={mebibytes}m");
        let mut mount = Command::new("/usr/bin/mount");
        // With type and source, so that mount repeats no earlier options: the owner among them does
        // not exist in a user namespace.
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(self.path());
        let status = self.beside(&mount).status().await.expect("it can be started");
        assert!(status.success(), "the disk cannot be made larger");
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("procfs").uid() == 0
}
