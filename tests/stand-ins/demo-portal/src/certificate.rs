//! The portal's certificates: a CA, the certificates that it signed, and certificates that clients
//! must reject.

use std::{path::Path, sync::Arc};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use stand_in::certificate::{Authority, kept_key, names};

use crate::{StartError, script::Tls};

/// One TLS configuration for each certificate.
pub(crate) struct Certificates {
    pub(crate) ca_pem: String,
    valid: Arc<ServerConfig>,
    expired: Arc<ServerConfig>,
    other_host: Arc<ServerConfig>,
    unknown_authority: Arc<ServerConfig>,
}

impl Certificates {
    /// Makes the certificates for [`names`] with `more_names`. The key of the CA is kept beside
    /// `ca_file`.
    pub(crate) fn new(more_names: &[String], ca_file: Option<&Path>) -> Result<Self, StartError> {
        let names = names(more_names);
        let key = match ca_file {
            Some(path) => kept_key(path)?,
            None => KeyPair::generate()?,
        };
        let authority = Authority::new("demo-portal authority", key)?;
        let mut expired = CertificateParams::new(names.clone())?;
        expired.not_before = date_time_ymd(2000, 1, 1);
        expired.not_after = date_time_ymd(2001, 1, 1);
        let other_host = CertificateParams::new(vec!["elsewhere.example".to_owned()])?;
        let unknown = Authority::new("unknown authority", KeyPair::generate()?)?;
        Ok(Self {
            ca_pem: authority.pem(),
            valid: config(CertificateParams::new(names.clone())?, &authority)?,
            expired: config(expired, &authority)?,
            other_host: config(other_host, &authority)?,
            unknown_authority: config(CertificateParams::new(names)?, &unknown)?,
        })
    }

    /// Returns `None` if the handshake ends before a certificate is sent.
    pub(crate) fn config(&self, tls: Tls) -> Option<Arc<ServerConfig>> {
        let config = match tls {
            Tls::Valid => &self.valid,
            Tls::Expired => &self.expired,
            Tls::OtherHost => &self.other_host,
            Tls::UnknownAuthority => &self.unknown_authority,
            Tls::Refuse | Tls::Hang | Tls::Reset => return None,
        };
        Some(Arc::clone(config))
    }
}

fn config(
    params: CertificateParams,
    authority: &Authority,
) -> Result<Arc<ServerConfig>, StartError> {
    Ok(authority.sign(params)?.server_config()?)
}
