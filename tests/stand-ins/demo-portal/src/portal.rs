//! Starts and stops a portal on its own threads.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::Deref,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use stand_in::{
    certificate::{KeyError, publish},
    connection::{ListenError, listen},
};
use tokio::runtime;
use tokio_util::sync::CancellationToken;

use crate::{
    certificate::Certificates,
    connection, control,
    controller::Controller,
    script::{ANYONE, Behaviour, Operation},
};

/// How to start a portal. The default suits tests: a free port on loopback, recording on, no
/// control interface.
#[derive(Debug, Clone)]
pub struct Options {
    /// Address to listen on. Port 0 picks a free port.
    pub address: SocketAddr,
    /// Address of the control interface. `None` disables it.
    pub control: Option<SocketAddr>,
    /// Names and addresses in the certificate, in addition to localhost, 127.0.0.1 and ::1.
    pub names: Vec<String>,
    /// File to which the CA certificate is written, as PEM. Readers never see a partial file.
    pub ca_file: Option<PathBuf>,
    /// Delay before each answer to a user without a script.
    pub delay: Duration,
    /// How long [`Portal::stop`] waits for calls in flight.
    pub drain: Duration,
    /// Whether to record received calls, including passwords.
    pub recording: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            control: None,
            names: Vec::new(),
            ca_file: None,
            delay: Duration::ZERO,
            drain: Duration::ZERO,
            recording: true,
        }
    }
}

/// Why a portal did not start. The message is one line and names the setting to correct.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The portal or its control interface cannot listen on its address.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A certificate cannot be made, usually because of a name that certificates do not allow.
    #[error("DEMO_PORTAL_NAMES (--names): cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// rustls rejected the configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The private key of the CA cannot be kept beside its certificate.
    #[error("DEMO_PORTAL_CA_FILE (--ca-file): {0}")]
    Key(#[from] KeyError),
    /// The CA certificate cannot be written.
    #[error("DEMO_PORTAL_CA_FILE (--ca-file) is {path:?}, which cannot be written: {source}")]
    CaFile {
        /// The value of [`Options::ca_file`].
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The operating system refused a thread or another resource of the runtime.
    #[error("cannot start a thread to serve on: {0}")]
    Thread(#[from] io::Error),
}

/// A running portal. Dropping it stops it without waiting for calls in flight.
pub struct Portal {
    controller: Controller,
    address: SocketAddr,
    control: Option<SocketAddr>,
    ca_pem: String,
    shutdown: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Portal {
    /// Makes the certificates and starts to listen. Returns when the portal accepts connections. It
    /// runs on its own threads, so that it can outlive the runtime of the test that starts it.
    pub fn start(options: Options) -> Result<Self, StartError> {
        let certificates = Certificates::new(&options.names, options.ca_file.as_deref())?;
        let ca_pem = certificates.ca_pem.clone();
        let controller = Controller::new(options.recording);
        if !options.delay.is_zero() {
            for operation in [Operation::Login, Operation::Profile] {
                controller.script(ANYONE, operation, Behaviour::honest().after(options.delay));
            }
        }
        let shutdown = CancellationToken::new();
        let worker = Worker {
            controller: controller.clone(),
            certificates: Arc::new(certificates),
            shutdown: shutdown.clone(),
            drain: options.drain,
        };
        let (sender, started) = mpsc::channel();
        let addresses = (options.address, options.control);
        let thread = thread::Builder::new()
            .name("demo-portal".to_owned())
            .spawn(move || worker.run(addresses, &sender))?;
        let thread = Some(thread);
        let (address, control) = started.recv().map_err(io::Error::other)??;
        let portal = Self { controller, address, control, ca_pem, shutdown, thread };
        if let Some(path) = options.ca_file {
            publish(&path, &portal.ca_pem).map_err(|source| StartError::CaFile { path, source })?;
        }
        Ok(portal)
    }

    /// Returns the address of the portal, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the control interface, with the actual port, if there is one.
    pub fn control_address(&self) -> Option<SocketAddr> {
        self.control
    }

    /// Returns the value for `PORTAL_URL` of an authsvc on the same machine.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// Returns the CA certificate that clients must trust, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Stops accepting connections, waits up to [`Options::drain`] for calls in flight, and closes
    /// the others. Blocks the thread until then.
    pub fn stop(mut self) {
        self.shutdown.cancel();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the portal panicked");
        }
    }
}

impl Deref for Portal {
    type Target = Controller;

    fn deref(&self) -> &Controller {
        &self.controller
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// The address of the portal, and of its control interface.
type Addresses = (SocketAddr, Option<SocketAddr>);

/// Serves one portal on its own runtime.
struct Worker {
    controller: Controller,
    certificates: Arc<Certificates>,
    shutdown: CancellationToken,
    drain: Duration,
}

impl Worker {
    fn run(self, addresses: Addresses, sender: &mpsc::Sender<Result<Addresses, StartError>>) {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        // The channel carries one message, for which `Portal::start` waits. Sending fails only if
        // that function has panicked.
        let _ = match runtime {
            Ok(runtime) => runtime.block_on(self.serve(addresses, sender)),
            Err(error) => sender.send(Err(error.into())),
        };
    }

    async fn serve(
        self,
        (address, control): Addresses,
        sender: &mpsc::Sender<Result<Addresses, StartError>>,
    ) -> Result<(), mpsc::SendError<Result<Addresses, StartError>>> {
        let bound =
            listen(address).and_then(|portal| Ok((portal, control.map(listen).transpose()?)));
        let ((listener, address), control) = match bound {
            Ok(bound) => bound,
            Err(error) => return sender.send(Err(error.into())),
        };
        sender.send(Ok((address, control.as_ref().map(|(_, address)| *address))))?;
        if let Some((listener, _)) = control {
            let router = control::router(self.controller.clone());
            let shutdown = self.shutdown.clone().cancelled_owned();
            let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown);
            tokio::spawn(serving.into_future());
        }
        connection::serve(listener, self.controller, self.certificates, self.shutdown, self.drain)
            .await;
        Ok(())
    }
}
