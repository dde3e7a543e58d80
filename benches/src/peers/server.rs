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

use anyhow::{Result, bail};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::sleep,
};

use crate::load::api;

/// How to find out whether a server is ready.
#[derive(Clone, Copy)]
pub(crate) enum Ready {
    /// It accepts connections.
    Accepting,
    /// `GET /ready` answers 200.
    Answering,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
    child: Child,
    command: Command,
    ready: Ready,
    directory: TempDir,
}

/// Returns a port of 127.0.0.1 on which no process listens at the moment.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

impl Server {
    /// Starts `command`, which listens on `port` and keeps its data in `directory`. Waits until it
    /// is ready. Returns `None` if its program is not installed.
    pub(crate) async fn start(
        mut command: Command,
        port: u16,
        ready: Ready,
        directory: TempDir,
    ) -> Result<Option<Self>> {
        let log = File::create(directory.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let child = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            child => child?,
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let pid = child.id().unwrap_or_default();
        let mut server = Self { address, pid, child, command, ready, directory };
        server.wait_until_ready().await?;
        Ok(Some(server))
    }

    /// The directory of its data.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Kills the process and starts it again on the same data.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.child.kill().await?;
        self.child = self.command.spawn()?;
        self.pid = self.child.id().unwrap_or_default();
        self.wait_until_ready().await
    }

    /// Registers a new client of objstore-svc. Returns the value of its Cookie header.
    pub(crate) async fn session(&self) -> Result<String> {
        api::session(self.address).await
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "{:?} ended before it was ready, {status}: {}",
                    self.command.as_std().get_program(),
                    self.log()
                );
            }
            let ready = match self.ready {
                Ready::Accepting => tokio::net::TcpStream::connect(self.address).await.is_ok(),
                Ready::Answering => api::is_ready(self.address).await,
            };
            if ready {
                return Ok(());
            }
            sleep(Duration::from_millis(20)).await;
        }
        bail!("{:?} is not ready after 30 s: {}", self.command.as_std().get_program(), self.log())
    }

    /// Returns the last three lines of the log.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
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
