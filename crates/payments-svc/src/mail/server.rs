//! Address, TLS and login of the mail server.
//!
//! lettre's own transport is not used, because a connection that timed out would stay in its pool.

use lettre::transport::smtp::{
    Error, SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT,
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::{AsyncSmtpConnection, TlsParameters},
    extension::ClientId,
};
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::InvalidSmtpUrl;

/// Whether and when the connection uses TLS.
enum Security {
    Plain,
    /// TLS from the first byte.
    ImplicitTls(TlsParameters),
    /// STARTTLS, or an error.
    Required(TlsParameters),
    /// STARTTLS if the server offers it, otherwise plain text.
    Opportunistic(TlsParameters),
}

pub(crate) struct Server {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<Credentials>,
    /// The name of this client (EHLO).
    hello: ClientId,
}

impl Server {
    /// Parses a URL in the format of lettre, such as `smtps://user:password@mail.example`.
    pub(crate) fn of(url: &SecretString, hello: ClientId) -> Result<Self, InvalidSmtpUrl> {
        let url = Url::parse(url.expose_secret()).map_err(|_| InvalidSmtpUrl)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(InvalidSmtpUrl)?.to_owned();
        let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value);
        let parameters = || TlsParameters::new(host.clone()).map_err(|_| InvalidSmtpUrl);
        let (security, port) = match (url.scheme(), tls.as_deref()) {
            ("smtp", None) => (Security::Plain, SMTP_PORT),
            ("smtp", Some("required")) => (Security::Required(parameters()?), SUBMISSION_PORT),
            ("smtp", Some("opportunistic")) => {
                (Security::Opportunistic(parameters()?), SUBMISSION_PORT)
            }
            ("smtps", None) => (Security::ImplicitTls(parameters()?), SUBMISSIONS_PORT),
            _ => return Err(InvalidSmtpUrl),
        };
        let port = url.port().unwrap_or(port);
        Ok(Self { host, port, security, credentials: credentials(&url)?, hello })
    }

    /// Connects, secures the connection, and logs in.
    pub(super) async fn connect(&self) -> Result<AsyncSmtpConnection, Error> {
        let name = &self.hello;
        let implicit_tls = match &self.security {
            Security::ImplicitTls(parameters) => Some(parameters.clone()),
            _ => None,
        };
        let address = (self.host.trim_matches(['[', ']']), self.port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(address, None, name, implicit_tls, None).await?;
        match &self.security {
            Security::Required(parameters) => connection.starttls(parameters.clone(), name).await?,
            Security::Opportunistic(parameters) if connection.can_starttls() => {
                connection.starttls(parameters.clone(), name).await?;
            }
            _ => {}
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

/// The user and the password of a URL; `None` if it has no password.
fn credentials(url: &Url) -> Result<Option<Credentials>, InvalidSmtpUrl> {
    let Some(password) = url.password() else { return Ok(None) };
    let decoded = |text| percent_decode_str(text).decode_utf8().map_err(|_| InvalidSmtpUrl);
    let (user, password) = (decoded(url.username())?, decoded(password)?);
    Ok(Some(Credentials::new(user.into_owned(), password.into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Option<Server> {
        Server::of(&SecretString::from(url), ClientId::default()).ok()
    }

    #[test]
    fn a_url_names_host_port_and_credentials() {
        for (url, host, port) in [
            ("smtp://127.0.0.1:2525", "127.0.0.1", 2525),
            ("smtp://mail.example", "mail.example", 25),
            ("smtp://mail.example?tls=required", "mail.example", 587),
            ("smtp://mail.example:26/?tls=opportunistic", "mail.example", 26),
            ("smtps://mail.example", "mail.example", 465),
            ("smtp://[::1]:25", "[::1]", 25),
        ] {
            let server = server(url).unwrap();
            assert_eq!((server.host.as_str(), server.port), (host, port), "{url}");
            assert!(server.credentials.is_none());
        }
        let server = server("smtps://ann%40shop.example:p%3Aw@mail.example").unwrap();
        let credentials = Credentials::new("ann@shop.example".to_owned(), "p:w".to_owned());
        assert!(server.credentials == Some(credentials));
    }

    #[test]
    fn unusable_urls_are_rejected() {
        for url in [
            "mail.example",
            "http://mail.example",
            "smtp://",
            "smtp:mail.example",
            "smtp://mail.example?tls=maybe",
            "smtps://mail.example?tls=opportunistic",
            "smtp://mail.example:70000",
            "smtp://ann:%ff@mail.example",
        ] {
            assert!(server(url).is_none(), "{url}");
        }
    }
}
