//! The writer cannot commit, because another process has locked the database, or because the disk
//! hangs, so that its queue fills.

use std::fs::{self, File};

use blackbox::{
    objstore::{Key, Object, Service},
    process::DEADLINE,
};
use rusqlite::Connection;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    database::FILE,
    failing_disk::library,
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

/// Whether nothing was written, with this error.
fn is_refused(reply: &Reply, error: &str) -> bool {
    if !reply.body.contains(&format!(r#""error":"{error}""#)) {
        return false;
    }
    assert_eq!(reply.status, 503, "{reply:?}");
    let seconds = reply.retry_after.as_deref().map(str::parse::<u32>);
    assert!(matches!(seconds, Some(Ok(1..))), "{reply:?}");
    true
}

#[tokio::test]
async fn a_lock_of_another_process_is_busy_and_named_in_the_log() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let object = Object::fresh();
    let lock = Connection::open(service.data().data().join(FILE)).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let reply = Line::new(&service, &client).post("/set", object.body()).await.expect("an answer");
    assert!(is_refused(&reply, "store_busy"), "{reply:?}");
    let named = format!(r#""holder.pid":{}"#, std::process::id());
    service.process().logged(|line| line.contains(&named)).await;
    lock.execute_batch("ROLLBACK").unwrap();
    client.set(&object).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_are_rejected_while_the_queue_is_full() {
    let disk = tempfile::tempdir().unwrap();
    let (copy, hang) = (disk.path().to_str().unwrap(), disk.path().join("hang"));
    let variables = [
        ("BODY_MEMORY", "256MiB"),
        ("LD_PRELOAD", library().to_str().unwrap()),
        ("FAILING_COPY", copy),
        ("FAILING_HANG", hang.to_str().unwrap()),
    ];
    let service = Service::with(&variables).await;
    let client = service.client().await;
    let key = Key::fresh();
    let first = heavy(&key, SETS);
    client.set(&first).await;
    File::create(&hang).unwrap();

    let (rejected, mut rejections) = watch::channel(false);
    let mut setting = JoinSet::new();
    for number in 0..SETS {
        let (line, rejected) = (Line::new(&service, &client), rejected.clone());
        let object = heavy(&key, number);
        setting.spawn(async move {
            let reply = line.post("/set", object.body()).await.expect("an answer");
            if is_refused(&reply, "overloaded") {
                rejected.send_replace(true);
            }
            (object, reply)
        });
    }
    // Rejections come while the disk hangs, so they do not wait for the writer. The time depends on the
    // machine, which has to send and parse 80 MB.
    let full = timeout(DEADLINE, rejections.wait_for(|rejected| *rejected)).await;
    assert!(full.is_ok_and(|full| full.is_ok()), "the queue was never full");
    assert!(client.get(&first.key).await == first, "reads go on");

    fs::remove_file(&hang).unwrap();
    let mut done = 0;
    for (object, reply) in setting.join_all().await {
        match reply.status {
            204 => {
                assert!(client.get(&object.key).await == object);
                done += 1;
            }
            _ => {
                assert!(is_refused(&reply, "overloaded"), "{reply:?}");
                client.post("/get", object.key.body()).await.refused(422, "object_not_found");
            }
        }
    }
    assert!(done > 0, "no pending write was committed");
    client.set(&heavy(&key, SETS)).await;
}
