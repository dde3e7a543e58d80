//! Settings: a flag, otherwise the environment variable of the same setting, otherwise a default.
//!
//! A service derives its settings with `clap` and embeds [`ServerConfig`]. Secrets have no flag, so
//! that no process list shows them: they come from a variable or a file.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs,
    net::IpAddr,
    path::PathBuf,
    process,
    time::Duration,
};

use bytesize::ByteSize;
use clap::{
    Arg, ArgMatches, Args, Command, Parser, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};
use secrecy::SecretString;
use tracing_subscriber::EnvFilter;

use crate::{
    edge::AllowedHosts,
    exit::{USAGE, WithoutUsers},
    limits::TrustedProxies,
};

/// Settings that every service has.
#[derive(Debug, Clone, Args)]
pub struct ServerConfig {
    /// Address to listen on; :: for every interface, with IPv4
    #[arg(long, help_heading = "Server", env = "HOST", default_value = "127.0.0.1")]
    pub host: IpAddr,

    /// Port to listen on; 0 picks a free one
    #[arg(long, help_heading = "Server", env = "PORT")]
    pub port: u16,

    /// Log filter; debug adds one line per request
    #[arg(long, help_heading = "Server", env = "RUST_LOG", default_value = "info,refinery_core=off", value_parser = log_filter)]
    pub rust_log: String,

    /// Format of the log, which goes to stdout; if nobody reads stdout, lines are dropped
    #[arg(long, help_heading = "Server", env = "LOG_FORMAT", default_value = "auto")]
    pub log_format: LogFormat,

    /// How long requests in progress may take to finish after SIGTERM; the supervisor's stop
    /// time-out must be longer
    #[arg(long, help_heading = "Server", env = "DRAIN_TIMEOUT", default_value = "10s", value_parser = duration)]
    pub drain_timeout: Duration,
}

/// Settings of every service that untrusted clients can reach.
#[derive(Debug, Clone, Args)]
pub struct ClientsConfig {
    /// Networks of your proxies, separated by commas, such as 10.0.0.2,10.1.0.0/16: the client's
    /// address is taken from their X-Forwarded-For; without it, all clients behind a proxy share
    /// the limits of its address
    #[arg(long, help_heading = "Clients", env = "TRUSTED_PROXIES", default_value = "")]
    pub trusted_proxies: TrustedProxies,

    /// Host names that the service answers to, separated by commas; unset: only localhost for
    /// objstore-svc and payments-svc on a loopback address without TRUSTED_PROXIES, otherwise all
    #[arg(long, help_heading = "Clients", env = "ALLOWED_HOSTS", default_value = "")]
    pub allowed_hosts: AllowedHosts,

    /// Memory for all request bodies together; more leaves room for fewer connections
    #[arg(long, help_heading = "Clients", env = "BODY_MEMORY", default_value = "64MiB")]
    pub body_memory: ByteSize,

    /// Connections from one client address; those of trusted proxies do not count
    #[arg(long, help_heading = "Clients", env = "MAX_CONNECTIONS_PER_ADDRESS", default_value = "1024", value_parser = at_least_one)]
    pub max_connections_per_address: usize,
}

impl ClientsConfig {
    /// The allowed hosts of a service that web pages could use for an attack, listening on `host`.
    /// Unless they are set: only `localhost`, if no other machine and no proxy reaches the service.
    pub fn allowed_hosts_at(&self, host: IpAddr) -> AllowedHosts {
        if self.trusted_proxies == TrustedProxies::default() {
            self.allowed_hosts.clone().or_localhost(host)
        } else {
            self.allowed_hosts.clone()
        }
    }
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// One readable line per event.
    Text,
    /// One JSON object per event.
    Json,
}

/// The end of `--help`: the secrets that every service reads with [`secret`].
pub const SECRETS_HELP: &str = "Secrets (no flag: set NAME, or NAME_FILE to a file with the secret):\n  \
     METRICS_TOKEN  Bearer token for /metrics; without it, everyone who reaches the port can read the metrics";

/// Parses the command line and the environment. Ends the process with the help that the user
/// requested, or with an error that names the wrong setting. Warns of variables that look like
/// settings, and are none.
pub fn parse<C: Parser>(default_port: &'static str) -> C {
    let command = command::<C>(default_port);
    match parse_from(command.clone(), std::env::args_os()) {
        Ok(config) => {
            warn_of_unknown(&command);
            config
        }
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            error.exit()
        }
        Err(error) => exit_with_error(&explain(&command, &error)),
    }
}

fn command<C: Parser>(default_port: &'static str) -> Command {
    let mut command = C::command()
        .mut_arg("port", |port| port.default_value(default_port).required(false))
        .mut_args(|arg| match arg.get_env() {
            None => arg,
            Some(variable) if is_empty(variable) => arg.env(None::<&str>).global(true),
            Some(_) => arg.hide_env_values(true).global(true),
        });
    command.build();
    command
}

/// An empty variable counts as unset, because Docker Compose passes a setting that is left out
/// (`${NAME:-}`) as an empty string.
#[expect(clippy::disallowed_methods, reason = "only decides whether clap reads the variable")]
fn is_empty(variable: &OsStr) -> bool {
    std::env::var_os(variable).is_some_and(|value| value.is_empty())
}

/// No error: an older version, to which somebody rolls back, does not know the settings of a newer one.
fn warn_of_unknown(command: &Command) {
    #[expect(clippy::disallowed_methods, reason = "clap reads only the variables that it knows")]
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let texts =
        set.filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
    for (name, _) in texts.filter(|(name, value)| is_unknown(command, name, value)) {
        #[expect(clippy::print_stderr, reason = "logging is not set up yet")]
        {
            eprintln!("warning: {name} is no setting of {}: it does nothing", command.get_name());
        }
    }
}

/// Whether a variable begins as the settings of this program do, but is none. Kubernetes sets some for
/// the addresses of Services.
fn is_unknown(command: &Command, name: &str, value: &str) -> bool {
    let program = command.get_name().trim_end_matches("-svc").replace('-', "_").to_uppercase();
    let begins_alike = name.strip_prefix(&program).is_some_and(|rest| rest.starts_with('_'));
    let of_services = ["_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP"];
    let is_of_service = of_services.iter().any(|part| name.contains(part));
    if !begins_alike || is_of_service || value.starts_with("tcp://") || value.starts_with("udp://")
    {
        return false;
    }
    let commands = std::iter::once(command).chain(command.get_subcommands());
    let mut settings = commands.flat_map(Command::get_arguments).filter_map(Arg::get_env);
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut secrets = help.lines().filter_map(|line| line.split_whitespace().next());
    let is_secret = secrets.any(|secret| secret == name.trim_end_matches("_FILE"));
    !is_secret && !settings.any(|setting| setting == name)
}

fn parse_from<C: Parser>(
    command: Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<C, clap::Error> {
    let mut matches: ArgMatches = command.try_get_matches_from(arguments)?;
    C::from_arg_matches_mut(&mut matches)
}

/// Ends the process with exit status 2 and the reason on standard error.
pub fn exit_with_error(reason: &dyn fmt::Display) -> ! {
    #[expect(clippy::print_stderr, reason = "logging is not set up before the settings are read")]
    {
        eprintln!("error: {}", WithoutUsers(reason));
    }
    process::exit(USAGE.into())
}

/// Returns the value, or ends the process because of the error: see [`exit_with_error`].
pub fn or_exit<T, E: fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| exit_with_error(&error))
}

/// Describes a parse error. If a value is wrong, in one line that names the setting by its variable
/// and its flag.
fn explain(command: &Command, error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(value)) => Some(value.clone()),
        Some(ContextValue::Strings(values)) => Some(values.join(", ")),
        _ => None,
    };
    let setting = text(ContextKind::InvalidArg).map(|shown| {
        let commands = std::iter::once(command).chain(command.get_subcommands());
        let known = commands.flat_map(Command::get_arguments).find(|arg| arg.to_string() == shown);
        match known.and_then(|arg| Some((arg.get_env()?, arg.get_long()?))) {
            Some((variable, flag)) => format!("{} (--{flag})", variable.display()),
            None => shown,
        }
    });
    let (Some(setting), Some(value)) = (setting, text(ContextKind::InvalidValue)) else {
        return rendered(error);
    };
    let reason = match (std::error::Error::source(error), text(ContextKind::ValidValue)) {
        (Some(source), _) => source.to_string(),
        (None, Some(valid)) => format!("not one of {valid}"),
        (None, None) => "not a valid value".to_owned(),
    };
    if may_hold_secret(&setting, &value) {
        // The reason may quote the value, or a part of a list.
        let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
        let reason = parts.fold(reason, |reason, part| reason.replace(part, "…"));
        return format!("{setting}: invalid value: {reason}");
    }
    format!("{setting}: invalid value {value:?}: {reason}")
}

/// Whether a value can contain a password or a key, so that no error may show it. Only a valid URL
/// has a part that is known to be the password.
fn may_hold_secret(setting: &str, value: &str) -> bool {
    let name = setting.split(' ').next().unwrap_or_default();
    name.ends_with("_URL") || name.ends_with("_KEY") || value.contains("://") || value.contains('@')
}

/// The message of clap without the usage: the fault, all missing arguments, and similar names.
fn rendered(error: &clap::Error) -> String {
    let mut text = error.to_string();
    for (_, value) in error.context() {
        if let ContextValue::String(value) = value
            && (value.contains("://") || value.contains('@'))
        {
            text = text.replace(value, "…");
        }
    }
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    lines.collect::<Vec<_>>().join("\n").trim_start_matches("error: ").to_owned()
}

/// Parses a number that is at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

/// Parses a duration such as `10s`, `500ms` or `30d`.
pub fn duration(text: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(text)
}

fn log_filter(text: &str) -> Result<String, tracing_subscriber::filter::ParseError> {
    EnvFilter::try_new(text).map(|_| text.to_owned())
}

/// Why a secret could not be read. Never contains the secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable and the variable with `_FILE` are both set.
    #[error("{0} and {0}_FILE are both set: set only one of them")]
    Ambiguous(&'static str),
    /// The file is empty, although it must contain the secret.
    #[error("{0}_FILE: the file is empty")]
    Empty(&'static str),
    /// The secret has white space around it, although a header cannot carry that.
    #[error("{0} begins or ends with white space, which a request cannot send: remove it")]
    WhiteSpace(&'static str),
    /// The variable does not contain text.
    #[error("{0} is not valid UTF-8")]
    NotText(&'static str),
    /// The file cannot be read.
    #[error("{name}_FILE: cannot read {path:?}: {source}")]
    Unreadable {
        /// Without the suffix `_FILE`.
        name: &'static str,
        /// The value of the variable `{name}_FILE`.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Reads the secret `name` from its variable, or from the file that the variable `name_FILE` names,
/// without one line end. `None` if both variables are unset or empty.
#[expect(
    clippy::disallowed_methods,
    reason = "clap does not read secrets, because they have no flag"
)]
pub fn secret(name: &'static str) -> Result<Option<SecretString>, SecretError> {
    let direct = std::env::var_os(name).filter(|value| !value.is_empty());
    let file = secret_file(name);
    let is_file = file.is_some();
    let mut text = match (direct, file) {
        (Some(_), Some(_)) => return Err(SecretError::Ambiguous(name)),
        (None, None) => return Ok(None),
        (Some(value), None) => value.into_string().map_err(|_| SecretError::NotText(name))?,
        (None, Some(path)) => {
            let unreadable = |source| SecretError::Unreadable { name, path: path.clone(), source };
            fs::read_to_string(&path).map_err(unreadable)?
        }
    };
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    match text.is_empty() {
        true if is_file => Err(SecretError::Empty(name)),
        true => Ok(None),
        false => Ok(Some(SecretString::from(text))),
    }
}

/// The file of the secret `name`. `None` if the secret has no file.
#[expect(
    clippy::disallowed_methods,
    reason = "clap does not read secrets, because they have no flag"
)]
pub fn secret_file(name: &str) -> Option<PathBuf> {
    let file = std::env::var_os(format!("{name}_FILE")).filter(|value| !value.is_empty());
    file.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    struct Settings {
        #[command(flatten)]
        server: ServerConfig,
        #[arg(long, env = "PORTAL_URL")]
        portal_url: Option<u16>,
        #[arg(long, env = "STRIPE_KEY")]
        key: Option<u16>,
    }

    fn parse_line(line: &str) -> Result<Settings, String> {
        let command = command::<Settings>("5001");
        let arguments = line.split_whitespace().map(Into::into);
        parse_from(command.clone(), arguments).map_err(|error| explain(&command, &error))
    }

    #[test]
    fn the_defaults_listen_on_loopback() {
        let settings = parse_line("service").unwrap();
        assert_eq!(settings.server.host.to_string(), "127.0.0.1");
        assert_eq!(settings.server.port, 5001);
        assert_eq!(settings.server.drain_timeout, Duration::from_secs(10));
    }

    #[test]
    fn an_invalid_setting_is_reported_in_one_line_with_its_name() {
        for (line, expected) in [
            ("service --port 70000", "PORT (--port): invalid value \"70000\": "),
            ("service --host nowhere", "HOST (--host): invalid value \"nowhere\": "),
            ("service --drain-timeout 1", "DRAIN_TIMEOUT (--drain-timeout): invalid value \"1\": "),
            ("service --log-format xml", "LOG_FORMAT (--log-format): invalid value \"xml\": not "),
            ("service --rust-log a=b=c", "RUST_LOG (--rust-log): invalid value \"a=b=c\": "),
        ] {
            let message = parse_line(line).unwrap_err();
            assert!(message.starts_with(expected), "{line}: {message}");
            assert!(!message.contains('\n'), "{line}: {message}");
        }
    }

    #[test]
    fn an_error_shows_what_is_similar_and_all_that_is_missing() {
        #[derive(Debug, Parser)]
        struct Copy {
            #[command(flatten)]
            server: ServerConfig,
            #[arg(long)]
            from: String,
            #[arg(long)]
            to: String,
        }
        let command = command::<Copy>("5001");
        let message = |line: &str| {
            let arguments = line.split_whitespace().map(Into::into);
            explain(&command, &parse_from::<Copy>(command.clone(), arguments).unwrap_err())
        };
        assert_eq!(
            message("service"),
            "the following required arguments were not provided:\n  --from <FROM>\n  --to <TO>"
        );
        assert_eq!(
            message("service --prot 1"),
            "unexpected argument '--prot' found\n  tip: a similar argument exists: '--port'"
        );
        assert_eq!(message("service https://me:secret@portal"), "unexpected argument '…' found");
    }

    #[test]
    fn variables_that_look_like_settings_are_found() {
        #[derive(Debug, Parser)]
        #[command(name = "portal-svc", after_help = "Secrets:\n  PORTAL_TOKEN  For PORTAL_NAME")]
        struct Portal {
            #[command(flatten)]
            settings: Settings,
        }
        let command = command::<Portal>("5001");
        for (name, expected) in [
            ("PORTAL_URI", true),
            ("PORTAL_FILE", true),
            ("PORTAL_PORT", true),
            ("PORTAL_NAME", true),
            ("PORTAL_URL", false),
            ("PORTAL_TOKEN", false),
            ("PORTAL_TOKEN_FILE", false),
            ("PORTALS_URL", false),
            ("DRAIN_TIME", false),
            ("PORTAL_SVC_PORT_5001_TCP_ADDR", false),
            ("PORTAL_SVC_SERVICE_HOST", false),
        ] {
            assert_eq!(is_unknown(&command, name, "1"), expected, "{name}");
        }
        assert!(!is_unknown(&command, "PORTAL_PORT", "tcp://10.0.0.1:5001"), "of Kubernetes");
    }

    #[test]
    fn values_that_may_hold_secrets_are_not_shown() {
        for (line, expected) in [
            ("service --host https://me:secret@portal", "HOST (--host): invalid value: "),
            ("service --portal-url me:secret@portal", "PORTAL_URL (--portal-url): invalid value: "),
            ("service --key secret", "STRIPE_KEY (--key): invalid value: "),
        ] {
            let message = parse_line(line).unwrap_err();
            assert!(message.starts_with(expected), "{line}: {message}");
            assert!(!message.contains("secret"), "{line}: {message}");
        }
    }
}
