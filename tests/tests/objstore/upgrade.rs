//! A rolling upgrade over a migration. By default, the older replicas are of this version, and SQL
//! does what the migration of a later version may do. With `PREVIOUS_PROGRAMS`, the older replicas
//! are of the version before the newest migration, and replicas of this version migrate.

use blackbox::{
    objstore::{Key, Object, PROGRAM, Service, Stopped, Writers},
    postgres::{Cluster, Database},
    soak::previous,
};
use futures_util::future::join_all;
use reqwest::Method;

use crate::witness::Witness;

/// Starts two replicas of the older version.
async fn older(database: &Database) -> [Service; 2] {
    let program = previous(PROGRAM).unwrap_or(PROGRAM.to_owned());
    let start = |_| Stopped::on(Some(database.clone()), &[]).run_by(program.clone()).start();
    join_all((0..2).map(start)).await.try_into().unwrap()
}

/// Migrates to the newer version. Returns its replicas, if that version exists.
async fn migrate(database: &Database) -> Vec<Service> {
    if previous(PROGRAM).is_none() {
        database.migrate_as_a_later_version().await;
        return Vec::new();
    }
    join_all((0..2).map(|_| Stopped::on(Some(database.clone()), &[]).start())).await
}

/// Sends a request of each kind.
async fn use_everything(service: &Service) {
    let (client, object) = (service.client().await, Object::fresh());
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.set(&object).await;
    let _ = socket.next_event().await;
    let tag = client.etag(&object.key).await;
    let set = client.request(Method::POST, "/set").header("if-match", tag);
    let set = set.body_of("application/json", object.numbered(1).body());
    let _ = set.send().await.expect(204);
    assert_eq!(client.get(&object.key).await, object.numbered(1));
    let pattern = Key::new(&object.key.r#type, "", "");
    assert_eq!(client.find(&pattern).await, [object.numbered(1)]);
    client.delete(&object.key).await;
    client.unwatch(&object.key).await;
    socket.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_replicas_lose_nothing_while_a_newer_version_migrates() {
    let database = Cluster::shared().database();
    let [one, two] = older(&database).await;
    // Their connections prepare every statement before the migration.
    use_everything(&one).await;
    use_everything(&two).await;
    let writers = Writers::new(&one).await;
    let witness = Witness::new(&one, &writers).await;
    let socket = witness.open(&two).await;
    let listening = tokio::spawn(witness.listen(socket));
    let shift = writers.start(&[&one, &two]);
    shift.wrote(200).await;
    let newer = migrate(&database).await;
    shift.wrote(200).await;
    let writers = shift.stop().await;

    let all: Vec<_> = [&one, &two].into_iter().chain(&newer).collect();
    let shift = writers.start(&all);
    for service in &all {
        use_everything(service).await;
    }
    shift.wrote(200).await;
    let sets = shift.stop().await.check(&database);
    // A roll back.
    let two = two.stop().await.start().await;
    use_everything(&two).await;
    let witness = listening.await.unwrap();
    witness.saw(newer.first().unwrap_or(&one), &sets).await;
}
