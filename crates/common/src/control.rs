//! Orders of an operator's commands, such as `confirm-clock`. One process writes a SQLite store, so
//! a command that changes it asks the running service.
//!
//! 1. The service that owns the data directory listens on a socket in it ([`Socket`]). A command
//!    connects to it ([`Operator`]), and sends its orders as JSON over HTTP.
//! 2. If nobody listens, the command owns the directory and opens the store itself. If it cannot
//!    own it, a service is starting or another command runs: it tries again for some seconds.
//! 3. With PostgreSQL, many processes write, so a command always opens the store itself.
//! 4. The address of a socket has at most 108 bytes. `/proc/self/fd` makes every path short.
//! 5. The peer must be a process of the same user or of root: it could open the store, too.

use std::{
    error::Error,
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Write as _},
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{Request, header},
    routing::post,
    serve::Listener,
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    net::{UnixListener, UnixStream},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::JobClock,
    config::SecretError,
    error::reason,
    exit::{AWAY, Fatal, USAGE},
    outage::Outage,
    sqlite::{Directory, DirectoryError, StartError},
    store::OpenError,
};

/// The name of the socket in the data directory.
const SOCKET: &str = "control.sock";

/// How long a command tries to own a directory whose owner does not listen.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pause between two attempts.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Timeout for the answer to an order. An order is small: a few writes, or one long read.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause after a failed accept, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A store that commands change.
pub trait ControlledStore: Clone + Send + Sync + 'static {
    /// The settings of the store.
    type Config;

    /// The directory and the name of the database with SQLite. `None` with PostgreSQL.
    fn file(config: &Self::Config) -> Option<(&Path, &str)>;

    /// Opens the store for a command.
    fn open(config: &Self::Config) -> impl Future<Output = Result<Self, OpenError>>;

    /// Closes it.
    fn close(&self) -> impl Future<Output = ()>;

    /// Its clock.
    fn clock(&self) -> &JobClock;
}

/// A step of a command that changes or reads the store. The service drops it where it waits if the
/// command ends. So it should be one write, or a repeat should continue it.
pub trait Order<S>: Serialize + DeserializeOwned + Send + 'static {
    /// The path of its request, without the slash.
    const NAME: &'static str;

    /// What the command gets.
    type Outcome: Serialize + DeserializeOwned;

    /// Runs in the process that owns the store.
    fn carry_out(self, store: &S)
    -> impl Future<Output = Result<Self::Outcome, OrderError>> + Send;
}

/// Why an order was not carried out: what the command prints, and its exit code.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct OrderError {
    exit_code: u8,
    message: String,
}

impl OrderError {
    /// The message is one line. The exit code is one of [`crate::exit`].
    pub fn new(exit_code: u8, message: impl Into<String>) -> Self {
        Self { exit_code, message: message.into() }
    }

    /// The message is that of the error, with all its sources.
    pub fn of(exit_code: u8, error: &(dyn Error + 'static)) -> Self {
        Self::new(exit_code, reason(error))
    }
}

impl Fatal for OrderError {
    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

/// Why a command failed that does nothing but send orders.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A setting of the store is wrong.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The store cannot be reached.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An order was not carried out.
    #[error(transparent)]
    Order(#[from] OrderError),
}

impl Fatal for CommandError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Secret(error) => error.exit_code(),
            Self::Open(error) => error.exit_code(),
            Self::Order(error) => error.exit_code(),
        }
    }
}

/// The socket of a service. Its file is removed when the value is dropped.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    _directory: File,
    outage: Outage,
}

impl Socket {
    /// Listens in a directory that this process owns. Replaces the file of a process that could not
    /// remove it. Without a socket, a service still serves its clients: the failure is logged.
    pub fn bind(directory: &Directory) -> Option<Self> {
        let bound = Self::try_bind(directory.path());
        let failed = |error: io::Error| {
            tracing::error!(
                cause = %error,
                path = ?directory.path().join(SOCKET),
                "cannot listen for commands: those that write exit with 3"
            );
        };
        bound.map_err(failed).ok()
    }

    fn try_bind(directory: &Path) -> io::Result<Self> {
        let (directory, path) = address(directory)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let outage = Outage::of("accepting commands");
        Ok(Self { listener, path, _directory: directory, outage })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Listener for Socket {
    type Io = UnixStream;
    type Addr = ();

    async fn accept(&mut self) -> (UnixStream, ()) {
        loop {
            let accepted = self.listener.accept().await;
            let peer = accepted.and_then(|(stream, _)| Ok((stream.peer_cred()?.uid(), stream)));
            match peer {
                Ok((user, stream)) if is_trusted(user, geteuid().as_raw()) => {
                    self.outage.succeeded();
                    return (stream, ());
                }
                Ok((user, _)) => tracing::warn!(peer.uid = user, "a command of another user"),
                Err(error) => {
                    self.outage.failed(error);
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a peer of this user may give orders to a process of the user `own`.
fn is_trusted(user: u32, own: u32) -> bool {
    user == own || user == 0
}

/// Opens the directory, and returns a short path of the socket in it. The path is valid as long as
/// the file is open.
fn address(directory: &Path) -> io::Result<(File, PathBuf)> {
    let directory = File::open(directory)?;
    let path = format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd());
    Ok((directory, path.into()))
}

/// The orders that a service accepts.
pub struct Orders<S>(Router<S>);

impl<S: ControlledStore> Default for Orders<S> {
    /// Those that every store accepts.
    fn default() -> Self {
        Self(Router::new()).accept::<ConfirmClock>()
    }
}

impl<S: ControlledStore> Orders<S> {
    /// Accepts these orders, too.
    #[must_use]
    pub fn accept<O: Order<S>>(self) -> Self {
        Self(self.0.route(&format!("/{}", O::NAME), post(answer::<S, O>)))
    }

    /// Serves until `shutdown`, then lets orders in progress finish, for at most `drain`.
    pub async fn serve(
        self,
        socket: Socket,
        store: S,
        shutdown: CancellationToken,
        drain: Duration,
    ) {
        let stop = shutdown.clone().cancelled_owned();
        let served = axum::serve(socket, self.0.with_state(store)).with_graceful_shutdown(stop);
        let overdue = async {
            shutdown.cancelled().await;
            sleep(drain).await;
        };
        tokio::select! {
            _ = served => {}
            () = overdue => tracing::warn!("stopped an order after the drain timeout"),
        }
    }
}

async fn answer<S, O: Order<S>>(
    State(store): State<S>,
    Json(order): Json<O>,
) -> Json<Result<O::Outcome, OrderError>> {
    let outcome = order.carry_out(&store).await;
    match &outcome {
        Ok(_) => tracing::debug!(order = O::NAME, "order carried out"),
        Err(error) => tracing::warn!(order = O::NAME, cause = %error, "order not carried out"),
    }
    Json(outcome)
}

/// The store, as a command reaches it.
pub enum Operator<S> {
    /// Another process owns it.
    Service(Connection),
    /// This process has opened it.
    Store(S),
}

impl<S: ControlledStore> Operator<S> {
    /// Reaches a store that exists.
    pub async fn open(config: &S::Config) -> Result<Self, OpenError> {
        if let Some((directory, database)) = S::file(config) {
            let path = directory.join(database);
            if !path.exists() {
                return Err(StartError::Missing(path).into());
            }
        }
        Self::create(config).await
    }

    /// Reaches the store, or creates it.
    pub async fn create(config: &S::Config) -> Result<Self, OpenError> {
        let Some((directory, _)) = S::file(config) else {
            return Ok(Self::Store(S::open(config).await?));
        };
        let path = directory.to_owned();
        let unusable = |source| StartError::from(DirectoryError::Unusable { path, source });
        let until = Instant::now() + PATIENCE;
        loop {
            match Connection::open(directory).await {
                Ok(Some(connection)) => return Ok(Self::Service(connection)),
                Ok(None) => {}
                Err(error) => return Err(unusable(error).into()),
            }
            match S::open(config).await {
                Err(OpenError::Sqlite(StartError::Directory(DirectoryError::InUse(_))))
                    if Instant::now() < until =>
                {
                    sleep(RETRY_AFTER).await;
                }
                opened => return Ok(Self::Store(opened?)),
            }
        }
    }

    /// Carries out an order.
    pub async fn send<O: Order<S>>(&mut self, order: O) -> Result<O::Outcome, OrderError> {
        match self {
            Self::Service(connection) => connection.send(&order).await,
            Self::Store(store) => order.carry_out(store).await,
        }
    }

    /// Closes the store, if this process has opened it.
    pub async fn close(self) {
        if let Self::Store(store) = self {
            store.close().await;
        }
    }
}

/// A command that consists of one order.
pub async fn send<S: ControlledStore, O: Order<S>>(
    config: &S::Config,
    order: O,
) -> Result<O::Outcome, CommandError> {
    let mut operator = Operator::<S>::open(config).await?;
    let outcome = operator.send(order).await;
    operator.close().await;
    Ok(outcome?)
}

/// A command that consists of one order, and prints its outcome.
pub async fn print<S: ControlledStore, O: Order<S, Outcome = String>>(
    config: &S::Config,
    order: O,
) -> Result<(), CommandError> {
    let outcome = send::<S, _>(config, order).await?;
    let printed = writeln!(io::stdout(), "{outcome}");
    Ok(printed.map_err(|error| OrderError::of(USAGE, &error))?)
}

/// A connection to the service that owns the store.
pub struct Connection(SendRequest<Full<Bytes>>);

impl Connection {
    /// `None` if no service listens in this directory.
    async fn open(directory: &Path) -> io::Result<Option<Self>> {
        // Reset: the service ends before it accepts.
        let is_none = |kind| {
            use ErrorKind::{ConnectionRefused, ConnectionReset, NotFound};
            matches!(kind, NotFound | ConnectionRefused | ConnectionReset)
        };
        let connecting = async {
            let (_directory, path) = address(directory)?;
            UnixStream::connect(&path).await
        };
        let stream = match connecting.await {
            Err(error) if is_none(error.kind()) => return Ok(None),
            stream => stream?,
        };
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Some(Self(sender)))
    }

    async fn send<S, O: Order<S>>(&mut self, order: &O) -> Result<O::Outcome, OrderError> {
        let broken = |error: &dyn Error| OrderError::new(USAGE, error.to_string());
        let order = serde_json::to_vec(order).map_err(|error| broken(&error))?;
        let request = Request::post(format!("/{}", O::NAME))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(order))
            .map_err(|error| broken(&error))?;
        let exchange = async {
            self.0.ready().await?;
            let answer = self.0.send_request(request).await?;
            Ok::<_, hyper::Error>(answer.into_body().collect().await?.to_bytes())
        };
        let lost = |error: &dyn Error| {
            let message = format!(
                "the running service did not answer ({error}): what it has committed stays; run \
                 the command again"
            );
            OrderError::new(AWAY, message)
        };
        let answer = timeout(ANSWER_TIMEOUT, exchange).await.map_err(|error| lost(&error))?;
        let answer = answer.map_err(|error| lost(&error))?;
        // The answer to an unknown order or to one with other fields is no JSON of this form.
        let differs = "the running service has another version than this command: use the same";
        serde_json::from_slice::<Result<_, _>>(&answer)
            .unwrap_or_else(|_| Err(OrderError::new(USAGE, differs)))
    }
}

/// The subcommand `confirm-clock`.
#[tokio::main(flavor = "current_thread")]
pub async fn confirm_clock<S: ControlledStore>(config: &S::Config) -> Result<(), CommandError> {
    send::<S, _>(config, ConfirmClock).await
}

/// The clock is right: see [`crate::clock`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ConfirmClock;

impl<S: ControlledStore> Order<S> for ConfirmClock {
    const NAME: &'static str = "confirm-clock";
    type Outcome = ();

    async fn carry_out(self, store: &S) -> Result<(), OrderError> {
        let confirmed = store.clock().confirm().await;
        confirmed.map_err(|error| OrderError::of(error.exit_code(), &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_user_and_root_give_orders() {
        for (user, own, trusted) in
            [(1000, 1000, true), (0, 1000, true), (1001, 1000, false), (1000, 0, false)]
        {
            assert_eq!(is_trusted(user, own), trusted, "{user} to {own}");
        }
    }

    #[tokio::test]
    async fn a_service_that_ends_before_it_accepts_does_not_listen() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(SOCKET)).unwrap();
        let ends = async move { drop(listener) };
        let (connection, ()) = tokio::join!(Connection::open(directory.path()), ends);
        assert!(connection.unwrap().is_none());
    }
}
