//! The size of the write-ahead log. The service copies it into the database late.

use std::fs;

use blackbox::objstore::{Key, Object, Service};
use tokio::task::JoinSet;

use crate::{database::FILE, line::Line};

/// Concurrent clients, so that writes always wait and the service is never idle.
const CLIENTS: usize = 8;

/// Bytes of each value. It is stored twice: as the object, and in the change log.
const VALUE: usize = 128 * 1024;

/// Together, the values take 384 MiB in the log.
const SETS: usize = 192;

/// Bytes of the log: 128 MiB until the copy begins, and as much for what is written until it ends.
const LIMIT: u64 = 256 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_write_ahead_log_begins_anew_under_constant_load() {
    let service = Service::with(&[("OBJSTORE_LOG_SIZE", "16MiB")]).await;
    let client = service.client().await;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (line, key) = (Line::new(&service, &client), Key::fresh());
        clients.spawn(async move {
            for number in 0..SETS {
                let value = format!(r#"{{"{number}":"{}"}}"#, "x".repeat(VALUE));
                let reply = line.post("/set", Object::new(&key, value).body()).await;
                assert_eq!(reply.expect("an answer").status, 204);
            }
        });
    }
    clients.join_all().await;
    let log = service.data().data().join(format!("{FILE}-wal"));
    let size = fs::metadata(log).unwrap().len();
    assert!(size < LIMIT, "the write-ahead log has {size} bytes");
}
