//! The state of the hub: sockets, their clients and watches, and the newest records.
//!
//! All of it is under the hub's one lock, and nothing here does I/O.
//!
//! 1. **A socket is live or behind.** A live socket has received everything except the revisions in
//!    its queue. [`State::queue`] adds only to live sockets. Every other socket reads from its
//!    cursor, and becomes live when the cursor reaches the head. Both happen under the lock, so no
//!    change is lost in between.
//! 2. **Queues hold revisions, not frames**, so a queue of [`QUEUE_LENGTH`] is small. A socket
//!    falls behind if its queue is full, or if the ring has dropped the next frame: then it is
//!    slower than the traffic. The queue is cleared. No change is lost, because the socket
//!    continues at its cursor.
//! 3. **A change is matched with the watches of its revision, not with the current ones.** A live
//!    socket is matched when the change is dispatched. A socket that is behind is matched later, so
//!    its client keeps ended watches until all its sockets have passed their ends
//!    ([`Socket::needs`]).
//! 4. **Ended watches are limited** to `max_ended` per client. Beyond that, the sockets that are
//!    furthest behind are closed ([`Next::Lost`]). They lose no change: the client's next socket
//!    gets its ended watches from the store. **The memory of all watches is limited**, too: a client
//!    whose next watch does not fit loses its sockets.
//! 5. **A pong moves the position only if the socket started at or before it.** Otherwise the
//!    socket did not send the changes between the position and its start (`since`), so its pongs
//!    do not prove that the client has them. A stream of events moves no position from the time when
//!    new rules apply until its reset is over: a client that disconnects before gets the reset.
//! 6. **New access rules apply at once**, and their record follows ([`Entry::Rules`]). Until then,
//!    streams of events send nothing. Then those whose client may see other objects are reset.
//! 7. **A client that received messages by rules older than the newest record is reset when it
//!    resumes**, since it resumes before that record: until its reset begins, and while this process
//!    has older rules, offsets show no later place ([`State::resumes_until`]), and sockets no mark. A
//!    reset shows this offset first, because the connection can break before the next one. Clients of
//!    sockets forget their place at a reset.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use common::limits::{Budget, Permit};
use indexmap::IndexMap;
use slab::Slab;
use tokio::{sync::Notify, time::Instant};

use super::ring::{self, Change, Frame, MessageFormat, Ring};
use crate::domain::{
    AccessRules, Action, AdoptedRules, ClientId, Entry, EpochId, Key, Object, Pattern, Record,
    Revision, Shape, Sight, Watches,
};

mod clients;

/// Maximum length of a socket's queue. A socket with more pending revisions falls behind.
const QUEUE_LENGTH: usize = 1024;

/// Number of messages after which a burst from a queue or the ring takes no more, except for the rest
/// of a group. A burst from the change log has at most one page of records.
const BURST_LENGTH: usize = 256;

/// The same in bytes.
const BURST_BYTES: usize = 64 * 1024;

/// Number of records of the ring after which the scan for a socket that is behind ends, except for the
/// rest of a group.
const SCAN_LENGTH: usize = 256;

pub(super) struct State {
    ring: Ring,
    /// The rules of this process.
    rules: Arc<AccessRules>,
    /// The rules of the newest record.
    adopted: AdoptedRules,
    /// Whether the record of the rules of this process is still to come.
    awaits_record: bool,
    /// The clients (by slot) that watch each pattern, each with the revision of its watch.
    index: HashMap<Pattern, IndexMap<usize, Revision>>,
    /// The number of patterns of each shape in the index. If it is 0, the shape is skipped.
    shapes: [usize; 8],
    clients: Slab<Client>,
    slots: HashMap<ClientId, usize>,
    sockets: Slab<Socket>,
    /// The sockets to wake at a revision: see [`State::wake_at`].
    waiting: BTreeSet<(Revision, usize)>,
    /// Ended watches of all clients together.
    ended: usize,
    /// Maximum number of ended watches of one client in this state.
    max_ended: usize,
    /// The memory for the watches of all clients here.
    watch_memory: Arc<Budget>,
    /// A buffer, reused to save allocations.
    pattern_text: String,
}

/// A client that has a socket.
struct Client {
    id: ClientId,
    /// The objects of which it may receive changes.
    sight: Sight,
    /// The open watches, and the ended ones that a socket still needs.
    watches: Watches,
    /// The memory of the watches.
    memory: Permit,
    position: Revision,
    sockets: Vec<usize>,
    /// The last revision queued. A change that several patterns match is pushed once.
    queued: Revision,
    /// The revision of the newest watch, open or ended.
    newest_watch: Revision,
}

struct Socket {
    client: usize,
    format: MessageFormat,
    /// The first cursor. Changes up to it are not sent to this socket.
    start: Revision,
    /// Whether the socket has received everything except the revisions in its queue.
    live: bool,
    /// The socket does not need watches that ended at or before this revision. It is the cursor;
    /// during a reset it is the revision after which the socket continues.
    after: Revision,
    /// The client has the current objects of all watches that began up to this revision. `None` if
    /// the socket does not send the current objects of new watches.
    shown: Option<Revision>,
    queue: VecDeque<Revision>,
    wake: Arc<Notify>,
    /// See [`State::wake_at`].
    wake_at: Option<Revision>,
    /// When it is reset, because the client may see other objects than it has received.
    reset_at: Option<Instant>,
    /// Whether it sends current objects, which [`State::start_pass`] has begun.
    in_pass: bool,
    /// Whether the socket cannot continue and has to be closed.
    lost: bool,
}

pub(super) struct Attached {
    pub(super) socket: usize,
    pub(super) cursor: Revision,
    pub(super) wake: Arc<Notify>,
    /// Whether it resumes at or after the newest record, while this process has other rules.
    pub(super) is_ahead: bool,
}

/// Why a socket was not added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotAttached {
    /// The ring has dropped records since the client was read: read it again.
    TooOld,
    /// The watches of the client do not fit.
    NoMemory,
}

/// The next step for a socket.
pub(super) enum Next {
    /// Send the burst (it may be empty), and set the cursor to this revision.
    Messages(Revision),
    /// Set the cursor to this revision, which may be inside a group, and ask again.
    Behind(Revision),
    /// There is nothing to send. Set the cursor to this revision, and wait to be woken.
    Idle(Revision),
    /// Wait to be woken: the stream is paused.
    Paused,
    /// Read the change log: the ring has dropped records after the cursor.
    Log,
    /// Send all current objects again.
    Reset,
    /// Send the current objects of the watches that have begun up to the cursor: see
    /// [`State::new_watches`].
    NewWatches,
    /// Close the socket: the client has to reconnect.
    Lost,
}

impl State {
    pub(super) fn new(
        epoch: EpochId,
        revision: Revision,
        max_ended: usize,
        watch_memory: Arc<Budget>,
        rules: Arc<AccessRules>,
    ) -> Self {
        Self {
            ring: Ring::new(epoch, revision),
            rules,
            adopted: AdoptedRules::default(),
            awaits_record: true,
            index: HashMap::new(),
            shapes: [0; 8],
            clients: Slab::new(),
            slots: HashMap::new(),
            sockets: Slab::new(),
            waiting: BTreeSet::new(),
            ended: 0,
            max_ended,
            watch_memory,
            pattern_text: String::new(),
        }
    }

    /// The newest revision dispatched.
    pub(super) fn head(&self) -> Revision {
        self.ring.head()
    }

    /// Sockets, clients and ended watches.
    pub(super) fn count(&self) -> (usize, usize, usize) {
        (self.sockets.len(), self.clients.len(), self.ended)
    }

    /// Processes the next record and adds the sockets to wake to `woken`. Returns the number of
    /// sockets that the record was offered to.
    pub(super) fn dispatch(&mut self, record: Record, woken: &mut Vec<Arc<Notify>>) -> usize {
        let record = Arc::new(record);
        self.ring.push(Arc::clone(&record));
        while let Some(&(revision, socket)) = self.waiting.first()
            && revision <= record.revision
        {
            self.waiting.pop_first();
            let socket = &mut self.sockets[socket];
            socket.wake_at = None;
            woken.push(Arc::clone(&socket.wake));
        }
        match &record.entry {
            Entry::Set { object, .. } | Entry::Delete(object, _) => {
                self.queue(&record, &object.key, woken)
            }
            Entry::Watch(client, pattern) => {
                if let Some(&slot) = self.slots.get(client) {
                    self.begin(slot, pattern, record.revision, woken);
                }
                0
            }
            Entry::Unwatch(client, pattern) => {
                if let Some(&slot) = self.slots.get(client) {
                    self.update_watches(slot, |watches| watches.end(pattern, record.revision));
                    self.unindex(slot, pattern);
                    self.limit_ended(slot);
                }
                0
            }
            Entry::Forget(client) => {
                if let Some(&slot) = self.slots.get(client) {
                    self.forget(slot, record.revision);
                    self.limit_ended(slot);
                }
                0
            }
            &Entry::Rules(digest) => {
                self.adopt(AdoptedRules { digest, revision: record.revision });
                self.wake_streams(woken);
                0
            }
        }
    }

    /// Wakes a socket as soon as the record of `revision` is dispatched, even if there is nothing to
    /// send: the client has the state of this revision only then. A paused stream is woken by the end
    /// of the pause: until then it would find nothing to do again and again.
    pub(super) fn wake_at(&mut self, socket: usize, revision: Revision) {
        self.wake_no_more(socket);
        if self.is_paused(socket) {
            return;
        }
        if revision <= self.head() {
            self.sockets[socket].wake.notify_one();
        } else {
            self.sockets[socket].wake_at = Some(revision);
            self.waiting.insert((revision, socket));
        }
    }

    /// Ends [`State::wake_at`].
    fn wake_no_more(&mut self, socket: usize) {
        if let Some(revision) = self.sockets[socket].wake_at.take() {
            self.waiting.remove(&(revision, socket));
        }
    }

    /// Continues after `revision`, although records up to it are missing. Watches may have begun
    /// and ended in these records, so all sockets are lost, and no record reaches their clients.
    /// The clients reconnect, and are read from the store again.
    pub(super) fn start_over(&mut self, epoch: EpochId, revision: Revision) {
        self.ring = Ring::new(epoch, revision);
        self.adopted = AdoptedRules::default();
        self.index.clear();
        self.shapes = [0; 8];
        self.slots.clear();
        for (_, socket) in &mut self.sockets {
            socket.lose();
        }
    }

    fn queue(&mut self, record: &Record, key: &Key, woken: &mut Vec<Arc<Notify>>) -> usize {
        let revision = record.revision;
        let mut queued = 0;
        for shape in Shape::ALL {
            if self.shapes[shape.index()] == 0 {
                continue;
            }
            key.pattern(shape, &mut self.pattern_text);
            let watchers = self.index.get(self.pattern_text.as_str());
            for (&slot, &since) in watchers.into_iter().flatten() {
                let client = &mut self.clients[slot];
                if since < revision && client.queued < revision {
                    client.queued = revision;
                    let Some(change) = Change::of(&record.entry, &client.sight) else { continue };
                    for &socket in &client.sockets {
                        self.sockets[socket].queue(revision, change, woken);
                    }
                    queued += client.sockets.len();
                }
            }
        }
        queued
    }

    /// Moves the position of a socket's client forward to `revision`. Returns whether it moved: see
    /// rule 5 of the module.
    pub(super) fn acknowledge(&mut self, socket: usize, revision: Revision) -> bool {
        let Socket { client, start, format, reset_at, in_pass, .. } = self.sockets[socket];
        let is_reset = reset_at.is_some() || in_pass || !self.is_settled();
        let has_all = format == MessageFormat::Objects || !is_reset;
        let position = &mut self.clients[client].position;
        let moves = has_all && start <= *position && revision > *position;
        if moves {
            *position = revision;
        }
        moves
    }

    /// Determines the next step for a socket with this cursor, without reading the store. Adds its
    /// messages to `burst`. A pass must be over.
    pub(super) fn next(&mut self, socket: usize, cursor: Revision, burst: &mut Vec<Frame>) -> Next {
        self.sockets[socket].in_pass = false;
        let next = if self.sockets[socket].lost {
            Next::Lost
        } else if self.is_paused(socket) {
            return Next::Paused;
        } else if self.is_reset_due(socket) {
            Next::Reset
        } else if self.has_new_watches(socket) && cursor >= self.newest_watch(socket) {
            Next::NewWatches
        } else if self.sockets[socket].live {
            self.next_queued(socket, burst)
        } else if cursor >= self.head() {
            self.sockets[socket].live = true;
            Next::Idle(cursor)
        } else {
            self.next_in_ring(socket, cursor, burst)
        };
        if let Next::Messages(cursor) | Next::Behind(cursor) | Next::Idle(cursor) = next {
            self.advance(socket, cursor);
        }
        match next {
            // The socket must not wait now.
            Next::Idle(cursor) if self.has_new_watches(socket) => Next::Messages(cursor),
            next => next,
        }
    }

    /// Whether the client has the state of one revision after the messages up to `cursor`, by the same
    /// rules.
    pub(super) fn is_exact(&self, socket: usize, cursor: Revision) -> bool {
        !self.has_new_watches(socket) && cursor >= self.adopted.revision
    }

    /// The greatest revision at which the client may resume after the messages of this socket: rule 7
    /// of the module. `None` if it may resume nowhere.
    pub(super) fn resumes_until(&self, socket: usize) -> Option<Revision> {
        let Socket { lost, reset_at, .. } = self.sockets[socket];
        if lost {
            None
        } else if self.is_settled() && reset_at.is_none() {
            Some(Revision::MAX)
        } else {
            self.before_rules()
        }
    }

    /// The revision before the newest record of rules. A client that resumes there is reset.
    pub(super) fn before_rules(&self) -> Option<Revision> {
        self.adopted.revision.checked_sub(1)
    }

    /// Whether the stream waits for the record of the rules of this process: rule 6 of the module.
    pub(super) fn is_paused(&self, socket: usize) -> bool {
        let Socket { format, lost, .. } = self.sockets[socket];
        self.awaits_record && !lost && format != MessageFormat::Objects
    }

    /// Whether this process has the rules of the newest record.
    fn is_settled(&self) -> bool {
        self.rules.digest() == self.adopted.digest
    }

    pub(super) fn is_reset_due(&self, socket: usize) -> bool {
        self.reset_at(socket).is_some_and(|at| at <= Instant::now())
    }

    /// When the socket is reset. `None` until this process has the rules of the newest record, which
    /// wakes it.
    pub(super) fn reset_at(&self, socket: usize) -> Option<Instant> {
        self.sockets[socket].reset_at.filter(|_| self.is_settled())
    }

    /// Replaces the rules of this process. A stream that shows other objects then is reset at
    /// `reset_at`. Returns the sockets to wake.
    pub(super) fn set_rules(
        &mut self,
        rules: Arc<AccessRules>,
        reset_at: impl Fn() -> Instant,
    ) -> Vec<Arc<Notify>> {
        self.rules = rules;
        self.awaits_record = !self.is_settled();
        for (_, client) in &mut self.clients {
            let sight = self.rules.sight(client.id, Action::Watch);
            if sight == client.sight {
                continue;
            }
            let before = std::mem::replace(&mut client.sight, sight);
            if before.differs(&client.sight, client.watches.open().map(|(pattern, _)| pattern)) {
                for &socket in &client.sockets {
                    let socket = &mut self.sockets[socket];
                    let is_reset = socket.format != MessageFormat::Objects;
                    socket.reset_at = socket.reset_at.or_else(|| is_reset.then(&reset_at));
                }
            }
        }
        let mut woken = Vec::new();
        self.wake_streams(&mut woken);
        woken
    }

    /// The record of the rules of this process was dispatched, or a newer one. Returns the sockets to
    /// wake.
    pub(super) fn end_pause(&mut self) -> Vec<Arc<Notify>> {
        let mut woken = Vec::new();
        if std::mem::take(&mut self.awaits_record) {
            self.wake_streams(&mut woken);
        }
        woken
    }

    /// Records the newest rules of the store.
    fn adopt(&mut self, rules: AdoptedRules) {
        if rules.revision > self.adopted.revision {
            self.adopted = rules;
        }
        self.awaits_record &= !self.is_settled();
    }

    /// Wakes every stream of events. Each continues with a reset, or with a mark.
    fn wake_streams(&self, woken: &mut Vec<Arc<Notify>>) {
        let events = self.sockets.iter().filter(|(_, one)| one.format != MessageFormat::Objects);
        woken.extend(events.map(|(_, socket)| Arc::clone(&socket.wake)));
    }

    /// Whether the client has watches whose current objects the socket must still send.
    fn has_new_watches(&self, socket: usize) -> bool {
        self.sockets[socket].shown.is_some_and(|shown| shown < self.newest_watch(socket))
    }

    /// The open watches whose current objects the socket must still send. It will have sent them,
    /// so that the next call returns only newer ones.
    pub(super) fn new_watches(&mut self, socket: usize) -> Watches {
        let newest = self.newest_watch(socket);
        let shown = self.sockets[socket].shown.replace(newest).unwrap_or(newest);
        self.watches(socket).open_since(shown)
    }

    fn newest_watch(&self, socket: usize) -> Revision {
        self.clients[self.sockets[socket].client].newest_watch
    }

    /// The epoch of the records.
    pub(super) fn epoch(&self) -> EpochId {
        self.ring.epoch
    }

    /// All open watches, and the newest revision, for a pass over all current objects. The socket
    /// continues after that revision.
    pub(super) fn start_pass(&mut self, socket: usize) -> (Watches, Revision) {
        let head = self.head();
        self.sockets[socket].fall_behind();
        self.sockets[socket].reset_at = None;
        self.sockets[socket].in_pass = true;
        self.advance(socket, head);
        if let Some(shown) = &mut self.sockets[socket].shown {
            *shown = head;
        }
        (self.watches(socket).open_only(), head)
    }

    /// All open watches, for a pass that another stream began. `None` if a reset has to begin instead.
    pub(super) fn resume_pass(&mut self, socket: usize) -> Option<Watches> {
        if self.is_reset_due(socket) {
            return None;
        }
        self.sockets[socket].in_pass = true;
        Some(self.watches(socket).open_only())
    }

    /// Moves a socket that has nothing to send past the changes that do not concern it. Returns the new
    /// cursor.
    pub(super) fn skip(&mut self, socket: usize) -> Option<Revision> {
        let Socket { live, lost, queue, .. } = &self.sockets[socket];
        let has_all = *live && !lost && queue.is_empty() && !self.is_reset_due(socket);
        let head = has_all.then(|| self.head())?;
        self.advance(socket, head);
        Some(head)
    }

    /// Records that a socket does not need watches that ended at or before `cursor`.
    pub(super) fn advance(&mut self, socket: usize, cursor: Revision) {
        self.sockets[socket].after = cursor;
        self.remove_ended(self.sockets[socket].client);
    }

    fn next_queued(&mut self, socket: usize, burst: &mut Vec<Frame>) -> Next {
        let (head, epoch) = (self.head(), self.ring.epoch);
        let socket = &mut self.sockets[socket];
        let (mut bytes, mut joins_next) = (0, false);
        while (burst.len() < BURST_LENGTH && bytes < BURST_BYTES || joins_next)
            && let Some(&revision) = socket.queue.front()
        {
            let Some(slot) = self.ring.slot(revision) else {
                // The ring has dropped it: the socket is slower than the traffic.
                socket.fall_behind();
                return Next::Behind(revision - 1);
            };
            joins_next = slot.joins_next();
            // The rules may have changed since the revision was queued.
            let sight = &self.clients[socket.client].sight;
            if let Some(frame) = slot.frame(epoch, socket.format, sight) {
                bytes += frame.json.len();
                burst.push(frame);
            }
            socket.queue.pop_front();
            socket.after = revision;
        }
        match socket.queue.front() {
            Some(_) => Next::Messages(socket.after),
            None => {
                socket.queue.shrink_to(BURST_LENGTH);
                let cursor = head.max(socket.after);
                if burst.is_empty() { Next::Idle(cursor) } else { Next::Messages(cursor) }
            }
        }
    }

    fn next_in_ring(&mut self, socket: usize, cursor: Revision, burst: &mut Vec<Frame>) -> Next {
        let Socket { client, format, .. } = self.sockets[socket];
        let client = &self.clients[client];
        let Some(records) = self.ring.after(cursor) else { return Next::Log };
        let epoch = self.ring.epoch;
        let (mut cursor, mut bytes) = (cursor, 0);
        let mut joins_next = false;
        let mut pushed = Vec::new();
        for (scanned, record) in records.enumerate() {
            let has_room = pushed.len() < BURST_LENGTH && bytes < BURST_BYTES;
            if !(scanned < SCAN_LENGTH && has_room || joins_next) {
                break;
            }
            (cursor, joins_next) = (record.revision, record.joins_next);
            if is_watched(&client.watches, record) {
                bytes += record.entry.size();
                pushed.push(cursor);
            }
        }
        burst.extend(pushed.into_iter().filter_map(|revision| {
            self.ring.slot(revision).and_then(|slot| slot.frame(epoch, format, &client.sight))
        }));
        Next::Messages(cursor)
    }

    /// Adds the messages of `records`, which were read from the change log, to `burst`. Returns the
    /// new cursor; `None` if it does not move. Records that are not dispatched yet are left for
    /// later, because the hub does not know the watches among them.
    pub(super) fn match_log(
        &mut self,
        socket: usize,
        records: &[Record],
        burst: &mut Vec<Frame>,
    ) -> Option<Revision> {
        let Socket { client, format, lost, .. } = self.sockets[socket];
        if lost || self.is_paused(socket) {
            return None;
        }
        let client = &self.clients[client];
        let dispatched = records.iter().take_while(|record| record.revision <= self.head());
        let mut cursor = None;
        for record in dispatched {
            cursor = Some(record.revision);
            if is_watched(&client.watches, record) {
                burst.extend(ring::frame(self.ring.epoch, record, format, &client.sight));
            }
        }
        if let Some(cursor) = cursor {
            self.advance(socket, cursor);
        }
        cursor
    }

    pub(super) fn watches(&self, socket: usize) -> &Watches {
        &self.clients[self.sockets[socket].client].watches
    }

    /// Whether the client of a socket watches this current object, and may see it.
    pub(super) fn shows(&self, socket: usize, object: &Object) -> bool {
        let Client { watches, sight, .. } = &self.clients[self.sockets[socket].client];
        watches.match_current(&object.key).is_some() && sight.has(&object.key, &object.owner)
    }
}

impl Socket {
    fn queue(&mut self, revision: Revision, change: Change, woken: &mut Vec<Arc<Notify>>) {
        if !self.live || revision <= self.after || !change.is_sent(self.format) {
            return;
        }
        if self.queue.len() >= QUEUE_LENGTH {
            self.fall_behind();
            return;
        }
        if self.queue.is_empty() {
            woken.push(Arc::clone(&self.wake));
        }
        self.queue.push_back(revision);
    }

    /// Makes the socket close.
    fn lose(&mut self) {
        self.lost = true;
        self.wake.notify_one();
    }

    /// Ended watches are needed for changes after this revision. `None` if the socket needs none:
    /// it is lost, or it is live with an empty queue, so it has received every past change.
    fn needs(&self) -> Option<Revision> {
        let has_all = self.live && self.queue.is_empty();
        (!self.lost && !has_all).then_some(self.after)
    }

    /// Makes the socket read from its cursor until it has caught up.
    fn fall_behind(&mut self) {
        self.live = false;
        self.queue = VecDeque::new();
    }
}

/// Whether the record is a change that matches these watches.
fn is_watched(watches: &Watches, record: &Record) -> bool {
    match &record.entry {
        Entry::Set { object, .. } | Entry::Delete(object, _) => {
            watches.match_change(&object.key, record.revision)
        }
        Entry::Watch(..) | Entry::Unwatch(..) | Entry::Forget(_) | Entry::Rules(_) => false,
    }
}

#[cfg(test)]
mod tests;
