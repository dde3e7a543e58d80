//! How much memory this process may use.

use std::{fs, path::Path};

/// Bytes of memory that the process may use: the limit of its control group or the memory of the
/// machine, whichever is lower. `None` if neither can be read.
pub fn available_memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().filter_map(limit_of_group).min();
    group.into_iter().chain(machine_memory()).min()
}

/// The lowest limit of a control group and its ancestors. `line` is a line of `/proc/self/cgroup`:
/// hierarchy, controllers and path, separated by colons. In a container, the path may exist only on
/// the host. The root of the hierarchy is then the group of the container.
fn limit_of_group(line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return None,
    };
    let path = Path::new(path.trim_start_matches('/'));
    let limit = |group: &Path| {
        let text = fs::read_to_string(Path::new(root).join(group).join(file)).ok()?;
        text.trim().parse().ok()
    };
    path.ancestors().filter_map(limit).min()
}

fn machine_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_no_more_memory_than_the_machine() {
        let available = available_memory().unwrap();
        assert!(available > 1024 * 1024 && available <= machine_memory().unwrap());
    }

    #[test]
    fn lines_of_other_controllers_are_ignored() {
        for line in ["", "1:cpu:/", "5:name=systemd:/a", "0:/"] {
            assert_eq!(limit_of_group(line), None, "{line}");
        }
    }
}
