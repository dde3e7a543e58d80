//! demo-portal, at which authsvc and its peer sign in, and demo-acquirer, through which live
//! merchants of payments-svc pay.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    figures::Bench,
    load::api,
    peers::{
        directory, program,
        server::{Server, free_port},
    },
};

/// The secret that payments-svc shares with the acquirer.
const SECRET: &str = "for-benchmarks-only";

pub(crate) struct StandIn {
    server: Server,
    /// The CA certificate that clients must trust.
    pub(crate) ca_file: PathBuf,
}

impl StandIn {
    pub(crate) async fn portal(bench: &Bench) -> Result<Self> {
        Self::start(bench, "demo-portal", "DEMO_PORTAL_CA_FILE", &[]).await
    }

    /// Starts an acquirer that takes this time for each operation.
    pub(crate) async fn acquirer(bench: &Bench, delay: Duration) -> Result<Self> {
        let control = free_port()?.to_string();
        let settings =
            [("ACQUIRER_SECRET", SECRET), ("DEMO_ACQUIRER_CONTROL_PORT", control.as_str())];
        let started =
            Self::start(bench, "demo-acquirer", "DEMO_ACQUIRER_CA_FILE", &settings).await?;
        let request = api::client()?.post(format!("http://127.0.0.1:{control}/delay"));
        let delay = json!({ "ms": u64::try_from(delay.as_millis())? });
        request.json(&delay).send().await?.error_for_status()?;
        Ok(started)
    }

    async fn start(
        bench: &Bench,
        name: &str,
        ca_variable: &str,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let (port, directory) = (free_port()?, directory(bench)?);
        let ca_file = directory.path().join("authority.pem");
        let mut command = program(bench, name, port);
        command.env("RUST_LOG", "warn").env(ca_variable, &ca_file).envs(settings.iter().copied());
        let server = Server::start(command, port, directory).await?;
        // It writes the certificate after it starts to listen.
        let started = Instant::now();
        while !ca_file.exists() {
            ensure!(started.elapsed() < Duration::from_secs(10), "{name} writes no certificate");
            sleep(Duration::from_millis(5)).await;
        }
        Ok(Self { server, ca_file })
    }

    /// The URL of the portal, with an IP address: to resolve a name would cost authsvc and its peer
    /// the same.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.server.address)
    }

    /// The settings of payments-svc for the acquirer.
    pub(crate) fn acquirer_settings(&self) -> [(&'static str, String); 6] {
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
