//! A TCP address that leads to one cluster, and later to another.

use std::path::PathBuf;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinSet,
};

use super::Cluster;

/// A port of 127.0.0.1 with a proxy to a cluster, as in front of a primary and its standbys.
#[derive(Debug)]
pub struct Address {
    port: u16,
    /// The socket of the cluster. `None` makes connections hang.
    target: watch::Sender<Option<PathBuf>>,
    _proxy: JoinSet<()>,
}

impl Address {
    /// An address of this cluster.
    pub async fn of(cluster: &Cluster) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let (target, targets) = watch::channel(Some(socket(cluster)));
        let mut proxy = JoinSet::new();
        proxy.spawn(accept(listener, targets));
        Self { port, target, _proxy: proxy }
    }

    /// Breaks all connections. New ones reach this cluster.
    pub fn lead_to(&self, cluster: &Cluster) {
        self.target.send_replace(Some(socket(cluster)));
    }

    /// Breaks all connections. New ones are accepted, but never answered.
    pub fn hang(&self) {
        self.target.send_replace(None);
    }

    /// The host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn socket(cluster: &Cluster) -> PathBuf {
    PathBuf::from(format!("{}/.s.PGSQL.{}", cluster.place, cluster.port))
}

async fn accept(listener: TcpListener, targets: watch::Receiver<Option<PathBuf>>) {
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
async fn forward(mut client: TcpStream, mut targets: watch::Receiver<Option<PathBuf>>) {
    let target = targets.borrow_and_update().clone();
    let Some(target) = target else {
        let _ = targets.changed().await;
        return;
    };
    let Ok(mut server) = UnixStream::connect(target).await else { return };
    tokio::select! {
        _ended = copy_bidirectional(&mut client, &mut server) => {}
        _changed = targets.changed() => {}
    }
}
