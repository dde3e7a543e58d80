//! The health check of a container that has no other client.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use crate::config::Config;

/// How long a portal that is well may take.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why a portal is not well.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// There is no CA file to check with.
    #[error("DEMO_PORTAL_CA_FILE (--ca-file) is not set")]
    NoCaFile,
    /// The CA file holds no certificate.
    #[error("DEMO_PORTAL_CA_FILE (--ca-file) cannot be used: {0}")]
    CaFile(#[from] rustls::pki_types::pem::Error),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The portal does not answer as it should.
    #[error("no answer: {0}")]
    Silent(#[from] io::Error),
}

/// Asks the portal with these settings for a page it does not have, trusting the CA file alone: so
/// the portal serves, and the file is of its certificate.
pub fn healthcheck(config: &Config) -> Result<(), HealthError> {
    let path = config.ca_file.as_ref().ok_or(HealthError::NoCaFile)?;
    let mut roots = RootCertStore::empty();
    let pem = fs::read(path)?;
    roots.add(CertificateDer::from_pem_slice(&pem)?)?;
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;

    let host = config.server.host;
    let host = if host.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { host };
    let address = SocketAddr::new(host, config.server.port);
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
        Err(io::Error::other("not the portal's").into())
    }
}
