//! What the system knows of a service's process.

use std::{fs, path::PathBuf};

use blackbox::objstore::{PROGRAM, Service};

/// Bytes of memory that the service holds, beside its program.
pub(crate) fn resident(service: &Service) -> u64 {
    let status = fs::read_to_string(process(service).join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Files and connections that the service has open.
pub(crate) fn open_files(service: &Service) -> usize {
    fs::read_dir(process(service).join("fd")).unwrap().count()
}

/// The process is the one that runs the program on the directory of this service.
fn process(service: &Service) -> PathBuf {
    let setting = format!("OBJSTORE_DATA_DIR={}", service.place().data().display());
    let runs_here = |process: &PathBuf| {
        let runs = fs::read_link(process.join("exe"))
            .is_ok_and(|program| program.to_string_lossy().contains(PROGRAM));
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        runs && environment.split(|&byte| byte == 0).any(|one| one == setting.as_bytes())
    };
    let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.find(runs_here).expect("the service has a process")
}
