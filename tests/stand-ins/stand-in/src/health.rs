//! The `healthcheck` subcommand, for container images that contain no HTTP client.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::Duration,
};

use common::config::ServerConfig;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

/// Timeout for connecting, and for each read and write.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why the health check failed.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The setting is unset, so no certificate can be trusted.
    #[error("{0} is not set")]
    NoCaFile(&'static str),
    /// The CA file cannot be read or holds no certificate.
    #[error("cannot read a certificate from {setting}: {source}")]
    CaFile {
        /// The setting that names the file.
        setting: &'static str,
        /// The problem of the file.
        source: rustls::pki_types::pem::Error,
    },
    /// rustls rejected the certificate or the configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The connection failed, or another server answered.
    #[error("the server did not answer: {0}")]
    Silent(#[from] io::Error),
}

/// Requests a page that does not exist from the stand-in with these settings, and expects 404.
/// Trusts only the CA file, which `setting` names. Success means that the stand-in serves and that
/// the CA file belongs to its certificate. Blocks the thread.
pub fn healthcheck(
    server: &ServerConfig,
    ca_file: Option<&Path>,
    setting: &'static str,
) -> Result<(), HealthError> {
    let path = ca_file.ok_or(HealthError::NoCaFile(setting))?;
    let certificate = CertificateDer::from_pem_file(path)
        .map_err(|source| HealthError::CaFile { setting, source })?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;

    let host = server.host;
    let host = if host.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { host };
    let address = SocketAddr::new(host, server.port);
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(tls), name)?, stream);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 404 ") {
        Ok(())
    } else {
        Err(io::Error::other("another server answered").into())
    }
}
