//! The hosts of a database URL, one of which is the primary.
//!
//! `tokio_postgres` tries the hosts of a list in turn, but waits without a limit for a host that
//! accepts the connection and does not answer, such as a server whose disk hangs. So each host is
//! tried by itself, for its share of [`OPEN`], beginning with the one that worked last.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::Connect;
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{sync::watch::Receiver, task::JoinHandle, time::timeout};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, Notification, Socket, config::Host,
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::pool::OPEN;

/// Timeout for connecting a socket.
const CONNECT: Duration = Duration::from_secs(3);

/// Idle time before the first TCP keepalive probe, and interval of the probes.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// Timeout for the acknowledgement of sent data.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// Opens connections to the host that accepts them.
#[derive(Clone)]
pub(super) struct Hosts {
    /// One for each host, in the order of the URL.
    configs: Receiver<Vec<Config>>,
    tls: Receiver<MakeRustlsConnect>,
    /// The host to try first.
    first: Arc<AtomicUsize>,
    /// The host that accepted a connection last.
    last: Arc<AtomicUsize>,
}

impl Hosts {
    /// Takes the [`configs`], whose number never changes.
    pub(super) fn new(configs: Receiver<Vec<Config>>, tls: Receiver<MakeRustlsConnect>) -> Self {
        Self { configs, tls, first: Arc::default(), last: Arc::default() }
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.borrow().clone()
    }

    /// Opens a connection to the first host that accepts it. A task passes its notifications to
    /// `listener`, which is dropped with the connection. The caller sets a timeout for the whole.
    pub(super) async fn open(
        &self,
        listener: impl FnMut(Notification) + Send + 'static,
    ) -> Result<(Client, JoinHandle<()>), Error> {
        let hosts = self.configs.borrow().len();
        let first = self.first.load(Ordering::Relaxed);
        let share = OPEN / u32::try_from(hosts).unwrap_or(u32::MAX);
        for host in first..first + hosts - 1 {
            if let Ok(Ok(connected)) = timeout(share, self.connect_to(host % hosts)).await {
                return Ok(run(connected, listener));
            }
        }
        let last = (first + hosts - 1) % hosts;
        Ok(run(self.connect_to(last).await?, listener))
    }

    /// Makes the next attempt begin with the host after the one that accepted a connection last:
    /// also if several connections to it are refused at the same time.
    pub(super) fn skip(&self) {
        let last = self.last.load(Ordering::Relaxed);
        self.first.store((last + 1) % self.configs.borrow().len(), Ordering::Relaxed);
    }

    async fn connect_to(&self, host: usize) -> Result<Connected, Error> {
        let config = self.configs.borrow()[host].clone();
        let connected = config.connect(self.tls()).await?;
        self.first.store(host, Ordering::Relaxed);
        self.last.store(host, Ordering::Relaxed);
        Ok(connected)
    }
}

/// Connects for the pool.
impl Connect for Hosts {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        self.open(drop).boxed()
    }
}

type Connected =
    (Client, Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>);

fn run(
    (client, mut connection): Connected,
    mut listener: impl FnMut(Notification) + Send + 'static,
) -> (Client, JoinHandle<()>) {
    let task = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message {
                listener(notification);
            }
        }
    });
    (client, task)
}

/// The configuration of each host of a URL.
pub(super) fn configs(url: &Config) -> Vec<Config> {
    let mut configs = split(url);
    for config in &mut configs {
        config
            .connect_timeout(CONNECT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(3)
            .tcp_user_timeout(UNACKNOWLEDGED);
    }
    configs
}

/// The configuration of each host. `tokio_postgres` describes the error of lists whose lengths
/// differ, so these are not split.
fn split(url: &Config) -> Vec<Config> {
    let (names, addresses, ports) = (url.get_hosts(), url.get_hostaddrs(), url.get_ports());
    let hosts = names.len().max(addresses.len());
    let fits = |length: usize| length == 0 || length == hosts;
    if hosts < 2
        || !fits(names.len())
        || !fits(addresses.len())
        || !(ports.len() == 1 || fits(ports.len()))
    {
        return vec![url.clone()];
    }
    let host = |index| {
        let mut config = without_hosts(url);
        match names.get(index) {
            Some(Host::Tcp(name)) => drop(config.host(name)),
            Some(Host::Unix(path)) => drop(config.host_path(path)),
            None => {}
        }
        if let Some(&address) = addresses.get(index) {
            config.hostaddr(address);
        }
        if let Some(&port) = ports.get(index).or(ports.first()) {
            config.port(port);
        }
        config
    };
    (0..hosts).map(host).collect()
}

/// The configuration without its hosts, ports and timeouts.
fn without_hosts(url: &Config) -> Config {
    let mut config = Config::new();
    if let Some(user) = url.get_user() {
        config.user(user);
    }
    if let Some(password) = url.get_password() {
        config.password(password);
    }
    if let Some(database) = url.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = url.get_options() {
        config.options(options);
    }
    if let Some(name) = url.get_application_name() {
        config.application_name(name);
    }
    config
        .ssl_mode(url.get_ssl_mode())
        .ssl_negotiation(url.get_ssl_negotiation())
        .channel_binding(url.get_channel_binding())
        .target_session_attrs(url.get_target_session_attrs());
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_url(url: &str) -> Vec<Config> {
        split(&url.parse().expect("a valid URL"))
    }

    #[test]
    fn a_list_of_hosts_becomes_one_url_for_each() {
        let rest = "application_name=shop&options=-c%20work_mem=1MB&sslmode=require\
             &sslnegotiation=direct&channel_binding=require&target_session_attrs=read-write";
        let hosts = split_url(&format!("postgres://me:secret@one:1,two:2/shop?{rest}"));
        let one = split_url(&format!("postgres://me:secret@one:1/shop?{rest}"));
        let two = split_url(&format!("postgres://me:secret@two:2/shop?{rest}"));
        assert_eq!(hosts, [one, two].concat());
    }

    #[test]
    fn sockets_and_addresses_are_hosts_too() {
        let hosts = split_url("postgres://me@/shop?host=/run/one&host=two&port=5433");
        let one = split_url("postgres://me@/shop?host=/run/one&port=5433");
        let two = split_url("postgres://me@/shop?host=two&port=5433");
        assert_eq!(hosts, [one, two].concat());
        let hosts = split_url("postgres://me@/shop?hostaddr=10.0.0.1,10.0.0.2");
        let one = split_url("postgres://me@/shop?hostaddr=10.0.0.1");
        let two = split_url("postgres://me@/shop?hostaddr=10.0.0.2");
        assert_eq!(hosts, [one, two].concat());
    }

    #[test]
    fn lists_of_different_lengths_are_left_to_the_driver() {
        for query in ["host=one&host=two&port=1,2,3", "host=one&host=two&hostaddr=10.0.0.1"] {
            let url = format!("postgres://me@/shop?{query}");
            assert_eq!(split_url(&url), [url.parse().expect("a valid URL")]);
        }
    }
}
