//! The parameters of a URL with which libpq verifies the server. The driver does not know all of them.

use std::borrow::Cow;

/// Translates the parameters into those of the driver. With TLS, this program always verifies the
/// certificate and the name of the server, so `verify-ca` and `verify-full` are `require`.
/// `sslrootcert=system` names the public authorities, which this program knows; as in libpq, it needs
/// a mode that verifies, and implies one. The error does not contain the URL.
pub(super) fn translate<'a>(url: &'a str, ca_setting: &str) -> Result<Cow<'a, str>, String> {
    // The driver takes everything before the first @ as user and password.
    let host = url.find('@').unwrap_or_default();
    let Some(query) = url[host..].find('?').map(|index| host + index + 1) else {
        return Ok(url.into());
    };
    let (mut mode, mut is_system, mut others) = (None, false, Vec::new());
    for parameter in url[query..].split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value),
            Some(("sslrootcert", "system")) => is_system = true,
            Some(("sslrootcert", _)) => {
                return Err(format!(
                    "sslrootcert must be system: name a file with {ca_setting} instead"
                ));
            }
            _ => others.push(parameter.to_owned()),
        }
    }
    let mode = match mode {
        Some("disable" | "prefer") if is_system => {
            return Err("sslrootcert=system needs sslmode=verify-full".to_owned());
        }
        Some(mode @ ("disable" | "prefer")) => Some(mode),
        Some("require" | "verify-ca" | "verify-full") => Some("require"),
        Some(_) => {
            return Err(
                "sslmode must be disable, prefer, require, verify-ca or verify-full".to_owned()
            );
        }
        None => is_system.then_some("require"),
    };
    others.extend(mode.map(|mode| format!("sslmode={mode}")));
    Ok(format!("{}{}", &url[..query], others.join("&")).into())
}

#[cfg(test)]
mod tests {
    use tokio_postgres::{Config, config::SslMode};

    use super::*;

    fn mode(query: &str) -> Result<SslMode, String> {
        let url = format!("postgres://me:se?cret@one,two/shop?{query}");
        let url = translate(&url, "CA_FILE")?;
        let config: Config = url.parse().expect("a URL of the driver");
        assert_eq!(config.get_password(), Some(&b"se?cret"[..]));
        assert_eq!((config.get_hosts().len(), config.get_dbname()), (2, Some("shop")));
        assert_eq!(config.get_connect_timeout().is_some(), query.contains("connect_timeout"));
        Ok(config.get_ssl_mode())
    }

    #[test]
    fn modes_that_verify_require_tls() {
        for query in [
            "sslmode=require",
            "sslmode=verify-ca",
            "sslmode=verify-full",
            "sslmode=verify-full&sslrootcert=system&connect_timeout=3",
            "connect_timeout=3&sslrootcert=system",
            "sslmode=disable&sslmode=verify-full",
        ] {
            assert_eq!(mode(query), Ok(SslMode::Require), "{query}");
        }
        for (query, expected) in [
            ("", SslMode::Prefer),
            ("connect_timeout=3", SslMode::Prefer),
            ("sslmode=prefer", SslMode::Prefer),
            ("sslmode=disable", SslMode::Disable),
        ] {
            assert_eq!(mode(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn other_modes_and_files_are_refused() {
        for (query, part) in [
            ("sslmode=allow", "sslmode must be"),
            ("sslmode=verify", "sslmode must be"),
            ("sslmode=", "sslmode must be"),
            ("sslrootcert=/secret.pem", "CA_FILE"),
            ("sslrootcert=system&sslmode=prefer", "verify-full"),
        ] {
            let error = mode(query).unwrap_err();
            assert!(error.contains(part) && !error.contains("secret"), "{query}: {error}");
        }
    }
}
