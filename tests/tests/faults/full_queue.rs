//! A writer that does not get on, so that its queue fills.

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

/// Sets that are together more than may wait.
const SETS: usize = 80;

/// Bytes of each, nearly.
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
async fn a_write_is_refused_while_the_queue_is_full() {
    let service = Service::with(&[("BODY_MEMORY", "256MiB")]).await;
    let client = service.client().await;
    let key = Key::fresh();
    let first = heavy(&key, SETS);
    client.set(&first).await;
    let file = service.place().data().join(FILE);
    let frozen = Connection::open(&file).unwrap();
    frozen.execute_batch("BEGIN IMMEDIATE").unwrap();

    let (refused, mut refusals) = watch::channel(false);
    let mut setting = JoinSet::new();
    for number in 0..SETS {
        let (line, refused) = (Line::new(&service, &client), refused.clone());
        let object = heavy(&key, number);
        setting.spawn(async move {
            let reply = line.post("/set", object.body()).await.expect("an answer");
            if is_overload(&reply) {
                refused.send_replace(true);
            }
            (object, reply)
        });
    }
    // Nothing can be written, so a refusal does not wait for the writer. How long it takes depends
    // on the machine: a hundred megabytes are sent and parsed.
    let full = timeout(DEADLINE, refusals.wait_for(|refused| *refused)).await;
    assert!(full.is_ok_and(|full| full.is_ok()), "the queue never fills");
    assert!(client.get(&first.key).await == first, "reads go on");

    frozen.execute_batch("ROLLBACK").unwrap();
    drop(frozen);
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
            // The writer has given up on what it was at: the disturbance took too long for it.
            _ => assert!(reply.body.contains(r#""error":"storage_unavailable""#), "{reply:?}"),
        }
    }
    assert!(done > 0, "nothing that waited was done");
    client.set(&heavy(&key, SETS)).await;
}
