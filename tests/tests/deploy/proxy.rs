//! A proxy with its file of `deploy/proxy`. Only addresses, certificates, folders and the permitted
//! network are replaced.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use blackbox::{
    process::DEADLINE,
    project::{read, root},
    raw::{self, Connection},
};
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, sleep},
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, pki_types::ServerName},
};

/// The names in the files.
pub(crate) const NAMES: [&str; 4] =
    ["auth.example.com", "objects.example.com", "pay-api.example.com", "pay.example.com"];

/// The address that the test puts in place of the permitted network.
pub(crate) const PERMITTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);

const HTTP: u16 = 8080;
const HTTPS: u16 = 8443;

/// The file with the output of the proxy.
const LOG: &str = "log";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Haproxy,
    Nginx,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Haproxy, Self::Nginx];
}

/// A running proxy. Dropping it kills the process.
pub(crate) struct Proxy {
    address: SocketAddr,
    tls: TlsConnector,
    _process: Child,
    folder: TempDir,
}

impl Proxy {
    /// Starts a proxy in front of the services on these addresses, which take the place of the
    /// ports 5000 to 5003.
    pub(crate) async fn start(kind: Kind, services: [SocketAddr; 4]) -> Self {
        Self::start_with(kind, |text| with_services(text, services), services[2]).await
    }

    /// Starts a proxy in front of two replicas of objstore-svc, and of nothing else.
    pub(crate) async fn with_replicas(kind: Kind, [one, other]: [SocketAddr; 2]) -> Self {
        let services = |text: &str| {
            let text = with_services(text, [one; 4]);
            let lines = text.lines().map(|line| with_replica(line, one, other) + "\n");
            lines.collect()
        };
        Self::start_with(kind, services, one).await
    }

    /// `api` is the address of the API of payments-svc.
    async fn start_with(kind: Kind, services: impl Fn(&str) -> String, api: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let names = NAMES.map(str::to_owned);
        let certificate = rcgen::generate_simple_self_signed(names).unwrap();
        let (pem, key) = (certificate.cert.pem(), certificate.signing_key.serialize_pem());
        for (name, text) in
            [("cert.pem", &pem), ("key.pem", &key), ("both.pem", &format!("{pem}{key}"))]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        // Nothing else listens there: Linux accepts all of 127.0.0.0/8.
        let [second, third] = rand::random::<[u8; 2]>();
        let host = Ipv4Addr::new(127, 128 + second / 2, third, 1);
        let process = match kind {
            Kind::Haproxy => {
                let text = services(&read("deploy/proxy/haproxy.cfg"));
                haproxy(folder.path(), host, &text, api)
            }
            Kind::Nginx => {
                let text = services(&read("deploy/proxy/nginx.conf"));
                nginx(folder.path(), host, &text)
            }
        };
        let mut roots = RootCertStore::empty();
        roots.add(certificate.cert.der().clone()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let tls = TlsConnector::from(Arc::new(config));
        let address = SocketAddr::new(host.into(), HTTPS);
        let proxy = Self { address, tls, _process: process, folder };
        proxy.listens(kind).await;
        proxy
    }

    async fn listens(&self, kind: Kind) {
        let begun = Instant::now();
        while TcpStream::connect(self.address).await.is_err() {
            let log = || fs::read_to_string(self.folder.path().join(LOG)).unwrap();
            assert!(begun.elapsed() < DEADLINE, "{kind:?} does not listen in time:\n{}", log());
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// A connection with TLS from this address to this name.
    pub(crate) async fn connect(&self, from: Ipv4Addr, name: &str) -> TlsStream<TcpStream> {
        let stream = Connection::from(from, self.address).await.into_stream();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        self.tls.connect(name, stream).await.unwrap()
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn ask(&self, from: Ipv4Addr, name: &str, request: &str) -> raw::Reply {
        Connection::over(self.connect(from, name).await).ask(request).await
    }
}

fn haproxy(folder: &Path, host: Ipv4Addr, text: &str, api: SocketAddr) -> Child {
    let certificate = folder.join("both.pem").display().to_string();
    let text = replaced(text, "bind :80\n", &format!("bind {host}:{HTTP}\n"));
    let text = replaced(&text, "bind :443 ", &format!("bind {host}:{HTTPS} "));
    let text = replaced(&text, "/etc/haproxy/tls/", &certificate);
    // The check of the pos port asks the API port.
    let text = replaced(&text, " port 5002 ", &format!(" port {} ", api.port()));
    let text = replaced(&text, "10.0.0.0/8", &format!("{PERMITTED}/32"));
    let file = folder.join("haproxy.cfg");
    fs::write(&file, text).unwrap();
    start("haproxy", &["-db", "-f", file.to_str().unwrap()], folder)
}

fn nginx(folder: &Path, host: Ipv4Addr, text: &str) -> Child {
    let place = folder.display();
    let text = replaced(text, "listen 443 ", &format!("listen {host}:{HTTPS} "));
    let text = replaced(&text, "/etc/nginx/tls/", &format!("{place}/"));
    let text = replaced(&text, "10.0.0.0/8", &format!("{PERMITTED}/32"));
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths.map(|path| format!("{path}_temp_path {place}/{path};")).join(" ");
    let text = replaced(&text, "\nhttp {\n", &format!("\nhttp {{ access_log off; {paths}\n"));
    let file = folder.join("nginx.conf");
    fs::write(&file, text).unwrap();
    // One process, so that it ends with the test.
    let options = format!("daemon off; master_process off; pid {place}/pid;");
    let arguments = ["-c", file.to_str().unwrap(), "-e", "stderr", "-g", &options];
    start("nginx", &arguments, folder)
}

fn start(program: &str, arguments: &[&str], folder: &Path) -> Child {
    let path = root().join("target/tools").join(program);
    assert!(path.exists(), "{program} is missing; install it with: scripts/install test");
    let log = fs::File::create(folder.join(LOG)).unwrap();
    let mut command = Command::new(path);
    command.args(arguments).stdout(log.try_clone().unwrap()).stderr(log).kill_on_drop(true);
    command.spawn().unwrap()
}

fn with_services(text: &str, services: [SocketAddr; 4]) -> String {
    let ports = ["5000", "5001", "5002", "5003"].into_iter().zip(services);
    ports.fold(text.to_owned(), |text, (port, service)| {
        replaced(&text, &format!("127.0.0.1:{port}"), &service.to_string())
    })
}

/// A line of a proxy's file, with the second replica after the first one.
fn with_replica(line: &str, one: SocketAddr, other: SocketAddr) -> String {
    let server = format!("server {one} max_fails=0;");
    if line.contains(&server) {
        return line.replace(&server, &format!("{server} server {other} max_fails=0;"));
    }
    match line.split_once("-1 ").filter(|(before, _)| before.starts_with("    server ")) {
        Some((before, after)) => {
            let second = after.replace(&one.to_string(), &other.to_string());
            format!("{line}\n{before}-2 {second}")
        }
        None => line.to_owned(),
    }
}

/// Replaces a text that the file must have.
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "no {old:?} in the file");
    text.replace(old, new)
}
