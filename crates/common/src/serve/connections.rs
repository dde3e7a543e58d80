//! The connections of a process: their limit, which one is closed to make room for another, and
//! which ones have lost their client.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::HeaderMap;
use futures_util::FutureExt as _;
use slab::Slab;
use tokio::{
    io::Interest,
    net::tcp::OwnedWriteHalf,
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::{
    config::ClientsConfig,
    limits::{
        Budget, ClientAddress, Limited, Permit, Refusals, TrustedProxies, Usage, available_memory,
        widen,
    },
};

/// Files kept free of connections: for the store, the log and the listener.
const RESERVED_FILES: u64 = 128;

/// Bytes of memory that a connection with an unfinished request costs, beside its body. An idle one
/// costs a third of it.
const CONNECTION_BYTES: u64 = 64 * 1024;

/// Connections that there may be however little memory there is.
const MIN_CONNECTIONS: u64 = 128;

/// Long heads of requests may hold one part in so many of that memory.
const HEADS_SHARE: u64 = 16;

/// Responses that their clients have not taken may hold one part in so many of that memory.
const RESPONSES_SHARE: u64 = 8;

/// How often the connections whose handlers work are asked whether their clients are still there.
const DISCONNECT_POLL: Duration = Duration::from_millis(250);

/// How long a newcomer waits for a place before the next connection is closed to make room.
const EVICTION_RETRY: Duration = Duration::from_millis(20);

/// Connections that one scan selects to be closed: those that have waited longest. A scan visits
/// every connection, which takes too long for each newcomer.
const CANDIDATES: usize = 64;

/// The place of a connection under the limits, found in the extensions of its requests. An upgraded
/// connection keeps a clone for as long as it lives: it counts, and a service that stops waits for
/// it.
#[derive(Clone)]
pub struct Connection(Arc<Place>);

struct Place {
    connections: Arc<Connections>,
    slot: usize,
    peer: IpAddr,
    activity: Arc<Activity>,
    /// Whose connections are counted; none for a trusted proxy.
    counted: Option<ClientAddress>,
    _permit: OwnedSemaphorePermit,
    _token: TaskTrackerToken,
}

/// The state of a connection.
struct Activity {
    /// [`WORKS`], [`UPGRADED`], or the millisecond since which it waits for its client.
    state: AtomicU64,
    /// Bytes read of the head that is on its way, or [`NO_HEAD`].
    head: AtomicUsize,
    stream: Arc<OwnedWriteHalf>,
    /// Wakes the task of a connection that has to end.
    end: Notify,
}

const NO_HEAD: usize = usize::MAX;
const WORKS: u64 = u64::MAX;
const UPGRADED: u64 = u64::MAX - 1;

impl Activity {
    /// Since when it waits for its client, if it does.
    fn waits_since(&self) -> Option<u64> {
        Some(self.state.load(Ordering::Relaxed)).filter(|&state| state < UPGRADED)
    }

    /// Whether a handler works for a client that has closed its end of the connection. The kernel
    /// reports it even while bytes before it are unread.
    fn has_lost_its_client(&self) -> bool {
        let ready = || self.stream.ready(Interest::READABLE).now_or_never();
        self.state.load(Ordering::Relaxed) == WORKS
            && matches!(ready(), Some(Ok(ready)) if ready.is_read_closed())
    }
}

impl Connection {
    /// The client that a request comes from: the peer, or whom a trusted proxy names.
    pub fn client(&self, headers: &HeaderMap) -> ClientAddress {
        self.0.connections.proxies.client(self.0.peer, headers)
    }

    /// Lets the connection become a socket, which lives for long and makes room for nobody. `None`
    /// when the limit of sockets is reached: the rest of the places are for requests.
    pub fn upgrade(&self) -> Option<Permit> {
        self.0.connections.sockets.take(1)
    }

    /// The memory that bodies of requests may hold.
    pub(crate) fn bodies(&self) -> &Arc<Budget> {
        &self.0.connections.bodies
    }

    /// The memory that long heads of requests may hold.
    pub(super) fn heads(&self) -> &Arc<Budget> {
        &self.0.connections.heads
    }

    /// Notes that so many bytes were read, and returns how many belong to a head that is on its
    /// way. The beginning of a body, read together with its head, counts too.
    pub(super) fn read(&self, bytes: usize) -> usize {
        let longer = |head: usize| (head != NO_HEAD).then(|| head + bytes);
        let head = self.0.activity.head.fetch_update(Ordering::Relaxed, Ordering::Relaxed, longer);
        head.map_or(0, |before| before + bytes)
    }

    /// The head of a request is complete.
    pub(super) fn request_started(&self) {
        self.0.activity.head.store(NO_HEAD, Ordering::Relaxed);
        self.set_busy();
    }

    /// Its handler is done.
    pub(super) fn request_finished(&self) {
        self.0.activity.head.store(0, Ordering::Relaxed);
        self.set_idle();
    }

    /// A handler works from now on.
    pub(crate) fn set_busy(&self) {
        self.0.activity.state.store(WORKS, Ordering::Relaxed);
    }

    /// Nothing goes on from now on before the client sends or takes something.
    pub(crate) fn set_idle(&self) {
        let now = self.0.connections.now();
        self.0.activity.state.store(now, Ordering::Relaxed);
    }

    /// The client took something.
    pub(super) fn wrote(&self) {
        let activity = &self.0.activity;
        if activity.waits_since().is_some() {
            let now = self.0.connections.now();
            let idle = |state: u64| (state < UPGRADED).then_some(now);
            // Refused when the connection was upgraded meanwhile.
            let _ = activity.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, idle);
        }
    }

    /// The HTTP library is done with it. Only a socket that it was upgraded to may still use it.
    pub(super) fn leaves_http(&self) {
        self.0.activity.head.store(NO_HEAD, Ordering::Relaxed);
        self.0.activity.state.store(UPGRADED, Ordering::Relaxed);
    }

    /// Resolves when the connection has to make room, or has lost its client.
    pub(super) async fn cut_off(&self) {
        let activity = &self.0.activity;
        loop {
            activity.end.notified().await;
            // It may have gone on since it was selected.
            if activity.waits_since().is_some() || activity.has_lost_its_client() {
                return;
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.activities.remove(self.slot);
        if let Some(client) = self.counted {
            open.release(client);
        }
    }
}

/// The connections of a process, whichever listener accepted them.
pub struct Connections {
    started: Instant,
    proxies: TrustedProxies,
    bodies: Arc<Budget>,
    heads: Arc<Budget>,
    responses: Arc<Budget>,
    sockets: Arc<Budget>,
    max: usize,
    places: Arc<Semaphore>,
    max_per_address: usize,
    open: Mutex<Open>,
    closed: Refusals,
    refused: Refusals,
}

#[derive(Default)]
struct Open {
    activities: Slab<Arc<Activity>>,
    by_address: HashMap<ClientAddress, usize>,
    /// Connections to close next, each with the millisecond since which it waited when it was
    /// selected. The one that has waited longest is the last.
    candidates: Vec<(u64, Weak<Activity>)>,
}

impl Open {
    fn release(&mut self, client: ClientAddress) {
        if let Some(count) = self.by_address.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&client);
            }
        }
    }

    /// Wakes the task of the connection that has waited longest for its client, which then ends.
    /// False when every connection works.
    fn evict_one(&mut self) -> bool {
        if self.candidates.is_empty() {
            self.select_candidates();
        }
        while let Some((since, activity)) = self.candidates.pop() {
            let still = activity.upgrade().filter(|it| it.waits_since() == Some(since));
            if let Some(activity) = still {
                activity.end.notify_one();
                return true;
            }
        }
        false
    }

    fn select_candidates(&mut self) {
        let waiting = self.activities.iter();
        let mut waiting: Vec<_> =
            waiting.filter_map(|(_, it)| Some((it.waits_since()?, it))).collect();
        if waiting.len() > CANDIDATES {
            waiting.select_nth_unstable_by_key(CANDIDATES, |&(since, _)| since);
            waiting.truncate(CANDIDATES);
        }
        waiting.sort_unstable_by_key(|&(since, _)| std::cmp::Reverse(since));
        let weak = |(since, activity)| (since, Arc::downgrade(activity));
        self.candidates = waiting.into_iter().map(weak).collect();
    }
}

impl Connections {
    /// Connections within the limits of `config`, the open files and the memory of the process.
    /// Each needs `files_each` files, its own included. Raises the soft limit of open files.
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
            places: Arc::new(Semaphore::new(max)),
            max_per_address: config.max_connections_per_address,
            open: Mutex::default(),
            closed: Refusals::new(),
            refused: Refusals::new(),
        });
        tokio::spawn(look_for_lost_clients(Arc::downgrade(&connections)));
        connections
    }

    /// How many requests may wait for somebody else at once, such as sign-ins for a portal: fewer
    /// than there are places.
    pub fn long_lived_capacity(&self) -> usize {
        long_lived(self.max)
    }

    /// The memory that responses may hold until their clients take them.
    pub fn responses(&self) -> &Arc<Budget> {
        &self.responses
    }

    /// The limits that this keeps, for the metrics.
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

    /// Gives a new connection a place, closing another where there is none. `None` when the
    /// limit of its client is reached.
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
            self.refused.add("connections_per_address");
            return None;
        }
        let permit = self.place().await?;
        let activity = Arc::new(Activity {
            state: AtomicU64::new(self.now()),
            head: AtomicUsize::new(0),
            stream: Arc::clone(stream),
            end: Notify::new(),
        });
        let slot = self.open().activities.insert(Arc::clone(&activity));
        let connections = Arc::clone(self);
        let place =
            Place { connections, slot, peer, activity, counted, _permit: permit, _token: token };
        Some(Connection(Arc::new(place)))
    }

    fn count(&self, client: ClientAddress) -> bool {
        let mut open = self.open();
        let count = open.by_address.entry(client).or_default();
        if *count >= self.max_per_address {
            return false;
        }
        *count += 1;
        true
    }

    /// A place under the cap. While every connection works, this waits, and others wait in the
    /// kernel.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(permit);
        }
        let mut is_counted = false;
        loop {
            if self.open().evict_one() || !is_counted {
                self.closed.add("connections");
                is_counted = true;
            }
            let place = Arc::clone(&self.places).acquire_owned();
            if let Ok(permit) = timeout(EVICTION_RETRY, place).await {
                return permit.ok();
            }
        }
    }

    /// Milliseconds since the process began to serve.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(0)
    }

    /// Held for a few look-ups, never across an await.
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of `places` that may be taken for long. The rest stays for other requests.
fn long_lived(places: usize) -> usize {
    (places - places.div_ceil(32)).max(1)
}

/// As many connections as the open files allow, and half of the memory less what bodies may hold.
fn max_connections(files_each: u64, memory: u64, body_memory: u64) -> usize {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
    let by_files = files.saturating_sub(RESERVED_FILES) / files_each.max(1);
    let by_memory = (memory / 2).saturating_sub(body_memory) / CONNECTION_BYTES;
    let connections = by_files.min(by_memory.max(MIN_CONNECTIONS)).max(1);
    usize::try_from(connections).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

/// Ends when the connections are dropped.
async fn look_for_lost_clients(connections: Weak<Connections>) {
    let mut ticks = interval(DISCONNECT_POLL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(connections) = connections.upgrade() else { return };
        let open = connections.open();
        let lost = open.activities.iter().filter(|(_, activity)| activity.has_lost_its_client());
        lost.for_each(|(_, activity)| activity.end.notify_one());
    }
}

/// The cap of all connections.
struct AllConnections(Arc<Connections>);

impl Limited for AllConnections {
    fn usage(&self) -> Usage {
        let Connections { max, places, closed, .. } = &*self.0;
        Usage {
            name: "connections",
            used: widen(max.saturating_sub(places.available_permits())),
            limit: widen(*max),
            refusals: closed.get(),
        }
    }
}

/// The cap of one address: shows the address that has the most.
struct OneAddress(Arc<Connections>);

impl Limited for OneAddress {
    fn usage(&self) -> Usage {
        let most = self.0.open().by_address.values().max().copied();
        Usage {
            name: "connections_per_address",
            used: widen(most.unwrap_or(0)),
            limit: widen(self.0.max_per_address),
            refusals: self.0.refused.get(),
        }
    }
}
