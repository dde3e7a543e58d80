//! Certificates of a stand-in's own CA. The key of the CA can be kept, so that clients that trust the
//! CA also trust it after a restart of the stand-in.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// Host names and addresses of every certificate.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Returns the names of a certificate: localhost, 127.0.0.1, ::1 and `more`.
pub fn names(more: &[String]) -> Vec<String> {
    NAMES.iter().map(ToString::to_string).chain(more.iter().cloned()).collect()
}

/// Why the key of a CA cannot be used or kept.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("the key in {path:?} cannot be read or written: {source}")]
    File {
        /// The file of the key.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has no usable key, or no key can be made.
    #[error("the key in {path:?} cannot be used: {source}")]
    Key {
        /// The file of the key.
        path: PathBuf,
        /// The reason.
        source: rcgen::Error,
    },
}

/// Returns the private key that is kept beside `ca_file`, in `<ca_file>.key`. Makes it if there is
/// none.
pub fn kept_key(ca_file: &Path) -> Result<KeyPair, KeyError> {
    let mut path = ca_file.as_os_str().to_owned();
    path.push(".key");
    let path = PathBuf::from(path);
    let unusable = |source| KeyError::Key { path: path.clone(), source };
    let pem = fs::read_to_string(&path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(String::new()),
        _ => Err(error),
    });
    let pem = pem.map_err(|source| KeyError::File { path: path.clone(), source })?;
    if !pem.is_empty() {
        return KeyPair::from_pem(&pem).map_err(unusable);
    }
    let key = KeyPair::generate().map_err(unusable)?;
    let written =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = written.and_then(|mut file| file.write_all(key.serialize_pem().as_bytes()));
    written.map_err(|source| KeyError::File { path: path.clone(), source })?;
    Ok(key)
}

/// A CA.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Makes a CA with this common name and key.
    pub fn new(name: &str, key: KeyPair) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self(CertifiedIssuer::self_signed(params, key)?))
    }

    /// Returns the certificate of the CA, which clients must trust, as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Makes a certificate with a new key.
    pub fn sign(&self, params: CertificateParams) -> Result<Certificate, rcgen::Error> {
        let key = KeyPair::generate()?;
        let chain = params.signed_by(&key, &self.0)?.der().clone();
        Ok(Certificate { chain, key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() })
    }
}

/// A certificate and its private key.
pub struct Certificate {
    chain: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// Returns the settings of an HTTP/1.1 server with this certificate.
    pub fn server_config(self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.chain], self.key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Writes a file so that readers see all of it or none.
pub fn publish(path: &Path, pem: &str) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, pem)?;
    fs::rename(&partial, path)
}
