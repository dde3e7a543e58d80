use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use super::{
    super::{BUSY, LONG_LIVED},
    *,
};

const MAX: usize = 3;
const ADMITTED: Counted = Counted { is_within: true, is_admitted: true };
const REPLACED: Counted = Counted { is_within: false, is_admitted: true };
const REFUSED: Counted = Counted { is_within: false, is_admitted: false };

fn client(last: u8) -> ClientAddress {
    ClientAddress::new(Ipv4Addr::new(10, 0, 0, last).into())
}

/// A connection that is idle since this time, or busy.
async fn activity(state: u64) -> Arc<Activity> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    Arc::new(Activity {
        state: AtomicU64::new(state),
        head: AtomicUsize::new(0),
        stream: Arc::new(stream.into_split().1),
        unwanted: AtomicU64::new(BUSY),
        wake: Notify::new(),
    })
}

/// Connections of one address with these states, and their slots.
async fn opened(states: [u64; MAX]) -> (Open, Vec<(usize, Arc<Activity>)>) {
    let (mut open, mut connections) = (Open::default(), Vec::new());
    for state in states {
        let connection = activity(state).await;
        assert_eq!(open.count(client(1), MAX), ADMITTED);
        let slot = open.insert(Arc::clone(&connection), Some(client(1)));
        connections.push((slot, connection));
    }
    (open, connections)
}

fn closing(connections: &[(usize, Arc<Activity>)]) -> Vec<bool> {
    connections.iter().map(|(_, connection)| connection.is_closing()).collect()
}

#[tokio::test]
async fn a_full_address_loses_the_connection_idle_longest() {
    let (mut open, mut connections) = opened([7, 5, 6]).await;
    let other = activity(1).await;
    assert_eq!(open.count(client(2), MAX), ADMITTED);
    open.insert(Arc::clone(&other), Some(client(2)));

    assert_eq!(open.count(client(1), MAX), REPLACED);
    assert_eq!(closing(&connections), [false, true, false]);
    assert_eq!(open.count(client(1), MAX), REPLACED);
    assert_eq!(closing(&connections), [false, true, true]);
    assert!(!other.is_closing());
    for (slot, _) in connections.drain(1..) {
        open.remove(slot, Some(client(1)));
    }
    assert_eq!(open.most_of_an_address(), MAX);
}

#[tokio::test]
async fn busy_and_long_lived_connections_of_a_full_address_stay() {
    let (mut open, connections) = opened([BUSY, LONG_LIVED, 6]).await;
    assert_eq!(open.count(client(1), MAX), REPLACED);
    assert_eq!(closing(&connections), [false, false, true]);
    assert_eq!(open.count(client(1), MAX), REFUSED);
    assert_eq!(open.count(client(1), MAX), REFUSED);
    assert_eq!(open.count(client(2), MAX), ADMITTED);
}

#[tokio::test]
async fn a_connection_that_became_active_counts_again() {
    let (mut open, connections) = opened([5, 6, 7]).await;
    assert_eq!(open.count(client(1), MAX), REPLACED);
    connections[0].1.state.store(BUSY, Ordering::Relaxed);
    assert_eq!(open.count(client(1), MAX), REPLACED);
    assert_eq!(closing(&connections), [false, true, true]);
    assert_eq!(open.count(client(1), MAX), REFUSED);
}

#[tokio::test]
async fn an_address_without_connections_is_forgotten() {
    let (mut open, connections) = opened([5, 6, 7]).await;
    for (slot, _) in connections {
        open.remove(slot, Some(client(1)));
    }
    assert!(open.by_address.is_empty());
}
