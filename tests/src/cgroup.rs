//! Limits on a process: memory, by a control group, and open files.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    thread::sleep,
    time::Duration,
};

use tokio::process::Command;
use uuid::Uuid;

/// Attempts to remove a group. They fail while a killed process is still in it.
const REMOVALS: u32 = 200;

/// The file names of one version of control groups.
struct Hierarchy {
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    peak: &'static str,
    /// The entry of `memory.stat` for the page cache, which the kernel drops when memory is short.
    files: &'static str,
}

const HIERARCHIES: [Hierarchy; 2] = [
    Hierarchy {
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        peak: "memory.max_usage_in_bytes",
        files: "total_cache",
    },
    Hierarchy {
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        usage: "memory.current",
        peak: "memory.peak",
        files: "file",
    },
];

/// A memory control group, of either version. Removed when dropped.
pub struct Group {
    directory: PathBuf,
    hierarchy: &'static Hierarchy,
}

impl Group {
    /// A group with this limit in bytes. `None` if this user may not create groups.
    pub fn new(limit: u64) -> Option<Self> {
        HIERARCHIES.iter().find_map(|hierarchy| {
            let name = format!("blackbox-{}", Uuid::new_v4().simple());
            let directory = Path::new(hierarchy.root).join(name);
            fs::create_dir(&directory).ok()?;
            let group = Self { directory, hierarchy };
            // The file is missing in a hierarchy without the memory controller.
            fs::write(group.directory.join(hierarchy.limit), limit.to_string()).ok()?;
            Some(group)
        })
    }

    /// Bytes in use, without the page cache.
    pub fn used(&self) -> u64 {
        let stat = fs::read_to_string(self.directory.join("memory.stat")).unwrap_or_default();
        let of_line = |line: &str| {
            let (name, bytes) = line.split_once(' ')?;
            (name == self.hierarchy.files).then(|| bytes.parse().ok()).flatten()
        };
        let files: u64 = stat.lines().find_map(of_line).unwrap_or(0);
        self.read(self.hierarchy.usage).unwrap_or(0).saturating_sub(files)
    }

    /// The peak in bytes, page cache included. `None` if the kernel is too old to report it.
    pub fn peak(&self) -> Option<u64> {
        self.read(self.hierarchy.peak)
    }

    fn read(&self, file: &str) -> Option<u64> {
        fs::read_to_string(self.directory.join(file)).ok()?.trim().parse().ok()
    }

    fn members(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            if fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
    }
}

/// The command that runs `inner` with at most `files` open files, in `group` if given.
///
/// The process joins the group before its program starts, because the program reads the limit at
/// its start.
pub fn granted(inner: &Command, files: u32, group: Option<&Group>) -> Command {
    const SCRIPT: &str =
        r#"ulimit -n "$1" || exit; [ -z "$2" ] || echo $$ >"$2" || exit; shift 2; exec "$@""#;
    let inner = inner.as_std();
    let members = group.map(Group::members).unwrap_or_default();
    let mut command = process::Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "sh", &files.to_string()]).arg(members);
    command.arg(inner.get_program()).args(inner.get_args());
    command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut command = Command::from(command);
    crate::process::piped(&mut command);
    command
}
