//! A full queue: the database is locked, so that the writer cannot commit.

use blackbox::{
    objstore::{Key, Object, Service},
    process::DEADLINE,
};
use rusqlite::Connection;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    database::FILE,
    line::{Line, Reply},
};

/// Sets that exceed the limit of the queue together.
const SETS: usize = 80;

/// Approximate bytes of each.
const FILLER: usize = 1_000_000;

fn heavy(key: &Key, number: usize) -> Object {
    let filler = "x".repeat(FILLER);
    Object::new(&key.named(&format!("{number:03}")), format!(r#"{{"x":"{filler}"}}"#))
}

fn is_overload(reply: &Reply) -> bool {
    if !reply.body.contains(r#""error":"overloaded""#) {
        return false;
    }
    assert_eq!(reply.status, 503, "{reply:?}");
    let seconds = reply.retry_after.as_deref().map(str::parse::<u32>);
    assert!(matches!(seconds, Some(Ok(1..))), "{reply:?}");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_rejected_while_the_queue_is_full() {
    let service = Service::with(&[("BODY_MEMORY", "256MiB")]).await;
    let client = service.client().await;
    let key = Key::fresh();
    let first = heavy(&key, SETS);
    client.set(&first).await;
    let file = service.data().data().join(FILE);
    let lock = Connection::open(&file).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();

    let (rejected, mut rejections) = watch::channel(false);
    let mut setting = JoinSet::new();
    for number in 0..SETS {
        let (line, rejected) = (Line::new(&service, &client), rejected.clone());
        let object = heavy(&key, number);
        setting.spawn(async move {
            let reply = line.post("/set", object.body()).await.expect("an answer");
            if is_overload(&reply) {
                rejected.send_replace(true);
            }
            (object, reply)
        });
    }
    // Rejections come while the database is locked, so they do not wait for the writer. The time
    // depends on the machine, which has to send and parse 80 MB.
    let full = timeout(DEADLINE, rejections.wait_for(|rejected| *rejected)).await;
    assert!(full.is_ok_and(|full| full.is_ok()), "the queue was never full");
    assert!(client.get(&first.key).await == first, "reads go on");

    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    let mut done = 0;
    for (object, reply) in setting.join_all().await {
        match reply.status {
            204 => {
                assert!(client.get(&object.key).await == object);
                done += 1;
            }
            _ if is_overload(&reply) => {
                client.post("/get", object.key.body()).await.refused(422, "object_not_found");
            }
            // The writer's timeout for the lock expired, because the test held it too long.
            _ => assert!(reply.body.contains(r#""error":"storage_unavailable""#), "{reply:?}"),
        }
    }
    assert!(done > 0, "no pending write was committed");
    client.set(&heavy(&key, SETS)).await;
}
