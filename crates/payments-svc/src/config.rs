//! The command line and the settings of the service.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};

use bytesize::ByteSize;
use clap::{
    ArgGroup, Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use common::{
    config::{ClientsConfig, SECRETS_HELP, SecretError, ServerConfig, duration, secret},
    edge::AllowedHosts,
    limits::{Networks, Rate},
    postgres::DatabaseConfig,
};
use jiff::civil::Date;
use lettre::{message::Mailbox, transport::smtp::extension::ClientId};
use payments_domain::{
    AcquirerName, Bic, Debtor, Email, Iban, Id, Money, Name, Notes, Ppm, Pricing, Scheme, SepaName,
};
use url::{Host, ParseError, Url};

use crate::store::{Scope, StoreConfig};

pub(crate) const DEFAULT_PORT: &str = "5002";

/// The end of `--help`: secrets have no flags, so clap does not list them.
fn secrets() -> String {
    let own = [
        "PAYMENTS_DATABASE_URL  postgres:// URL of the store, which several replicas can share; unset: \
         SQLite",
        "PAYMENTS_APPS_TOKEN  Bearer token for POST /apps; without it, everyone who reaches the port can \
         create an app",
        "PAYMENTS_ACQUIRER_SECRET  HMAC key that signs requests to the acquirer, its answers and its \
         notifications; required with PAYMENTS_ACQUIRER_URL; without it, POST /acquirer/events gets 404",
        "PAYMENTS_STRIPE_KEY  Secret key of Stripe's API; required with PAYMENTS_ACQUIRER=stripe",
        "PAYMENTS_STRIPE_WEBHOOK_SECRET  HMAC key of Stripe's events; without it, POST /stripe/events gets \
         404",
        "PAYMENTS_DESK_KEY  64 hexadecimal digits, as openssl rand -hex 32 prints, the same in all \
         replicas: encrypts the secrets of authenticators and signs links to receipts; required with \
         PAYMENTS_DESK_URL and PAYMENTS_RECEIPTS",
        "PAYMENTS_SMTP_URL  smtp:// or smtps:// URL of the mail server; without it, mails wait",
    ];
    format!("{SECRETS_HELP}\n  {}", own.join("\n  "))
}

/// Apps, merchants, transactions and a double-entry ledger
#[derive(Debug, Parser)]
#[command(name = "payments-svc", version, after_help = secrets())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) config: Config,
}

/// Without a subcommand, the service starts.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the health of the running service; exits 0 if it is healthy
    Healthcheck,
    /// Copy the SQLite store to a new file, also while the service runs
    Backup {
        /// File to create; an existing one is not overwritten
        #[arg(long)]
        to: PathBuf,
    },
    /// Copy the SQLite store of a stopped service into an empty PostgreSQL database
    Import {
        /// Data directory of the SQLite store
        #[arg(long)]
        from: PathBuf,
    },
    /// Recompute the ledger, balances and amounts, and report differences; exits 0 if there are
    /// none
    Check {
        /// Check only payouts, transactions and balance lines that are newer than this ID, and no
        /// balances of merchants; the ID does not have to exist
        #[arg(long, value_name = "ID")]
        since: Option<Id>,
        /// Maximum number of transactions, and of balance lines, that are read in one snapshot
        #[arg(long, value_name = "NUMBER", default_value_t = Scope::ALL.slice)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        slice: u32,
    },
    /// Pay out the positive balances of merchants with an IBAN: book the payouts, and write
    /// files of the transfers; a repeat for the same day writes the same files
    Payout(PayoutOptions),
    /// Compare an acquirer's settlement file with the books, and print every difference as CSV; exits
    /// 0 if there are none, and 1 if there are some
    Reconcile(ReconcileOptions),
    /// Book transfers back that the bank returned or rejected, each once: camt.053.001.08,
    /// camt.054.001.08, pain.002.001.10, or CSV with the columns
    /// end_to_end_id,amount,currency,reason,date; print what is not booked as CSV; exits 0 if there
    /// is nothing, and 1 if there is something
    Returns {
        /// File of the bank
        #[arg(long)]
        from: PathBuf,
    },
    /// Hold payments and payouts of a merchant, or one of them
    Hold(HoldOptions),
    /// End all holds of a merchant
    Release {
        /// ID of the merchant
        merchant: Id,
    },
    /// Let a live merchant take payments; see PAYMENTS_APPROVAL
    Approve {
        /// ID of the merchant
        merchant: Id,
    },
    /// Replace the account for payouts of a merchant
    SetBank(SetBankOptions),
    /// Print a link that signs a user in to the desk once, within 15 minutes, in the first browser
    /// that opens it; it accepts the invitations of the user, too
    SignInLink {
        /// E-mail address of the user
        #[arg(value_parser = |text: &str| Email::new(text))]
        email: Email,
    },
    /// End all sessions of a user at the desk, and remove the authenticator and the recovery codes
    ResetUser {
        /// E-mail address of the user
        #[arg(value_parser = |text: &str| Email::new(text))]
        email: Email,
    },
    /// Let the service delete and void by time again after a jump of the clock: the clock is right
    /// now
    ConfirmClock,
    /// Create a further API key of an app that lost all of its keys, and print it
    NewKey(NewKeyOptions),
    /// Create an app and two test merchants, once, and write their keys to demo.env in the data
    /// directory
    Seed,
}

/// The options of the subcommand `hold`.
#[derive(Debug, Args)]
pub(crate) struct HoldOptions {
    /// ID of the merchant
    pub(crate) merchant: Id,

    /// Hold payments: new ones are declined, and captures are refused
    #[arg(long)]
    pub(crate) payments: bool,

    /// Hold payouts: runs leave the merchant out
    #[arg(long)]
    pub(crate) payouts: bool,

    /// Why; the apps of the merchant see it
    #[arg(long, value_name = "TEXT", value_parser = |text: &str| Notes::new(text))]
    pub(crate) reason: Notes,
}

/// The options of the subcommand `set-bank`.
#[derive(Debug, Args)]
pub(crate) struct SetBankOptions {
    /// ID of the merchant
    pub(crate) merchant: Id,

    /// IBAN of the account
    #[arg(long, value_parser = |text: &str| Iban::new(text))]
    pub(crate) iban: Iban,

    /// Name of its holder, as the bank knows it
    #[arg(long, value_name = "NAME", value_parser = |text: &str| Name::new(text))]
    pub(crate) holder: Name,
}

/// Whom the operator must approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approval {
    /// Live merchants
    Live,
    /// Nobody
    None,
}

/// The options of the subcommand `new-key`.
#[derive(Debug, Args)]
pub(crate) struct NewKeyOptions {
    /// ID of the app
    pub(crate) app: Id,

    /// Name of the key
    #[arg(long, value_name = "TEXT", value_parser = |text: &str| Name::new(text))]
    pub(crate) name: Option<Name>,

    /// Delete the other keys of the app
    #[arg(long)]
    pub(crate) replace: bool,
}

/// The options of the subcommand `payout`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("files").args(["pain001", "csv"]).required(true).multiple(true)))]
pub(crate) struct PayoutOptions {
    /// Day of the payouts, such as 2026-11-21; default: today in UTC
    #[arg(long, value_parser = day)]
    pub(crate) day: Option<Date>,

    /// Pay the test merchants instead of the live ones
    #[arg(long)]
    pub(crate) test: bool,

    /// File to write as a SEPA credit transfer (pain.001.001.09); pays the merchants with euros and
    /// an account in SEPA; an existing file is overwritten
    #[arg(long, value_name = "FILE")]
    pub(crate) pain001: Option<PathBuf>,

    /// File to write as CSV; pays everybody whom no SEPA credit transfer pays; an existing file is
    /// overwritten
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

/// The options of the subcommand `reconcile`.
#[derive(Debug, Args)]
pub(crate) struct ReconcileOptions {
    /// Settlement file
    #[arg(long)]
    pub(crate) from: PathBuf,

    /// Format of the file: csv of the acquirer protocol (captures and refunds), or stripe for
    /// Stripe's report of itemized balance changes from activity (disputes, too)
    #[arg(long, value_enum, default_value = "csv")]
    pub(crate) format: SettlementFormat,

    /// First day in UTC whose operations must be in the file; default: the first day of the books
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(crate) since: Option<Date>,

    /// Last day in UTC whose operations must be in the file; default: today
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(crate) until: Option<Date>,

    /// The only day in UTC whose operations must be in the file
    #[arg(long, value_parser = day, conflicts_with_all = ["since", "until"])]
    pub(crate) day: Option<Date>,

    /// Proportional part of the acquirer's fee for each capture, as a fraction; without this and the
    /// flat part, fees are not compared
    #[arg(long, value_name = "FRACTION")]
    pub(crate) acquirer_fee_rate: Option<Ppm>,

    /// Flat part of the acquirer's fee for each capture in this currency, in minor units, such as
    /// EUR:25; once for each currency
    #[arg(long, value_name = "MONEY")]
    pub(crate) acquirer_fee_flat: Vec<Money>,
}

/// The formats of settlement files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettlementFormat {
    Csv,
    Stripe,
}

/// The settings that have flags. The subcommands read them, too.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Payments")]
pub(crate) struct Config {
    #[command(flatten)]
    pub(crate) server: ServerConfig,

    #[command(flatten)]
    pub(crate) clients: ClientsConfig,

    /// Port that accepts card numbers and serves the payment page; 0 picks a free one
    #[arg(long, env = "PAYMENTS_POS_PORT", default_value_t = 5003)]
    pub(crate) pos_port: u16,

    /// Public URL of that port, to which customers come back after 3-D Secure; its path is that of
    /// the payment page's cookie, which is Secure with https; unset: http, HOST and the port
    #[arg(long, env = "PAYMENTS_POS_URL", value_parser = base_url)]
    pub(crate) pos_url: Option<Url>,

    /// Port of the desk, where users of merchants work; 0 picks a free one
    #[arg(long, env = "PAYMENTS_DESK_PORT", default_value_t = 5004)]
    pub(crate) desk_port: u16,

    /// Public URL of the desk, which mails contain; with https, its cookies are Secure and bound to
    /// the host; without it, there is no desk
    #[arg(long, env = "PAYMENTS_DESK_URL", value_parser = base_url)]
    pub(crate) desk_url: Option<Url>,

    /// Card schemes that the payment page shows, separated by commas: visa, mastercard, amex,
    /// discover, diners, jcb, unionpay, maestro; the acquirer decides which cards it accepts
    #[arg(long, env = "PAYMENTS_CARD_SCHEMES", value_delimiter = ',',
          default_value = "visa,mastercard", value_parser = card_scheme)]
    pub(crate) card_schemes: Vec<Scheme>,

    /// Offer payers a link to their receipt by mail, which contains PAYMENTS_POS_URL; needs
    /// PAYMENTS_SMTP_URL and PAYMENTS_DESK_KEY
    #[arg(long, env = "PAYMENTS_RECEIPTS", default_value = "false", num_args = 0..=1,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) receipts: bool,

    /// Terms and conditions, linked on the payment page
    #[arg(long, env = "PAYMENTS_TERMS_URL", value_parser = web_url)]
    pub(crate) terms_url: Option<Url>,

    /// Privacy policy, linked on the payment page
    #[arg(long, env = "PAYMENTS_PRIVACY_URL", value_parser = web_url)]
    pub(crate) privacy_url: Option<Url>,

    /// Accessibility statement, linked on the payment page
    #[arg(long, env = "PAYMENTS_ACCESSIBILITY_URL", value_parser = web_url)]
    pub(crate) accessibility_url: Option<Url>,

    /// Directory of the SQLite files, for one process at a time, and of demo.env
    #[arg(long, env = "PAYMENTS_DATA_DIR", default_value = "./data/payments")]
    pub(crate) data_dir: PathBuf,

    /// Memory for transactions that were read; 0 for none; not used with PostgreSQL
    #[arg(long, env = "PAYMENTS_CACHE", default_value = "64MiB")]
    pub(crate) cache: ByteSize,

    /// PEM file with further CA certificates for PostgreSQL
    #[arg(long, env = "PAYMENTS_DATABASE_CA_FILE")]
    pub(crate) database_ca_file: Option<PathBuf>,

    /// Database connections for reads and jobs, per replica, which opens five more; PostgreSQL only
    #[arg(long, env = "PAYMENTS_DATABASE_CONNECTIONS", default_value = "16")]
    pub(crate) database_connections: NonZeroUsize,

    /// XML file of exchange rates for live merchants, in the format of the European Central Bank
    #[arg(long, env = "PAYMENTS_RATES_FILE")]
    pub(crate) rates_file: Option<PathBuf>,

    /// Sender of mails, such as Payments <payments@example.com>; required with PAYMENTS_SMTP_URL
    #[arg(long, env = "PAYMENTS_MAIL_FROM")]
    pub(crate) mail_from: Option<Mailbox>,

    /// Host name or IP address that the mail server gets by EHLO; unset: the host of
    /// PAYMENTS_MAIL_FROM
    #[arg(long, env = "PAYMENTS_MAIL_HELLO", value_parser = client_id)]
    pub(crate) mail_hello: Option<ClientId>,

    /// Spread on the mid-market rate of each exchange, as a fraction, in the operator's favour
    #[arg(long, env = "PAYMENTS_FX_SPREAD", default_value = "0.02")]
    pub(crate) fx_spread: Ppm,

    /// Fee for each capture, as a fraction; for merchants created from now on
    #[arg(long, env = "PAYMENTS_FEE_RATE", default_value = "0.025")]
    pub(crate) fee_rate: Ppm,

    /// Further fee for each capture, in minor units; for merchants created from now on
    #[arg(long, env = "PAYMENTS_FEE_FLAT", default_value = "EUR:25", value_parser = fee)]
    pub(crate) fee_flat: Money,

    /// Fee for each dispute, in minor units; for merchants created from now on
    #[arg(long, env = "PAYMENTS_FEE_DISPUTE", default_value = "EUR:3500", value_parser = fee)]
    pub(crate) fee_dispute: Money,

    /// Age at which the amount that was not captured is voided; keep it below the acquirer's own
    /// limit
    #[arg(long, env = "PAYMENTS_AUTHORIZATION_TTL", default_value = "30d", value_parser = duration)]
    pub(crate) authorization_ttl: Duration,

    /// Age at which an event is deleted
    #[arg(long, env = "PAYMENTS_EVENT_RETENTION", default_value = "90d", value_parser = duration)]
    pub(crate) event_retention: Duration,

    /// Time to answer a dispute if the acquirer gives no deadline; also in the sandbox
    #[arg(long, env = "PAYMENTS_DISPUTE_DUE", default_value = "14d", value_parser = duration)]
    pub(crate) dispute_due: Duration,

    /// Allow webhooks to http URLs of this machine; for development only
    #[arg(long, env = "PAYMENTS_WEBHOOKS_INSECURE", default_value = "false", num_args = 0..=1,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) webhooks_insecure: bool,

    /// Networks, separated by commas, to which webhooks may be sent although they are not public;
    /// every app can then send requests to every machine there
    #[arg(long, env = "PAYMENTS_WEBHOOK_NETWORKS", default_value = "")]
    pub(crate) webhook_networks: Networks,

    /// PEM file with further CA certificates for webhooks
    #[arg(long, env = "PAYMENTS_WEBHOOK_CA_FILE")]
    pub(crate) webhook_ca_file: Option<PathBuf>,

    /// Acquirer of new payments of live merchants; unset: they are declined
    #[arg(long, env = "PAYMENTS_ACQUIRER", value_parser = live_acquirer())]
    pub(crate) acquirer: Option<AcquirerName>,

    /// Which merchants take no payment before they are approved
    #[arg(long, env = "PAYMENTS_APPROVAL", default_value = "live")]
    pub(crate) approval: Approval,

    /// https URL of an acquirer that speaks the acquirer protocol; required with
    /// PAYMENTS_ACQUIRER=http
    #[arg(long, env = "PAYMENTS_ACQUIRER_URL", value_parser = https_url)]
    pub(crate) acquirer_url: Option<Url>,

    /// PEM file with further CA certificates for the acquirer
    #[arg(long, env = "PAYMENTS_ACQUIRER_CA_FILE")]
    pub(crate) acquirer_ca_file: Option<PathBuf>,

    /// URL of Stripe's API; http only for loopback addresses
    #[arg(long, env = "PAYMENTS_STRIPE_URL", default_value = "https://api.stripe.com/",
          value_parser = stripe_url)]
    pub(crate) stripe_url: Url,

    /// URL of Stripe's host for files of evidence; http only for loopback addresses
    #[arg(long, env = "PAYMENTS_STRIPE_FILES_URL", default_value = "https://files.stripe.com/",
          value_parser = stripe_url)]
    pub(crate) stripe_files_url: Url,

    /// Publishable key of Stripe: the payment page of live merchants loads Stripe's script, and
    /// card numbers do not reach the service
    #[arg(long, env = "PAYMENTS_STRIPE_PUBLISHABLE_KEY", value_parser = publishable_key)]
    pub(crate) stripe_publishable_key: Option<String>,

    /// URL of that script; http only for loopback addresses
    #[arg(long, env = "PAYMENTS_STRIPE_SCRIPT_URL", default_value = "https://js.stripe.com/v3/",
          value_parser = stripe_url)]
    pub(crate) stripe_script_url: Url,

    /// Time for one request to the acquirer; after twice this time, the service asks what became of
    /// the payment
    #[arg(long, env = "PAYMENTS_ACQUIRER_TIMEOUT", default_value = "10s", value_parser = duration)]
    pub(crate) acquirer_timeout: Duration,

    /// How often acquirers are asked for facts that no notification has brought; also the age at
    /// which Stripe's events are read
    #[arg(long, env = "PAYMENTS_FACTS_INTERVAL", default_value = "1m", value_parser = duration)]
    pub(crate) facts_interval: Duration,

    /// How often open payments, disputes and refunds are compared with those at Stripe, which
    /// deletes its events after 30 days
    #[arg(long, env = "PAYMENTS_COMPARISON_INTERVAL", default_value = "1d",
        value_parser = duration)]
    pub(crate) comparison_interval: Duration,

    /// Captures, refunds, voids, reversals and accepted disputes sent to an acquirer at the same time,
    /// beside one evidence: 1 to 512
    #[arg(long, env = "PAYMENTS_OUTBOX_CONCURRENCY", default_value = "32",
          value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) outbox_concurrency: u16,

    /// How long the sandbox waits before it answers; for tests
    #[arg(long, env = "PAYMENTS_SANDBOX_DELAY", default_value = "0s", value_parser = duration)]
    pub(crate) sandbox_delay: Duration,

    /// Let apps advance the clock of their test merchants: POST /sandbox/clock
    #[arg(long, env = "PAYMENTS_SANDBOX_CLOCK", default_value = "true", num_args = 0..=1,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) sandbox_clock: bool,

    #[command(flatten)]
    pub(crate) payouts: PayoutConfig,

    #[command(flatten)]
    pub(crate) limits: LimitsConfig,
}

/// The settings of the subcommand `payout`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PayoutConfig {
    /// Captures younger than this are not paid out yet
    #[arg(long, env = "PAYMENTS_PAYOUT_DELAY", default_value = "0s", value_parser = duration)]
    pub(crate) payout_delay: Duration,

    /// Name of the owner of the account that pays; required with payout --pain001
    #[arg(long, env = "PAYMENTS_PAYOUT_NAME")]
    pub(crate) payout_name: Option<SepaName>,

    /// IBAN of the account that pays; required with payout --pain001
    #[arg(long, env = "PAYMENTS_PAYOUT_IBAN", value_parser = Iban::new)]
    pub(crate) payout_iban: Option<Iban>,

    /// BIC of the bank that pays; required with payout --pain001
    #[arg(long, env = "PAYMENTS_PAYOUT_BIC")]
    pub(crate) payout_bic: Option<Bic>,
}

impl PayoutConfig {
    /// The account that pays. `None` if one of its settings is missing.
    pub(crate) fn debtor(&self) -> Option<Debtor> {
        let (name, iban) = (self.payout_name.clone()?, self.payout_iban.clone()?);
        Some(Debtor { name, iban, bic: self.payout_bic.clone()? })
    }
}

/// Rate limits on requests that a script could repeat without end.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LimitsConfig {
    /// Attempts to pay or save a card from one client address; for test merchants ten times as many
    #[arg(long, env = "PAYMENTS_ATTEMPT_LIMIT", default_value = "60/1m")]
    pub(crate) attempt_limit: Rate,

    /// Declined attempts at one merchant from one client address, ten times as many from all
    /// addresses, and ten times as many for test merchants
    #[arg(long, env = "PAYMENTS_DECLINE_LIMIT", default_value = "30/1m")]
    pub(crate) decline_limit: Rate,

    /// Declined attempts with one card; for test merchants ten times as many
    #[arg(long, env = "PAYMENTS_CARD_LIMIT", default_value = "5/1h")]
    pub(crate) card_limit: Rate,

    /// Calls of POST /apps from one client address, also with a wrong token
    #[arg(long, env = "PAYMENTS_APP_LIMIT", default_value = "30/1m")]
    pub(crate) app_limit: Rate,

    /// Invitations by one app, or by one user at the desk
    #[arg(long, env = "PAYMENTS_INVITATION_LIMIT", default_value = "100/1d")]
    pub(crate) invitation_limit: Rate,

    /// Tests of webhooks by one app
    #[arg(long, env = "PAYMENTS_WEBHOOK_TEST_LIMIT", default_value = "30/1m")]
    pub(crate) webhook_test_limit: Rate,
}

impl Config {
    /// The settings of the store. If the secret `PAYMENTS_DATABASE_URL` is set, the store is on
    /// PostgreSQL.
    pub(crate) fn store(&self) -> Result<StoreConfig, SecretError> {
        let database = secret("PAYMENTS_DATABASE_URL")?.map(|_| DatabaseConfig {
            service: "payments-svc",
            url_setting: "PAYMENTS_DATABASE_URL",
            ca_file: self.database_ca_file.clone(),
            ca_setting: "PAYMENTS_DATABASE_CA_FILE (--database-ca-file)",
            connections: self.database_connections.get(),
        });
        let (cache, payout_delay) = (self.cache.as_u64(), self.payouts.payout_delay);
        Ok(StoreConfig { data_dir: self.data_dir.clone(), database, cache, payout_delay })
    }

    pub(crate) fn pricing(&self) -> Pricing {
        Pricing { rate: self.fee_rate, flat: self.fee_flat, dispute: self.fee_dispute }
    }

    /// The name by which the service introduces itself to the mail server.
    pub(crate) fn mail_hello(&self, from: &Mailbox) -> ClientId {
        // A host such as [192.0.2.1] is no name, but EHLO accepts it as it is.
        let host = || client_id(from.email.domain());
        let literal = || ClientId::Domain(from.email.domain().to_owned());
        self.mail_hello.clone().unwrap_or_else(|| host().unwrap_or_else(|_| literal()))
    }

    /// The hosts of all ports. Those of the payment page and the desk are always among them.
    pub(crate) fn allowed_hosts(&self) -> AllowedHosts {
        let hosts = self.clients.allowed_hosts_at(self.server.host);
        let urls = [&self.pos_url, &self.desk_url].into_iter().flatten();
        urls.filter_map(Url::host_str).fold(hosts, AllowedHosts::and)
    }

    /// The URL of the desk, with a slash at the end. `None` without a desk.
    pub(crate) fn desk_url(&self) -> Option<Url> {
        let mut url = self.desk_url.clone()?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Some(url)
    }

    /// The URL of the payment page. Unless it is set, it consists of the host and `port`; an
    /// unspecified host such as 0.0.0.0 becomes localhost.
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

fn day(text: &str) -> Result<Date, &'static str> {
    text.parse().map_err(|_| "must be a day such as 2026-11-21")
}

fn live_acquirer() -> impl TypedValueParser<Value = AcquirerName> {
    let live = [AcquirerName::Http, AcquirerName::Stripe];
    PossibleValuesParser::new(live.map(AcquirerName::name))
        .try_map(|name| AcquirerName::from_name(&name).ok_or("must be an acquirer"))
}

fn client_id(text: &str) -> Result<ClientId, String> {
    match Host::parse(text) {
        Ok(Host::Domain(name)) => Ok(ClientId::Domain(name)),
        Ok(Host::Ipv4(address)) => Ok(ClientId::Ipv4(address)),
        Ok(Host::Ipv6(address)) => Ok(ClientId::Ipv6(address)),
        Err(_) => {
            Err("must be a host name or an IP address; an IPv6 address in brackets".to_owned())
        }
    }
}

fn base_url(text: &str) -> Result<Url, String> {
    let url = web_url(text).ok().filter(|url| url.query().is_none() && url.fragment().is_none());
    url.ok_or_else(|| {
        "must be an http or https address without a user, query or fragment".to_owned()
    })
}

fn https_url(text: &str) -> Result<Url, String> {
    let url = base_url(text).ok().filter(|url| url.scheme() == "https");
    url.ok_or_else(|| "must be an https address without a user, query or fragment".to_owned())
}

fn publishable_key(text: &str) -> Result<String, &'static str> {
    let is_key = text.starts_with("pk_") && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_key.then(|| text.to_owned()).ok_or("must be a publishable key, which starts with pk_")
}

fn stripe_url(text: &str) -> Result<Url, String> {
    let is_loopback = |url: &Url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    };
    let url = base_url(text).ok().filter(|url| url.scheme() == "https" || is_loopback(url));
    url.ok_or_else(|| {
        "must be an https address without a user, query or fragment, or an http address with a loopback \
         address such as 127.0.0.1"
            .to_owned()
    })
}

fn card_scheme(text: &str) -> Result<Scheme, String> {
    let known = Scheme::from_name(text).filter(|scheme| *scheme != Scheme::Unknown);
    known.ok_or_else(|| {
        let names = Scheme::ALL.map(Scheme::public_name).into_iter().flatten();
        format!("must be one of {}", names.collect::<Vec<_>>().join(", "))
    })
}

fn web_url(text: &str) -> Result<Url, String> {
    let url = text.parse::<Url>().map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => "must begin with https:// or http://".to_owned(),
        error => error.to_string(),
    })?;
    // A password would be in process lists, and some of these addresses are on public pages.
    let has_user = !url.username().is_empty() || url.password().is_some();
    let is_web = ["http", "https"].contains(&url.scheme()) && !has_user;
    is_web
        .then_some(url)
        .ok_or_else(|| "must be an http or https address without a user".to_owned())
}

/// Accepts funding currencies only, because the European Central Bank and the built-in rates quote
/// each of them.
fn fee(text: &str) -> Result<Money, String> {
    match text.parse::<Money>() {
        Ok(money) if money.currency.is_funding_currency() => Ok(money),
        Ok(_) => Err("must be in a currency that merchants can be funded in".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
