//! A writer that does not get on, so that its queue fills.

use std::{
    convert::Infallible,
    future::ready,
    time::{Duration, Instant},
};

use blackbox::{
    objstore::{Key, Object, Service},
    process::DEADLINE,
};
use futures_util::{StreamExt as _, stream};
use reqwest::Body;
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

/// How long a refusal may take from the last byte of its request, while as many others are parsed on
/// a busy machine: less than the five seconds for which the writer waits for its lock.
const AT_ONCE: Duration = Duration::from_secs(4);

fn heavy(key: &Key, number: usize) -> Object {
    let filler = "x".repeat(FILLER);
    Object::new(&key.named(&format!("{number:03}")), format!(r#"{{"x":"{filler}"}}"#))
}

/// A body that is sent but for its last byte, which waits for `go`.
fn held_back(body: &str, sent: watch::Sender<usize>, mut go: watch::Receiver<bool>) -> Body {
    let (most, last) = body.split_at(body.len() - 1);
    let (most, last) = (most.to_owned(), last.to_owned());
    let rest = async move {
        sent.send_modify(|sent| *sent += 1);
        let _ = go.wait_for(|go| *go).await;
        Ok::<_, Infallible>(last)
    };
    Body::wrap_stream(stream::once(ready(Ok(most))).chain(stream::once(rest)))
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
async fn a_write_that_finds_the_queue_full_is_refused_at_once_and_the_others_are_done_in_the_end() {
    let service = Service::with(&[("BODY_MEMORY", "256MiB")]).await;
    let client = service.client().await;
    let key = Key::fresh();
    let first = heavy(&key, SETS);
    client.set(&first).await;
    let (refused, mut refusals) = watch::channel(None);
    let (sent, mut all_sent) = watch::channel(0);
    let (go, gone) = watch::channel(false);
    let mut setting = JoinSet::new();
    for number in 0..SETS {
        let (line, refused) = (Line::new(&service, &client), refused.clone());
        let object = heavy(&key, number);
        let body = held_back(&object.body(), sent.clone(), gone.clone());
        setting.spawn(async move {
            let reply = line.post("/set", body).await.expect("an answer");
            if is_overload(&reply) {
                refused.send_modify(|at| *at = at.or(Some(Instant::now())));
            }
            (object, reply)
        });
    }
    let all_sent = timeout(DEADLINE, all_sent.wait_for(|sent| *sent == SETS)).await;
    assert!(all_sent.is_ok_and(|sent| sent.is_ok()), "the bodies are not sent");
    let file = service.place().data().join(FILE);
    let frozen = Connection::open(&file).unwrap();
    frozen.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    go.send_replace(true);
    let full = timeout(DEADLINE, refusals.wait_for(Option::is_some)).await;
    let took = full.expect("the queue fills").unwrap().expect("a refusal") - started;
    assert!(took < AT_ONCE, "the refusal took {took:?}");
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
