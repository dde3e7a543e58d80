//! The hub: which socket gets which change.
//!
//! The store feeds committed records to the one [`Hub`] of the process, in order of revision. The
//! hub passes each change to the sockets of the clients that watch it.
//!
//! 1. **A socket is a cursor over the change log**: the revision up to which it has received all
//!    pushes from the hub. Therefore a slow or disconnected client costs neither memory for each
//!    change nor the time of other clients.
//! 2. **A socket reads from the cheapest source that has all records after its cursor.** While it
//!    keeps up, it has a bounded queue of revisions, and takes their frames from a ring that all
//!    sockets share. If it falls behind, it scans the ring. If the ring has dropped some of these
//!    records, it reads the change log in the store. If the change log has dropped some, too, it
//!    reads the current objects: a *reset*.
//! 3. **Watchers are found by look-up, not by a scan.** Each of the three parts of a pattern is
//!    given or empty, so at most eight patterns match a key. The cost of a change does not grow
//!    with the number of watches.
//! 4. **One task dispatches**, and everything it changes is in [`State`], under one lock that is
//!    never held across an await. The task yields after [`DISPATCH_BATCH`] records and queued
//!    revisions, so that the tasks of the sockets can send, but never inside a group.
//! 5. **A new socket waits** until the hub has dispatched everything that was committed when its
//!    client was read from the store. Without the wait, the hub would later dispatch records that
//!    this snapshot of the client already includes: a reset would miss the changes among them, and
//!    an old `unwatch` would end a newer watch.
//! 6. **The store may skip records** ([`FeedItem::Missed`]): the change log dropped them before this
//!    replica read them, or a new epoch has begun. These records may have changed the watches of any
//!    client, so the hub closes all sockets. The clients reconnect, and the hub reads their watches
//!    from the store.
//! 7. **No stream stops inside a group of operations** ([`Record::joins_next`]): pages of the change
//!    log, [`State::head`] and bursts end where a group ends. So a cursor is inside a group only where
//!    a client resumes there, and no `synced` or `mark` shows a part of a group.
//! 8. **Access rules limit what a client receives**: see rules 6 and 7 of `state.rs`.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use common::limits::Budget;
use tokio::{
    sync::{Notify, watch},
    task::yield_now,
    time::{Instant, timeout},
};

use crate::{
    domain::{AccessRules, ClientId, Offset, Pattern, Record, Revision, Watches},
    lock::{Mutex, MutexGuard},
    store::{Feed, FeedItem, Store, StoreError},
};

mod connected;
mod open_sockets;
mod pings;
mod ring;
mod state;
mod subscriber;

pub(crate) use connected::{Connected, ConnectedClient};
pub(crate) use open_sockets::{OpenSocket, OpenSockets};
pub(crate) use pings::UnansweredPings;
pub(crate) use ring::{Frame, MessageFormat};
pub(crate) use subscriber::{Acknowledger, Burst, Subscriber, Told};

use state::{NotAttached, State};

/// Number of records, plus revisions queued to sockets, after which the dispatcher yields.
const DISPATCH_BATCH: usize = 8192;

/// Within this time, streams that show other objects by new access rules are reset.
const RESETS_WITHIN: Duration = Duration::from_secs(3);

/// How long a new socket waits until committed changes are dispatched.
const DISPATCH_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Hub {
    store: Store,
    state: Mutex<State>,
    /// The newest revision dispatched; `None` after dispatching has ended.
    dispatched: watch::Sender<Option<Revision>>,
    pushes: AtomicU64,
    watch_memory: Arc<Budget>,
}

/// A stream of messages, as a client requests it.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) format: MessageFormat,
    pub(crate) begin: Begin,
    /// Whether the current objects come first, those of each new watch, too. `synced` follows them.
    pub(crate) initial: bool,
    /// Whether a `mark` follows each burst.
    pub(crate) marks: bool,
    /// The only pattern of the stream. `None`: the watches of the client.
    pub(crate) pattern: Option<Pattern>,
}

/// The place after which a stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begin {
    /// After the position of the client.
    Position,
    /// After the newest revision.
    Now,
    After(Revision),
    /// The end of another stream with the same pattern.
    At(Offset),
}

/// Numbers of this replica for the metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchStats {
    /// Open sockets.
    pub(crate) sockets: usize,
    /// Clients with at least one open socket.
    pub(crate) clients: usize,
    /// Ended watches that sockets still need, because they are behind.
    pub(crate) ended: usize,
    /// Messages handed to sockets since the start.
    pub(crate) pushes: u64,
}

impl Hub {
    /// A hub that starts after `revision`, keeps at most `max_ended` ended watches per client, and the
    /// watches of connected clients in `watch_memory`.
    pub(crate) fn new(
        store: Store,
        revision: Revision,
        max_ended: usize,
        watch_memory: Arc<Budget>,
        rules: Arc<AccessRules>,
    ) -> Arc<Self> {
        let epoch = store.epoch().id;
        Arc::new(Self {
            store,
            state: Mutex::new(State::new(
                epoch,
                revision,
                max_ended,
                Arc::clone(&watch_memory),
                rules,
            )),
            dispatched: watch::channel(Some(revision)).0,
            pushes: AtomicU64::new(0),
            watch_memory,
        })
    }

    /// Dispatches committed records until the store is closed.
    pub(crate) async fn run(self: Arc<Self>, mut feed: Feed) {
        while let Some(news) = feed.news.recv().await {
            match news {
                FeedItem::Records(records) => {
                    let mut records = records.into_iter().peekable();
                    while records.peek().is_some() {
                        wake(self.dispatch(&mut records));
                        self.dispatched.send_replace(Some(self.state().head()));
                        yield_now().await;
                    }
                }
                FeedItem::Missed(revision) => {
                    tracing::warn!(revision, "changes were missed; closing all sockets");
                    let epoch = self.store.epoch().id;
                    self.state().start_over(epoch, revision);
                    self.dispatched.send_replace(Some(revision));
                }
            }
        }
        self.dispatched.send_replace(None);
    }

    /// Applies new access rules to all streams at once. The resets that follow are spread over
    /// [`RESETS_WITHIN`], because each reads all objects that a client watches.
    pub(crate) fn set_rules(&self, rules: Arc<AccessRules>) {
        let reset_at = || Instant::now() + RESETS_WITHIN.mul_f64(rand::random());
        wake(self.state().set_rules(rules, reset_at));
    }

    /// Ends the pause of the streams, once everything up to `revision` is dispatched.
    pub(crate) async fn rules_recorded(&self, revision: Revision) -> Result<(), StoreError> {
        self.wait_until_dispatched(revision).await?;
        wake(self.state().end_pause());
        Ok(())
    }

    fn dispatch(&self, records: &mut impl Iterator<Item = Record>) -> Vec<Arc<Notify>> {
        let mut state = self.state();
        let mut woken = Vec::new();
        let mut queued = 0;
        let mut joins_next = false;
        while (queued < DISPATCH_BATCH || joins_next)
            && let Some(record) = records.next()
        {
            joins_next = record.joins_next;
            queued += 1 + state.dispatch(record, &mut woken);
        }
        woken
    }

    /// Opens a cursor for one more stream of `client`. Fails with [`StoreError::DispatchTimeout`]
    /// if committed changes are not dispatched in time, and with [`StoreError::NoWatchMemory`] if
    /// the watches do not fit.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        client: ClientId,
        stream: &Stream,
    ) -> Result<Subscriber, StoreError> {
        loop {
            let mut known = self.store.client(client).await?;
            let newest = known.revision;
            if stream.pattern.is_some() {
                known.watches = Watches::default();
            }
            // The watches wait, too, and many clients may connect at the same time.
            let waiting = self.watch_memory.take(known.watches.bytes());
            let waiting = waiting.ok_or(StoreError::NoWatchMemory)?;
            self.wait_until_dispatched(newest).await?;
            drop(waiting);
            let since = match &stream.begin {
                Begin::Position => None,
                Begin::Now => Some(newest),
                Begin::After(revision) => Some(*revision),
                Begin::At(offset) => Some(offset.place.revision()),
            };
            let attached = match &stream.pattern {
                None => self.state().attach(client, known, stream, since),
                Some(pattern) => {
                    let start = since.unwrap_or(known.position);
                    self.state().attach_pattern(client, &known, pattern.clone(), stream, start)
                }
            };
            let attached = match attached {
                Ok(attached) => attached,
                Err(NotAttached::TooOld) => continue,
                Err(NotAttached::NoMemory) => return Err(StoreError::NoWatchMemory),
            };
            let epoch = self.store.epoch().start;
            let is_foreign = matches!(&stream.begin, Begin::At(offset) if offset.epoch != epoch);
            let is_unknown = is_foreign || since.is_some_and(|since| since > newest);
            let newest = (!is_unknown).then_some(newest);
            return Ok(Subscriber::new(Arc::clone(self), client, stream, attached, newest));
        }
    }

    /// Waits until everything up to `revision` is dispatched. See rule 5 of the module.
    async fn wait_until_dispatched(&self, revision: Revision) -> Result<(), StoreError> {
        let mut dispatched = self.dispatched.subscribe();
        let is_done = |head: &Option<Revision>| head.is_none_or(|head| head >= revision);
        match timeout(DISPATCH_TIMEOUT, dispatched.wait_for(is_done)).await {
            Ok(Ok(head)) if head.is_some() => Ok(()),
            _ => Err(StoreError::DispatchTimeout),
        }
    }

    pub(crate) fn stats(&self) -> WatchStats {
        let (sockets, clients, ended) = self.state().count();
        WatchStats { sockets, clients, ended, pushes: self.pushes.load(Ordering::Relaxed) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Poison can be ignored: the service stops if the dispatcher panics, and every other task
        // changes only its own socket.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(sockets: Vec<Arc<Notify>>) {
    for socket in sockets {
        socket.notify_one();
    }
}

#[cfg(test)]
mod tests;
