//! Starts and stops the service.

use std::{io, net::SocketAddr, num::NonZeroUsize, sync::Arc, time::Duration};

use common::{
    bearer::BearerToken,
    config::SecretError,
    control::Orders,
    edge::Edge,
    exit::{Fatal, USAGE},
    files::Files,
    limits::{Budget, LimitMetrics, RateLimiter, available_memory},
    operations::Operations,
    outage::Outage,
    process,
    serve::{self, Connections, Server},
    store::OpenError,
    telemetry::Traffic,
};
use cookie::SameSite;
use prometheus::{IntCounter, Registry};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    clients::{self, ClientsFileError},
    config::{Config, CookieSameSite},
    domain::{Lifetime, WatchCounts},
    end_sessions::EndSessions,
    expiry::Expiry,
    http::{self, App, metrics, origin::Origins},
    rules::{self, Reload, RulesFileError},
    store::Store,
    watch::{Connected, Hub},
};

/// How often [`Store::reap`] runs.
const REAP_EVERY: Duration = Duration::from_secs(60);

/// Pending messages to sockets may hold `1 / SOCKET_MEMORY_SHARE` of the memory of the process.
const SOCKET_MEMORY_SHARE: usize = 4;

/// Watches of clients with a socket or a stream may take `1 / WATCH_MEMORY_SHARE` of it.
const WATCH_MEMORY_SHARE: usize = 8;

/// Client addresses whose registrations are counted at the same time. They need 8 MiB.
const MAX_REGISTERING_ADDRESSES: NonZeroUsize = NonZeroUsize::new(80_000).unwrap();

/// Files that one connection needs: only its own socket.
const FILES_EACH: u64 = 1;

/// Why the service did not start: one line that names the setting to correct.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Clients(#[from] ClientsFileError),
    #[error(transparent)]
    Rules(#[from] RulesFileError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(
        "OBJSTORE_COOKIE_SAME_SITE (--cookie-same-site) is none: browsers drop such a cookie unless \
         OBJSTORE_COOKIE_SECURE (--cookie-secure) is true"
    )]
    InsecureCookie,
    #[error("the metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("HOST and PORT are {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
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

/// A started service and its tasks.
pub(crate) struct Running {
    store: Store,
    operations: Operations,
    shutdown: CancellationToken,
    serving: JoinSet<()>,
    dispatching: JoinHandle<()>,
    reaping: JoinHandle<()>,
    expiring: JoinHandle<()>,
    reloading: [AbortOnDropHandle<()>; 2],
}

/// Opens the store, starts the tasks, and listens.
pub(crate) async fn start(config: Config) -> Result<Running, StartError> {
    let cookie_same_site = match config.cookie_same_site {
        CookieSameSite::Lax => SameSite::Lax,
        CookieSameSite::None if config.cookie_secure => SameSite::None,
        CookieSameSite::None => return Err(StartError::InsecureCookie),
    };
    let hangup = || process::hangup().map_err(StartError::Signals);
    let (files_hangup, rules_hangup) = (hangup()?, hangup()?);
    let mut files = Files::default();
    let clients = files.read("OBJSTORE_CLIENTS_FILE", config.clients_file.clone(), |path| {
        clients::read(path).map(Arc::new)
    })?;
    let token = BearerToken::configured("METRICS_TOKEN")?;
    let rules = Arc::new(rules::read(config.rules_file.as_deref())?);
    let (store, feed) = Store::open(&config.store()?, &mut files).await?;
    let max_ended = WatchCounts::max_stored(config.max_watches);
    let memory = available_memory().unwrap_or(u64::MAX);
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let watch_memory = Budget::new("watch_memory", memory / WATCH_MEMORY_SHARE);
    let watches = Arc::clone(&watch_memory);
    let hub = Hub::new(store.clone(), feed.revision, max_ended, watches, Arc::clone(&rules));
    let dispatching = tokio::spawn(Arc::clone(&hub).run(feed));
    let reaping = tokio::spawn(reap(store.clone()));
    let connected = Arc::<Connected>::default();

    let registry = Registry::new_custom(Some("objstore".to_owned()), None)?;
    let traffic = Arc::new(Traffic::new(&registry)?);
    let connections = Connections::new(&config.clients, FILES_EACH);
    let registrations = Arc::new(RateLimiter::new(
        "registrations",
        config.register_limit,
        MAX_REGISTERING_ADDRESSES,
    ));
    let mut limits = connections.limits();
    limits.push(Arc::clone(&registrations) as _);
    let socket_memory = Budget::new("socket_memory", memory / SOCKET_MEMORY_SHARE);
    limits.push(Arc::clone(&socket_memory) as _);
    limits.push(watch_memory);
    limits.extend(store.limits());
    registry.register(Box::new(LimitMetrics::new(limits)?))?;
    registry.register(Box::new(metrics::collector(store.clone(), Arc::clone(&hub))))?;
    registry.register(Box::new(Arc::clone(store.clock()).metrics()))?;
    if let Some(disk) = store.disk() {
        registry.register(Box::new(disk.metrics()))?;
    }
    let rules_errors =
        IntCounter::new("rules_errors_total", "Changes of the rules file that could not be used.")?;
    registry.register(Box::new(rules_errors.clone()))?;
    let mut reload = Reload {
        path: config.rules_file,
        store: store.clone(),
        hub: Arc::clone(&hub),
        rules: watch::Sender::new(rules),
        errors: rules_errors,
        recorded: None,
        outage: Outage::of("recording the access rules"),
    };
    // Before clients can connect, because new rules reset their streams.
    reload.record().await;
    let watched = store.clone();
    let operations = Operations::new(registry, token, move || watched.readiness())?;

    let shutdown = CancellationToken::new();
    let app = App {
        store: store.clone(),
        hub,
        clients,
        rules: reload.rules.subscribe(),
        registrations,
        lifetime: Lifetime::new(config.session_ttl),
        session_outage: Outage::of("extending sessions"),
        cookie_secure: config.cookie_secure,
        cookie_same_site,
        console: config.console,
        origins: Origins::new(config.origins),
        max_body: usize::try_from(config.max_body.as_u64()).unwrap_or(usize::MAX),
        response_memory: Arc::clone(connections.responses()),
        socket_memory,
        open_sockets: Arc::default(),
        connected: Arc::clone(&connected),
        shutdown: shutdown.clone(),
    };
    let edge = Edge::new(config.clients.allowed_hosts_at(config.server.host));
    let router = http::router(Arc::new(app), operations.clone(), Arc::clone(&traffic), edge);
    let address = SocketAddr::new(config.server.host, config.server.port);
    let listen = |source| StartError::Listen { address, source };
    let listener = serve::bind(address).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let server = Server { listener, router, meter: traffic, connections };
    let drain = config.server.drain_timeout;
    let mut serving = JoinSet::new();
    serving.spawn(server.run(shutdown.clone(), drain));
    if let Some(socket) = store.control_socket() {
        let orders = Orders::default().accept::<EndSessions>();
        serving.spawn(orders.serve(socket, store.clone(), shutdown.clone(), drain));
    }
    // From now on clients can connect, so the grace time of presences begins.
    let expiry = Expiry { store: store.clone(), connected, grace: config.presence_grace };
    let expiring = tokio::spawn(expiry.run());
    let reloading = AbortOnDropHandle::new(tokio::spawn(reload.run(rules_hangup)));
    let rereading = files.follow(files_hangup);
    tracing::info!(server.address = %address, "listening");
    Ok(Running {
        store,
        operations,
        shutdown,
        serving,
        dispatching,
        reaping,
        expiring,
        reloading: [reloading, rereading],
    })
}

impl process::Running for Running {
    async fn failed(&mut self) {
        let ended = tokio::select! {
            () = self.store.writer_ended() => "store",
            _ = self.serving.join_next() => "accept loop",
            _ = &mut self.dispatching => "dispatcher",
        };
        tracing::error!(part = ended, "the service cannot go on");
    }

    async fn stop(mut self) {
        tracing::info!("stopping");
        self.operations.drain();
        self.shutdown.cancel();
        self.reaping.abort();
        self.expiring.abort();
        drop(self.reloading);
        while self.serving.join_next().await.is_some() {}
        self.store.close().await;
        // A finished task was awaited by `failed`, and must not be awaited again.
        if !self.dispatching.is_finished() {
            let _ = self.dispatching.await;
        }
        tracing::info!("stopped");
    }
}

async fn reap(store: Store) {
    let outage = Outage::of("removing expired sessions and unused clients");
    let mut ticks = interval(REAP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        outage.observe(store.reap().await);
    }
}
