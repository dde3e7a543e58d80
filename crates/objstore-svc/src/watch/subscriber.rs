//! The cursor of one stream, and the source that it reads from. A stream is a socket, or the
//! response to `GET /events`.
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
//!    may have matched them. A socket with [`MessageFormat::Events`] gets a `reset` message first,
//!    and then all values, because its client starts over.
//! 6. **A `since` beyond the newest revision begins a reset, too**: the client asks for all current
//!    values.
//! 7. **A position of an earlier epoch counts as 0.** So its client gets all current values, with
//!    each format: it may have lost values.
//! 8. **After a pass, the client is behind until the stream has sent all changes that the pass may
//!    have seen** (`behind_until`): a changed object was left out, and a deleted one was not found.
//!    Only then does the client have the state of one revision. So before that, the stream sends
//!    neither `synced` nor `mark`, and no frame is one to resume at. The store may be ahead of the hub
//!    then, so the hub wakes the stream when it has come so far.

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
    ring::{MessageFormat, current_frame, mark_frame, reset_frame, synced_frame},
    state::{Attached, Next},
};
use crate::{
    domain::{ClientId, Key, Pattern, Revision, Watches},
    store::{LogPage, StoreError},
};

/// Maximum number of objects that a pass reads per call.
const PASS_PAGE: usize = 256;

/// Maximum time between two marks.
const MARK_EVERY: Duration = Duration::from_secs(10);

/// The same, while marks show a revision before the newest access rules.
const MARK_EVERY_UNTIL_SETTLED: Duration = Duration::from_secs(1);

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
}

/// A pass over the current objects that a client watches.
struct Pass {
    /// The watches whose objects are sent.
    watches: Watches,
    /// The patterns that are left to read, the next one last.
    patterns: Vec<Pattern>,
    /// The last key that was read under the next pattern.
    after: Option<Key>,
    /// Values up to this revision are sent. Later changes come from the change log.
    through: Revision,
    /// The cursor at the start. [`MessageFormat::Objects`] gets only values that are newer.
    from: Revision,
    /// Whether the `reset` message was added to a burst, or is not needed.
    announced: bool,
}

impl Subscriber {
    pub(super) fn new(
        hub: Arc<Hub>,
        client: ClientId,
        stream: &Stream,
        attached: Attached,
        since_is_newer: bool,
    ) -> Self {
        let &Stream { format, initial, marks, .. } = stream;
        let Attached { socket, cursor, wake } = attached;
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
        };
        if since_is_newer {
            // Rule 6 of the module.
            subscriber.cursor = 0;
            subscriber.pass = Some(subscriber.reset());
        } else if initial && !matches!(stream.begin, Begin::After(_)) {
            // The client has nothing yet, so there is nothing to reset.
            subscriber.pass = Some(Pass { announced: true, ..subscriber.reset() });
        }
        subscriber
    }

    /// [`Self::next`] has returned all pushes up to this revision.
    pub(crate) fn cursor(&self) -> Revision {
        self.cursor
    }

    pub(crate) fn acknowledger(&self) -> Acknowledger {
        Acknowledger { hub: Arc::clone(&self.hub), client: self.client, socket: self.socket }
    }

    /// Waits for messages and adds them to `burst`, which must be empty. Returns the bytes of those
    /// that are not in the ring, which all streams share. Cancel safe: a later call returns the same
    /// messages. Fails if the store cannot be read, or with
    /// [`StoreError::SocketLost`] if the socket has to be closed.
    pub(crate) async fn next(&mut self, burst: &mut Burst) -> Result<usize, StoreError> {
        loop {
            let mut is_shared = false;
            let mut is_idle = false;
            if self.pass.is_some() {
                // In a box, because an idle stream should take little memory.
                Box::pin(self.next_of_pass(burst)).await?;
            } else {
                let next = self.hub.state().next(self.socket, self.cursor, burst);
                match next {
                    Next::Messages(cursor) => {
                        self.cursor = cursor;
                        is_shared = true;
                    }
                    Next::Idle(cursor) => {
                        self.cursor = cursor;
                        is_idle = true;
                    }
                    Next::Log => Box::pin(self.next_of_log(burst)).await?,
                    Next::Reset => self.pass = Some(self.reset()),
                    Next::NewWatches => self.pass = Some(self.pass_of_new_watches()),
                    Next::Lost => return Err(StoreError::SocketLost),
                }
            }
            self.add_state(burst);
            if !burst.is_empty() {
                self.hub.pushes.fetch_add(burst.len().try_into().unwrap_or(0), Ordering::Relaxed);
                let bytes = burst.iter().map(|frame| frame.json.len());
                return Ok(if is_shared { 0 } else { bytes.sum() });
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

    /// Waits until there may be a message, or until a mark is due.
    async fn wait(&self) {
        match self.mark_at {
            Some(mark_at) => select! {
                () = self.wake.notified() => {}
                () = sleep_until(mark_at) => {}
            },
            None => self.wake.notified().await,
        }
    }

    /// Adds `synced` or `mark` if the client has the state of one revision: rule 8 of the module, and
    /// rule 6 of `state.rs`.
    fn add_state(&mut self, burst: &mut Burst) {
        if self.format == MessageFormat::Objects {
            return;
        }
        let has_caught_up = self.behind_until.is_none_or(|until| self.cursor >= until);
        let is_complete = self.pass.is_none() && has_caught_up;
        let revision = {
            let state = self.hub.state();
            let state_revision =
                |revision| state.state_revision(self.socket, revision).filter(|_| is_complete);
            for frame in burst.iter_mut() {
                let is_after_pass = self.behind_until.is_some();
                frame.resume = frame.resume.filter(|_| !is_after_pass).and_then(state_revision);
            }
            state_revision(self.cursor)
        };
        let Some(revision) = revision else { return };
        let is_synced = self.behind_until.take().is_some() && self.initial;
        let is_due = |mark_at| !burst.is_empty() || Instant::now() >= mark_at;
        if is_synced {
            burst.push(synced_frame(revision));
        } else if self.mark_at.is_some_and(is_due) {
            burst.push(mark_frame(revision));
        } else {
            return;
        }
        let every = if revision == self.cursor { MARK_EVERY } else { MARK_EVERY_UNTIL_SETTLED };
        self.mark_at = self.mark_at.map(|_| Instant::now() + every);
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
        let (watches, head) = self.hub.state().start_pass(self.socket);
        let announced = self.format == MessageFormat::Objects;
        Pass { announced, ..Pass::new(watches, head, self.cursor) }
    }

    fn pass_of_new_watches(&self) -> Pass {
        let watches = self.hub.state().new_watches(self.socket);
        Pass::new(watches, self.cursor, self.cursor)
    }

    /// Reads one page of the pass.
    async fn next_of_pass(&mut self, burst: &mut Burst) -> Result<(), StoreError> {
        let Some(pass) = &mut self.pass else { return Ok(()) };
        if !pass.announced {
            burst.push(reset_frame(pass.through));
            pass.announced = true;
            return Ok(());
        }
        let Some(pattern) = pass.patterns.last() else {
            let newest = self.hub.store.client(self.client).await?.revision;
            self.cursor = pass.through;
            self.pass = None;
            self.behind_until = Some(newest);
            return Ok(());
        };
        let page = self.hub.store.find(pattern, pass.after.as_ref(), None, PASS_PAGE).await?;
        let last = page.objects.last().map(|stored| stored.object.key.clone());
        {
            let state = self.hub.state();
            for stored in page.objects {
                let key = &stored.object.key;
                if pass.includes(pattern, key, stored.revision, self.format)
                    && state.shows(self.socket, &stored.object)
                {
                    burst.push(current_frame(stored.revision, &stored.object, self.format));
                }
            }
        }
        match last.filter(|_| page.more) {
            Some(key) => pass.after = Some(key),
            None => {
                pass.after = None;
                pass.patterns.pop();
            }
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
        Self { watches, patterns, after: None, through, from, announced: true }
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
