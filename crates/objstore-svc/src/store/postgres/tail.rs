//! The tail of the change log: sends the commits of all replicas to the feed, in order of revision.
//!
//! 1. The feed must be in order and without gaps, on every replica. The tail therefore keeps one
//!    cursor (`revision`), and passes on only records that follow it directly.
//! 2. The writer of this replica sends its commits over a channel, so that the usual case needs no
//!    read. A batch that follows the cursor directly is passed on. A batch that the tail has read
//!    from the change log already is dropped. Otherwise there is a gap, because another replica
//!    committed before the batch: the tail reads both from the change log.
//! 3. The channel may lose batches: the writer never waits for it. That is safe, because the tail
//!    detects the gap and reads the change log.
//! 4. Each commit notifies all replicas (`NOTIFY`). The tail ignores the notifications of its own
//!    writer, because it receives these commits from the channel. It recognizes them by the ID of
//!    the PostgreSQL process that sent them.
//! 5. Notifications may be lost, for example with the connection. So the tail also polls, every
//!    [`POLL_EVERY`], and reads the change log after each reconnection.
//! 6. If the change log was trimmed past the cursor, or the cursor is from an earlier epoch, the
//!    tail sends [`FeedItem::Missed`] and continues after the newest revision. The hub then closes
//!    the sockets of this replica. A revision is never used in two epochs, so the tail cannot
//!    mistake a record of the new epoch for the next one of the old epoch.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use common::{
    outage::Outage,
    postgres::{Database, Error, OpenError},
};
use deadpool_postgres::ClientWrapper;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    super::{FeedItem, LogPage, Shared},
    SETTINGS, read,
    writes::CHANNEL,
};
use crate::domain::{Record, Revision};

/// How often the change log is read without a notification. So a lost notification delays changes
/// by at most this time.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// Timeout for an answer of the database.
const ANSWER: Duration = Duration::from_secs(5);

/// The delay before the tail connects again.
const RETRY_EVERY: Duration = Duration::from_millis(250);

pub(super) struct Tail {
    pub(super) database: Database,
    pub(super) shared: Arc<Shared>,
    /// The process of PostgreSQL that serves the writer's connection.
    pub(super) backend: Arc<AtomicI32>,
    /// Commits of this replica.
    pub(super) committed: mpsc::Receiver<Vec<Record>>,
    pub(super) news: mpsc::Sender<FeedItem>,
    /// The cursor: the newest revision that was passed on.
    pub(super) revision: Revision,
    pub(super) outage: Outage,
}

#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error(transparent)]
    Connect(#[from] OpenError),
    #[error(transparent)]
    Database(#[from] Error),
    #[error("the database closed the connection")]
    Closed,
}

impl From<tokio_postgres::Error> for Interruption {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.into())
    }
}

/// The receiver of the feed, or the writer, has ended: the store is closing.
struct Closing;

impl Tail {
    /// Follows the change log until the store closes.
    pub(super) async fn run(mut self) {
        loop {
            match self.follow().await {
                Ok(Closing) => return,
                Err(error) => self.outage.failed(error),
            }
            sleep(RETRY_EVERY).await;
        }
    }

    async fn follow(&mut self) -> Result<Closing, Interruption> {
        let (wake, mut woken) = mpsc::channel(1);
        let backend = Arc::clone(&self.backend);
        let connecting = self.database.listen(SETTINGS, move |notification| {
            if notification.process_id() != backend.load(Ordering::Relaxed) {
                // If the channel is full, a read is pending anyway.
                let _ = wake.try_send(());
            }
        });
        let connection = connecting.await?;
        let listen = format!("LISTEN {}", CHANNEL);
        timeout(ANSWER, connection.batch_execute(&listen)).await.map_err(|_| Error::Silent)??;
        let mut is_behind = true;
        loop {
            let mut news = None;
            if is_behind {
                let head;
                (news, head) = self.read(&connection).await?;
                is_behind = self.revision < head;
                self.outage.succeeded();
            } else {
                tokio::select! {
                    committed = self.committed.recv() => {
                        let Some(records) = committed else { return Ok(Closing) };
                        (news, is_behind) = self.accept(records);
                    }
                    woken = woken.recv() => {
                        woken.ok_or(Interruption::Closed)?;
                        is_behind = true;
                    }
                    () = sleep(POLL_EVERY) => is_behind = true,
                }
            }
            if let Some(news) = news
                && self.news.send(news).await.is_err()
            {
                return Ok(Closing);
            }
        }
    }

    /// Reads the next page of the change log. Returns its news, if any, and the newest revision.
    async fn read(
        &mut self,
        connection: &ClientWrapper,
    ) -> Result<(Option<FeedItem>, Revision), Interruption> {
        let log = timeout(ANSWER, read::log(connection, self.revision)).await;
        let read::Log { page, head, epoch } = log.map_err(|_| Error::Silent)??;
        self.shared.observe(epoch);
        let news = match page {
            LogPage::Records(records) => {
                self.revision = records.last().map_or(self.revision, |last| last.revision);
                (!records.is_empty()).then_some(FeedItem::Records(records))
            }
            LogPage::Trimmed => {
                self.revision = head;
                Some(FeedItem::Missed(head))
            }
        };
        Ok((news, head))
    }

    /// Passes a commit of this replica on if it follows the cursor directly. The second value is
    /// `true` if there is a gap, so that the change log has to be read.
    fn accept(&mut self, records: Vec<Record>) -> (Option<FeedItem>, bool) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return (None, false);
        };
        if first.revision == self.revision + 1 {
            self.revision = last.revision;
            return (Some(FeedItem::Records(records)), false);
        }
        (None, last.revision > self.revision)
    }
}
