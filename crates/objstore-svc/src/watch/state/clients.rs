//! Clients with a socket: their watches, and the ended watches that their sockets still need.

use std::{collections::VecDeque, sync::Arc};

use tokio::{sync::Notify, time::Instant};

use super::{
    super::{Begin, Stream, ring::MessageFormat},
    Attached, Client, NotAttached, Socket, State,
};
use crate::{
    domain::{Action, ClientId, Entry, Pattern, Revision, Watches},
    store::ClientState,
};

impl State {
    /// Adds a socket for a client. `known` is the client as it was read from the store. The socket
    /// starts after `since`, or else after the position.
    pub(in super::super) fn attach(
        &mut self,
        id: ClientId,
        known: ClientState,
        stream: &Stream,
        since: Option<Revision>,
    ) -> Result<Attached, NotAttached> {
        let known = self.up_to_date(id, known).ok_or(NotAttached::TooOld)?;
        let ClientState { watches, position, rules, .. } = known;
        self.adopt(rules);
        let slot = match self.slots.get(&id) {
            Some(&slot) => {
                let client = &mut self.clients[slot];
                if !client.memory.resize(client.watches.bytes() + watches.ended_bytes()) {
                    return Err(NotAttached::NoMemory);
                }
                // Ended watches that the other sockets did not need were removed: add them again
                // for this socket.
                self.update_watches(slot, |known| known.add_ended(watches));
                slot
            }
            None => {
                let slot = self.insert_client(id, watches, position)?;
                self.slots.insert(id, slot);
                slot
            }
        };
        let start = since.unwrap_or(self.clients[slot].position);
        let attached = self.attach_socket(slot, stream, start);
        self.remove_ended(slot);
        Ok(attached)
    }

    /// Adds a socket of a client that watches one pattern, instead of those of the client. It starts
    /// after `start`.
    pub(in super::super) fn attach_pattern(
        &mut self,
        id: ClientId,
        known: &ClientState,
        pattern: Pattern,
        stream: &Stream,
        start: Revision,
    ) -> Result<Attached, NotAttached> {
        // The ring may have dropped a record of newer rules.
        let _ = self.ring.after(known.revision).ok_or(NotAttached::TooOld)?;
        self.adopt(known.rules);
        let mut watches = Watches::default();
        watches.begin(pattern, 0);
        let slot = self.insert_client(id, watches, start)?;
        Ok(self.attach_socket(slot, stream, start))
    }

    fn attach_socket(&mut self, slot: usize, stream: &Stream, start: Revision) -> Attached {
        let wake = Arc::new(Notify::new());
        let resumes = !stream.initial || !matches!(stream.begin, Begin::Position | Begin::Now);
        let saw_other_rules = resumes && start < self.adopted.revision || !self.is_settled();
        let must_reset = stream.format != MessageFormat::Objects && saw_other_rules;
        let has_state = resumes && stream.begin != Begin::Now;
        let is_ahead = must_reset && has_state && start >= self.adopted.revision;
        let socket = self.sockets.insert(Socket {
            client: slot,
            format: stream.format,
            start,
            live: false,
            after: start,
            shown: stream.initial.then_some(start),
            queue: VecDeque::new(),
            wake: Arc::clone(&wake),
            wake_at: None,
            reset_at: must_reset.then(Instant::now),
            in_pass: false,
            lost: false,
        });
        self.clients[slot].sockets.push(socket);
        Attached { socket, cursor: start, wake, is_ahead }
    }

    /// Applies the records that were dispatched since the client was read from the store. `None` if
    /// the ring has dropped some of them.
    fn up_to_date(&self, id: ClientId, mut known: ClientState) -> Option<ClientState> {
        for record in self.ring.after(known.revision)? {
            match &record.entry {
                Entry::Watch(client, pattern) if *client == id => {
                    known.watches.begin(pattern.clone(), record.revision);
                }
                Entry::Unwatch(client, pattern) if *client == id => {
                    known.watches.end(pattern, record.revision);
                }
                Entry::Forget(client) if *client == id => known.watches.end_all(record.revision),
                _ => {}
            }
        }
        Some(known)
    }

    fn insert_client(
        &mut self,
        id: ClientId,
        watches: Watches,
        position: Revision,
    ) -> Result<usize, NotAttached> {
        let memory = self.watch_memory.take(watches.bytes()).ok_or(NotAttached::NoMemory)?;
        let slot = self.clients.vacant_key();
        for (pattern, since) in watches.open() {
            self.index(slot, pattern.clone(), since);
        }
        self.ended += watches.ended_count();
        let newest_watch = watches.newest();
        let sight = self.rules.sight(id, Action::Watch);
        Ok(self.clients.insert(Client {
            id,
            sight,
            watches,
            memory,
            position,
            sockets: Vec::new(),
            queued: 0,
            newest_watch,
        }))
    }

    /// Removes a socket. The last socket of a client removes the client, too.
    pub(in super::super) fn detach(&mut self, id: ClientId, socket: usize) {
        self.wake_no_more(socket);
        let slot = self.sockets.remove(socket).client;
        let client = &mut self.clients[slot];
        client.sockets.retain(|&other| other != socket);
        if !client.sockets.is_empty() {
            self.remove_ended(slot);
            return;
        }
        let client = self.clients.remove(slot);
        self.ended -= client.watches.ended_count();
        // After `start_over` the client may have another slot.
        if self.slots.get(&id) == Some(&slot) {
            self.slots.remove(&id);
        }
        for (pattern, _) in client.watches.open() {
            self.unindex(slot, pattern);
        }
    }

    /// Begins a watch, and wakes the sockets that send the current objects of new watches.
    pub(super) fn begin(
        &mut self,
        slot: usize,
        pattern: &Pattern,
        since: Revision,
        woken: &mut Vec<Arc<Notify>>,
    ) {
        self.update_watches(slot, |watches| watches.begin(pattern.clone(), since));
        let client = &mut self.clients[slot];
        client.newest_watch = since;
        let sockets = client.sockets.iter().map(|&socket| &self.sockets[socket]);
        let showing = sockets.filter(|socket| socket.shown.is_some());
        woken.extend(showing.map(|socket| Arc::clone(&socket.wake)));
        self.index(slot, pattern.clone(), since);
    }

    pub(super) fn forget(&mut self, slot: usize, until: Revision) {
        let watches = self.clients[slot].watches.open_only();
        for (pattern, _) in watches.open() {
            self.unindex(slot, pattern);
        }
        self.update_watches(slot, |watches| watches.end_all(until));
    }

    /// Changes the watches of a client, and updates the total of ended watches. If the memory for them
    /// is used up, the sockets of the client are lost: it can reconnect when there is some.
    pub(super) fn update_watches<T>(
        &mut self,
        slot: usize,
        change: impl FnOnce(&mut Watches) -> T,
    ) -> T {
        let Client { watches, memory, sockets, .. } = &mut self.clients[slot];
        self.ended -= watches.ended_count();
        let changed = change(watches);
        self.ended += watches.ended_count();
        if !memory.resize(watches.bytes()) {
            for &socket in &*sockets {
                self.sockets[socket].lose();
            }
        }
        changed
    }

    /// Removes the ended watches of a client that none of its sockets needs.
    pub(super) fn remove_ended(&mut self, slot: usize) {
        let client = &self.clients[slot];
        if client.watches.ended_count() > 0 {
            let needed = client.sockets.iter().filter_map(|&socket| self.sockets[socket].needs());
            let needed = needed.min().unwrap_or(Revision::MAX);
            self.update_watches(slot, |watches| watches.remove_ended(needed));
        }
    }

    /// Like [`Self::remove_ended`]. If more than `max_ended` are left, closes the sockets that are
    /// furthest behind, one after the other.
    pub(super) fn limit_ended(&mut self, slot: usize) {
        self.remove_ended(slot);
        while self.clients[slot].watches.ended_count() > self.max_ended {
            let sockets = self.clients[slot].sockets.iter().copied();
            let furthest =
                sockets.filter_map(|socket| Some((self.sockets[socket].needs()?, socket))).min();
            let Some((_, socket)) = furthest else { return };
            self.sockets[socket].lose();
            self.remove_ended(slot);
        }
    }

    fn index(&mut self, slot: usize, pattern: Pattern, since: Revision) {
        let shape = pattern.shape().index();
        let before = self.index.len();
        self.index.entry(pattern).or_default().entry(slot).or_insert(since);
        self.shapes[shape] += self.index.len() - before;
    }

    pub(super) fn unindex(&mut self, slot: usize, pattern: &Pattern) {
        let Some(watchers) = self.index.get_mut(pattern) else { return };
        watchers.swap_remove(&slot);
        if watchers.is_empty() {
            self.index.remove(pattern);
            self.shapes[pattern.shape().index()] -= 1;
        }
    }
}
