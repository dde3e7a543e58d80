//! The end of the log, followed revision by revision: so a replica learns what the others commit.
//!
//! What this replica committed itself is handed over in memory and passed on when it is next in
//! line. Everything else, and whatever went missing on that way, is read from the log: when another
//! replica notifies of something new, and in any case every now and then.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use common::postgres::{Database, Error, OpenError};
use deadpool_postgres::ClientWrapper;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    super::{LogPage, News},
    SETTINGS, read,
    writes::CHANNEL,
};
use crate::domain::{Record, Revision};

/// How often the log is read though nothing was told of it: what a lost notification costs.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// How long the database may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// How long it takes to look for the database again that went away.
const RETRY_EVERY: Duration = Duration::from_millis(250);

/// The task that follows the log.
pub(super) struct Tail {
    pub(super) database: Database,
    /// The process in the database of the session that writes.
    pub(super) backend: Arc<AtomicI32>,
    /// What this replica committed.
    pub(super) committed: mpsc::Receiver<Vec<Record>>,
    pub(super) news: mpsc::Sender<News>,
    /// The newest revision that was passed on.
    pub(super) revision: Revision,
    /// Whether the next failure is logged as a warning: once per outage.
    pub(super) warns: bool,
}

/// Why the log is not followed for now.
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

/// Nobody takes the news any more.
struct Over;

impl Tail {
    /// Follows the log until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            match self.follow().await {
                Ok(Over) => return,
                Err(error) if std::mem::take(&mut self.warns) => {
                    tracing::warn!(cause = %error, "the log is not followed for now");
                }
                Err(error) => tracing::debug!(cause = %error, "the log is still not followed"),
            }
            sleep(RETRY_EVERY).await;
        }
    }

    async fn follow(&mut self) -> Result<Over, Interruption> {
        let (wake, mut woken) = mpsc::channel(1);
        let backend = Arc::clone(&self.backend);
        let listening = self.database.listen(SETTINGS, move |notification| {
            if notification.process_id() != backend.load(Ordering::Relaxed) {
                // One that waits already is enough.
                let _ = wake.try_send(());
            }
        });
        let session = listening.await?;
        let listen = format!("LISTEN {}", CHANNEL);
        timeout(ANSWER, session.batch_execute(&listen)).await.map_err(|_| Error::Silent)??;
        let mut is_behind = true;
        loop {
            let mut news = None;
            if is_behind {
                let head;
                (news, head) = self.read(&session).await?;
                is_behind = self.revision < head;
                self.warns = true;
            } else {
                tokio::select! {
                    committed = self.committed.recv() => {
                        let Some(records) = committed else { return Ok(Over) };
                        (news, is_behind) = self.take(records);
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
                return Ok(Over);
            }
        }
    }

    /// What follows in the log, if anything does, and the newest revision there is.
    async fn read(
        &mut self,
        session: &ClientWrapper,
    ) -> Result<(Option<News>, Revision), Interruption> {
        let page = timeout(ANSWER, read::log(session, self.revision)).await;
        let (page, head) = page.map_err(|_| Error::Silent)??;
        let news = match page {
            LogPage::Records(records) => {
                self.revision = records.last().map_or(self.revision, |last| last.revision);
                (!records.is_empty()).then_some(News::Records(records))
            }
            LogPage::Trimmed => {
                self.revision = head;
                Some(News::Missed(head))
            }
        };
        Ok((news, head))
    }

    /// What was committed here, if it is next in line, and whether the log has to be read, since
    /// something else is.
    fn take(&mut self, records: Vec<Record>) -> (Option<News>, bool) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return (None, false);
        };
        if first.revision == self.revision + 1 {
            self.revision = last.revision;
            return (Some(News::Records(records)), false);
        }
        (None, last.revision > self.revision)
    }
}
