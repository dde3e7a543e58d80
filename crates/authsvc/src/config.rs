//! The settings of the service. Doc comments of settings are the texts of `--help`.

use std::{path::PathBuf, time::Duration};

use bytesize::ByteSize;
use clap::{ArgAction, Args, Parser, Subcommand};
use common::{
    config::{ClientsConfig, SECRETS_HELP, ServerConfig, at_least_one, duration},
    limits::Rate,
};
use url::{Host, ParseError, Url};

use crate::domain::Campuses;

pub(crate) const DEFAULT_PORT: &str = "5000";

/// Checks a username and a password with an academic portal
#[derive(Debug, Parser)]
#[command(name = "authsvc", version, after_help = SECRETS_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) config: Config,
}

/// Without a subcommand, the service starts.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the health of the service on HOST and PORT
    Healthcheck,
    /// Sign in once with credentials from standard input, and show what the portal answers
    ///
    /// Reads the username and the password, one line each. Fetches the profile, too. Prints no
    /// value of the answers, only their shape. Exits with 0 if the profile is as expected.
    Probe,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sign-ins")]
pub(crate) struct Config {
    #[command(flatten)]
    pub(crate) server: ServerConfig,

    #[command(flatten)]
    pub(crate) clients: ClientsConfig,

    /// Base URL of the portal: https, or http on this machine; without it, every sign-in gets 502
    #[arg(long, env = "PORTAL_URL", value_parser = portal_url)]
    pub(crate) portal_url: Option<Url>,

    /// PEM file with further CA certificates for the portal
    #[arg(long, env = "PORTAL_CA_FILE")]
    pub(crate) portal_ca_file: Option<PathBuf>,

    /// Time for one request to the portal; a sign-in with a profile makes two
    #[arg(long, env = "PORTAL_TIMEOUT", default_value = "10s", value_parser = timeout)]
    pub(crate) portal_timeout: Duration,

    /// Maximum size of a response of the portal
    #[arg(long, env = "PORTAL_MAX_RESPONSE", default_value = "8MiB")]
    pub(crate) portal_max_response: ByteSize,

    /// Institute names of campus 1 and campus 2, separated by a semicolon; without them, campusCode
    /// is null and counts as unknown_campus_code
    #[arg(long, env = "PORTAL_CAMPUSES", default_value = "", value_parser = Campuses::parse)]
    pub(crate) portal_campuses: Campuses,

    /// Numbers of the institutes in the portal, all sent in one request
    #[arg(long, env = "PORTAL_INSTITUTES", default_value = "1,6,7,14")]
    pub(crate) portal_institutes: String,

    /// Send the portal the header traceparent, which its mobile app does not send
    #[arg(long, env = "PORTAL_TRACEPARENT", default_value = "false", num_args = 0..=1,
        default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) portal_traceparent: bool,

    #[command(flatten)]
    pub(crate) limits: LimitsConfig,

    /// Target of the redirect from /readme: a path, or an http or https URL
    #[arg(long, env = "README_URL", default_value = "/docs", value_parser = location)]
    pub(crate) readme_url: String,
}

/// Limits that protect the service and the portal.
#[derive(Debug, Clone, Args)]
pub(crate) struct LimitsConfig {
    /// Sign-ins in progress, also at most 31/32 of the connections; one more gets 503
    #[arg(long, env = "MAX_SIGN_INS", default_value = "1000", value_parser = at_least_one)]
    pub(crate) max_sign_ins: usize,

    /// Rejected sign-ins for one username, such as 10/15m; while it is off, passwords can be
    /// guessed without limit
    #[arg(long, env = "SIGN_IN_LIMIT_USERNAME", default_value = "off")]
    pub(crate) sign_in_limit_username: Rate,

    /// Rejected sign-ins from one client address, such as 100/15m; students of one campus can share
    /// an address
    #[arg(long, env = "SIGN_IN_LIMIT_ADDRESS", default_value = "off")]
    pub(crate) sign_in_limit_address: Rate,
}

/// Credentials require HTTPS, except to a portal on the same machine.
fn portal_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => "must begin with https://".to_owned(),
        error => error.to_string(),
    })?;
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => {}
        "http" if local => {}
        "http" => return Err("must be https, because its host is not this machine".to_owned()),
        _ => return Err("must be https".to_owned()),
    }
    if url.query().is_some() || url.fragment().is_some() || has_user(&url) {
        return Err("must have neither user, query nor fragment".to_owned());
    }
    Ok(url)
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn timeout(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than 0s".to_owned()),
        Ok(timeout) => Ok(timeout),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses an HTTP URL, or a path of this service.
fn location(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && !text.starts_with("//");
    if is_path && text.chars().all(|letter| letter.is_ascii_graphic()) {
        return Ok(text.to_owned());
    }
    match Url::parse(text) {
        Ok(url) if has_user(&url) => Err("must not have a user".to_owned()),
        Ok(url) if ["http", "https"].contains(&url.scheme()) => Ok(url.into()),
        Ok(_) => Err("must be http or https".to_owned()),
        Err(ParseError::RelativeUrlWithoutBase) => {
            Err("must begin with https://, http:// or /".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_require_https_or_this_machine() {
        for good in [
            "https://portal.test",
            "https://portal.test/base/",
            "http://127.0.0.1:1",
            "http://[::1]",
        ] {
            assert!(portal_url(good).is_ok(), "{good}");
        }
        for bad in [
            "portal.test",
            "http://portal.test",
            "ftp://127.0.0.1",
            "https://user@portal.test",
            "https://:secret@portal.test",
            "https://portal.test/?a",
        ] {
            assert!(portal_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_location_is_a_path_or_an_http_url() {
        for good in ["/docs", "https://example.test/a?b#c"] {
            assert!(location(good).is_ok(), "{good}");
        }
        for bad in
            ["docs", "//evil.test", "/a\nb", "ftp://example.test", "https://u:p@example.test", ""]
        {
            assert!(location(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_zero_timeout_is_rejected() {
        assert_eq!(timeout("500ms"), Ok(Duration::from_millis(500)));
        assert!(timeout("0s").is_err() && timeout("soon").is_err());
    }
}
