//! Trusted CA certificates for outgoing TLS connections.

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
    /// The file of additional CA certificates cannot be used.
    #[error("{setting}: cannot use {path:?}: {reason}")]
    CaFile {
        /// The setting that `path` comes from.
        setting: &'static str,
        /// The value of the setting.
        path: PathBuf,
        /// Describes the problem in the file.
        reason: String,
    },
    /// The cryptography provider does not support the protocol versions.
    #[error("TLS cannot be set up: {0}")]
    Protocol(#[source] rustls::Error),
}

/// Trusts the CA certificates of the Mozilla list, and those in `ca_file`. Error messages contain
/// `setting`, the name of the setting that `ca_file` comes from.
pub fn client_config(
    ca_file: Option<&Path>,
    setting: &'static str,
) -> Result<ClientConfig, TlsError> {
    let mut trusted = RootCertStore::empty();
    trusted.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
    if let Some(path) = ca_file {
        let path = path.to_owned();
        add(&mut trusted, &path).map_err(|reason| TlsError::CaFile { setting, path, reason })?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Protocol)?;
    Ok(config.with_root_certificates(trusted).with_no_client_auth())
}

fn add(trusted: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let file = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(&file) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        trusted.add(certificate).map_err(|error| error.to_string())?;
        added += 1;
    }
    if added == 0 { Err("it contains no certificate".to_owned()) } else { Ok(()) }
}
