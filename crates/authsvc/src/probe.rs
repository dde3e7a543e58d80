//! `authsvc probe`: signs in once, and prints which of the known answers the portal gives. Prints
//! names of members and never a value.

use std::{
    io::{self, BufRead, IsTerminal as _, Read as _, Write as _},
    process::ExitCode,
    sync::Arc,
};

use common::{config::or_exit, error::Cause, files::Files, tls::TlsError};
use secrecy::zeroize::Zeroizing;
use serde::Serialize;
use tokio::runtime::Builder;

use crate::{
    config::Config,
    domain::{Anomaly, Deviation, Invalid, SignIn},
    metrics::{Metrics, Samples},
    portal::{Fault, LoginFault, Portal, ProfileFault, SignInError, SignedIn},
    service::portal,
};

/// Limit of the input, in bytes.
const MAX_INPUT: u16 = 4096;

/// Why nothing was sent to the portal.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error("PORTAL_URL is not set")]
    NoPortal,
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot read the credentials from standard input: {0}")]
    Input(#[from] io::Error),
    #[error("{0}")]
    Invalid(String),
}

/// Signs in with credentials from standard input. The exit code is 0 if the portal answers as
/// expected.
pub(crate) fn run(config: &Config) -> ExitCode {
    let runtime = or_exit(Builder::new_current_thread().enable_all().build());
    let portal = or_exit(configured(config));
    let sign_in = or_exit(credentials());
    let samples = Samples::new(&Arc::new(Metrics::start()));
    let result = runtime.block_on(portal.sign_in(&sign_in, &samples));
    let is_expected = result.as_ref().is_ok_and(|signed_in| signed_in.deviations.is_empty());
    let lines = report(result).join("\n");
    or_exit(writeln!(io::stdout(), "{lines}"));
    if is_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn configured(config: &Config) -> Result<Portal, ProbeError> {
    let portal = portal(config, &mut Files::default())?;
    config.portal_url.as_ref().map(|_| portal).ok_or(ProbeError::NoPortal)
}

#[derive(Serialize)]
struct Body<'a> {
    username: &'a str,
    password: &'a str,
    profile: bool,
}

fn credentials() -> Result<SignIn, ProbeError> {
    if io::stdin().is_terminal() {
        let prompt = "Enter the username, and the password in the next line. It will be visible.";
        writeln!(io::stderr(), "{prompt}")?;
    }
    let mut input = io::stdin().lock().take(MAX_INPUT.into());
    let (username, password) = (line(&mut input)?, line(&mut input)?);
    let body = Body { username: &username, password: &password, profile: true };
    // Long enough for any input, so that no shorter copy of the password is left.
    let mut json = Zeroizing::new(Vec::with_capacity(8 * usize::from(MAX_INPUT)));
    serde_json::to_writer(&mut *json, &body).map_err(io::Error::from)?;
    SignIn::parse(&json).map_err(|invalid| {
        let rules: Vec<_> = invalid.iter().map(|Invalid { rule, .. }| *rule).collect();
        ProbeError::Invalid(rules.join("; "))
    })
}

/// A line without its end.
fn line(input: &mut impl BufRead) -> io::Result<Zeroizing<String>> {
    let mut line = Zeroizing::new(String::new());
    input.read_line(&mut line)?;
    let length = line.strip_suffix('\n').unwrap_or(&line).trim_end_matches('\r').len();
    line.truncate(length);
    Ok(line)
}

/// The answers of the portal in the words of `docs/authsvc.md`, one line each.
fn report(result: Result<SignedIn, SignInError>) -> Vec<String> {
    let signed_in = || "login: 200 and SUCCESS: signed in".to_owned();
    match result {
        Ok(SignedIn { deviations, .. }) => {
            let profile = "profile_fetch: 200 and SUCCESS: a profile".to_owned();
            [signed_in(), profile].into_iter().chain(differences(&deviations)).collect()
        }
        Err(SignInError::Rejected) => {
            vec!["login: 401: the portal rejected the credentials".to_owned()]
        }
        Err(SignInError::Doubtful(fault)) => {
            vec![format!("login: 401, but not the portal's answer: {fault} (401)")]
        }
        Err(SignInError::Login(fault)) => vec![format!("login: {}", unexpected(fault))],
        Err(SignInError::ProfileFetch(fault)) => {
            vec![signed_in(), format!("profile_fetch: {}", unexpected(fault))]
        }
        Err(SignInError::ProfileParse(fault)) => {
            let row = match fault {
                ProfileFault::NoValue => "200 and SUCCESS, but no profile",
                _ => "200, but not a known answer",
            };
            vec![signed_in(), format!("profile_fetch: {row}: {fault} (422 ProfileParseError)")]
        }
    }
}

fn unexpected(fault: Fault) -> String {
    let row = match fault {
        Fault::NotConfigured | Fault::Unreachable(_) | Fault::TimedOut => {
            "no connection, TLS failure or time-out"
        }
        Fault::Status { .. } => "another status",
        Fault::Login(LoginFault::NoToken | LoginFault::Token) => {
            "200 and SUCCESS, but no usable accessToken"
        }
        Fault::Login(_) => "200, but no SUCCESS",
        Fault::Profile(_) => "200, but a failure",
    };
    format!("{row}: {} (502)", Cause::new(fault))
}

/// A line for each kind of deviation.
fn differences(deviations: &[Deviation]) -> Vec<String> {
    let kinds = [
        (Anomaly::MissingField, "missing"),
        (Anomaly::UnexpectedValue, "unexpected type or value"),
        (Anomaly::UnknownCampusCode, "not in PORTAL_CAMPUSES"),
        (Anomaly::ResponseStructure, "unexpected structure"),
    ];
    let lines = kinds.into_iter().filter_map(|(kind, text)| {
        let members = deviations.iter().filter(|deviation| deviation.anomaly == kind);
        let members: Vec<_> = members.map(|deviation| deviation.member).collect();
        (!members.is_empty()).then(|| format!("{text}: {}", members.join(", ")))
    });
    lines.collect()
}
