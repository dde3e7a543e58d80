//! Starts the services and their peers. Every store must sync its data before it answers, so that
//! comparisons are fair. All other settings have their defaults, except limits, which are off.

pub(crate) mod acquirer;
pub(crate) mod bare;
pub(crate) mod portal;
pub(crate) mod postgres;
pub(crate) mod relay;
pub(crate) mod server;
pub(crate) mod shop;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tempfile::{Builder, TempDir};
use tokio::{process::Command, time::sleep};

use crate::{
    figures::Bench,
    peers::{
        acquirer::Acquirer,
        portal::Portal,
        postgres::Postgres,
        server::{Ready, Server, free_port},
        shop::Shop,
    },
};

/// Starts objstore-svc on SQLite.
pub(crate) async fn objstore(bench: &Bench) -> Result<Server> {
    objstore_with(bench, "").await
}

/// Raises the limit per address, because all load comes from one address.
const CONNECTIONS: (&str, &str) = ("MAX_CONNECTIONS_PER_ADDRESS", "1000000");

/// Starts a replica of objstore-svc on PostgreSQL.
pub(crate) async fn objstore_on(bench: &Bench, postgres: &Postgres) -> Result<Server> {
    objstore_with(bench, &postgres.url()).await
}

/// Starts objstore-svc with a copy of the store of `server`, with access rules and a cache of this
/// size.
pub(crate) async fn objstore_like(
    bench: &Bench,
    server: &Server,
    rules: Option<&str>,
    cache: &str,
) -> Result<Server> {
    let directory = directory(bench)?;
    let (copy, file) = (directory.path().join("objects"), directory.path().join("rules.toml"));
    let mut backup = Command::new(&bench.service);
    backup.arg("backup").arg("--to").arg(copy.join("objstore.db"));
    fs::create_dir(&copy)?;
    let copied = backup.env("OBJSTORE_DATA_DIR", server.directory().join("objects")).status();
    ensure!(copied.await?.success(), "objstore-svc backup failed");
    let file = file.to_string_lossy().into_owned();
    let mut settings = vec![("OBJSTORE_CACHE", cache)];
    if let Some(rules) = rules {
        fs::write(&file, rules)?;
        settings.push(("OBJSTORE_RULES_FILE", &file));
    }
    start_objstore(bench, directory, &settings).await
}

async fn objstore_with(bench: &Bench, database: &str) -> Result<Server> {
    start_objstore(bench, directory(bench)?, &[("OBJSTORE_DATABASE_URL", database)]).await
}

async fn start_objstore(
    bench: &Bench,
    directory: TempDir,
    settings: &[(&str, &str)],
) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(&bench.service);
    command
        .env("HOST", "127.0.0.1")
        .env("PORT", port.to_string())
        .env("OBJSTORE_DATA_DIR", directory.path().join("objects"))
        .env("OBJSTORE_REGISTER_LIMIT", "off")
        .env(CONNECTIONS.0, CONNECTIONS.1)
        .envs(settings.iter().copied());
    let server = Server::start(command, port, Ready::Answering, directory).await?;
    server.with_context(|| missing(&bench.service, "objstore-svc"))
}

/// Starts authsvc. Without a portal, every sign-in fails.
pub(crate) async fn authsvc(bench: &Bench, portal: Option<&Portal>) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(&bench.authsvc);
    command
        .env("HOST", "127.0.0.1")
        .env("PORT", port.to_string())
        .env("MAX_SIGN_INS", "10000")
        .env(CONNECTIONS.0, CONNECTIONS.1);
    if let Some(portal) = portal {
        command.env("PORTAL_URL", portal.url()).env("PORTAL_CA_FILE", &portal.ca_file);
    }
    let server = Server::start(command, port, Ready::Accepting, directory(bench)?).await?;
    server.with_context(|| missing(&bench.authsvc, "authsvc"))
}

/// Starts payments-svc on SQLite.
pub(crate) async fn payments(bench: &Bench) -> Result<Shop> {
    payments_with(bench, None, None).await
}

/// Starts a replica of payments-svc on PostgreSQL.
pub(crate) async fn payments_on(bench: &Bench, postgres: &Postgres) -> Result<Shop> {
    payments_with(bench, Some(postgres), None).await
}

/// Starts payments-svc on PostgreSQL, or on SQLite, with this acquirer of live merchants.
pub(crate) async fn payments_with(
    bench: &Bench,
    postgres: Option<&Postgres>,
    acquirer: Option<&Acquirer>,
) -> Result<Shop> {
    let database = postgres.map(Postgres::url).unwrap_or_default();
    let (port, pos_port, directory) = (free_port()?, free_port()?, directory(bench)?);
    let data = directory.path().join("payments");
    let command = || {
        let mut command = payments_command(bench, port, pos_port, &data);
        command.env("PAYMENTS_DATABASE_URL", &database);
        command.envs(acquirer.into_iter().flat_map(Acquirer::settings));
        command
    };
    let missing = || missing(&bench.payments, "payments-svc");
    let seeded = command().arg("seed").status().await.with_context(missing)?;
    ensure!(seeded.success(), "payments-svc seed failed");
    let keys = fs::read_to_string(data.join("demo.env"))?;
    let names = directory.path().join("names");
    let server = Server::start(command(), port, Ready::Answering, directory).await?;
    Shop::new(server.with_context(missing)?, pos_port, &keys, names)
}

/// Starts payments-svc with a copy of the store of `shop` and a cache of this size.
pub(crate) async fn payments_like(bench: &Bench, shop: &Shop, cache: &str) -> Result<Server> {
    let (port, directory) = (free_port()?, directory(bench)?);
    let data = directory.path().join("payments");
    let mut backup = Command::new(&bench.payments);
    backup.arg("backup").arg("--to").arg(data.join("payments.db"));
    fs::create_dir(&data)?;
    let original = shop.server.directory().join("payments");
    let copied = backup.env("PAYMENTS_DATA_DIR", original).status();
    ensure!(copied.await?.success(), "payments-svc backup failed");
    let mut command = payments_command(bench, port, free_port()?, &data);
    command.env("PAYMENTS_CACHE", cache);
    let server = Server::start(command, port, Ready::Answering, directory).await?;
    server.with_context(|| missing(&bench.payments, "payments-svc"))
}

fn payments_command(bench: &Bench, port: u16, pos_port: u16, data: &Path) -> Command {
    let mut command = Command::new(&bench.payments);
    command.env("HOST", "127.0.0.1").env("PORT", port.to_string());
    command.env("PAYMENTS_POS_PORT", pos_port.to_string()).env("PAYMENTS_DATA_DIR", data);
    command.env("PAYMENTS_WEBHOOKS_INSECURE", "true").env(CONNECTIONS.0, CONNECTIONS.1);
    for limit in ["ATTEMPT", "DECLINE", "CARD", "APP", "INVITATION"] {
        command.env(format!("PAYMENTS_{limit}_LIMIT"), "off");
    }
    command
}

/// The error for a program that is not there.
fn missing(program: &Path, package: &str) -> String {
    format!("{} does not exist: run cargo build --release -p {package}", program.display())
}

/// Starts the bare relay to `portal`.
pub(crate) async fn relay(bench: &Bench, portal: &Portal) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["relay", &port.to_string(), &portal.url()]).arg(&portal.ca_file);
    Server::start(command, port, Ready::Accepting, directory(bench)?)
        .await?
        .context("this executable was deleted")
}

/// Folder of the programs of FastAPI, relative to the folder of this crate.
pub(crate) const FASTAPI: &str = "../target/tools/fastapi/bin";

/// Starts FastAPI on uvicorn with one worker. Returns `None` if it is not installed.
pub(crate) async fn fastapi(bench: &Bench) -> Result<Option<Server>> {
    let port = free_port()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(root.join(FASTAPI).join("uvicorn"));
    command.arg("app:app").arg("--app-dir").arg(root.join("fastapi")).args([
        "--port",
        &port.to_string(),
        "--workers",
        "1",
        "--no-access-log",
    ]);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    Server::start(command, port, Ready::Accepting, directory(bench)?).await
}

/// Starts Redis with an append-only file, which it syncs before every answer. Returns `None` if it
/// is not installed.
pub(crate) async fn redis(bench: &Bench) -> Result<Option<Server>> {
    let (port, directory) = (free_port()?, directory(bench)?);
    let mut command = Command::new("redis-server");
    command.args([
        "--bind",
        "127.0.0.1",
        "--port",
        &port.to_string(),
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        "--dir",
    ]);
    command.arg(directory.path());
    Server::start(command, port, Ready::Accepting, directory).await
}

/// Starts a cluster of one etcd. Returns `None` if it is not installed.
#[cfg(feature = "etcd")]
pub(crate) async fn etcd(bench: &Bench) -> Result<Option<Server>> {
    let (port, directory) = (free_port()?, directory(bench)?);
    let (clients, peers) =
        (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", free_port()?));
    let mut command = Command::new("etcd");
    command.args([
        "--listen-client-urls",
        &clients,
        "--advertise-client-urls",
        &clients,
        "--listen-peer-urls",
        &peers,
    ]);
    command.args([
        "--initial-advertise-peer-urls",
        &peers,
        "--initial-cluster",
        &format!("default={peers}"),
        "--data-dir",
    ]);
    command.arg(directory.path().join("etcd"));
    Server::start(command, port, Ready::Accepting, directory).await
}

/// Starts the bare axum routes, whose answers have `bytes` bytes.
pub(crate) async fn bare(bench: &Bench, bytes: usize) -> Result<Server> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bare", &port.to_string(), &bytes.to_string()]);
    Server::start(command, port, Ready::Accepting, directory(bench)?)
        .await?
        .context("this executable was deleted")
}

/// Waits until a stand-in has written its certificate, which it does after it starts to listen.
async fn written(ca_file: &Path) -> Result<()> {
    let started = Instant::now();
    while !ca_file.exists() {
        ensure!(started.elapsed() < Duration::from_secs(10), "{ca_file:?} is not written");
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn directory(bench: &Bench) -> Result<TempDir> {
    Ok(Builder::new().prefix("bench-").tempdir_in(&bench.data)?)
}
