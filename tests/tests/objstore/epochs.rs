//! `new-epoch`, for a restore to an earlier time that the service cannot notice.

use blackbox::{
    objstore::{Client, Event, Object, Service, Stopped, revision},
    postgres::Cluster,
    process::{self, output},
};
use reqwest::Method;
use tokio::process::Command;

use crate::replicas::three;

/// The tables that a restore replaces. A table refers only to those before it.
const TABLES: [&str; 6] = ["store", "log", "objects", "clients", "sessions", "watches"];

/// Saves all rows.
fn save(place: &Stopped) {
    for table in TABLES {
        place.change(&format!("CREATE TABLE saved_{table} AS SELECT * FROM {table}"));
    }
}

/// Replaces all rows by the saved ones, as `pg_restore --data-only` does.
fn restore(place: &Stopped) {
    for table in TABLES.iter().rev() {
        place.change(&format!("DELETE FROM {table}"));
    }
    for table in TABLES {
        place.change(&format!("INSERT INTO {table} SELECT * FROM saved_{table}"));
    }
}

fn command(place: &Stopped) -> Command {
    let mut command = place.command();
    command.arg("new-epoch");
    command
}

async fn begin_epoch(place: &Stopped) {
    let ended = process::run(command(place)).await;
    assert!(ended.status.success(), "{}", output(&ended));
}

/// A client receives this object as the next one, and acknowledges it.
async fn receives(client: &Client, object: &Object) {
    let mut socket = client.socket().await;
    assert_eq!(socket.next_push().await, *object);
    socket.acknowledge().await;
    socket.close().await;
}

async fn matches_nothing(client: &Client, object: &Object, tag: &str) {
    let request = client.request(Method::POST, "/set").header("if-match", tag);
    request.body(object.body()).send().await.refused(412, "precondition_failed");
}

#[tokio::test]
async fn clients_get_current_values_after_a_restore_and_a_new_epoch() {
    let service = Service::with(&[]).await;
    let (client, object) = (service.client().await, Object::fresh());
    client.watch(&object.key).await;
    client.set(&object).await;
    receives(&client, &object).await;
    let place = service.stop().await;
    save(&place);

    let service = place.start().await;
    let client = client.at(&service);
    let lost = client.set(&object.numbered(1)).await;
    receives(&client, &object.numbered(1)).await;
    let place = service.stop().await;
    restore(&place);
    begin_epoch(&place).await;

    let service = place.start().await;
    let client = client.at(&service);
    receives(&client, &object).await;
    // In the same epoch, this set would have the revision of the lost one.
    assert_ne!(client.set(&object.numbered(2)).await, lost);
    matches_nothing(&client, &object, &lost).await;
}

#[tokio::test]
async fn running_replicas_notice_a_new_epoch() {
    let services = three(&Cluster::shared().database(), &[]).await;
    let (writer, object) = (services[0].client().await, Object::fresh());
    let tag = writer.set(&object).await;
    let mut watching = Vec::new();
    for service in &services {
        let client = service.client().await;
        client.watch(&object.key).await;
        watching.push((client.socket().await, client));
    }
    begin_epoch(services[0].data()).await;
    for (socket, client) in &mut watching {
        assert_eq!(socket.closed().await, 1011);
        receives(client, &object).await;
        matches_nothing(client, &object, &tag).await;
    }
}

#[tokio::test]
async fn on_sqlite_a_new_epoch_begins_at_a_start() {
    let service = Stopped::on(None, &[]).start().await;
    let line = process::exits_with(3, command(service.data())).await;
    assert!(line.contains("in use by another process"), "{line}");
    let line = process::exits_with(2, command(&Stopped::on(None, &[]))).await;
    assert!(line.contains("there is no database at"), "{line}");
}

#[tokio::test]
async fn a_store_made_anew_is_not_taken_for_the_old_one() {
    // Not a copy of another database, which has its epoch.
    for make in [|| None, || Some(Cluster::shared().database())] {
        let old: Service = Stopped::on(make(), &[]).start().await;
        let (client, object) = (old.client().await, Object::fresh());
        let tag = client.set(&object).await;
        let _stopped = old.stop().await;

        let new = Stopped::on(make(), &[]).start().await;
        let mut client = client.at(&new);
        let _ = client.register().await.expect(200);
        client.watch(&object.key).await;
        client.set(&object.numbered(1)).await;
        client.set(&object.numbered(2)).await;
        let query = format!("?events=true&marks=true&since={}", revision(&tag));
        let mut socket = client.socket_with(&query).await;
        let first = socket.next_event().await;
        assert!(matches!(first, Event::Reset(_)), "{first:?} after {tag}");
        let Event::Set(_, current) = socket.next_event().await else { panic!("no value") };
        assert_eq!(current, object.numbered(2));
        matches_nothing(&client, &object, &tag).await;
    }
}
