//! Looks up the addresses of the portal, once for all sign-ins that begin at about the same time.
//!
//! The look-up of the operating system blocks a thread. If each sign-in had its own, a thousand
//! sign-ins would need a thousand threads.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

/// How long addresses are used. The system does not tell how long they are valid.
const LIFETIME: Duration = Duration::from_secs(10);

/// The last look-up. All sign-ins call the same host.
#[derive(Debug, Default)]
pub(super) struct SharedLookup(Mutex<Option<Lookup>>);

#[derive(Debug, Clone)]
struct Lookup {
    name: String,
    started: Instant,
    addresses: Shared<BoxFuture<'static, Found>>,
}

/// The name of the portal has no address.
#[derive(Debug, thiserror::Error)]
#[error("the name cannot be looked up")]
pub(super) struct NameNotFound(#[source] Arc<io::Error>);

type Found = Result<Arc<[SocketAddr]>, Arc<io::Error>>;

impl Lookup {
    fn start(name: &str) -> Self {
        let host = (name.to_owned(), 0);
        let addresses = async move {
            let found = lookup_host(host).await.map_err(Arc::new)?;
            Ok(found.collect())
        };
        let addresses = addresses.boxed().shared();
        Self { name: name.to_owned(), started: Instant::now(), addresses }
    }

    /// Whether it is in progress, or has addresses that are not too old.
    fn is_usable(&self) -> bool {
        match self.addresses.peek() {
            None => true,
            Some(Ok(_)) => self.started.elapsed() < LIFETIME,
            Some(Err(_)) => false,
        }
    }
}

impl SharedLookup {
    fn lookup(&self, name: &str) -> Lookup {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref().filter(|last| last.name == name && last.is_usable()) {
            Some(last) => last.clone(),
            None => last.insert(Lookup::start(name)).clone(),
        }
    }
}

impl Resolve for SharedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let lookup = self.lookup(name.as_str());
        Box::pin(async move {
            let addresses = lookup.addresses.await.map_err(NameNotFound)?;
            let addresses: Vec<_> = addresses.iter().copied().collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sign_ins_share_a_look_up() {
        let names = SharedLookup::default();
        let (first, second) = (names.lookup("localhost"), names.lookup("localhost"));
        assert!(first.addresses.ptr_eq(&second.addresses));
        assert!(!first.addresses.await.unwrap().is_empty());
        assert!(second.addresses.ptr_eq(&names.lookup("localhost").addresses));
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let names = SharedLookup::default();
        let failed = names.lookup("nobody.invalid");
        assert!(failed.addresses.clone().await.is_err());
        assert!(!failed.addresses.ptr_eq(&names.lookup("nobody.invalid").addresses));
    }

    #[tokio::test]
    async fn old_addresses_are_not_used() {
        let names = SharedLookup::default();
        let found = names.lookup("localhost");
        assert!(found.addresses.clone().await.is_ok());
        let old = Instant::now().checked_sub(LIFETIME).unwrap();
        names.0.lock().unwrap().as_mut().unwrap().started = old;
        assert!(!found.addresses.ptr_eq(&names.lookup("localhost").addresses));
    }
}
