//! demo-acquirer, through which live merchants of payments-svc pay.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::{
    figures::Bench,
    load::api::Api,
    peers::{
        directory,
        server::{Ready, Server, free_port},
        written,
    },
};

/// The secret that payments-svc shares with the acquirer.
const SECRET: &str = "for-benchmarks-only";

/// A running demo-acquirer. Its book has at most 100,000 operations.
pub(crate) struct Acquirer {
    pub(crate) server: Server,
    /// The CA certificate that payments-svc must trust.
    ca_file: PathBuf,
}

impl Acquirer {
    /// Starts an acquirer that takes this time for each operation.
    pub(crate) async fn start(bench: &Bench, delay: Duration) -> Result<Self> {
        let (port, control, directory) = (free_port()?, free_port()?, directory(bench)?);
        let ca_file = directory.path().join("authority.pem");
        let mut command = Command::new(&bench.acquirer);
        command
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("RUST_LOG", "warn")
            .env("ACQUIRER_SECRET", SECRET)
            .env("DEMO_ACQUIRER_CA_FILE", &ca_file)
            .env("DEMO_ACQUIRER_CONTROL_PORT", control.to_string());
        let server = Server::start(command, port, Ready::Accepting, directory).await?;
        let server = server.with_context(|| {
            let program = bench.acquirer.display();
            format!("{program} does not exist: run cargo build --release -p demo-acquirer")
        })?;
        written(&ca_file).await?;
        let delay = format!(r#"{{"ms":{}}}"#, delay.as_millis());
        let mut api = Api::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, control))).await?;
        api.post("/delay", "", delay).await?;
        Ok(Self { server, ca_file })
    }

    /// The settings of payments-svc.
    pub(crate) fn settings(&self) -> [(&'static str, String); 6] {
        [
            ("PAYMENTS_APPROVAL", "none".to_owned()),
            ("PAYMENTS_ACQUIRER", "http".to_owned()),
            ("PAYMENTS_ACQUIRER_URL", format!("https://localhost:{}", self.server.address.port())),
            ("PAYMENTS_ACQUIRER_SECRET", SECRET.to_owned()),
            ("PAYMENTS_ACQUIRER_CA_FILE", self.ca_file.display().to_string()),
            ("PAYMENTS_OUTBOX_CONCURRENCY", "512".to_owned()),
        ]
    }
}
