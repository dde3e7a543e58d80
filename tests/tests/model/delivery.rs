//! Checks the pushes that a client received against its watches and all writes.

use std::collections::{HashMap, HashSet};

use blackbox::objstore::{Client, Key};
use rand::{RngExt as _, rngs::StdRng};

use crate::{
    actor::{WatchCall, matches, write},
    history::{Change, Operation, Outcome},
};

/// The pushes received over one socket.
pub(crate) struct Heard {
    writes: Vec<u64>,
    /// Whether all of them were acknowledged to the service.
    acknowledged: bool,
}

impl Heard {
    pub(crate) fn is_something(&self) -> bool {
        !self.writes.is_empty()
    }
}

/// Listens over one socket after another, until the push of the fence.
pub(crate) async fn listen(client: Client, fence: Key, mut rng: StdRng) -> Vec<Heard> {
    let mut sockets = Vec::new();
    loop {
        let mut socket = client.socket().await;
        let mut heard = Heard { writes: Vec::new(), acknowledged: false };
        for _ in 0..rng.random_range(5..60) {
            let push = socket.next_push().await;
            if push.key == fence {
                sockets.push(heard);
                return sockets;
            }
            heard.writes.push(write(&push));
        }
        if rng.random_bool(0.5) {
            socket.acknowledge().await;
            let unread = socket.unread();
            let fenced = unread.iter().any(|push| push.key == fence);
            heard.writes.extend(unread.iter().filter(|push| push.key != fence).map(write));
            heard.acknowledged = true;
            socket.close().await;
            if fenced {
                sockets.push(heard);
                return sockets;
            }
        }
        sockets.push(heard);
    }
}

/// `Err` describes a push that is unexpected, missing, repeated after its acknowledgement, or out
/// of order. A write during a call of watch or unwatch may be pushed or not.
pub(crate) fn check(
    changes: &[Change],
    operations: &[Operation],
    keys: &[Key],
    watching: &[Vec<WatchCall>],
    sockets: &[Heard],
) -> Result<(), String> {
    let revisions: HashMap<u64, u64> =
        changes.iter().filter_map(|change| Some((change.write?, change.revision))).collect();
    let mut acknowledged = 0;
    for heard in sockets {
        let pushed: Vec<u64> = heard.writes.iter().map(|write| revisions[write]).collect();
        if !pushed.is_sorted_by(|one, next| one < next) {
            return Err(format!("wrong order: {pushed:?}"));
        }
        if pushed.first().is_some_and(|first| *first <= acknowledged) {
            return Err(format!("{pushed:?} was pushed, but {acknowledged} was acknowledged"));
        }
        if heard.acknowledged {
            acknowledged = pushed.last().copied().unwrap_or(acknowledged);
        }
    }
    let pushed: HashSet<u64> =
        sockets.iter().flat_map(|heard| heard.writes.iter().copied()).collect();
    for operation in operations {
        let Outcome::Made { write: Some(write), .. } = operation.outcome else { continue };
        let watches = watching
            .iter()
            .filter(|calls| matches(&calls[0].pattern, &keys[operation.key]))
            .flat_map(|calls| calls.chunks(2));
        let (mut required, mut allowed) = (false, false);
        for calls in watches {
            let ends = calls.get(1).map_or((u64::MAX, u64::MAX), |call| (call.began, call.ended));
            required |= calls[0].ended < operation.began && operation.ended < ends.0;
            allowed |= calls[0].began < operation.ended && operation.began < ends.1;
        }
        match pushed.contains(&write) {
            true if !allowed => {
                return Err(format!("{operation:?} was pushed, though not watched"));
            }
            false if required => {
                return Err(format!("{operation:?} was not pushed, though watched"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: [Change; 3] = [
        Change { revision: 3, key: 0, write: Some(30) },
        Change { revision: 5, key: 1, write: Some(50) },
        Change { revision: 6, key: 0, write: Some(60) },
    ];

    fn call(key: &Key, began: u64, ended: u64) -> WatchCall {
        WatchCall { pattern: key.clone(), began, ended }
    }

    /// Checks these sockets. The first key was watched from 5 to 45, the second from 35 on.
    fn with(sockets: &[(&[u64], bool)]) -> Result<(), String> {
        let keys = [Key::new("t", "s", "a"), Key::new("t", "s", "b")];
        let watching =
            [vec![call(&keys[0], 4, 5), call(&keys[0], 45, 46)], vec![call(&keys[1], 34, 35)]];
        let set = |key, began, ended, revision| {
            let write = Some(revision * 10);
            let outcome = Outcome::Made { revision, write, given: None, joins_next: false };
            Operation { key, began, ended, outcome }
        };
        let operations = [set(0, 10, 20, 3), set(1, 30, 40, 5), set(0, 50, 60, 6)];
        let heard = |&(writes, acknowledged): &(&[u64], bool)| Heard {
            writes: writes.to_vec(),
            acknowledged,
        };
        let sockets: Vec<_> = sockets.iter().map(heard).collect();
        check(&CHANGES, &operations, &keys, &watching, &sockets)
    }

    #[test]
    fn unacknowledged_pushes_may_be_repeated() {
        with(&[(&[30], false)]).unwrap();
        with(&[(&[30, 50], false), (&[30, 50], true)]).unwrap();
        with(&[(&[30], true), (&[50], true)]).unwrap();
        with(&[(&[30], true), (&[30, 50], true)]).unwrap_err();
    }

    #[test]
    fn missing_unwatched_or_unordered_pushes_are_violations() {
        with(&[]).unwrap_err();
        with(&[(&[50], true)]).unwrap_err();
        with(&[(&[30, 60], true)]).unwrap_err();
        with(&[(&[50, 30], true)]).unwrap_err();
        with(&[(&[30, 30], true)]).unwrap_err();
    }
}
