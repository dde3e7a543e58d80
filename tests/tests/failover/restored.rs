//! objstore-svc on a database that was restored from a backup.

use blackbox::{
    objstore::{Key, Service, Stopped},
    postgres::{Cluster, Database},
};

use crate::{
    objstore::{match_nothing, objects, put_all},
    watcher::Watcher,
};

async fn start(database: &Database) -> Service {
    Stopped::on(Some(database.clone()), &[]).start().await
}

/// Restores a backup into a new database of this cluster. Only the setting of the service changes.
async fn a_restored_backup_begins_a_new_epoch(from: &Cluster, to: &Cluster) {
    let (database, backup) = (from.database(), tempfile::NamedTempFile::new().unwrap());
    let service = start(&database).await;
    let (client, objects) = (service.client().await, objects());
    let kind = &objects[0].key.r#type;
    let pushes = Watcher::of_pushes(&service, kind).await.start(&service);
    let events = Watcher::of_events(&service, kind).await.start(&service);
    let mut tags = put_all(&client, &objects, 1).await;
    database.dump(backup.path());
    tags.extend(put_all(&client, &objects, 2).await);
    let (pushes, events) = (pushes.finish(&client).await, events.finish(&client).await);
    service.stop().await;

    let restored = to.database();
    restored.restore(backup.path());
    let service = start(&restored).await;
    let client = client.at(&service);
    match_nothing(&client, &tags).await;
    // The first five objects have the value of the backup.
    for number in 3..6 {
        put_all(&client, &objects[objects.len() / 2..], number).await;
    }
    match_nothing(&client, &tags).await;
    for watcher in [pushes, events] {
        let watcher = watcher.start(&service).finish(&client).await;
        watcher.holds(&client.find(&Key::new(kind, "", "")).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_restored_beside_its_origin_begins_a_new_epoch() {
    a_restored_backup_begins_a_new_epoch(Cluster::shared(), Cluster::shared()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_restored_on_another_server_begins_a_new_epoch() {
    a_restored_backup_begins_a_new_epoch(Cluster::shared(), &Cluster::start()).await;
}
