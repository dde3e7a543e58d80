//! The settings of the service.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};

use clap::{Args, Parser, Subcommand};
use common::{
    config::{ClientsConfig, SECRETS_HELP, ServerConfig, duration},
    limits::Rate,
};
use jiff::civil::Date;
use lettre::message::Mailbox;
use url::Url;

use crate::domain::{Id, Money, Ppm, Pricing};

/// The port the service listens on unless it is told another.
pub(crate) const DEFAULT_PORT: &str = "5002";

/// The last part of `--help`.
fn secrets() -> String {
    let own = [
        "PAYMENTS_DATABASE_URL  postgres:// URL of the store; embedded when unset or empty",
        "PAYMENTS_APPS_TOKEN  Bearer token that POST /apps asks for; open when unset or empty",
        "PAYMENTS_ACQUIRER_SECRET  What notifications of acquirers are signed with; none are taken \
         when unset or empty",
        "PAYMENTS_SMTP_URL  smtp:// or smtps:// URL that invitations are sent by; they wait when \
         unset or empty",
    ];
    format!("{SECRETS_HELP}\n  {}", own.join("\n  "))
}

/// Apps, merchants, transactions and a double-entry ledger
#[derive(Debug, Parser)]
#[command(name = "payments-svc", version, after_help = secrets())]
pub(crate) struct Cli {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The settings.
    #[command(flatten)]
    pub(crate) config: Config,
}

/// What the binary does beside serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Asks the running service for its health; exits 0 when it is well
    Healthcheck,
    /// Copies the embedded store to a new file while the service runs
    Backup {
        /// The file to make
        #[arg(long)]
        to: PathBuf,
    },
    /// Adds the books up again and tells where they disagree; exits 0 when they do not
    Check {
        /// Checks only what changed after the line with this id, and no balances of merchants
        #[arg(long, value_name = "ID")]
        since: Option<Id>,
    },
    /// Books payouts of positive balances to IBANs, and writes the file of the transfers; done
    /// again, it writes the same file
    Payout {
        /// The day they are of, such as 2026-11-21; today's in UTC, if none is named
        #[arg(long)]
        day: Option<Date>,
        /// Pays the merchants for tests, and not the others
        #[arg(long)]
        test: bool,
        /// The file to write: CSV
        #[arg(long)]
        to: PathBuf,
    },
    /// Makes an app and two test merchants, once, and writes their keys to demo.env in the data
    /// directory; a service on the embedded store must not be running
    Seed,
}

/// The settings of a service that is to be started.
#[derive(Debug, Clone, Args)]
pub(crate) struct Config {
    /// Those all services have.
    #[command(flatten)]
    pub(crate) server: ServerConfig,

    /// Settings of every service that strangers may connect to.
    #[command(flatten)]
    pub(crate) clients: ClientsConfig,

    /// Port of the origin that takes card numbers; 0 picks a free one
    #[arg(long, env = "PAYMENTS_POS_PORT", default_value_t = 5003)]
    pub(crate) pos_port: u16,

    /// Where customers reach that origin; http, HOST and its port, unless it is said
    #[arg(long, env = "PAYMENTS_POS_URL", value_parser = web_address)]
    pub(crate) pos_url: Option<Url>,

    /// Where the embedded store keeps its files
    #[arg(long, env = "PAYMENTS_DATA_DIR", default_value = "./data/payments")]
    pub(crate) data_dir: PathBuf,

    /// PEM file of roots that the database's certificate may come from, beside the usual ones
    #[arg(long, env = "PAYMENTS_DATABASE_CA_FILE")]
    pub(crate) database_ca_file: Option<PathBuf>,

    /// The most sessions with the database, where the store is in one
    #[arg(long, env = "PAYMENTS_DATABASE_CONNECTIONS", default_value = "16")]
    pub(crate) database_connections: NonZeroUsize,

    /// File of exchange rates for live merchants, as the European Central Bank publishes them
    #[arg(long, env = "PAYMENTS_RATES_FILE")]
    pub(crate) rates_file: Option<PathBuf>,

    /// Whom invitations are from, such as Payments <payments@example.com>; needed where
    /// PAYMENTS_SMTP_URL is set
    #[arg(long, env = "PAYMENTS_MAIL_FROM")]
    pub(crate) mail_from: Option<Mailbox>,

    /// How far the rates of an exchange are from the middle
    #[arg(long, env = "PAYMENTS_FX_SPREAD", default_value = "0.02")]
    pub(crate) fx_spread: Ppm,

    /// What a new merchant pays of each capture
    #[arg(long, env = "PAYMENTS_FEE_RATE", default_value = "0.025")]
    pub(crate) fee_rate: Ppm,

    /// What a new merchant pays for each capture, in minor units
    #[arg(long, env = "PAYMENTS_FEE_FLAT", default_value = "EUR:25", value_parser = fee)]
    pub(crate) fee_flat: Money,

    /// What a new merchant pays for each dispute, in minor units
    #[arg(long, env = "PAYMENTS_FEE_DISPUTE", default_value = "EUR:3500", value_parser = fee)]
    pub(crate) fee_dispute: Money,

    /// How long an authorisation that is not captured holds
    #[arg(long, env = "PAYMENTS_AUTHORIZATION_TTL", default_value = "30d", value_parser = duration)]
    pub(crate) authorization_ttl: Duration,

    /// How long a dispute may be answered of which the acquirer says nothing else
    #[arg(long, env = "PAYMENTS_DISPUTE_DUE", default_value = "14d", value_parser = duration)]
    pub(crate) dispute_due: Duration,

    /// How long an acquirer may take to answer
    #[arg(long, env = "PAYMENTS_ACQUIRER_TIMEOUT", default_value = "10s", value_parser = duration)]
    pub(crate) acquirer_timeout: Duration,

    /// How long the sandbox takes to answer a payment
    #[arg(long, env = "PAYMENTS_SANDBOX_DELAY", default_value = "0s", value_parser = duration)]
    pub(crate) sandbox_delay: Duration,

    /// What strangers may repeat.
    #[command(flatten)]
    pub(crate) limits: LimitsConfig,
}

/// How often strangers may do what a script could repeat without end.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LimitsConfig {
    /// Attempts to pay or save a card from one client address, such as 60/1m; off for any number
    #[arg(long, env = "PAYMENTS_ATTEMPT_LIMIT", default_value = "60/1m")]
    pub(crate) attempt_limit: Rate,

    /// Declined attempts at one merchant from one client address; ten times as many from all
    #[arg(long, env = "PAYMENTS_DECLINE_LIMIT", default_value = "30/1m")]
    pub(crate) decline_limit: Rate,

    /// Declined attempts with one card
    #[arg(long, env = "PAYMENTS_CARD_LIMIT", default_value = "5/1h")]
    pub(crate) card_limit: Rate,

    /// Apps made from one client address
    #[arg(long, env = "PAYMENTS_APP_LIMIT", default_value = "30/1m")]
    pub(crate) app_limit: Rate,

    /// Users that one app invites
    #[arg(long, env = "PAYMENTS_INVITATION_LIMIT", default_value = "100/1d")]
    pub(crate) invitation_limit: Rate,
}

impl Config {
    /// What new merchants pay.
    pub(crate) fn pricing(&self) -> Pricing {
        Pricing { rate: self.fee_rate, flat: self.fee_flat, dispute: self.fee_dispute }
    }

    /// Where customers reach the payment page, which listens on this port.
    pub(crate) fn pos_url(&self, port: u16) -> String {
        match &self.pos_url {
            Some(url) => url.to_string(),
            None => {
                let host = self.server.host;
                let host = if host.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { host };
                format!("http://{}/", SocketAddr::new(host, port))
            }
        }
    }
}

fn web_address(text: &str) -> Result<Url, String> {
    let url = text.parse::<Url>().map_err(|error| error.to_string())?;
    let is_base = ["http", "https"].contains(&url.scheme()) && url.query().is_none();
    is_base
        .then_some(url)
        .ok_or_else(|| "must be an http or https address without a query".to_owned())
}

/// Fees are in a currency that there always is a rate for.
fn fee(text: &str) -> Result<Money, String> {
    match text.parse::<Money>() {
        Ok(money) if money.currency.is_for_funding() => Ok(money),
        Ok(_) => Err("must be in a currency that merchants can be funded in".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
