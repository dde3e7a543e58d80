//! A portal as a value: started, reached, stopped.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use common::serve;
use tokio::{net::TcpListener, runtime};
use tokio_util::sync::CancellationToken;

use crate::{
    certificate::Certificates,
    connection, control,
    desk::Desk,
    script::{ANYONE, Behaviour, Operation},
};

/// How to start a portal. The default is one for tests: a free port on loopback, calls kept, no
/// control interface.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; port 0 picks a free one.
    pub address: SocketAddr,
    /// Where to listen for control; not at all without it.
    pub control: Option<SocketAddr>,
    /// Names and addresses the certificate is for, beside localhost, 127.0.0.1 and ::1.
    pub names: Vec<String>,
    /// Where to write the authority's certificate.
    pub ca_file: Option<PathBuf>,
    /// How long to wait before the answers to everyone without a script.
    pub delay: Duration,
    /// How long calls in flight may take to finish when the portal is stopped.
    pub drain: Duration,
    /// Whether to keep what was received, passwords included.
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

/// Why a portal did not start. One line, which names what to mend.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("{address} cannot be listened on: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A certificate cannot be made; most likely, a name cannot be in one.
    #[error("DEMO_PORTAL_NAMES (--names): {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The authority's certificate cannot be written.
    #[error("DEMO_PORTAL_CA_FILE (--ca-file) is {path:?}: {source}")]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no thread to be had.
    #[error("no thread to serve on: {0}")]
    Thread(#[from] io::Error),
}

/// A portal that listens, until it is stopped or dropped.
pub struct Portal {
    desk: Desk,
    address: SocketAddr,
    control: Option<SocketAddr>,
    ca_pem: String,
    shutdown: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

impl Portal {
    /// Makes the certificates, and listens on threads of its own: the portal outlives the runtime
    /// of the test that starts it.
    pub fn start(options: Options) -> Result<Self, StartError> {
        let certificates = Certificates::new(&options.names)?;
        let ca_pem = certificates.ca_pem.clone();
        let desk = Desk::new(options.recording);
        if !options.delay.is_zero() {
            for operation in [Operation::Login, Operation::Profile] {
                desk.script(ANYONE, operation, Behaviour::honest().after(options.delay));
            }
        }
        let shutdown = CancellationToken::new();
        let work = Work {
            desk: desk.clone(),
            certificates: Arc::new(certificates),
            shutdown: shutdown.clone(),
            drain: options.drain,
        };
        let (starting, started) = mpsc::channel();
        let addresses = (options.address, options.control);
        let serving = thread::Builder::new()
            .name("demo-portal".to_owned())
            .spawn(move || work.run(addresses, &starting))?;
        let serving = Some(serving);
        let (address, control) = started.recv().map_err(io::Error::other)??;
        let portal = Self { desk, address, control, ca_pem, shutdown, serving };
        if let Some(path) = options.ca_file {
            write(&path, &portal.ca_pem).map_err(|source| StartError::CaFile { path, source })?;
        }
        Ok(portal)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its control interface.
    pub fn control_address(&self) -> Option<SocketAddr> {
        self.control
    }

    /// What `PORTAL_URL` of authsvc on the same machine is to be.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// The certificate to trust, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Takes no more connections, lets calls in flight finish for as long as the options say, and
    /// cuts off the rest.
    pub fn stop(mut self) {
        self.shutdown.cancel();
        if self.serving.take().is_some_and(|serving| serving.join().is_err()) {
            tracing::error!("the portal had panicked");
        }
    }
}

impl Deref for Portal {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// Where it listens, and where for control.
type Addresses = (SocketAddr, Option<SocketAddr>);

/// What the threads of a portal do.
struct Work {
    desk: Desk,
    certificates: Arc<Certificates>,
    shutdown: CancellationToken,
    drain: Duration,
}

impl Work {
    fn run(self, addresses: Addresses, starting: &mpsc::Sender<Result<Addresses, StartError>>) {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        // Who started the portal waits for this one message.
        let _ = match runtime {
            Ok(runtime) => runtime.block_on(self.serve(addresses, starting)),
            Err(error) => starting.send(Err(error.into())),
        };
    }

    async fn serve(
        self,
        (address, control): Addresses,
        starting: &mpsc::Sender<Result<Addresses, StartError>>,
    ) -> Result<(), mpsc::SendError<Result<Addresses, StartError>>> {
        let bound = listen(address).and_then(|it| Ok((it, control.map(listen).transpose()?)));
        let ((listener, address), control) = match bound {
            Ok(bound) => bound,
            Err(error) => return starting.send(Err(error)),
        };
        starting.send(Ok((address, control.as_ref().map(|(_, address)| *address))))?;
        if let Some((listener, _)) = control {
            let router = control::router(self.desk.clone());
            let shutdown = self.shutdown.clone().cancelled_owned();
            let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown);
            tokio::spawn(serving.into_future());
        }
        connection::serve(listener, self.desk, self.certificates, self.shutdown, self.drain).await;
        Ok(())
    }
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = serve::bind(address).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| StartError::Listen { address, source })
}

/// Writes a file that readers see whole or not at all.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, text)?;
    fs::rename(&partial, path)
}
