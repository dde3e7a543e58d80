//! Who gets which change.
//!
//! Committed records come in by one feed, in order. A change finds its watchers by look-up: a key
//! is matched by eight patterns at most. What a socket is owed is a cursor over the log; while it
//! keeps up it gets the revisions it is owed in a bounded queue, and the frames from a ring that
//! all sockets share. One that falls behind reads the ring, then the log, then, where the log no
//! longer reaches back, the objects themselves. So a slow client costs neither memory nor another
//! client's time.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    task::yield_now,
    time::timeout,
};

use crate::{
    domain::{ClientId, Record, Revision},
    store::{Feed, News, Store, StoreError},
};

mod marks;
mod ring;
mod state;
mod subscriber;

pub(crate) use marks::Marks;
pub(crate) use ring::Form;
pub(crate) use subscriber::{Acknowledgements, Burst, Frames, Subscriber};

use state::State;

/// Revisions queued to sockets before the dispatcher lets others run.
const DISPATCH_STRETCH: usize = 8192;

/// How long a new socket waits for what is committed to be dispatched.
const DISPATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Where changes meet those who watch.
pub(crate) struct Hub {
    store: Store,
    state: Mutex<State>,
    /// The newest revision dispatched; none once dispatching has ended.
    dispatched: watch::Sender<Option<Revision>>,
    pushes: AtomicU64,
}

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchStats {
    /// Sockets open.
    pub(crate) sockets: usize,
    /// Clients that have one.
    pub(crate) clients: usize,
    /// Ended watches that sockets which are behind still need.
    pub(crate) ended: usize,
    /// Messages handed to sockets since the start.
    pub(crate) pushes: u64,
}

impl Hub {
    /// A hub over `store` that has seen all up to `revision`. Of one client it keeps at most
    /// `max_ended` ended watches.
    pub(crate) fn new(store: Store, revision: Revision, max_ended: usize) -> Arc<Self> {
        Arc::new(Self {
            store,
            state: Mutex::new(State::new(revision, max_ended)),
            dispatched: watch::Sender::new(Some(revision)),
            pushes: AtomicU64::new(0),
        })
    }

    /// Dispatches what is committed until the store is closed.
    pub(crate) async fn run(self: Arc<Self>, mut feed: Feed) {
        while let Some(news) = feed.news.recv().await {
            match news {
                News::Records(records) => {
                    let mut records = records.into_iter().peekable();
                    while records.peek().is_some() {
                        wake(self.dispatch(&mut records));
                        self.dispatched.send_replace(Some(self.state().head()));
                        yield_now().await;
                    }
                }
                News::Missed(revision) => {
                    tracing::warn!(revision, "the log has dropped changes before they were seen");
                    wake(self.state().start_over(revision));
                    self.dispatched.send_replace(Some(revision));
                }
            }
        }
        self.dispatched.send_replace(None);
    }

    fn dispatch(&self, records: &mut impl Iterator<Item = Record>) -> Vec<Arc<Notify>> {
        let mut state = self.state();
        let mut woken = Vec::new();
        let mut queued = 0;
        while queued < DISPATCH_STRETCH
            && let Some(record) = records.next()
        {
            queued += 1 + state.dispatch(record, &mut woken);
        }
        woken
    }

    /// Opens a cursor for one more socket of `client`: from `since` on, else from where the client
    /// has acknowledged.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        client: ClientId,
        form: Form,
        since: Option<Revision>,
    ) -> Result<Subscriber, StoreError> {
        loop {
            let known = self.store.client(client).await?;
            self.has_dispatched(known.revision).await?;
            let ahead = since.is_some_and(|since| since > known.revision);
            let attached = self.state().attach(client, known, form, since);
            // Not attached when dispatching has run away from what was just read: read it again.
            if let Some(attached) = attached {
                return Ok(Subscriber::new(Arc::clone(self), client, form, attached, ahead));
            }
        }
    }

    /// Waits until everything up to `revision` is dispatched: a socket that started before would take
    /// what is committed for something that is yet to come.
    async fn has_dispatched(&self, revision: Revision) -> Result<(), StoreError> {
        let mut dispatched = self.dispatched.subscribe();
        let is_over = |head: &Option<Revision>| head.is_none_or(|head| head >= revision);
        match timeout(DISPATCH_TIMEOUT, dispatched.wait_for(is_over)).await {
            Ok(Ok(head)) if head.is_some() => Ok(()),
            _ => Err(StoreError::Behind),
        }
    }

    /// Numbers for the metrics.
    pub(crate) fn stats(&self) -> WatchStats {
        let (sockets, clients, ended) = self.state().count();
        WatchStats { sockets, clients, ended, pushes: self.pushes.load(Ordering::Relaxed) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The service ends when dispatching panics; nobody else changes more than its own socket.
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
