//! Looks up the addresses of names with the operating system.
//!
//! A look-up blocks a thread, for up to half a minute if the name server does not answer. So all
//! that need a name at about the same time share a look-up, and only some threads look names up.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use quick_cache::sync::Cache;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{
    aside::Aside,
    limits::{Limited, Usage, widen},
};

/// How long a look-up is used. The system does not tell how long addresses are valid.
const LIFETIME: Duration = Duration::from_secs(10);

/// The maximum number of look-ups in memory.
const KEPT: usize = 1000;

/// Looks up names on a limited number of threads.
#[derive(Debug)]
pub struct Names {
    limit: &'static str,
    threads: usize,
    aside: Aside,
    recent: Cache<Box<str>, Lookup>,
}

#[derive(Debug, Clone)]
struct Lookup {
    /// When a thread began.
    started: Arc<OnceLock<Instant>>,
    addresses: Shared<BoxFuture<'static, Found>>,
}

type Found = Result<Arc<[SocketAddr]>, NameNotFound>;

/// The name has no address.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the name cannot be looked up")]
pub struct NameNotFound(#[source] Arc<io::Error>);

impl Names {
    /// Uses at most `threads` threads. `limit` is the label of this limit in the metrics.
    pub fn new(limit: &'static str, threads: usize) -> Self {
        Self { limit, threads, aside: Aside::new(threads), recent: Cache::new(KEPT) }
    }

    fn recent_lookup(&self, name: &str) -> Lookup {
        if let Some(recent) = self.recent.get(name).filter(Lookup::is_usable) {
            return recent;
        }
        let lookup = self.start(name.to_owned());
        self.recent.insert(name.into(), lookup.clone());
        lookup
    }

    fn start(&self, name: String) -> Lookup {
        let (aside, started) = (self.aside.clone(), Arc::<OnceLock<_>>::default());
        let begun = Arc::clone(&started);
        let addresses = async move {
            let look_up = move || {
                begun.get_or_init(Instant::now);
                (name, 0).to_socket_addrs()
            };
            let found = aside.run(look_up).await;
            let found = found.map_err(io::Error::other).flatten();
            let found = found.map_err(|error| NameNotFound(Arc::new(error)))?;
            Ok(found.collect())
        };
        Lookup { started, addresses: addresses.boxed().shared() }
    }
}

impl Lookup {
    /// Whether it has not failed, and is not too old. An old one may hang, or nobody may have
    /// waited for its end. One that waits for a thread keeps its place.
    fn is_usable(&self) -> bool {
        let is_old = self.started.get().is_some_and(|started| started.elapsed() >= LIFETIME);
        !is_old && !matches!(self.addresses.peek(), Some(Err(_)))
    }
}

impl Resolve for Names {
    /// Waits for a thread if all are busy.
    fn resolve(&self, name: Name) -> Resolving {
        let lookup = self.recent_lookup(name.as_str());
        Box::pin(async move {
            let addresses = lookup.addresses.await?.to_vec();
            // The client replaces the port.
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

impl Limited for Names {
    fn usage(&self) -> Usage {
        let Self { limit, threads, ref aside, .. } = *self;
        let used = threads.saturating_sub(aside.free());
        Usage { name: limit, used: widen(used), limit: widen(threads), rejections: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn names() -> Names {
        Names::new("names", 1)
    }

    #[tokio::test]
    async fn callers_share_a_look_up() {
        let names = names();
        let (first, second) = (names.recent_lookup("localhost"), names.recent_lookup("localhost"));
        assert!(first.addresses.ptr_eq(&second.addresses));
        assert!(!first.addresses.await.unwrap().is_empty());
        assert!(second.addresses.ptr_eq(&names.recent_lookup("localhost").addresses));
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let names = names();
        let failed = names.recent_lookup("nobody.invalid");
        assert!(failed.addresses.clone().await.is_err());
        assert!(!failed.addresses.ptr_eq(&names.recent_lookup("nobody.invalid").addresses));
    }

    #[tokio::test]
    async fn an_old_look_up_is_not_used() {
        let names = names();
        let old = Instant::now().checked_sub(LIFETIME).unwrap();
        for addresses in
            [async { Ok([].into()) }.boxed().shared(), std::future::pending().boxed().shared()]
        {
            let _ = addresses.clone().now_or_never();
            for (started, is_used) in
                [(None, true), (Some(Instant::now()), true), (Some(old), false)]
            {
                let started = Arc::new(started.map_or_else(OnceLock::new, OnceLock::from));
                let addresses = addresses.clone();
                names
                    .recent
                    .insert("localhost".into(), Lookup { started, addresses: addresses.clone() });
                let used = names.recent_lookup("localhost").addresses;
                assert_eq!(used.ptr_eq(&addresses), is_used);
            }
        }
    }

    #[tokio::test]
    async fn a_look_up_waits_for_a_thread() {
        let names = names();
        let (finish, finished) = mpsc::channel::<()>();
        let aside = names.aside.clone();
        let long = tokio::spawn(async move { aside.run(move || finished.recv()).await });
        while names.usage().used == 0 {
            tokio::task::yield_now().await;
        }
        let mut waiting = names.resolve("localhost".parse().unwrap());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(names.recent_lookup("localhost").started.get().is_none());
        finish.send(()).unwrap();
        assert!(waiting.await.unwrap().next().is_some());
        long.await.unwrap().unwrap().unwrap();
    }
}
