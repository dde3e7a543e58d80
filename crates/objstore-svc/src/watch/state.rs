//! Everything the hub knows, under its one lock.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use indexmap::IndexMap;
use slab::Slab;
use tokio::sync::Notify;

use super::ring::{self, Form, Ring};
use crate::domain::{ClientId, Entry, Key, Object, Pattern, Record, Revision, Shape, Watches};

mod clients;

/// Revisions that wait for one socket. One more, and the socket reads the log instead.
const QUEUE_LENGTH: usize = 1024;

/// Messages handed to a socket at once.
const BURST_LENGTH: usize = 256;

/// Bytes after which a burst takes no more messages.
const BURST_BYTES: usize = 64 * 1024;

/// Records looked through at once for a socket that is behind.
const SCAN_LENGTH: usize = 256;

pub(super) struct State {
    ring: Ring,
    /// Who watches each pattern: clients' slots, each with the revision of its watch.
    index: HashMap<Pattern, IndexMap<usize, Revision>>,
    /// Patterns of each shape in the index.
    shapes: [usize; 8],
    clients: Slab<Client>,
    slots: HashMap<ClientId, usize>,
    sockets: Slab<Socket>,
    /// Ended watches of all clients.
    ended: usize,
    /// Ended watches that one client may have here.
    max_ended: usize,
    /// Kept for its memory.
    pattern_text: String,
}

/// A client that has a socket.
struct Client {
    /// The open ones, and those ended ones that a socket still needs.
    watches: Watches,
    position: Revision,
    sockets: Vec<usize>,
    /// The last change queued to it, so that one matched twice is pushed once.
    queued: Revision,
}

struct Socket {
    client: usize,
    form: Form,
    /// Where its cursor began. What is before that, its acknowledgements do not cover.
    start: Revision,
    /// Whether it has seen everything but what is in its queue.
    live: bool,
    /// It has everything up to here: its cursor, or not far behind it.
    after: Revision,
    queue: VecDeque<Revision>,
    wake: Arc<Notify>,
    /// Whether changes were missed that nobody can tell any more.
    lost: bool,
}

/// A socket that was attached.
pub(super) struct Attached {
    pub(super) socket: usize,
    pub(super) cursor: Revision,
    pub(super) wake: Arc<Notify>,
}

/// What there is for a socket.
pub(super) enum Next {
    /// These messages, perhaps none, and the cursor after them.
    Messages(Revision),
    /// Nothing now: it has everything up to here.
    Idle(Revision),
    /// What the log has after its cursor.
    Log,
    /// The socket has to begin anew.
    Lost,
}

impl State {
    pub(super) fn new(revision: Revision, max_ended: usize) -> Self {
        Self {
            ring: Ring::new(revision),
            index: HashMap::new(),
            shapes: [0; 8],
            clients: Slab::new(),
            slots: HashMap::new(),
            sockets: Slab::new(),
            ended: 0,
            max_ended,
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

    /// Takes in the next record, says how many queues it went to, and adds the sockets to wake.
    pub(super) fn dispatch(&mut self, record: Record, woken: &mut Vec<Arc<Notify>>) -> usize {
        let record = Arc::new(record);
        self.ring.push(Arc::clone(&record));
        match &record.entry {
            Entry::Set(object) => self.queue(record.revision, &object.key, false, woken),
            Entry::Delete(object) => self.queue(record.revision, &object.key, true, woken),
            Entry::Watch(client, pattern) => {
                if let Some(&slot) = self.slots.get(client) {
                    self.begin(slot, pattern, record.revision);
                }
                0
            }
            Entry::Unwatch(client, pattern) => {
                if let Some(&slot) = self.slots.get(client) {
                    self.change(slot, |watches| watches.end(pattern, record.revision));
                    self.unindex(slot, pattern);
                    self.bound_ended(slot, woken);
                }
                0
            }
            Entry::Forget(client) => {
                if let Some(&slot) = self.slots.get(client) {
                    self.forget(slot, record.revision);
                    self.bound_ended(slot, woken);
                }
                0
            }
        }
    }

    /// Goes on after `revision`, though some of what was before has not been seen: watches may have
    /// begun and ended there. So nobody is kept; whoever has a socket finds its place in the store
    /// when it opens the next one. Gives the sockets to wake.
    pub(super) fn start_over(&mut self, revision: Revision) -> Vec<Arc<Notify>> {
        self.ring = Ring::new(revision);
        self.index.clear();
        self.shapes = [0; 8];
        self.slots.clear();
        for (_, socket) in &mut self.sockets {
            socket.lost = true;
        }
        self.sockets.iter().map(|(_, socket)| Arc::clone(&socket.wake)).collect()
    }

    fn queue(
        &mut self,
        revision: Revision,
        key: &Key,
        is_delete: bool,
        woken: &mut Vec<Arc<Notify>>,
    ) -> usize {
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
                    for &socket in &client.sockets {
                        self.sockets[socket].queue(revision, is_delete, woken);
                    }
                    queued += client.sockets.len();
                }
            }
        }
        queued
    }

    /// Moves the position of a socket's client on; false when it stays where it is.
    pub(super) fn acknowledge(&mut self, socket: usize, revision: Revision) -> bool {
        let Socket { client, start, .. } = self.sockets[socket];
        let position = &mut self.clients[client].position;
        let moves = start <= *position && revision > *position;
        if moves {
            *position = revision;
        }
        moves
    }

    /// What a socket whose cursor is `cursor` gets next, without asking the store.
    pub(super) fn next(&mut self, socket: usize, cursor: Revision, burst: &mut Vec<Bytes>) -> Next {
        let next = if self.sockets[socket].lost {
            Next::Lost
        } else if self.sockets[socket].live {
            self.next_queued(socket, burst)
        } else if cursor >= self.head() {
            self.sockets[socket].live = true;
            Next::Idle(cursor)
        } else {
            self.next_in_ring(socket, cursor, burst)
        };
        if let Next::Messages(cursor) | Next::Idle(cursor) = next {
            self.advance(socket, cursor);
        }
        next
    }

    /// A socket has everything up to `cursor`.
    pub(super) fn advance(&mut self, socket: usize, cursor: Revision) {
        self.sockets[socket].after = cursor;
        self.remove_ended(self.sockets[socket].client);
    }

    fn next_queued(&mut self, socket: usize, burst: &mut Vec<Bytes>) -> Next {
        let head = self.head();
        let socket = &mut self.sockets[socket];
        let mut bytes = 0;
        while burst.len() < BURST_LENGTH
            && bytes < BURST_BYTES
            && let Some(&revision) = socket.queue.front()
        {
            let Some(frame) = self.ring.frame(revision, socket.form) else {
                // Gone from the ring: the socket is slower than the traffic.
                socket.fall_behind();
                return Next::Messages(revision - 1);
            };
            bytes += frame.len();
            burst.push(frame);
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

    fn next_in_ring(&mut self, socket: usize, cursor: Revision, burst: &mut Vec<Bytes>) -> Next {
        let Socket { client, form, .. } = self.sockets[socket];
        let watches = &self.clients[client].watches;
        let Some(records) = self.ring.after(cursor) else { return Next::Log };
        let (mut cursor, mut bytes) = (cursor, 0);
        let mut owed = Vec::new();
        for record in records.take(SCAN_LENGTH) {
            if owed.len() >= BURST_LENGTH || bytes >= BURST_BYTES {
                break;
            }
            cursor = record.revision;
            if is_owed(watches, record, form) {
                bytes += record.entry.size();
                owed.push(cursor);
            }
        }
        burst.extend(owed.into_iter().filter_map(|revision| self.ring.frame(revision, form)));
        Next::Messages(cursor)
    }

    /// The messages that records read from the log make for a socket, and the cursor after them.
    /// Records that are not dispatched yet are left for later: a watch among them is not known.
    pub(super) fn match_log(
        &mut self,
        socket: usize,
        records: &[Record],
        burst: &mut Vec<Bytes>,
    ) -> Option<Revision> {
        let Socket { client, form, .. } = self.sockets[socket];
        let watches = &self.clients[client].watches;
        let seen = records.iter().take_while(|record| record.revision <= self.head());
        let mut cursor = None;
        for record in seen {
            cursor = Some(record.revision);
            if is_owed(watches, record, form) {
                burst.extend(ring::frame(record, form));
            }
        }
        if let Some(cursor) = cursor {
            self.advance(socket, cursor);
        }
        cursor
    }

    /// What the client of a socket watches.
    pub(super) fn watches(&self, socket: usize) -> &Watches {
        &self.clients[self.sockets[socket].client].watches
    }
}

impl Socket {
    fn queue(&mut self, revision: Revision, is_delete: bool, woken: &mut Vec<Arc<Notify>>) {
        if !self.live || revision <= self.after || (is_delete && self.form == Form::Objects) {
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

    /// The revision after which it may still look through the log, if it may: with an empty queue it
    /// has been given whatever was watched so far.
    fn needs(&self) -> Option<Revision> {
        let has_all = self.live && self.queue.is_empty();
        (!self.lost && !has_all).then_some(self.after)
    }

    /// From now on the socket reads the log from its cursor, until it has caught up.
    fn fall_behind(&mut self) {
        self.live = false;
        self.queue = VecDeque::new();
    }
}

/// Whether a client that watches this is told of this record.
fn is_owed(watches: &Watches, record: &Record, form: Form) -> bool {
    let matches = |object: &Object| watches.match_change(&object.key, record.revision);
    match &record.entry {
        Entry::Set(object) => matches(object),
        Entry::Delete(object) => form == Form::Events && matches(object),
        Entry::Watch(..) | Entry::Unwatch(..) | Entry::Forget(_) => false,
    }
}

#[cfg(test)]
mod tests;
