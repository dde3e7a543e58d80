//! The cursor of one stream, and the source that it reads from. A stream is a socket, or a response
//! to `GET /streams`.
//!
//! [`Subscriber::next`] asks the state of the hub first. If the ring has dropped records after the
//! cursor, it reads the change log. If that has dropped some, too, it begins a *reset*: it sends
//! the current objects that the client watches. This is a *pass*. A stream with `initial` begins
//! with a pass, too, and makes one for each new watch of its client.
//!
//! 1. **Cancel safe.** The socket task drops `next` whenever it has to send a ping. So each step
//!    changes the cursor, the pass and the burst together, after its last await.
//! 2. **The cursor stays until a pass is over.** A pong acknowledges the cursor of its ping.
//!    Therefore a pong during the pass acknowledges none of it, and a client that disconnects gets
//!    the pass again.
//! 3. **A pass covers all changes up to one revision** (`through`): the newest one at the start of
//!    a reset, or the cursor if a new watch begins the pass. Values that are newer are left out,
//!    since their changes come from the change log afterwards. Objects that the client no longer
//!    watches, or may not see, are left out, too.
//! 4. **An object is pushed once**, although several of the patterns that the client watched at the
//!    start may match it. Only the first of these patterns, in the order of `Shape::ALL`, pushes
//!    it.
//! 5. **A socket with [`MessageFormat::Objects`] gets only values that were set after its cursor.**
//!    These include values that were set before the current watch began, because an earlier watch
//!    may have matched them. Other streams get a `reset` message first, and then all values, because
//!    their clients start over.
//! 6. **A `since` beyond the newest revision begins a reset, too**: the client asks for all current
//!    values.
//! 7. **A position of an earlier epoch counts as 0.** So its client gets all current values, with
//!    each format: it may have lost values.
//! 8. **After a pass, the client is behind until the stream has sent all changes that the pass may
//!    have seen** (`behind_until`): a changed object was left out, and a deleted one was not found.
//!    Only then does the client have the state of one revision. So before that, the stream sends
//!    neither `synced` nor `mark`, and its place is not exact. The store may be ahead of the hub then,
//!    so the hub wakes the stream when it has come so far.
//! 9. **A pass of [`MessageFormat::State`] can go on in another stream** ([`Begin::At`]): what a client
//!    has depends only on its place ([`Place`]).

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    select,
    sync::Notify,
    task::yield_now,
    time::{Instant, sleep_until},
};

use super::{
    Begin, Frame, Hub, Stream,
    ring::{MessageFormat, control_frame, current_frame, mark_frame, reset_frame, synced_frame},
    state::{Attached, Next},
};
use crate::{
    domain::{ClientId, Key, Offset, Pattern, Place, Revision, StoredObject, Watches},
    store::{LogPage, StoreError},
};

/// Maximum number of objects that a pass reads per call.
const PASS_PAGE: usize = 256;

/// Maximum time between two marks.
const MARK_EVERY: Duration = Duration::from_secs(10);

/// When a mark that is due is tried again, if the client does not have the state of one revision.
const MARK_AGAIN: Duration = Duration::from_secs(1);

/// Messages in the order in which they are sent.
pub(crate) type Burst = Vec<Frame>;

/// Produces the messages of one stream. Dropping it ends the subscription.
pub(crate) struct Subscriber {
    hub: Arc<Hub>,
    client: ClientId,
    format: MessageFormat,
    socket: usize,
    wake: Arc<Notify>,
    cursor: Revision,
    pass: Option<Pass>,
    /// After a pass: see rule 8 of the module.
    behind_until: Option<Revision>,
    /// Whether `synced` follows a pass.
    initial: bool,
    /// When the next mark is due. `None` if the stream has no marks.
    mark_at: Option<Instant>,
    /// Of [`MessageFormat::State`].
    told: Told,
}

/// What a client has after the messages that [`Subscriber::next`] returned last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// More may be to come.
    Part,
    /// Everything up to the cursor, which was the newest revision then. Others may have followed.
    All { is_exact: bool },
}

impl Told {
    /// Whether a copy equals the store at the place of the client.
    pub(crate) fn is_exact(self) -> bool {
        self == Self::All { is_exact: true }
    }
}

/// A pass over the current objects that a client watches.
struct Pass {
    /// The watches whose objects are sent.
    watches: Watches,
    /// The patterns that are left to read, the next one last.
    patterns: Vec<Pattern>,
    /// The last key that was read under the next pattern.
    after: Option<Key>,
    /// The last of these keys that the client may see. An offset must not contain another one.
    seen: Option<Key>,
    /// Values up to this revision are sent. Later changes come from the change log.
    through: Revision,
    /// The cursor at the start. [`MessageFormat::Objects`] gets only values that are newer.
    from: Revision,
    /// These messages come before the first object.
    opening: Vec<Frame>,
    is_reset: bool,
    /// Whether the client of [`MessageFormat::State`] has to learn the place before a reset: rule 7 of
    /// `state.rs`.
    is_untold: bool,
}

impl Subscriber {
    /// `newest` is the newest revision of the store. `None` if the place where the stream begins is
    /// unknown to the store.
    pub(super) fn new(
        hub: Arc<Hub>,
        client: ClientId,
        stream: &Stream,
        attached: Attached,
        newest: Option<Revision>,
    ) -> Self {
        let &Stream { format, initial, marks, .. } = stream;
        let Attached { socket, cursor, wake, is_ahead } = attached;
        let mark_at = marks.then(|| Instant::now() + MARK_EVERY);
        let mut subscriber = Self {
            hub,
            client,
            format,
            socket,
            wake,
            cursor,
            pass: None,
            behind_until: None,
            initial,
            mark_at,
            told: Told::Part,
        };
        subscriber.begin(stream, newest, is_ahead);
        subscriber
    }

    fn begin(&mut self, stream: &Stream, newest: Option<Revision>, is_ahead: bool) {
        match &stream.begin {
            _ if newest.is_none() => {
                // Rule 6 of the module.
                self.cursor = 0;
                self.pass = Some(self.reset());
            }
            // Rule 7 of `state.rs`.
            _ if is_ahead => self.pass = Some(self.reset()),
            // The client has nothing yet, so there is nothing to reset.
            Begin::Position | Begin::Now if stream.initial => self.pass = Some(self.snapshot()),
            Begin::At(Offset { place: Place::Objects { through, after }, .. }) => {
                let watches = self.hub.state().resume_pass(self.socket);
                let pass = watches.map(|watches| Pass::new(watches, *through, *through));
                self.pass = pass.map(|pass| Pass {
                    after: Some(after.clone()),
                    seen: Some(after.clone()),
                    ..pass
                });
            }
            Begin::At(Offset { place: Place::Changes(_), .. }) => self.behind_until = newest,
            Begin::Position | Begin::Now | Begin::After(_) | Begin::At(_) => {}
        }
    }

    /// [`Self::next`] has returned all pushes up to this revision.
    pub(crate) fn cursor(&self) -> Revision {
        self.cursor
    }

    pub(crate) fn acknowledger(&self) -> Acknowledger {
        Acknowledger { hub: Arc::clone(&self.hub), client: self.client, socket: self.socket }
    }

    /// The place of the client after the messages so far. `None` if it cannot resume there, so that the
    /// place before is still valid.
    pub(crate) fn place(&self) -> Option<Place> {
        let state = self.hub.state();
        let most = state.resumes_until(self.socket)?;
        match &self.pass {
            Some(Pass { through, seen: Some(seen), .. }) => {
                Some(Place::Objects { through: most.min(*through), after: seen.clone() })
            }
            Some(Pass { is_reset: true, .. }) => state.before_rules().map(Place::Changes),
            Some(_) => None,
            None if most < self.cursor => Some(Place::Changes(most)),
            None if !self.has_caught_up() => Some(Place::Changes(self.cursor)),
            None if !state.is_exact(self.socket, self.cursor) => None,
            None => Some(Place::Exact(self.cursor)),
        }
    }

    /// Whether access rules hold the place back behind the messages: rule 7 of `state.rs`.
    pub(crate) fn is_held_back(&self) -> bool {
        self.hub.state().resumes_until(self.socket) != Some(Revision::MAX)
    }

    /// Whether it reads objects, however long that takes: the client may see only few of them.
    pub(crate) fn is_reading(&self) -> bool {
        self.pass.is_some() && !self.hub.state().is_paused(self.socket)
    }

    /// Whether the place moves with the messages.
    pub(crate) fn advances(&self) -> bool {
        self.pass.is_some() || !self.is_held_back()
    }

    /// Moves past the changes that do not concern the client, unless it has messages to come.
    pub(crate) fn skip(&mut self) {
        self.told = Told::Part;
        if self.pass.is_some() {
            return;
        }
        let skipped = self.hub.state().skip(self.socket);
        if let Some(cursor) = skipped {
            self.cursor = cursor;
            self.told = self.has_until(cursor);
        }
    }

    /// The newest revision of the hub.
    fn head(&self) -> Revision {
        self.hub.state().head()
    }

    /// The revision up to which the client needs messages to have everything.
    pub(crate) fn target(&mut self) -> Revision {
        // Other rules may have been recorded meanwhile.
        if self.place().is_none() {
            self.told = Told::Part;
        }
        match self.told {
            Told::All { .. } => self.cursor,
            Told::Part => self.head(),
        }
    }

    /// Whether the client has everything up to `revision`, or more.
    pub(crate) fn has_until(&self, revision: Revision) -> Told {
        let has_all = self.pass.is_none() && self.has_caught_up() && self.cursor >= revision;
        match self.place().filter(|_| has_all) {
            Some(place) => Told::All { is_exact: matches!(place, Place::Exact(_)) },
            None => Told::Part,
        }
    }

    /// Whether a copy of the client equals what the store had when the last messages were returned.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.told.is_exact()
    }

    /// Whether the changes that a pass may have left out were sent: rule 8 of the module.
    fn has_caught_up(&self) -> bool {
        self.behind_until.is_none_or(|until| self.cursor >= until)
    }

    /// Waits for messages and adds them to `burst`, which must be empty. Returns the bytes of those
    /// that are not in the ring, which all streams share. Cancel safe: a later call returns the same
    /// messages. With [`MessageFormat::State`], it also returns when the client has everything, and
    /// before a reset; `burst` may be empty then. Fails if the store cannot be read, or with
    /// [`StoreError::SocketLost`] if the socket has to be closed.
    pub(crate) async fn next(&mut self, burst: &mut Burst) -> Result<usize, StoreError> {
        loop {
            let mut is_shared = false;
            let mut is_idle = false;
            let mut head = None;
            if let Some(pass) = self.pass.as_mut().filter(|pass| pass.is_untold) {
                pass.is_untold = false;
                self.told = Told::Part;
                return Ok(0);
            } else if self.pass.is_some() && self.hub.state().is_paused(self.socket) {
                is_idle = true;
            } else if self.pass.is_some() {
                // In a box, because an idle stream should take little memory.
                Box::pin(self.next_of_pass(burst)).await?;
            } else {
                let next = {
                    let mut state = self.hub.state();
                    head = Some(state.head());
                    state.next(self.socket, self.cursor, burst)
                };
                match next {
                    Next::Messages(cursor) => {
                        self.cursor = cursor;
                        is_shared = true;
                    }
                    Next::Behind(cursor) => {
                        self.cursor = cursor;
                        continue;
                    }
                    Next::Idle(cursor) => {
                        self.cursor = cursor;
                        is_idle = true;
                    }
                    Next::Paused => is_idle = true,
                    Next::Log => Box::pin(self.next_of_log(burst)).await?,
                    Next::Reset => self.pass = Some(self.reset()),
                    Next::NewWatches => self.pass = Some(self.pass_of_new_watches()),
                    Next::Lost => return Err(StoreError::SocketLost),
                }
            }
            self.add_state(burst);
            if !burst.is_empty() {
                self.hub.pushes.fetch_add(burst.len().try_into().unwrap_or(0), Ordering::Relaxed);
                if self.format == MessageFormat::State {
                    self.told = self.has_until(head.unwrap_or_else(|| self.head()));
                }
                let bytes = burst.iter().map(|frame| frame.json.len());
                return Ok(if is_shared { 0 } else { bytes.sum() });
            }
            if self.format == MessageFormat::State && !self.is_up_to_date() {
                let told = self.has_until(head.unwrap_or_else(|| self.head()));
                if told != Told::Part && told != self.told {
                    self.told = told;
                    return Ok(0);
                }
            }
            if is_idle {
                if let Some(until) = self.behind_until.filter(|&until| self.cursor < until) {
                    self.hub.state().wake_at(self.socket, until);
                }
                self.wait().await;
            } else {
                yield_now().await;
            }
        }
    }

    /// Waits until there may be a message, or until a mark or a reset is due.
    async fn wait(&self) {
        let reset_at = self.hub.state().reset_at(self.socket);
        match self.mark_at.into_iter().chain(reset_at).min() {
            Some(at) => select! {
                () = self.wake.notified() => {}
                () = sleep_until(at) => {}
            },
            None => self.wake.notified().await,
        }
    }

    /// Adds `synced` or `mark` if the client has the state of one revision: rule 8 of the module, and
    /// rule 7 of `state.rs`.
    fn add_state(&mut self, burst: &mut Burst) {
        if self.format != MessageFormat::Events {
            return;
        }
        let Some(Place::Exact(revision)) = self.place() else {
            // Otherwise the wait for a mark that is due would end at once.
            let later = |at: Instant| at.max(Instant::now() + MARK_AGAIN);
            self.mark_at = self.mark_at.map(later);
            return;
        };
        let is_synced = self.behind_until.take().is_some() && self.initial;
        let is_due = |mark_at| !burst.is_empty() || Instant::now() >= mark_at;
        if is_synced {
            burst.push(synced_frame(revision));
        } else if self.mark_at.is_some_and(is_due) {
            burst.push(mark_frame(revision));
        } else {
            return;
        }
        self.mark_at = self.mark_at.map(|_| Instant::now() + MARK_EVERY);
    }

    async fn next_of_log(&mut self, burst: &mut Burst) -> Result<(), StoreError> {
        match self.hub.store.log(self.cursor).await? {
            LogPage::Records(records) => {
                let cursor = self.hub.state().match_log(self.socket, &records, burst);
                self.cursor = cursor.unwrap_or(self.cursor);
            }
            LogPage::Trimmed => self.pass = Some(self.reset()),
        }
        Ok(())
    }

    fn reset(&self) -> Pass {
        let mut pass = self.snapshot();
        pass.is_reset = true;
        pass.is_untold = self.format == MessageFormat::State;
        if self.format != MessageFormat::Objects {
            pass.opening.insert(0, reset_frame(pass.through, self.format));
        }
        pass
    }

    fn snapshot(&self) -> Pass {
        let (watches, head) = self.hub.state().start_pass(self.socket);
        let start = control_frame("snapshot-start", head);
        let opening = if self.format == MessageFormat::State { vec![start] } else { Vec::new() };
        Pass { opening, ..Pass::new(watches, head, self.cursor) }
    }

    fn pass_of_new_watches(&self) -> Pass {
        let watches = self.hub.state().new_watches(self.socket);
        Pass::new(watches, self.cursor, self.cursor)
    }

    /// Reads one page of the pass.
    async fn next_of_pass(&mut self, burst: &mut Burst) -> Result<(), StoreError> {
        let Some(pass) = &mut self.pass else { return Ok(()) };
        let Hub { store, .. } = &*self.hub;
        let (objects, more) = match pass.patterns.last() {
            Some(pattern) => {
                let page = store.find(pattern, pass.after.as_ref(), None, PASS_PAGE).await?;
                (page.objects, page.more)
            }
            None => (Vec::new(), false),
        };
        let is_last = !more && pass.patterns.len() <= 1;
        let newest = if is_last { Some(store.client(self.client).await?.revision) } else { None };
        let last = objects.last().map(|stored| stored.object.key.clone());
        let state = self.hub.state();
        if state.is_paused(self.socket) {
            return Ok(());
        }
        burst.append(&mut pass.opening);
        let mut seen = None;
        if let Some(pattern) = pass.patterns.last() {
            for stored in objects {
                let StoredObject { object, revision, .. } = &stored;
                if !state.shows(self.socket, object) {
                    continue;
                }
                if pass.includes(pattern, &object.key, *revision, self.format) {
                    burst.push(current_frame(state.epoch(), &stored, self.format));
                }
                seen = Some(stored.object.key.clone());
            }
        }
        if let Some(newest) = newest {
            if self.format == MessageFormat::State {
                burst.push(control_frame("snapshot-end", pass.through));
            }
            self.cursor = pass.through;
            self.pass = None;
            self.behind_until = Some(newest);
        } else if more {
            pass.after = last;
            pass.seen = seen.or(pass.seen.take());
        } else {
            (pass.after, pass.seen) = (None, None);
            pass.patterns.pop();
        }
        Ok(())
    }
}

/// Moves a client's position forward. It must not outlive its [`Subscriber`], which removes the
/// socket from the hub when it is dropped.
pub(crate) struct Acknowledger {
    hub: Arc<Hub>,
    client: ClientId,
    socket: usize,
}

impl Acknowledger {
    /// Records that the client has received all pushes of this socket up to `revision`.
    pub(crate) fn acknowledge(&self, revision: Revision) {
        if self.hub.state().acknowledge(self.socket, revision) {
            self.hub.store.acknowledge(self.client, revision);
        }
    }
}

impl Pass {
    fn new(watches: Watches, through: Revision, from: Revision) -> Self {
        let mut patterns: Vec<Pattern> =
            watches.open().map(|(pattern, _)| pattern.clone()).collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.shape()));
        Self {
            watches,
            patterns,
            after: None,
            seen: None,
            through,
            from,
            opening: Vec::new(),
            is_reset: false,
            is_untold: false,
        }
    }

    /// Whether the value of `key`, which `revision` set, is pushed while `pattern` is read: rules 3
    /// to 5 of the module.
    fn includes(
        &self,
        pattern: &Pattern,
        key: &Key,
        revision: Revision,
        format: MessageFormat,
    ) -> bool {
        let newer_than = if format == MessageFormat::Objects { self.from } else { 0 };
        revision > newer_than
            && revision <= self.through
            && self.watches.match_current(key) == Some(pattern.shape())
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.hub.state().detach(self.client, self.socket);
    }
}
