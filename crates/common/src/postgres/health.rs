//! Whether a database is there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};

use super::{Database, pool::answers};

/// How often the database is asked whether it is there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whether a database answers, asked again and again.
pub struct Health {
    is_up: Arc<AtomicBool>,
    _looking: JoinSet<()>,
}

impl Health {
    /// Looks until the value is dropped, on a session of its own: those of the others may all be in
    /// use.
    pub fn watch(database: Database) -> Self {
        let is_up = Arc::new(AtomicBool::new(true));
        let mut looking = JoinSet::new();
        looking.spawn(look(database, Arc::clone(&is_up)));
        Self { is_up, _looking: looking }
    }

    /// Whether it answered when it was asked last.
    pub fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }
}

async fn look(database: Database, is_up: Arc<AtomicBool>) {
    loop {
        if let Ok(session) = database.connect().await {
            while answers(&session).await {
                is_up.store(true, Ordering::Relaxed);
                sleep(LOOK_EVERY).await;
            }
        }
        is_up.store(false, Ordering::Relaxed);
        sleep(LOOK_EVERY).await;
    }
}
