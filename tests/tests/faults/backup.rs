//! A backup made during writes, and a service restored from it.

use std::fs;

use blackbox::{
    objstore::{Key, Object, Service, Stopped, revision},
    process::run,
    soak::{rounds, seed},
};

use crate::{
    database::{Database, FILE},
    listener::Listener,
    writers::Crew,
};

/// Answered requests before the backup begins.
const WRITES: usize = 600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_holds_all_earlier_acknowledged_writes() {
    for _ in 0..rounds(1, 20) {
        let seed = seed();
        println!("SEED={seed}");
        let service = Service::with(&[]).await;
        let client = service.client().await;
        let tag = client.set(&Object::new(&Key::fresh(), "{}")).await;
        let crew = Crew::new(6, seed);
        let kind = crew.kind.clone();
        let listener = Listener::new(&service, &crew, false).await;
        let mut shift = crew.start(&service, &client);
        shift.answered(WRITES).await;

        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("copy.db");
        let mut command = service.data().command();
        command.arg("backup").arg("--to").arg(&file);
        let before = shift.ledger();
        let ended = run(command).await;
        assert!(ended.status.success(), "{ended:?}");
        let during = shift.ledger().sets.len() - before.sets.len();
        assert!(during > 0, "nothing was written during the backup: the test shows nothing");
        shift.stop().await;

        let copy = Database::read(&file);
        copy.is_whole();
        copy.holds(&before);

        let place = Stopped::new(&[]);
        fs::copy(&file, place.data().join(FILE)).unwrap();
        let restored = place.start().await;
        let client = client.at(&restored);
        let current = client.find(&Key::new(&kind, "", "")).await;
        assert!(!current.is_empty());
        listener.start_over(&restored, &current).await;
        let anew = client.set(&Object::fresh()).await;
        assert!(revision(&anew) > copy.revision());
        assert_ne!(
            anew.split('-').next(),
            tag.split('-').next(),
            "the restored store has a new epoch"
        );
        Database::read(&restored.data().data().join(FILE)).is_whole();
        let original = client.at(&service);
        assert_eq!(original.set(&Object::fresh()).await.split('-').next(), tag.split('-').next());
    }
}
