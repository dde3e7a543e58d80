//! Signals under load.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::task::JoinSet;

use crate::subject::{Kind, Subject, eventually};

/// Clients that send requests at the same time.
const CLIENTS: usize = 4;

/// Requests that must succeed after each signal.
const REQUESTS: usize = 5;

async fn lives_through_signals(kind: Kind) {
    let settings = match kind {
        Kind::Payments => &[("PAYMENTS_ATTEMPT_LIMIT", "off")][..],
        _ => &[],
    };
    let subject = Arc::new(Subject::with(kind, settings).await);
    let (answered, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (subject, answered) = (Arc::clone(&subject), Arc::clone(&answered));
        let is_over = Arc::clone(&is_over);
        clients.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                subject.ordinary().run().await;
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for signal in ["HUP", "USR1", "USR2", "HUP"] {
        let before = answered.load(Ordering::Relaxed);
        subject.process().signal(signal).await;
        eventually(signal, async || {
            assert_eq!(clients.len(), CLIENTS);
            while let Some(ended) = clients.try_join_next() {
                ended.expect("no request fails");
            }
            (answered.load(Ordering::Relaxed) >= before + REQUESTS).then_some(())
        })
        .await;
    }
    subject.process().logged(|line| line.contains("SIGHUP: reading files again")).await;
    is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended.expect("no request fails");
    }
    Arc::into_inner(subject).expect("no client is left").stop().await;
}

#[tokio::test]
async fn authsvc_reads_files_at_sighup_and_ignores_user_signals() {
    lives_through_signals(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_reads_files_at_sighup_and_ignores_user_signals() {
    lives_through_signals(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_reads_files_at_sighup_and_ignores_user_signals() {
    lives_through_signals(Kind::Payments).await;
}
