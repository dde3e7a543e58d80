//! The cursor of one socket.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use tokio::{sync::Notify, task::yield_now};

use super::{
    Hub,
    ring::{Form, current_frame, reset_frame},
    state::{Attached, Next},
};
use crate::{
    domain::{ClientId, Key, Pattern, Revision, Watches},
    store::{LogPage, StoreError},
};

/// Objects read at once for a client whose place in the log is gone.
const RESET_PAGE: usize = 256;

/// Messages in the order they are sent.
pub(crate) type Burst = Vec<Bytes>;

/// What one socket is owed, from a cursor on. Dropping it ends the subscription.
pub(crate) struct Subscriber {
    hub: Arc<Hub>,
    client: ClientId,
    form: Form,
    socket: usize,
    wake: Arc<Notify>,
    cursor: Revision,
    reset: Option<Reset>,
}

/// The pass over the objects of a client that the log can no longer serve.
struct Reset {
    /// What it watched when the pass began.
    watches: Watches,
    /// What of that is left to read, the next pattern last.
    patterns: Vec<Pattern>,
    /// Where the next page of it begins.
    after: Option<Key>,
    /// What changes after this comes from the log, once the pass is over.
    through: Revision,
    /// Values up to this are old news.
    from: Revision,
    /// Whether the client has been told, if its form tells it.
    announced: bool,
}

/// Whose the bytes of a burst are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frames {
    /// All sockets share them: they are those of the newest changes.
    Shared,
    /// They were made for one socket.
    Own,
}

impl Subscriber {
    pub(super) fn new(
        hub: Arc<Hub>,
        client: ClientId,
        form: Form,
        attached: Attached,
        ahead: bool,
    ) -> Self {
        let Attached { socket, cursor, wake } = attached;
        let mut subscriber = Self { hub, client, form, socket, wake, cursor, reset: None };
        if ahead {
            // A revision that is not there yet is one of another life of the store.
            subscriber.cursor = 0;
            subscriber.reset = Some(subscriber.begin_reset());
        }
        subscriber
    }

    /// Everything up to this revision that the client is owed has been given out.
    pub(crate) fn cursor(&self) -> Revision {
        self.cursor
    }

    /// What the client's acknowledgements are told to.
    pub(crate) fn acknowledgements(&self) -> Acknowledgements {
        Acknowledgements { hub: Arc::clone(&self.hub), client: self.client, socket: self.socket }
    }

    /// Waits for messages and adds them to `burst`, which is empty. Cancel safe: what was not
    /// given out is given out by the next call.
    pub(crate) async fn next(&mut self, burst: &mut Burst) -> Result<Frames, StoreError> {
        loop {
            let mut frames = Frames::Own;
            if self.reset.is_some() {
                self.next_of_reset(burst).await?;
            } else {
                let next = self.hub.state().next(self.socket, self.cursor, burst);
                match next {
                    Next::Messages(cursor) => {
                        self.cursor = cursor;
                        frames = Frames::Shared;
                    }
                    Next::Idle(cursor) => {
                        self.cursor = cursor;
                        self.wake.notified().await;
                    }
                    Next::Log => self.next_of_log(burst).await?,
                    Next::Lost => return Err(StoreError::Missed),
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
        let watches = state.watches(self.socket).current();
        drop(state);
        let mut patterns: Vec<Pattern> = watches.open().map(|(it, _)| it.clone()).collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.shape()));
        Reset {
            watches,
            patterns,
            after: None,
            through,
            from: self.cursor,
            announced: self.form == Form::Objects,
        }
    }

    /// One page of the pass. The cursor stays where it is until the pass is over.
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
                if reset.includes(pattern, key, stored.revision, self.form)
                    && still_watched.is_some()
                {
                    burst.push(current_frame(stored.revision, &stored.object, self.form));
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

/// Moves a client's position on. Not to outlive its [`Subscriber`].
pub(crate) struct Acknowledgements {
    hub: Arc<Hub>,
    client: ClientId,
    socket: usize,
}

impl Acknowledgements {
    /// The client has everything up to `revision` that this socket was owed.
    pub(crate) fn acknowledge(&self, revision: Revision) {
        if self.hub.state().acknowledge(self.socket, revision) {
            self.hub.store.acknowledge(self.client, revision);
        }
    }
}

impl Reset {
    /// Whether the value that `revision` gave `key` is told while reading `pattern`: once, under
    /// the first pattern that matches. Plain sockets are told what changed since their cursor, by
    /// a change before the watch too, as it may have been owed to an earlier watch; those that
    /// were told of the reset start over, so they get everything.
    fn includes(&self, pattern: &Pattern, key: &Key, revision: Revision, form: Form) -> bool {
        let newer_than = if form == Form::Objects { self.from } else { 0 };
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
