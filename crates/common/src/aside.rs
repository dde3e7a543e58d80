//! Long work on threads of its own.

use std::sync::Arc;

use tokio::{sync::Semaphore, task::spawn_blocking};

/// Threads for work that takes long, so that requests do not wait behind it.
#[derive(Debug, Clone)]
pub struct Aside {
    free: Arc<Semaphore>,
}

/// The work panicked.
#[derive(Debug, thiserror::Error)]
#[error("the work panicked")]
pub struct Panicked;

impl Aside {
    /// At most this many threads.
    pub fn new(threads: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(threads)) }
    }

    /// Does some work as soon as a thread is free. Work that has begun is finished, and keeps its
    /// thread, even when the caller stops waiting for it.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let thread = Arc::clone(&self.free).acquire_owned().await;
        let work = move || {
            let _thread = thread;
            work()
        };
        spawn_blocking(work).await.map_err(|_| Panicked)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[tokio::test]
    async fn work_of_a_caller_that_left_keeps_its_thread() {
        let aside = Aside::new(1);
        let (finish, finished) = mpsc::channel::<()>();
        let long = aside.run(move || finished.recv());
        let left = tokio::time::timeout(Duration::from_millis(50), long).await;
        assert!(left.is_err());
        let other = aside.run(|| 7);
        tokio::pin!(other);
        let early = tokio::time::timeout(Duration::from_millis(50), &mut other).await;
        assert!(early.is_err(), "two threads");
        finish.send(()).unwrap();
        assert_eq!(other.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_frees_the_thread() {
        let aside = Aside::new(1);
        assert!(aside.run(|| panic!("on purpose")).await.is_err());
        assert_eq!(aside.run(|| 7).await.unwrap(), 7);
    }
}
