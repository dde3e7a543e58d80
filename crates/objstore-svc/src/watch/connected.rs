//! The clients with a stream (a socket, or a live `GET /streams`) of this process, so that their
//! presence objects stay.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
};

use crate::{
    domain::ClientId,
    lock::{Mutex, MutexGuard},
};

/// The limit on connections limits it. It keeps a client without a stream only if the client has a
/// presence, and until the next call of [`Self::take_left`].
#[derive(Default)]
pub(crate) struct Connected(Mutex<State>);

#[derive(Default)]
struct State {
    clients: HashMap<ClientId, Client>,
    /// Clients with a presence whose last stream has ended.
    left: HashSet<ClientId>,
}

#[derive(Default)]
struct Client {
    streams: usize,
    has_presence: bool,
}

/// A stream of a client. Dropping it removes the stream from [`Connected`].
pub(crate) struct ConnectedClient {
    all: Arc<Connected>,
    client: ClientId,
}

impl Connected {
    pub(crate) fn add(self: &Arc<Self>, client: ClientId) -> ConnectedClient {
        let mut state = self.state();
        let has_presence = state.left.remove(&client);
        let known = state.clients.entry(client).or_default();
        known.streams = known.streams.saturating_add(1);
        known.has_presence |= has_presence;
        ConnectedClient { all: Arc::clone(self), client }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().clients.is_empty()
    }

    /// Returns which of the clients have a stream. Each of `clients` has a presence.
    pub(crate) fn among(&self, clients: impl Iterator<Item = ClientId>) -> Vec<ClientId> {
        let mut state = self.state();
        let is_connected = |id: &ClientId| {
            let client = state.clients.get_mut(id);
            client.map(|client| client.has_presence = true).is_some()
        };
        clients.filter(is_connected).collect()
    }

    /// The clients with a presence whose last stream has ended since the last call.
    pub(crate) fn take_left(&self) -> Vec<ClientId> {
        self.state().left.drain().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectedClient {
    fn drop(&mut self) {
        let mut state = self.all.state();
        let Some(client) = state.clients.get_mut(&self.client) else { return };
        client.streams = client.streams.saturating_sub(1);
        if client.streams == 0 {
            let has_presence = client.has_presence;
            state.clients.remove(&self.client);
            if has_presence {
                state.left.insert(self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_last_stream_of_a_client_with_a_presence_leaves() {
        let all = Arc::new(Connected::default());
        let [one, other] = [1, 2].map(|bits| ClientId::new(Uuid::from_u128(bits)).unwrap());
        let streams = [all.add(one), all.add(one), all.add(other)];
        assert_eq!(all.among([one].into_iter()), [one]);
        let [first, last, without_presence] = streams;
        drop((first, without_presence));
        assert_eq!(all.take_left(), []);
        assert_eq!(all.among([one, other].into_iter()), [one]);
        drop(last);
        assert_eq!(all.take_left(), [one]);
        assert!(all.is_empty() && all.take_left().is_empty());
    }

    #[test]
    fn a_client_that_returns_has_not_left() {
        let all = Arc::new(Connected::default());
        let client = ClientId::new(Uuid::from_u128(1)).unwrap();
        let stream = all.add(client);
        all.among([client].into_iter());
        drop(stream);
        let stream = all.add(client);
        assert_eq!(all.take_left(), []);
        drop(stream);
        assert_eq!(all.take_left(), [client]);
    }
}
