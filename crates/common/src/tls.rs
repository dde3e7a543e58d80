//! Trusted root certificates for outgoing TLS connections.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of additional root certificates cannot be used.
    #[error("{setting} is {path:?}: {reason}")]
    CaFile {
        /// The setting that `path` comes from.
        setting: &'static str,
        /// As configured.
        path: PathBuf,
        /// Describes the problem in the file.
        reason: String,
    },
    /// The cryptography provider does not support the protocol versions.
    #[error("TLS cannot be set up: {0}")]
    Protocol(#[source] rustls::Error),
}

/// Trusts the usual root certificates and the ones in `ca_file`. `setting` is the name of that
/// setting for error messages.
pub fn client_config(
    ca_file: Option<&Path>,
    setting: &'static str,
) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
    if let Some(path) = ca_file {
        let path = path.to_owned();
        add(&mut roots, &path).map_err(|reason| TlsError::CaFile { setting, path, reason })?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Protocol)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let file = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(&file) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
        added += 1;
    }
    if added == 0 { Err("holds no certificate".to_owned()) } else { Ok(()) }
}
