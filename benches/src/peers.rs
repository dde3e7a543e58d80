//! Starts the services and their peers. Every store must sync its data before it answers, so that
//! comparisons are fair. All other settings have their defaults, except limits, which are off.

pub(crate) mod bare;
pub(crate) mod postgres;
pub(crate) mod relay;
pub(crate) mod server;
pub(crate) mod shop;
pub(crate) mod stand_in;

use std::fs;

use anyhow::{Result, ensure};
use tempfile::{Builder, TempDir};
use tokio::process::Command;

use crate::{
    figures::Bench,
    peers::{
        postgres::Postgres,
        server::{Server, free_port},
        shop::Shop,
        stand_in::StandIn,
    },
};

/// All load comes from one address.
const CONNECTIONS: (&str, &str) = ("MAX_CONNECTIONS_PER_ADDRESS", "1000000");

/// Starts objstore-svc on SQLite.
pub(crate) async fn objstore(bench: &Bench) -> Result<Server> {
    objstore_in(bench, directory(bench)?, None).await
}

/// Starts objstore-svc with a copy of the store of `original`, and with this setting.
pub(crate) async fn objstore_copy(
    bench: &Bench,
    original: &Server,
    setting: (&str, &str),
) -> Result<Server> {
    let directory = directory(bench)?;
    let copy = directory.path().join("objects");
    fs::create_dir(&copy)?;
    let mut backup = Command::new(bench.programs.join("objstore-svc"));
    backup.arg("backup").arg("--to").arg(copy.join("objstore.db"));
    backup.env("OBJSTORE_DATA_DIR", original.directory().join("objects"));
    ensure!(backup.status().await?.success(), "objstore-svc backup failed");
    objstore_in(bench, directory, Some(setting)).await
}

async fn objstore_in(
    bench: &Bench,
    directory: TempDir,
    setting: Option<(&str, &str)>,
) -> Result<Server> {
    let port = free_port()?;
    let mut command = program(bench, "objstore-svc", port);
    command
        .env("OBJSTORE_DATA_DIR", directory.path().join("objects"))
        .env("OBJSTORE_REGISTER_LIMIT", "off")
        .envs(setting);
    Server::start(command, port, directory).await
}

/// Starts authsvc.
pub(crate) async fn authsvc(bench: &Bench, portal: &StandIn) -> Result<Server> {
    let port = free_port()?;
    let mut command = program(bench, "authsvc", port);
    command
        .env("MAX_SIGN_INS", "10000")
        .env("PORTAL_URL", portal.url())
        .env("PORTAL_CA_FILE", &portal.ca_file);
    Server::start(command, port, directory(bench)?).await
}

/// Starts payments-svc on PostgreSQL, or on SQLite, with this acquirer of live merchants.
pub(crate) async fn payments(
    bench: &Bench,
    postgres: Option<&Postgres>,
    acquirer: Option<&StandIn>,
) -> Result<Shop> {
    let (port, pos_port, directory) = (free_port()?, free_port()?, directory(bench)?);
    let data = directory.path().join("payments");
    let command = || {
        let mut command = program(bench, "payments-svc", port);
        command
            .env("PAYMENTS_POS_PORT", pos_port.to_string())
            .env("PAYMENTS_DATA_DIR", &data)
            .env("PAYMENTS_WEBHOOKS_INSECURE", "true")
            .envs(postgres.map(|postgres| ("PAYMENTS_DATABASE_URL", postgres.url())))
            .envs(acquirer.into_iter().flat_map(StandIn::acquirer_settings));
        for limit in ["ATTEMPT", "DECLINE", "CARD", "APP", "INVITATION"] {
            command.env(format!("PAYMENTS_{limit}_LIMIT"), "off");
        }
        command
    };
    let seeded = command().arg("seed").status().await?;
    ensure!(seeded.success(), "payments-svc seed failed");
    let keys = fs::read_to_string(data.join("demo.env"))?;
    Shop::new(Server::start(command(), port, directory).await?, pos_port, &keys)
}

/// Starts the bare route, whose answer has `bytes` bytes.
pub(crate) async fn bare(bench: &Bench, bytes: usize) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bare", &port.to_string(), &bytes.to_string()]);
    Server::start(command, port, directory(bench)?).await
}

/// Starts the bare relay to `portal`.
pub(crate) async fn relay(bench: &Bench, portal: &StandIn) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["relay", &port.to_string(), &portal.url()]).arg(&portal.ca_file);
    Server::start(command, port, directory(bench)?).await
}

/// Starts Redis with an append-only file, which it syncs before every answer. Returns `None` if it
/// is not installed.
pub(crate) async fn redis(bench: &Bench) -> Result<Option<Server>> {
    let (port, directory) = (free_port()?, directory(bench)?);
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]).arg(directory.path());
    Server::start_installed(command, port, directory).await
}

/// Starts a cluster of one etcd. Returns `None` if it is not installed.
#[cfg(feature = "etcd")]
pub(crate) async fn etcd(bench: &Bench) -> Result<Option<Server>> {
    let (port, directory) = (free_port()?, directory(bench)?);
    let [clients, peers] = [port, free_port()?].map(|port| format!("http://127.0.0.1:{port}"));
    let mut command = Command::new("etcd");
    command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    command.args(["--initial-cluster", &format!("default={peers}"), "--data-dir"]);
    command.arg(directory.path().join("etcd"));
    Server::start_installed(command, port, directory).await
}

/// A program of this workspace that listens on this port.
fn program(bench: &Bench, name: &str, port: u16) -> Command {
    let mut command = Command::new(bench.programs.join(name));
    command
        .env("HOST", "127.0.0.1")
        .env("PORT", port.to_string())
        .env(CONNECTIONS.0, CONNECTIONS.1);
    command
}

fn directory(bench: &Bench) -> Result<TempDir> {
    Ok(Builder::new().prefix("bench-").tempdir_in(&bench.data)?)
}
