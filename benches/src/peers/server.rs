//! A server that runs during a measurement. It has a free port and a temporary directory. Dropping
//! it kills the process and deletes the directory.

use std::{
    fs::{self, File},
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::sleep,
};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
    directory: TempDir,
}

/// Returns a port of 127.0.0.1 on which no process listens at the moment.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

impl Server {
    /// Starts `command`, which listens on `port` and keeps its data in `directory`. Waits until it
    /// accepts connections.
    pub(crate) async fn start(command: Command, port: u16, directory: TempDir) -> Result<Self> {
        let program = command.as_std().get_program().to_owned();
        Self::start_installed(command, port, directory).await?.with_context(|| {
            format!("{program:?} does not exist: run cargo build --release --workspace --bins")
        })
    }

    /// As [`Server::start`]. Returns `None` if the program is not installed.
    pub(crate) async fn start_installed(
        mut command: Command,
        port: u16,
        directory: TempDir,
    ) -> Result<Option<Self>> {
        let log = File::create(directory.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let child = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            child => child?,
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut server = Self { address, child, directory };
        let (program, started) = (command.as_std().get_program(), Instant::now());
        while TcpStream::connect(address).await.is_err() {
            let ended = server.child.try_wait()?;
            ensure!(ended.is_none(), "{program:?} ended: {}", server.log());
            let waited = started.elapsed();
            ensure!(waited < Duration::from_secs(30), "{program:?} hangs: {}", server.log());
            sleep(Duration::from_millis(20)).await;
        }
        Ok(Some(server))
    }

    /// The directory of its data.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the last three lines of the log.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.directory().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}

impl Drop for Server {
    /// Waits up to a second for the end of the process, so that it does not write into a directory
    /// that is being deleted.
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        for _ in 0..200 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
