//! A TCP address that leads to one cluster, and later to another.

use std::{future::pending, io, path::PathBuf};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinSet,
};

use super::Cluster;

/// The end of a login: the server is ready for a statement.
const READY: &[u8] = b"Z\0\0\0\x05I";

/// A port of 127.0.0.1 with a proxy to a cluster, as in front of a primary and its standbys.
#[derive(Debug)]
pub struct Address {
    port: u16,
    target: watch::Sender<Target>,
    _proxy: JoinSet<()>,
}

/// Where a new connection leads.
#[derive(Debug, Clone)]
enum Target {
    /// It leads to the cluster with this socket.
    Cluster(PathBuf),
    /// It leads there until the login has ended, and hangs from then on.
    Login(PathBuf),
    /// It hangs.
    Nothing,
}

impl Address {
    /// An address of this cluster.
    pub async fn of(cluster: &Cluster) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let (target, targets) = watch::channel(Target::Cluster(socket(cluster)));
        let mut proxy = JoinSet::new();
        proxy.spawn(accept(listener, targets));
        Self { port, target, _proxy: proxy }
    }

    /// Breaks all connections. New ones reach this cluster.
    pub fn lead_to(&self, cluster: &Cluster) {
        self.target.send_replace(Target::Cluster(socket(cluster)));
    }

    /// Breaks all connections. New ones are accepted, but never answered.
    pub fn hang(&self) {
        self.target.send_replace(Target::Nothing);
    }

    /// Breaks all connections. New ones are never answered after the login, not even when the address
    /// leads elsewhere.
    pub fn hang_after_login(&self, cluster: &Cluster) {
        self.target.send_replace(Target::Login(socket(cluster)));
    }

    /// The host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn socket(cluster: &Cluster) -> PathBuf {
    PathBuf::from(format!("{}/.s.PGSQL.{}", cluster.place, cluster.port))
}

async fn accept(listener: TcpListener, targets: watch::Receiver<Target>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept() => {
                let (client, _) = accepted.expect("a connection");
                connections.spawn(forward(client, targets.clone()));
            }
        }
    }
}

/// Forwards both directions until they end, or until the address leads elsewhere. A client of a
/// server that is down is disconnected.
async fn forward(mut client: TcpStream, mut targets: watch::Receiver<Target>) {
    let target = targets.borrow_and_update().clone();
    let path = match &target {
        Target::Cluster(path) | Target::Login(path) => path,
        Target::Nothing => return targets.changed().await.unwrap_or_default(),
    };
    let Ok(mut server) = UnixStream::connect(path).await else { return };
    if matches!(target, Target::Login(_)) && log_in(&mut client, &mut server).await.is_ok() {
        return pending().await;
    }
    tokio::select! {
        _ended = copy_bidirectional(&mut client, &mut server) => {}
        _changed = targets.changed() => {}
    }
}

/// Forwards both directions until the login has ended.
async fn log_in(client: &mut TcpStream, server: &mut UnixStream) -> io::Result<()> {
    let (mut request, mut answer) = ([0; 4096], [0; 4096]);
    loop {
        tokio::select! {
            length = client.read(&mut request) => match length? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => server.write_all(&request[..length]).await?,
            },
            length = server.read(&mut answer) => {
                let answer = &answer[..length?];
                client.write_all(answer).await?;
                if answer.ends_with(READY) {
                    return Ok(());
                }
            }
        }
    }
}
