//! The sessions with open sockets, so that a logout closes these sockets.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use tokio_util::sync::CancellationToken;

use crate::{
    domain::TokenDigest,
    lock::{Mutex, MutexGuard},
};

/// It has one entry for each session with an open socket of this process. The limit on connections
/// limits it, too.
#[derive(Default)]
pub(crate) struct OpenSockets(Mutex<HashMap<TokenDigest, Entry>>);

#[derive(Default)]
struct Entry {
    logout: CancellationToken,
    sockets: usize,
}

/// A socket of a session. Dropping it removes the socket from [`OpenSockets`].
pub(crate) struct OpenSocket {
    all: Arc<OpenSockets>,
    pub(crate) token: TokenDigest,
    /// Canceled by the logout of the session.
    pub(crate) logout: CancellationToken,
}

impl OpenSockets {
    pub(crate) fn add(self: &Arc<Self>, token: TokenDigest) -> OpenSocket {
        let mut entries = self.entries();
        let entry = entries.entry(token).or_default();
        entry.sockets = entry.sockets.saturating_add(1);
        OpenSocket { all: Arc::clone(self), token, logout: entry.logout.clone() }
    }

    /// Closes the sockets of a session.
    pub(crate) fn close(&self, token: TokenDigest) {
        if let Some(entry) = self.entries().get(&token) {
            entry.logout.cancel();
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<TokenDigest, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let mut entries = self.all.entries();
        if let Some(entry) = entries.get_mut(&self.token) {
            entry.sockets = entry.sockets.saturating_sub(1);
            if entry.sockets == 0 {
                entries.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logout_closes_the_sockets_of_its_session_only() {
        let all = Arc::new(OpenSockets::default());
        let [one, other] = ["one", "other"].map(TokenDigest::of);
        let sockets = [all.add(one), all.add(one), all.add(other)];
        all.close(one);
        let closed = sockets.each_ref().map(|socket| socket.logout.is_cancelled());
        assert_eq!(closed, [true, true, false]);
        drop(sockets);
        assert!(all.entries().is_empty());
        assert!(!all.add(one).logout.is_cancelled());
    }
}
