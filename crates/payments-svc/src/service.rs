//! Starts and stops the service: the store, both ports, and the jobs.

use std::{io, net::SocketAddr, sync::Arc};

use common::{
    bearer::BearerToken,
    config::{SecretError, secret},
    edge::Edge,
    error::Cause,
    exit::{Fatal, USAGE},
    files::Files,
    limits::{Budget, LimitMetrics},
    operations::{Operations, Readiness},
    process,
    serve::{self, Connections, Server},
    store::OpenError,
    telemetry::Traffic,
};
use payments_domain::AcquirerName;
use prometheus::Registry;
use ring::hmac;
use tokio::{net::TcpListener, sync::watch::Receiver, task::JoinSet};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::field::display;

use crate::{
    acquirer::{
        Acquirers, Http, HttpConfig, HttpSetupError, Sandbox, Stripe, StripeConfig,
        StripeSetupError, stripe_authorization,
    },
    app::{Declines, Defaults, Payments, ReportMetrics, SignatureKey},
    authenticator::{DESK_KEY, DeskKey, InvalidDeskKey},
    config::{Approval, Config},
    desk,
    http::{self, Api},
    jobs::{BacklogMetrics, Deliveries, DeliveryMetrics, Jobs, Mails},
    limits::Limits,
    mail::{self, InvalidSmtpUrl, Mailer},
    metrics,
    orders::orders,
    pos::{self, Tokenizer},
    rates::{ExchangeRates, RatesError},
    receipt_links::ReceiptLinks,
    store::Store,
    webhook::{self, Sender, SenderConfig, SenderError},
};

const APPS_TOKEN: &str = "PAYMENTS_APPS_TOKEN";

/// Why the service did not start. Displayed as one line. If a setting is wrong, the line names it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Rates(#[from] RatesError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Mail(#[from] InvalidSmtpUrl),
    #[error(transparent)]
    Acquirer(#[from] HttpSetupError),
    #[error(transparent)]
    Stripe(#[from] StripeSetupError),
    #[error("PAYMENTS_STRIPE_KEY is not set: PAYMENTS_ACQUIRER=stripe requires it")]
    StripeKey,
    #[error(
        "PAYMENTS_ACQUIRER_URL (--acquirer-url) is not set: PAYMENTS_ACQUIRER=http requires it"
    )]
    AcquirerUrl,
    #[error("PAYMENTS_ACQUIRER_SECRET is not set: PAYMENTS_ACQUIRER_URL requires it")]
    AcquirerSecret,
    #[error(transparent)]
    Webhooks(#[from] SenderError),
    #[error("PAYMENTS_MAIL_FROM (--mail-from) is not set: PAYMENTS_SMTP_URL requires a sender")]
    MailFrom,
    #[error(transparent)]
    DeskKey(#[from] InvalidDeskKey),
    #[error("{DESK_KEY} is not set: {0} requires it")]
    DeskKeyMissing(&'static str),
    #[error("PAYMENTS_SMTP_URL is not set: PAYMENTS_RECEIPTS (--receipts) requires it")]
    ReceiptsMail,
    #[error("the metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("{setting} are {address}: {source}")]
    Listen {
        /// The names of the two settings that form the address.
        setting: &'static str,
        address: SocketAddr,
        source: io::Error,
    },
    #[error("signals cannot be received: {0}")]
    Signals(#[source] io::Error),
}

impl Fatal for StartError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Store(error) => error.exit_code(),
            Self::Listen { source, .. } => source.exit_code(),
            _ => USAGE,
        }
    }
}

/// `None` if `PAYMENTS_SMTP_URL` is not set.
fn mailer(config: &Config, files: &mut Files) -> Result<Option<Mailer>, StartError> {
    if secret("PAYMENTS_SMTP_URL")?.is_none() {
        return Ok(None);
    }
    let from = config.mail_from.clone().ok_or(StartError::MailFrom)?;
    let hello = config.mail_hello(&from);
    let server = files.secret("PAYMENTS_SMTP_URL", move |url| {
        Ok::<_, StartError>(Arc::new(mail::Server::of(url, hello.clone())?))
    })?;
    let desk = config.desk_url().map(String::from);
    Ok(server.map(|server| Mailer::new(server, from, desk)))
}

/// `None` without a desk.
fn desk_settings(
    config: &Config,
    key: Option<DeskKey>,
) -> Result<Option<desk::Settings>, StartError> {
    let Some(url) = config.desk_url() else { return Ok(None) };
    let key = key.ok_or(StartError::DeskKeyMissing("PAYMENTS_DESK_URL"))?;
    Ok(Some(desk::Settings::new(&url, key)))
}

/// The key that signs links to receipts. `None` without receipts.
fn receipt_key(
    config: &Config,
    key: Option<&DeskKey>,
    mailer: Option<&Mailer>,
) -> Result<Option<hmac::Key>, StartError> {
    if !config.receipts {
        return Ok(None);
    }
    let _mailer = mailer.ok_or(StartError::ReceiptsMail)?;
    let key = key.ok_or(StartError::DeskKeyMissing("PAYMENTS_RECEIPTS (--receipts)"))?;
    Ok(Some(key.for_receipts()))
}

/// The key of a secret setting that verifies signatures.
fn signature_key(
    name: &'static str,
    files: &mut Files,
) -> Result<Option<Receiver<SignatureKey>>, SecretError> {
    files.secret(name, move |secret| SignatureKey::of(name, secret))
}

/// The sandbox, and the acquirers whose settings are complete. An acquirer that new payments no
/// longer use can stay configured, for the captures, refunds and voids of earlier payments.
fn acquirers(
    config: &Config,
    http_key: Option<Receiver<SignatureKey>>,
    files: &mut Files,
) -> Result<Acquirers, StartError> {
    let http = match (config.acquirer_url.clone(), http_key) {
        (Some(url), Some(key)) => {
            let ca_file = config.acquirer_ca_file.clone();
            Some(Http::new(HttpConfig { url, key, ca_file }, files)?)
        }
        (None, _) if config.acquirer == Some(AcquirerName::Http) => {
            return Err(StartError::AcquirerUrl);
        }
        (Some(_), None) => return Err(StartError::AcquirerSecret),
        (None, _) => None,
    };
    let stripe = match files.secret("PAYMENTS_STRIPE_KEY", stripe_authorization)? {
        Some(authorization) => {
            let (url, files_url) = (config.stripe_url.clone(), config.stripe_files_url.clone());
            Some(Stripe::new(StripeConfig { url, files_url, authorization })?)
        }
        None if config.acquirer == Some(AcquirerName::Stripe) => return Err(StartError::StripeKey),
        None => None,
    };
    Ok(Acquirers {
        sandbox: Sandbox::new(config.sandbox_delay, config.dispute_due),
        http,
        stripe,
        live: config.acquirer,
        timeout: config.acquirer_timeout,
    })
}

/// A service that accepts connections.
pub(crate) struct Running {
    store: Store,
    payments: Arc<Payments>,
    operations: Operations,
    shutdown: CancellationToken,
    serving: JoinSet<()>,
    jobs: JoinSet<()>,
    mails: JoinSet<()>,
    deliveries: JoinSet<()>,
    /// Reads certificates and secrets again.
    _files: AbortOnDropHandle<()>,
}

/// Opens the store, starts the jobs, and accepts connections on both ports.
pub(crate) async fn start(config: Config) -> Result<Running, StartError> {
    let hangup = || process::hangup().map_err(StartError::Signals);
    let (rates_hangup, files_hangup) = (hangup()?, hangup()?);
    let mut files = Files::default();
    let mailer = mailer(&config, &mut files)?;
    let signature = signature_key("PAYMENTS_ACQUIRER_SECRET", &mut files)?;
    let acquirers = acquirers(&config, signature.clone(), &mut files)?;
    let token = BearerToken::configured("METRICS_TOKEN")?;
    let desk_key = secret(DESK_KEY)?.map(|key| DeskKey::of(&key)).transpose()?;
    let receipt_key = receipt_key(&config, desk_key.as_ref(), mailer.as_ref())?;
    let desk = desk_settings(&config, desk_key)?;
    let rates = Arc::new(ExchangeRates::open(config.rates_file.clone(), config.fx_spread)?);
    let names = webhook::names();
    let sender = SenderConfig {
        insecure: config.webhooks_insecure,
        networks: config.webhook_networks.clone(),
        ca_file: config.webhook_ca_file.clone(),
    };
    let sender = Arc::new(Sender::new(sender, &mut files, Arc::clone(&names) as _)?);
    let store = Store::open(&config.store()?, &mut files).await?;
    let defaults = Defaults {
        pricing: config.pricing(),
        needs_approval: config.approval == Approval::Live,
        dispute_due: config.dispute_due,
    };
    let acquirers = Arc::new(acquirers);
    let registry = Registry::new_custom(Some("payments".to_owned()), None)?;
    let limits = Arc::new(Limits::new(&config.limits));
    let declines = Declines::new(Arc::clone(&limits), &registry)?;
    let report_metrics =
        ReportMetrics::new(&registry, acquirers.reporting(), acquirers.forgetting())?;
    // A connection needs one open file: its socket.
    let connections = Connections::new(&config.clients, 1);
    let in_flight = Budget::new("payments_in_flight", connections.long_lived_capacity());
    let payments = Arc::new(Payments::new(
        store.clone(),
        Arc::clone(&acquirers),
        Arc::clone(&rates),
        (declines, report_metrics),
        Arc::clone(&in_flight),
        defaults,
        Arc::clone(&sender),
    ));
    let delivery_metrics = DeliveryMetrics::new(&registry)?;
    let deliveries = Deliveries::new(store.clone(), sender, http::event_json, delivery_metrics);
    let traffic = Arc::new(Traffic::new(&registry)?);
    let mut limited =
        [connections.limits(), limits.all(), vec![in_flight as _, names as _]].concat();
    limited.extend(store.limits());
    limited.extend(deliveries.limits());
    registry.register(Box::new(LimitMetrics::new(limited)?))?;
    registry.register(Box::new(metrics::collector(store.clone())))?;
    registry.register(Box::new(Arc::clone(store.clock()).metrics()))?;
    if let Some(disk) = store.disk() {
        registry.register(Box::new(disk.metrics()))?;
    }
    let jobs = Jobs {
        store: store.clone(),
        acquirers,
        payments: Arc::clone(&payments),
        rates,
        authorization_ttl: config.authorization_ttl,
        event_retention: config.event_retention,
        facts_interval: config.facts_interval,
        comparison_interval: config.comparison_interval,
        outbox_concurrency: config.outbox_concurrency.into(),
        has_mail: mailer.as_ref().is_some_and(Mailer::has_desk),
        sandbox_clock: config.sandbox_clock,
        backlog_metrics: BacklogMetrics::new(&registry)?,
    };
    let watched = store.clone();
    let operations = Operations::new(registry, token, move || watched.readiness())?;

    let at = |port| SocketAddr::new(config.server.host, port);
    let (listener, address) = listen("HOST and PORT", at(config.server.port))?;
    let (pos_listener, pos_address) = listen("HOST and PAYMENTS_POS_PORT", at(config.pos_port))?;
    let pos_url = config.pos_url(pos_address.port());

    let api = Arc::new(Api {
        payments: Arc::clone(&payments),
        apps_token: files.secret(APPS_TOKEN, |token| BearerToken::of(APPS_TOKEN, token))?,
        signature,
        stripe_signature: signature_key("PAYMENTS_STRIPE_WEBHOOK_SECRET", &mut files)?,
        sandbox_clock: config.sandbox_clock,
        responses: Arc::clone(connections.responses()),
        description: http::description(&pos_url),
    });
    if config.acquirer.is_some() && api.apps_token.is_none() {
        tracing::warn!(
            "PAYMENTS_APPS_TOKEN is not set: anyone who reaches the port can create an app with live \
             merchants"
        );
    }
    let edge = Arc::new(Edge::new(config.allowed_hosts()));
    let router = http::router(api, operations.clone(), Arc::clone(&traffic), Arc::clone(&edge));
    let receipts = receipt_key.map(|key| Arc::new(ReceiptLinks::new(key, &pos_url)));
    let mailer = mailer.map(|mailer| mailer.with_receipts(receipts.clone()));
    let links = [config.terms_url, config.privacy_url, config.accessibility_url];
    let page = pos::Settings::new(&pos_url, config.card_schemes, links).with_receipts(receipts);
    let key =
        config.stripe_publishable_key.filter(|_| config.acquirer == Some(AcquirerName::Stripe));
    let page = match key {
        Some(key) => {
            page.with_tokenizer(Tokenizer::new(key, &config.stripe_script_url, &config.stripe_url))
        }
        None => page,
    };
    let pos_router =
        pos::router(Arc::clone(&payments), page, Arc::clone(&traffic), Arc::clone(&edge));
    let mut servers = vec![(listener, router), (pos_listener, pos_router)];
    let mut desk_address = None;
    if let Some(settings) = desk {
        let (listener, address) = listen("HOST and PAYMENTS_DESK_PORT", at(config.desk_port))?;
        let settings = settings.with_payment_page(&pos_url);
        let router = desk::router(Arc::clone(&payments), settings, Arc::clone(&traffic), edge);
        servers.push((listener, router));
        desk_address = Some(address);
    }
    let shutdown = CancellationToken::new();
    let drain = config.server.drain_timeout;
    let mut serving = JoinSet::new();
    for (listener, router) in servers {
        let (meter, connections) = (Arc::clone(&traffic), Arc::clone(&connections));
        let server = Server { listener, router, meter, connections };
        serving.spawn(server.run(shutdown.clone(), drain));
    }
    if let Some(socket) = store.control_socket() {
        serving.spawn(orders().serve(socket, store.clone(), shutdown.clone(), drain));
    }
    let jobs = jobs.start(rates_hangup);
    let mails = Mails { store: store.clone(), mailer }.start(shutdown.clone());
    let deliveries = deliveries.start(shutdown.clone());
    let desk_address = desk_address.map(display);
    tracing::info!(
        server.address = %address, pos.address = %pos_address, desk.address = desk_address,
        "listening"
    );
    Ok(Running {
        store,
        payments,
        operations,
        shutdown,
        serving,
        jobs,
        mails,
        deliveries,
        _files: files.follow(files_hangup),
    })
}

fn listen(
    setting: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { setting, address, source };
    let listener = serve::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

impl process::Running for Running {
    async fn failed(&mut self) {
        let ended = tokio::select! {
            () = self.store.writer_ended() => "store",
            _ = self.serving.join_next() => "accept loop",
            _ = self.jobs.join_next() => "jobs",
            _ = self.mails.join_next() => "mails",
            _ = self.deliveries.join_next() => "deliveries",
        };
        tracing::error!(part = ended, "the service cannot go on");
    }

    /// Stops the parts in this order, because requests start payments, and all parts need the
    /// store:
    ///
    /// 1. Connections, after the requests and orders in flight.
    /// 2. Payments that continue without their callers. The service waits for them.
    /// 3. [`Jobs`]. They are aborted.
    /// 4. [`Mails`], after the mail that is being sent.
    /// 5. [`Deliveries`], after those in flight: ten seconds at most.
    /// 6. The uses of API keys that no job has recorded yet.
    /// 7. The store.
    async fn stop(mut self) {
        tracing::info!("stopping");
        self.operations.drain();
        self.shutdown.cancel();
        while self.serving.join_next().await.is_some() {}
        self.payments.finished().await;
        self.jobs.shutdown().await;
        while self.mails.join_next().await.is_some() {}
        while self.deliveries.join_next().await.is_some() {}
        if self.store.readiness() == Readiness::Ready
            && let Err(error) = self.payments.record_api_key_uses().await
        {
            tracing::warn!(cause = %Cause::new(error), "uses of API keys not recorded");
        }
        self.store.close().await;
        tracing::info!("stopped");
    }
}
