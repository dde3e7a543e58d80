//! Acknowledged writes are on disk, not only in the page cache. SIGKILL cannot show this, because
//! the page cache survives it. The order of the system calls shows it.

use blackbox::objstore::{Client, Key, Object, Stopped, unique};
use reqwest::Method;
use tokio::task::JoinSet;

use crate::trace::{Call, calls, traced};

/// Concurrent clients, so that their sets share commits.
const CLIENTS: usize = 4;

const SETS: usize = 25;

impl Call {
    fn is_sync(&self) -> bool {
        ["fsync", "fdatasync"].contains(&&*self.name)
    }

    /// Whether the call writes or syncs the write-ahead log.
    fn is_of_log(&self) -> bool {
        let path = self.arguments.split('>').next().unwrap();
        path.ends_with("objstore.db-wal")
    }

    fn is_answer_to(&self, mark: &str) -> bool {
        self.arguments.contains("HTTP/1.1 204") && self.arguments.contains(mark)
    }
}

/// Sets successive values. Each has a unique mark, which is also the request id.
async fn set_marked(client: Client) -> Vec<String> {
    let key = Key::fresh();
    let mut marks = Vec::new();
    for _ in 0..SETS {
        let mark = unique("mark");
        let object = Object::new(&key, format!(r#"{{"mark":"{mark}"}}"#));
        let request = client.request(Method::POST, "/set").header("x-request-id", &mark);
        let _ = request.body(object.body()).send().await.expect(204);
        marks.push(mark);
    }
    marks
}

async fn trace_of_sets() -> (Vec<Call>, Vec<String>) {
    let place = Stopped::new(&[]);
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("calls");
    let command = traced(&place.command(), &log);
    let service = place.start_with(command).await;
    let mut setting = JoinSet::new();
    for _ in 0..CLIENTS {
        setting.spawn(set_marked(service.client().await));
    }
    let marks = setting.join_all().await.concat();
    service.stop().await;
    (calls(&log).await, marks)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_synced_between_a_commit_and_its_answers() {
    let (calls, marks) = trace_of_sets().await;
    assert_eq!(marks.len(), CLIENTS * SETS);
    for mark in &marks {
        let written = calls
            .iter()
            .find(|call| call.is_of_log() && !call.is_sync() && call.arguments.contains(mark))
            .unwrap_or_else(|| panic!("{mark} was written nowhere"));
        let synced = calls
            .iter()
            .find(|call| call.is_of_log() && call.is_sync() && call.began > written.ended)
            .unwrap_or_else(|| panic!("{mark} was never synced"));
        let answered = calls
            .iter()
            .find(|call| call.is_answer_to(mark))
            .unwrap_or_else(|| panic!("{mark} was not answered"));
        assert_eq!(synced.result, 0, "{synced:?}");
        // `fsync` would also wait for the time of the last change, which is another write.
        assert_eq!(synced.name, "fdatasync", "{synced:?}");
        assert!(synced.ended < answered.began, "{mark} was answered before {synced:?} ended");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_one_write_call() {
    let (calls, _) = trace_of_sets().await;
    let of_log = || calls.iter().filter(|call| call.is_of_log());
    let writes = of_log().filter(|call| call.name == "pwrite64").count();
    // A checkpoint syncs the log, too.
    let syncs = of_log().filter(|call| call.is_sync()).count();
    assert!(0 < writes && writes <= syncs, "{writes} writes, {syncs} syncs");
}
