//! The portal's certificates: a CA made at start, the certificates that it signed, and certificates
//! that clients must reject.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

use crate::{StartError, script::Tls};

/// Host names and addresses of every certificate except `other_host`.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

type Authority = CertifiedIssuer<'static, KeyPair>;

/// One TLS configuration for each certificate.
pub(crate) struct Certificates {
    pub(crate) ca_pem: String,
    valid: Arc<ServerConfig>,
    expired: Arc<ServerConfig>,
    other_host: Arc<ServerConfig>,
    unknown_authority: Arc<ServerConfig>,
}

impl Certificates {
    /// Makes the certificates for [`NAMES`] and `more_names`.
    pub(crate) fn new(more_names: &[String]) -> Result<Self, StartError> {
        let names = NAMES.iter().map(ToString::to_string).chain(more_names.iter().cloned());
        let names: Vec<_> = names.collect();
        let authority = authority("demo-portal authority")?;
        let mut expired = CertificateParams::new(names.clone())?;
        expired.not_before = date_time_ymd(2000, 1, 1);
        expired.not_after = date_time_ymd(2001, 1, 1);
        let other_host = CertificateParams::new(vec!["elsewhere.example".to_owned()])?;
        let unknown = self::authority("unknown authority")?;
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

fn authority(name: &str) -> Result<Authority, StartError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn config(params: CertificateParams, issuer: &Authority) -> Result<Arc<ServerConfig>, StartError> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
