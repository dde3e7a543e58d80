//! A full disk.

use std::{collections::BTreeMap, fs, pin::pin};

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, Service, Stopped},
    process::DEADLINE,
    small_disk::SmallDisk,
};
use tokio::select;

use crate::{
    database::{Database, FILE},
    eventually::eventually,
};

/// MiB of the disk, at first and after enlarging it.
const SMALL: u32 = 12;
const ENLARGED: u32 = 48;

/// Bytes of the fillers: large ones fill the disk fast, small ones fill the last free blocks.
const FILLERS: [usize; 3] = [100_000, 5_000, 10];

/// Successive turns in which every write has to fail before the disk counts as full.
const FAILURES: usize = 8;

/// Turns between deletions, so that most objects stay.
const DELETE_EVERY: usize = 4;

/// A service with its data on a small disk, and the changes that it acknowledged.
struct Scene {
    disk: SmallDisk,
    service: Service,
    client: Client,
    key: Key,
    /// Every object that was set, in order.
    set: Vec<Object>,
    /// The objects not deleted since, by name.
    acknowledged: BTreeMap<String, Object>,
}

impl Scene {
    async fn new() -> Self {
        let disk = SmallDisk::new(SMALL).await;
        let place = Stopped::new(&[("OBJSTORE_DATA_DIR", disk.path().to_str().unwrap())]);
        let command = disk.beside(&place.command());
        let service = place.start_with(command).await;
        let client = service.client().await;
        let key = Key::fresh();
        Self { disk, service, client, key, set: Vec::new(), acknowledged: BTreeMap::new() }
    }

    /// Sets one more object. Returns false if the disk is full.
    async fn set(&mut self, filler: usize) -> bool {
        let key = self.key.named(&format!("{:05}", self.set.len()));
        let filler = "x".repeat(filler);
        let object = Object::new(&key, format!(r#"{{"x":"{filler}"}}"#));
        let is_set = is_done(&self.client.post("/set", object.body()).await);
        if is_set {
            self.set.push(object.clone());
            self.acknowledged.insert(key.name, object);
        }
        is_set
    }

    /// Deletes the first object. Returns false if the disk is full.
    async fn delete(&mut self) -> bool {
        let first = self.acknowledged.first_entry().unwrap();
        let is_deleted = is_done(&self.client.post("/delete", first.get().key.body()).await);
        if is_deleted {
            first.remove();
        }
        is_deleted
    }

    async fn fill(&mut self) {
        for filler in FILLERS {
            let mut failures = 0;
            let mut turns = 0;
            while failures < FAILURES {
                turns += 1;
                let is_set = self.set(filler).await;
                let is_watched = is_done(&self.client.post("/watch", Key::fresh().body()).await);
                let id = self.service.stranger().id();
                let registration = format!(r#"{{"ID":"{id}"}}"#);
                let is_registered = is_done(&self.client.post("/register", registration).await);
                let is_deleted = turns % DELETE_EVERY == 0 && self.delete().await;
                let any = is_set || is_watched || is_registered || is_deleted;
                failures = if any { 0 } else { failures + 1 };
            }
        }
    }

    /// Ends the service with `end` and starts it again.
    async fn restarted(self, end: impl AsyncFnOnce(Service, &SmallDisk) -> Stopped) -> Self {
        let place = end(self.service, &self.disk).await;
        let command = self.disk.beside(&place.command());
        let service = place.start_with(command).await;
        let client = self.client.at(&service);
        Self { service, client, ..self }
    }

    /// Enlarges the disk. Writes have to succeed again without a restart.
    async fn enlarge(&mut self) {
        self.disk.resize(ENLARGED).await;
        let filler = FILLERS[0];
        eventually("writes go on", DEADLINE, async || self.set(filler).await.then_some(())).await;
        for _ in 0..20 {
            assert!(self.set(filler).await, "the enlarged disk has free space");
        }
        assert!(self.delete().await, "the enlarged disk has free space");
        self.reads_go_on().await;
    }

    /// Checks that every acknowledged object can be read and found.
    async fn reads_go_on(&self) {
        for object in self.acknowledged.values() {
            assert!(self.client.get(&object.key).await == *object, "{}", object.key.name);
        }
        let found = self.client.find(&self.key.named("")).await;
        for object in self.acknowledged.values() {
            assert!(found.contains(object), "{} is not found", object.key.name);
        }
        let _ = self.client.fetch("/ready").await.expect(200);
    }
}

/// Whether a write was done. If not, checks that the error is that of a full disk.
fn is_done(answer: &Answer) -> bool {
    if !answer.status.is_success() {
        answer.refused(503, "storage_unavailable");
    }
    answer.status.is_success()
}

#[tokio::test]
async fn a_full_disk_fails_only_writes_and_loses_nothing() {
    let mut scene = Scene::new().await;
    let watcher = scene.service.client().await;
    watcher.watch(&scene.key.named("")).await;
    let mut socket = watcher.socket().await;
    assert!(scene.set(10).await, "the disk has free space at first");
    {
        let mut filled = pin!(scene.fill());
        loop {
            select! {
                () = &mut filled => break,
                // The socket keeps the pushes. When the disk is nearly full, none comes for long.
                _ = socket.ping(DEADLINE) => {}
            }
        }
    }

    scene.reads_go_on().await;
    assert!(socket.next_pushes(scene.set.len()).await == scene.set);

    scene.enlarge().await;
    socket.acknowledge().await;
    socket.close().await;

    let scene = scene.restarted(async |service, disk| {
        let place = service.stop().await;
        let copy = place.data().join(FILE);
        fs::copy(disk.seen_from_here().join(FILE), &copy).unwrap();
        Database::read(&copy).is_whole();
        place
    });
    scene.await.reads_go_on().await;
}

#[tokio::test]
async fn a_service_killed_on_a_full_disk_restarts_without_loss() {
    let mut scene = Scene::new().await;
    scene.fill().await;
    let mut scene = scene.restarted(async |service, _| service.kill().await).await;
    scene.reads_go_on().await;
    scene.enlarge().await;
}

#[tokio::test]
async fn a_start_without_room_for_the_log_reports_one_outage() {
    let mut scene = Scene::new().await;
    for _ in 0..6 {
        assert!(scene.set(FILLERS[0]).await, "the disk has free space at first");
    }
    let scene = scene.restarted(async |service, disk| {
        let place = service.kill().await;
        // The copy lacks the room that was allocated behind the end of the file.
        assert!(disk.run(&format!("cp {FILE} copy && mv copy {FILE} && rm reserve")).await);
        assert!(!disk.run("cat /dev/zero > ballast").await, "the disk is full");
        place
    });
    let mut scene = scene.await;
    scene.reads_go_on().await;
    assert!(!scene.set(10).await, "no write may change the log");
    scene.enlarge().await;
    let log = scene.service.process().log();
    let outages = log.iter().filter(|line| line.contains("the disk is full: writes are refused"));
    assert_eq!(outages.count(), 1, "{log:#?}");
}
