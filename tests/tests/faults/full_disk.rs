//! A disk without room.

use std::collections::BTreeMap;

use blackbox::{
    objstore::{Client, Idle, Key, Object, Service},
    process::DEADLINE,
};

use crate::{
    database::{Database, FILE},
    eventually::eventually,
    line::Line,
    small_disk::SmallDisk,
};

/// MiB of the disk at first, and once there is room again.
const SMALL: u32 = 12;
const ENLARGED: u32 = 48;

/// Bytes of the fillers, from those that fill the disk fast to those that fill its last corner.
const FILLERS: [usize; 3] = [100_000, 5_000, 10];

/// Writes that have to fail one after another, so that no room is left.
const FAILURES: usize = 5;

/// A service whose directory is on a small disk, and what it has acknowledged.
struct Scene {
    disk: SmallDisk,
    service: Service,
    client: Client,
    key: Key,
    acknowledged: BTreeMap<String, Object>,
    next: usize,
}

impl Scene {
    async fn new() -> Self {
        let disk = SmallDisk::new(SMALL).await;
        let place = Idle::new(&[("OBJSTORE_DATA_DIR", disk.path().to_str().unwrap())]);
        let command = disk.beside(&place.command());
        let service = place.start_with(command).await;
        let client = service.client().await;
        let key = Key::fresh();
        Self { disk, service, client, key, acknowledged: BTreeMap::new(), next: 0 }
    }

    /// Sets one more object; false when there is no room for it.
    async fn set(&mut self, filler: usize) -> bool {
        self.next += 1;
        let key = self.key.named(&format!("{:05}", self.next));
        let filler = "x".repeat(filler);
        let object = Object::new(&key, format!(r#"{{"n":{},"x":"{filler}"}}"#, self.next));
        let answer = self.client.post("/set", object.body()).await;
        if answer.status == 204 {
            self.acknowledged.insert(key.name, object);
            return true;
        }
        answer.refused(503, "storage_unavailable");
        false
    }

    async fn fill(&mut self) {
        for filler in FILLERS {
            let mut failures = 0;
            while failures < FAILURES {
                failures = if self.set(filler).await { 0 } else { failures + 1 };
            }
        }
    }

    /// Reads everything that was acknowledged, in every way there is.
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

#[tokio::test]
async fn a_full_disk_stops_writes_but_not_reads_and_nothing_is_lost_when_there_is_room_again() {
    let mut scene = Scene::new().await;
    let watcher = scene.service.client().await;
    watcher.watch(&scene.key.named("")).await;
    let mut socket = watcher.socket().await;
    assert!(scene.set(10).await, "there is room at first");
    scene.fill().await;

    for path in ["/delete", "/watch"] {
        let first = scene.acknowledged.values().next().unwrap().key.body();
        scene.client.post(path, first).await.refused(503, "storage_unavailable");
    }
    scene.reads_go_on().await;
    let objects: Vec<_> = scene.acknowledged.values().cloned().collect();
    assert!(socket.next_pushes(objects.len()).await == objects);

    scene.disk.resize(ENLARGED).await;
    let filler = FILLERS[0];
    eventually("writes go on", DEADLINE, async || scene.set(filler).await.then_some(())).await;
    for _ in 0..20 {
        assert!(scene.set(filler).await, "there is room again");
    }
    scene.reads_go_on().await;
    let first = scene.acknowledged.pop_first().unwrap().1;
    scene.client.delete(&first.key).await;
    socket.acknowledge().await;
    socket.close().await;

    let file = scene.disk.seen_from_here().join(FILE);
    let place = scene.service.stop().await;
    Database::read(&file).is_whole();
    let command = scene.disk.beside(&place.command());
    scene.service = place.start_with(command).await;
    scene.client = scene.client.at(&scene.service);
    scene.reads_go_on().await;
}
