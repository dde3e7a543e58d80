//! The cursor of one socket, and the source that it reads from.
//!
//! [`Subscriber::next`] asks the state of the hub first. If the ring has dropped records after the
//! cursor, it reads the change log. If that has dropped some, too, it begins a *reset*, a pass over
//! the current objects that the client watches.
//!
//! 1. **Cancel safe.** The socket task drops `next` whenever it has to send a ping. So each step
//!    changes the cursor, the reset and the burst together, after its last await.
//! 2. **The cursor stays until a reset is over.** A pong acknowledges the cursor of its ping.
//!    Therefore a pong during the reset acknowledges none of it, and a client that disconnects gets
//!    the reset again.
//! 3. **A reset covers all changes up to the newest revision at its start** (`through`). Values
//!    that are newer are left out, since their changes come from the change log afterwards. Objects
//!    that the client no longer watches are left out, too.
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

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use tokio::{sync::Notify, task::yield_now};

use super::{
    Hub,
    ring::{MessageFormat, current_frame, reset_frame},
    state::{Attached, Next},
};
use crate::{
    domain::{ClientId, Key, Pattern, Revision, Watches},
    store::{LogPage, StoreError},
};

/// Maximum number of objects that a reset reads per call.
const RESET_PAGE: usize = 256;

/// Messages in the order in which they are sent.
pub(crate) type Burst = Vec<Bytes>;

/// Produces the messages of one socket. Dropping it ends the subscription.
pub(crate) struct Subscriber {
    hub: Arc<Hub>,
    client: ClientId,
    format: MessageFormat,
    socket: usize,
    wake: Arc<Notify>,
    cursor: Revision,
    reset: Option<Reset>,
}

/// A pass over the current objects that a client watches.
struct Reset {
    /// The open watches at the start.
    watches: Watches,
    /// The patterns that are left to read, the next one last.
    patterns: Vec<Pattern>,
    /// The last key that was read under the next pattern.
    after: Option<Key>,
    /// The newest revision at the start. Later changes come from the change log.
    through: Revision,
    /// The cursor at the start. [`MessageFormat::Objects`] gets only values that are newer.
    from: Revision,
    /// Whether the `reset` message was added to a burst, or is not needed.
    announced: bool,
}

/// The owner of the memory of the messages in a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameOwner {
    /// They are in the ring, which all sockets share.
    Shared,
    /// They were made for one socket.
    Own,
}

impl Subscriber {
    pub(super) fn new(
        hub: Arc<Hub>,
        client: ClientId,
        format: MessageFormat,
        attached: Attached,
        since_is_newer: bool,
    ) -> Self {
        let Attached { socket, cursor, wake } = attached;
        let mut subscriber = Self { hub, client, format, socket, wake, cursor, reset: None };
        if since_is_newer {
            // Rule 6 of the module.
            subscriber.cursor = 0;
            subscriber.reset = Some(subscriber.begin_reset());
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

    /// Waits for messages and adds them to `burst`, which must be empty. Cancel safe: a later call
    /// returns the same messages. Fails if the store cannot be read, or with
    /// [`StoreError::SocketLost`] if the socket has to be closed.
    pub(crate) async fn next(&mut self, burst: &mut Burst) -> Result<FrameOwner, StoreError> {
        loop {
            let mut frames = FrameOwner::Own;
            if self.reset.is_some() {
                self.next_of_reset(burst).await?;
            } else {
                let next = self.hub.state().next(self.socket, self.cursor, burst);
                match next {
                    Next::Messages(cursor) => {
                        self.cursor = cursor;
                        frames = FrameOwner::Shared;
                    }
                    Next::Idle(cursor) => {
                        self.cursor = cursor;
                        self.wake.notified().await;
                    }
                    Next::Log => self.next_of_log(burst).await?,
                    Next::Lost => return Err(StoreError::SocketLost),
                }
            }
            if !burst.is_empty() {
                self.hub.pushes.fetch_add(burst.len().try_into().unwrap_or(0), Ordering::Relaxed);
                return Ok(frames);
            }
            yield_now().await;
        }
    }

    async fn next_of_log(&mut self, burst: &mut Burst) -> Result<(), StoreError> {
        match self.hub.store.log(self.cursor).await? {
            LogPage::Records(records) => {
                let cursor = self.hub.state().match_log(self.socket, &records, burst);
                self.cursor = cursor.unwrap_or(self.cursor);
            }
            LogPage::Trimmed => self.reset = Some(self.begin_reset()),
        }
        Ok(())
    }

    fn begin_reset(&self) -> Reset {
        let mut state = self.hub.state();
        let through = state.head();
        state.advance(self.socket, through);
        let watches = state.watches(self.socket).open_only();
        drop(state);
        let mut patterns: Vec<Pattern> =
            watches.open().map(|(pattern, _)| pattern.clone()).collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.shape()));
        Reset {
            watches,
            patterns,
            after: None,
            through,
            from: self.cursor,
            announced: self.format == MessageFormat::Objects,
        }
    }

    /// Reads one page of the reset.
    async fn next_of_reset(&mut self, burst: &mut Burst) -> Result<(), StoreError> {
        let Some(reset) = &mut self.reset else { return Ok(()) };
        if !reset.announced {
            burst.push(reset_frame(reset.through));
            reset.announced = true;
            return Ok(());
        }
        let Some(pattern) = reset.patterns.last() else {
            self.cursor = reset.through;
            self.reset = None;
            return Ok(());
        };
        let page = self.hub.store.find(pattern, reset.after.as_ref(), None, RESET_PAGE).await?;
        let last = page.objects.last().map(|stored| stored.object.key.clone());
        {
            let state = self.hub.state();
            for stored in page.objects {
                let key = &stored.object.key;
                let still_watched = state.watches(self.socket).match_current(key);
                if reset.includes(pattern, key, stored.revision, self.format)
                    && still_watched.is_some()
                {
                    burst.push(current_frame(stored.revision, &stored.object, self.format));
                }
            }
        }
        match last.filter(|_| page.more) {
            Some(key) => reset.after = Some(key),
            None => {
                reset.after = None;
                reset.patterns.pop();
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

impl Reset {
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
