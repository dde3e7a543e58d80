//! The connections of a process: their limit, which one is closed for a new one, and which clients
//! have disconnected.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::HeaderMap;
use futures_util::FutureExt as _;
use tokio::{
    io::Interest,
    net::tcp::OwnedWriteHalf,
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::task::task_tracker::TaskTrackerToken;

mod open;

use super::HEAD_TIMEOUT;
use crate::{
    config::ClientsConfig,
    limits::{
        Budget, ClientAddress, Limited, Permit, Rejections, TrustedProxies, Usage,
        available_memory, widen,
    },
};
use open::Open;

/// Open files that connections may not use. They are for the store, log output and the listener.
const RESERVED_FILES: u64 = 128;

/// Memory in bytes that the limit of connections assumes for each one: that of an unfinished
/// request, without its body. An idle connection uses a third of it.
const CONNECTION_BYTES: u64 = 64 * 1024;

/// Minimum for the limit of connections, even with little memory.
const MIN_CONNECTIONS: u64 = 128;

/// Long request heads may use the available memory divided by this number.
const HEADS_SHARE: u64 = 16;

/// Responses that are not yet written may use the available memory divided by this number.
const RESPONSES_SHARE: u64 = 8;

/// Interval at which all connections are checked for a disconnected client, and for idle time.
const SCAN_EVERY: Duration = Duration::from_millis(250);

/// While the service stops, an idle connection of a proxy stays open for this time, because the
/// proxy may be sending a request on it. Proxies have to close theirs earlier.
const PROXY_IDLE: Duration = Duration::from_secs(1);

/// If closing an idle connection frees no permit within this time, another one is closed.
const EVICTION_RETRY: Duration = Duration::from_millis(20);

/// A connection that counts towards the limits. It is an extension of its requests. An upgraded
/// connection must keep a clone until it ends: it still counts, and a stopping service waits for
/// it.
#[derive(Clone)]
pub struct Connection(Arc<Counted>);

struct Counted {
    connections: Arc<Connections>,
    slot: usize,
    peer: IpAddr,
    activity: Arc<Activity>,
    /// The address whose connections are counted. `None` for a trusted proxy.
    counted: Option<ClientAddress>,
    _permit: OwnedSemaphorePermit,
    _token: TaskTrackerToken,
}

struct Activity {
    /// [`BUSY`], [`LONG_LIVED`], or the start of the idle time, in milliseconds since
    /// [`Connections::started`].
    state: AtomicU64,
    /// Bytes read of an incomplete head, or [`NO_HEAD`].
    head: AtomicUsize,
    stream: Arc<OwnedWriteHalf>,
    /// The connection must close if it is idle since this time.
    unwanted: AtomicU64,
    /// Wakes the task of the connection.
    wake: Notify,
}

const NO_HEAD: usize = usize::MAX;
const BUSY: u64 = u64::MAX;
const LONG_LIVED: u64 = u64::MAX - 1;

impl Activity {
    /// The start of the idle time, or `None` if the connection is not idle.
    fn idle_since(&self) -> Option<u64> {
        Some(self.state.load(Ordering::Relaxed)).filter(|&state| state < LONG_LIVED)
    }

    /// Whether the connection is about to close because of [`Self::close_if_idle_since`].
    fn is_closing(&self) -> bool {
        self.idle_since().is_some_and(|since| since == self.unwanted.load(Ordering::Relaxed))
    }

    /// Requests that the connection closes, unless it is active before its task notices.
    fn close_if_idle_since(&self, since: u64) {
        self.unwanted.store(since, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Whether a handler runs for a client that has closed its side of the connection. The kernel
    /// reports this even if bytes before it are unread.
    fn client_has_disconnected(&self) -> bool {
        let ready = || self.stream.ready(Interest::READABLE).now_or_never();
        self.state.load(Ordering::Relaxed) == BUSY
            && matches!(ready(), Some(Ok(ready)) if ready.is_read_closed())
    }
}

impl Connection {
    /// The address of the client: the peer, or the address that a trusted proxy reports.
    pub fn client(&self, headers: &HeaderMap) -> ClientAddress {
        self.0.connections.proxies.client(self.0.peer, headers)
    }

    /// Takes a permit for a long-lived socket or response. `None` if their limit is reached, because
    /// the other connections are reserved for short requests.
    pub fn upgrade(&self) -> Option<Permit> {
        self.0.connections.sockets.take(1)
    }

    /// Prevents that the connection is closed for a new one while a long-lived response is written.
    /// Call it after the handler is done.
    pub fn keep_open(&self) -> KeptOpen {
        self.0.activity.state.store(LONG_LIVED, Ordering::Relaxed);
        KeptOpen(self.clone())
    }

    /// The memory budget of request bodies.
    pub(crate) fn bodies(&self) -> &Arc<Budget> {
        &self.0.connections.bodies
    }

    /// The memory budget of long request heads.
    pub(super) fn heads(&self) -> &Arc<Budget> {
        &self.0.connections.heads
    }

    /// Adds `bytes` to the incomplete head and returns its length, or 0 if no head is incomplete.
    /// The beginning of a body that is read with its head counts, too.
    pub(super) fn add_head_bytes(&self, bytes: usize) -> usize {
        let longer = |head: usize| (head != NO_HEAD).then(|| head + bytes);
        let head = self.0.activity.head.fetch_update(Ordering::Relaxed, Ordering::Relaxed, longer);
        head.map_or(0, |before| before + bytes)
    }

    /// Called when the head of a request is complete.
    pub(super) fn request_started(&self) {
        self.0.activity.head.store(NO_HEAD, Ordering::Relaxed);
        self.set_busy();
    }

    /// Called when the handler of the request is done.
    pub(super) fn request_finished(&self) {
        self.0.activity.head.store(0, Ordering::Relaxed);
        self.set_idle();
    }

    /// Called when a handler runs and does not wait for the body.
    pub(crate) fn set_busy(&self) {
        self.0.activity.state.store(BUSY, Ordering::Relaxed);
    }

    /// Called when the connection waits for its client to send or receive.
    pub(crate) fn set_idle(&self) {
        let now = self.0.connections.now();
        self.0.activity.state.store(now, Ordering::Relaxed);
    }

    /// Called after each write to the socket.
    pub(super) fn wrote(&self) {
        let activity = &self.0.activity;
        if activity.idle_since().is_some() {
            let now = self.0.connections.now();
            let idle = |state: u64| (state < LONG_LIVED).then_some(now);
            // Fails if the connection has been upgraded since.
            let _ = activity.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, idle);
        }
    }

    /// Called when the response opens a socket, which keeps a clone of the connection. No further
    /// request can come.
    pub(super) fn socket_opened(&self) {
        self.0.activity.head.store(NO_HEAD, Ordering::Relaxed);
        self.0.activity.state.store(LONG_LIVED, Ordering::Relaxed);
    }

    /// Resolves when the connection may have to close, or when the service stops.
    pub(super) async fn woken(&self) {
        self.0.activity.wake.notified().await;
    }

    /// Whether the service stops, and the connection has to end after its request.
    pub(super) fn is_stopping(&self) -> bool {
        self.0.connections.is_stopping.load(Ordering::Relaxed)
    }

    /// Whether a proxy may be sending a request on this idle connection.
    pub(super) fn awaits_proxy(&self) -> bool {
        let Counted { connections, activity, counted, .. } = &*self.0;
        let is_recent = |since| connections.age(since) < PROXY_IDLE;
        counted.is_none() && activity.idle_since().is_some_and(is_recent)
    }

    /// Whether the connection has been idle for too long, must be closed for a new one, or belongs
    /// to a client that has disconnected.
    pub(super) fn must_close(&self) -> bool {
        let activity = &self.0.activity;
        activity.is_closing() || activity.client_has_disconnected()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.connections.open().remove(self.slot, self.counted);
    }
}

/// A connection that is not closed for a new one.
pub struct KeptOpen(Connection);

impl Drop for KeptOpen {
    fn drop(&mut self) {
        self.0.set_idle();
    }
}

/// All connections of a process, with their limits. All its listeners share them.
pub struct Connections {
    started: Instant,
    proxies: TrustedProxies,
    bodies: Arc<Budget>,
    heads: Arc<Budget>,
    responses: Arc<Budget>,
    sockets: Arc<Budget>,
    max: usize,
    permits: Arc<Semaphore>,
    max_per_address: usize,
    open: Mutex<Open>,
    is_stopping: AtomicBool,
    /// Connections that were closed for a new one, or waited because none was idle.
    exceeded: Rejections,
    /// Connections of an address that were closed for a new one of it, or refused because none was
    /// idle.
    exceeded_by_address: Rejections,
}

impl Connections {
    /// Derives the limits from `config`, the open files and the memory of the process. Each
    /// connection needs `files_each` files, its own included. Raises the soft limit of open files.
    pub fn new(config: &ClientsConfig, files_each: u64) -> Arc<Self> {
        let memory = available_memory().unwrap_or(u64::MAX);
        let max = max_connections(files_each, memory, config.body_memory.as_u64());
        let [head_memory, response_memory] = [HEADS_SHARE, RESPONSES_SHARE]
            .map(|share| usize::try_from(memory / share).unwrap_or(usize::MAX));
        let body_memory = usize::try_from(config.body_memory.as_u64()).unwrap_or(usize::MAX);
        let connections = Arc::new(Self {
            started: Instant::now(),
            proxies: config.trusted_proxies.clone(),
            bodies: Budget::new("body_memory", body_memory),
            heads: Budget::new("head_memory", head_memory),
            responses: Budget::new("response_memory", response_memory),
            sockets: Budget::new("sockets", long_lived(max)),
            max,
            permits: Arc::new(Semaphore::new(max)),
            max_per_address: config.max_connections_per_address,
            open: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            exceeded: Rejections::new(),
            exceeded_by_address: Rejections::new(),
        });
        tokio::spawn(scan(Arc::downgrade(&connections)));
        connections
    }

    /// Maximum number of requests that may wait for another system at the same time. It is less
    /// than the limit of connections.
    pub fn long_lived_capacity(&self) -> usize {
        long_lived(self.max)
    }

    /// The memory budget of responses until they are written to the socket.
    pub fn responses(&self) -> &Arc<Budget> {
        &self.responses
    }

    /// All limits of this type, for the metrics.
    pub fn limits(self: &Arc<Self>) -> Vec<Arc<dyn Limited>> {
        let [bodies, heads, responses, sockets] =
            [&self.bodies, &self.heads, &self.responses, &self.sockets]
                .map(|budget| Arc::clone(budget) as Arc<dyn Limited>);
        vec![
            bodies,
            heads,
            responses,
            sockets,
            Arc::new(AllConnections(Arc::clone(self))),
            Arc::new(OneAddress(Arc::clone(self))),
        ]
    }

    /// Admits a new connection, and closes another one if a limit is reached. `None` if the limit of
    /// its client is reached, and none of its connections is idle.
    pub(super) async fn admit(
        self: &Arc<Self>,
        stream: &Arc<OwnedWriteHalf>,
        peer: IpAddr,
        token: TaskTrackerToken,
    ) -> Option<Connection> {
        let counted = (!self.proxies.contains(peer)).then(|| ClientAddress::new(peer));
        if let Some(client) = counted
            && !self.count(client)
        {
            return None;
        }
        let permit = self.acquire_permit().await?;
        let activity = Arc::new(Activity {
            state: AtomicU64::new(self.now()),
            head: AtomicUsize::new(0),
            stream: Arc::clone(stream),
            unwanted: AtomicU64::new(BUSY),
            wake: Notify::new(),
        });
        let slot = self.open().insert(Arc::clone(&activity), counted);
        let connections = Arc::clone(self);
        let counted =
            Counted { connections, slot, peer, activity, counted, _permit: permit, _token: token };
        Some(Connection(Arc::new(counted)))
    }

    /// From now on, connections end after their request.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Wakes the tasks of all connections.
    pub(super) fn wake_all(&self) {
        self.open().activities().for_each(|activity| activity.wake.notify_one());
    }

    /// Counts a new connection of `client`. False if it must be refused. This does not wait for a
    /// connection that closes, because one address could then delay all others.
    fn count(&self, client: ClientAddress) -> bool {
        let counted = self.open().count(client, self.max_per_address);
        if !counted.is_within {
            self.exceeded_by_address.add("connections_per_address");
        }
        counted.is_admitted
    }

    /// Takes a permit for a connection. While all connections are busy, this waits, and new
    /// connections wait in the kernel.
    async fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Some(permit);
        }
        let mut is_counted = false;
        loop {
            if self.open().evict_one() || !is_counted {
                self.exceeded.add("connections");
                is_counted = true;
            }
            let permit = Arc::clone(&self.permits).acquire_owned();
            if let Ok(permit) = timeout(EVICTION_RETRY, permit).await {
                return permit.ok();
            }
        }
    }

    /// Time since `since`, which [`Self::now`] has returned.
    fn age(&self, since: u64) -> Duration {
        Duration::from_millis(self.now().saturating_sub(since))
    }

    /// Milliseconds since `started`.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(0)
    }

    /// Held for a few look-ups, never across an await.
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of `connections` that may be used for a long time. The rest is reserved for other
/// requests.
fn long_lived(connections: usize) -> usize {
    (connections - connections.div_ceil(32)).max(1)
}

/// Maximum number of connections: limited by the open files, and by half of the memory minus the
/// budget of bodies.
fn max_connections(files_each: u64, memory: u64, body_memory: u64) -> usize {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
    let by_files = files.saturating_sub(RESERVED_FILES) / files_each.max(1);
    let by_memory = (memory / 2).saturating_sub(body_memory) / CONNECTION_BYTES;
    let connections = by_files.min(by_memory.max(MIN_CONNECTIONS)).max(1);
    usize::try_from(connections).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

/// Wakes connections whose client has disconnected, and closes connections that have been idle for
/// [`HEAD_TIMEOUT`]. Ends when the connections are dropped.
async fn scan(connections: Weak<Connections>) {
    let mut ticks = interval(SCAN_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(connections) = connections.upgrade() else { return };
        let is_old = |since: &u64| connections.age(*since) >= HEAD_TIMEOUT;
        for activity in connections.open().activities() {
            if let Some(since) = activity.idle_since().filter(is_old) {
                activity.close_if_idle_since(since);
            } else if activity.client_has_disconnected() {
                activity.wake.notify_one();
            }
        }
    }
}

/// The limit of all connections.
struct AllConnections(Arc<Connections>);

impl Limited for AllConnections {
    fn usage(&self) -> Usage {
        let Connections { max, permits, exceeded, .. } = &*self.0;
        Usage {
            name: "connections",
            used: widen(max.saturating_sub(permits.available_permits())),
            limit: widen(*max),
            rejections: exceeded.get(),
        }
    }
}

/// The limit per address. Reports the address with the most connections.
struct OneAddress(Arc<Connections>);

impl Limited for OneAddress {
    fn usage(&self) -> Usage {
        Usage {
            name: "connections_per_address",
            used: widen(self.0.open().most_of_an_address()),
            limit: widen(self.0.max_per_address),
            rejections: self.0.exceeded_by_address.get(),
        }
    }
}
