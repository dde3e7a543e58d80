//! demo-portal, at which authsvc and its peer sign in. Without a control interface, it records no
//! calls.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::{
    figures::Bench,
    peers::{
        directory,
        server::{Ready, Server, free_port},
        written,
    },
};

/// A running demo-portal.
pub(crate) struct Portal {
    pub(crate) server: Server,
    /// The CA certificate that clients must trust.
    pub(crate) ca_file: PathBuf,
}

impl Portal {
    /// Starts a portal that waits for `delay` before each answer.
    pub(crate) async fn start(bench: &Bench, delay: Duration) -> Result<Self> {
        let (port, directory) = (free_port()?, directory(bench)?);
        let ca_file = directory.path().join("authority.pem");
        let mut command = Command::new(&bench.portal);
        command
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("RUST_LOG", "warn")
            .env("DEMO_PORTAL_CA_FILE", &ca_file)
            .env("DEMO_PORTAL_DELAY", format!("{}ms", delay.as_millis()))
            .env_remove("DEMO_PORTAL_CONTROL_PORT");
        let server = Server::start(command, port, Ready::Accepting, directory).await?;
        let server = server.with_context(|| {
            let program = bench.portal.display();
            format!("{program} does not exist: run cargo build --release -p demo-portal")
        })?;
        written(&ca_file).await?;
        Ok(Self { server, ca_file })
    }

    /// The base URL. It contains an IP address, because resolving a name would cost authsvc and its
    /// peer the same.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.server.address)
    }
}
