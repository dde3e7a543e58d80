//! The kernel's data on a service's process, from `/proc`.

use std::{fs, path::PathBuf};

use blackbox::objstore::{PROGRAM, Service};

/// Resident bytes of the service, without its program and files.
pub(crate) fn resident(service: &Service) -> u64 {
    let status = fs::read_to_string(process(service).join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Whether the service still has the connection from this local port open.
pub(crate) fn holds(service: &Service, port: u16) -> bool {
    const ESTABLISHED: &str = "01";
    let ports = [service.process().address().port(), port].map(|port| format!(":{port:04X}"));
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|fields| {
        fields[1].ends_with(&ports[0]) && fields[2].ends_with(&ports[1]) && fields[3] == ESTABLISHED
    })
}

/// The process that runs the program with this service's data directory.
fn process(service: &Service) -> PathBuf {
    let setting = format!("OBJSTORE_DATA_DIR={}", service.data().data().display());
    let runs_here = |process: &PathBuf| {
        let runs = fs::read_link(process.join("exe"))
            .is_ok_and(|program| program.to_string_lossy().contains(PROGRAM));
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        runs && environment.split(|&byte| byte == 0).any(|one| one == setting.as_bytes())
    };
    let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.find(runs_here).expect("the service has a process")
}
