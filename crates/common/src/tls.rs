//! TLS with somebody else's machine: whom its certificate must come from.

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

/// Why connections cannot be secured.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of the added root cannot be used.
    #[error("{setting} is {path:?}: {reason}")]
    CaFile {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The protocol versions and the cryptography do not fit together.
    #[error("TLS cannot be set up: {0}")]
    Protocol(#[source] rustls::Error),
}

/// A configuration that trusts the usual roots and those in `ca_file`, which `setting` names.
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
