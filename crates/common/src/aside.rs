//! Runs long blocking work on a limited number of threads, so that requests do not wait for it.

use std::sync::Arc;

use tokio::{sync::Semaphore, task::spawn_blocking};
use tokio_util::task::AbortOnDropHandle;

/// A limited number of threads for long work. Clones share them.
#[derive(Debug, Clone)]
pub struct Aside {
    free: Arc<Semaphore>,
}

/// The work has no result. The log shows the panic.
#[derive(Debug, thiserror::Error)]
#[error("the operation panicked")]
pub struct Panicked;

impl Aside {
    /// Uses at most `threads` threads of the blocking pool.
    pub fn new(threads: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(threads)) }
    }

    /// The number of threads that are free.
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Runs `work` as soon as a thread is free. Work that has begun is finished and keeps its
    /// thread, even if the caller stops waiting for it.
    ///
    /// If no thread is free, waits in a task of its own. Otherwise, a caller that is next, but does
    /// something else at the moment, would keep the thread from all others, and wait for ever if it
    /// needs one itself.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let start = |thread| {
            spawn_blocking(move || {
                let _thread = thread;
                work()
            })
        };
        let free = Arc::clone(&self.free);
        let done = match Arc::clone(&free).try_acquire_owned() {
            Ok(thread) => start(Ok(thread)).await,
            Err(_) => {
                let run = async move { start(free.acquire_owned().await).await };
                AbortOnDropHandle::new(tokio::spawn(run)).await.flatten()
            }
        };
        done.map_err(|_| Panicked)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn abandoned_work_keeps_its_thread() {
        let aside = Aside::new(1);
        let (finish, finished) = mpsc::channel::<()>();
        let long = aside.run(move || finished.recv());
        let abandoned = tokio::time::timeout(Duration::from_millis(50), long).await;
        assert!(abandoned.is_err());
        let other = aside.run(|| 7);
        tokio::pin!(other);
        let early = tokio::time::timeout(Duration::from_millis(50), &mut other).await;
        assert!(early.is_err(), "two threads");
        finish.send(()).unwrap();
        assert_eq!(other.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_caller_that_does_something_else_keeps_nobody_waiting() {
        let aside = Aside::new(1);
        let (finish, finished) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let long = tokio::spawn({
            let aside = aside.clone();
            let work = move || {
                begin.send(()).unwrap();
                finished.recv()
            };
            async move { aside.run(work).await }
        });
        begun.await.unwrap();
        let next = aside.run(|| 7);
        tokio::pin!(next);
        let early = tokio::time::timeout(Duration::from_millis(50), &mut next).await;
        assert!(early.is_err(), "the thread is busy");
        finish.send(()).unwrap();
        long.await.unwrap().unwrap().unwrap();
        let other = tokio::time::timeout(Duration::from_secs(60), aside.run(|| 8)).await;
        assert_eq!(other.expect("the thread is free").unwrap(), 8);
        assert_eq!(next.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_frees_the_thread() {
        let aside = Aside::new(1);
        assert!(aside.run(|| panic!("on purpose")).await.is_err());
        assert_eq!(aside.run(|| 7).await.unwrap(), 7);
    }
}
