//! PgBouncer between a service and PostgreSQL. In session mode it works. In transaction mode, settings
//! and prepared statements of a connection would be lost, so the services refuse it.

use blackbox::{
    objstore::{self, Object},
    payments,
    postgres::{Cluster, Pooler},
    process::{failure, until},
    service::{Program, Stopped},
};

const REASON: &str = "a pooler in transaction mode is in between";

/// A service behind this pooler.
fn behind<P: Program>(pooler: &Pooler, cluster: &Cluster) -> Stopped<P> {
    let database = cluster.database();
    let url = database.url_on(&pooler.host());
    Stopped::on(Some(database), &[]).with(P::DATABASE_URL, &url)
}

async fn is_refused<P: Program>(pooler: &Pooler, cluster: &Cluster) {
    let (code, output) = failure(behind::<P>(pooler, cluster).command()).await;
    assert!(code == 2 && output.contains(REASON) && output.contains(P::DATABASE_URL), "{output}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_in_transaction_mode_is_refused_at_the_start() {
    let cluster = Cluster::start();
    let pooler = Pooler::start(&cluster, "transaction");
    is_refused::<objstore::Objstore>(&pooler, &cluster).await;
    is_refused::<payments::Payments>(&pooler, &cluster).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_works_in_session_mode_and_is_refused_when_it_changes() {
    let cluster = Cluster::start();
    let mut pooler = Pooler::start(&cluster, "session");
    let objects = behind::<objstore::Objstore>(&pooler, &cluster).start().await;
    let payments = behind::<payments::Payments>(&pooler, &cluster).start().await;
    let (client, object) = (objects.client().await, Object::fresh());
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.set(&object).await;
    let _ = socket.next_event().await;
    payments.merchant().await.pay("EUR", 500).await.capture(500).await;
    payments.data().agrees().await;

    pooler.restart("transaction");
    let is_ready = async || client.fetch("/ready").await.status == 200;
    objects.process().logged(|line| line.contains(REASON)).await;
    payments.process().logged(|line| line.contains(REASON)).await;
    assert!(!is_ready().await);
    pooler.restart("session");
    until(is_ready).await;
    client.set(&Object::fresh()).await;
}
