//! The changes of a data directory, and the answers of its service, in the order of a trace.

use std::path::{Path, PathBuf};

use crate::trace::{Call, calls};

/// The calls that only send.
const SENDS: [&str; 4] = ["write", "writev", "sendto", "sendmsg"];

/// The header before the id of a request, in an answer.
const REQUEST_ID: &[u8] = b"x-request-id: ";

/// A call, with the lines of the traces at which it began and ended.
pub(crate) struct Event {
    pub(crate) began: usize,
    pub(crate) ended: usize,
    pub(crate) action: Action,
}

/// Paths are relative to the recorded directory.
pub(crate) enum Action {
    MakeDirectory(PathBuf),
    /// Makes an empty file, unless it exists.
    Create(PathBuf),
    Change(PathBuf, Change),
    Unlink(PathBuf),
    Sync(PathBuf),
    /// Sends the answer to the request with this id.
    Answer(String),
}

#[derive(Clone)]
pub(crate) enum Change {
    Write { at: usize, data: Vec<u8> },
    Truncate(usize),
}

impl Event {
    /// The id of the request that is answered.
    pub(crate) fn request(&self) -> Option<&String> {
        if let Action::Answer(request) = &self.action { Some(request) } else { None }
    }

    /// A sync has its effect when it has ended. Any other call may have it once it has begun.
    fn position(&self) -> usize {
        if matches!(self.action, Action::Sync(_)) { self.ended } else { self.began }
    }
}

/// The events of processes that ran one after the other, each with a trace of its own.
pub(crate) async fn events(traces: &[PathBuf], root: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    let mut lines = 0;
    for trace in traces {
        let calls = calls(trace).await;
        for call in &calls {
            let actions = actions(call, root);
            events.extend(actions.into_iter().map(|action| Event {
                began: lines + call.began,
                ended: lines + call.ended,
                action,
            }));
        }
        lines += calls.last().map_or(0, |call| call.ended + 1);
    }
    events.sort_by_key(Event::position);
    events
}

/// Whether the file holds nothing of the store: the memory that the connections of SQLite share, which
/// the first one makes again, or the reserve for a full disk.
pub(crate) fn holds_nothing(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "db-shm") || file.ends_with("reserve")
}

fn actions(call: &Call, root: &Path) -> Vec<Action> {
    if call.result < 0 {
        return Vec::new();
    }
    let named = || PathBuf::from(String::from_utf8(call.data()).unwrap());
    let path = match &*call.name {
        "openat" | "mkdir" | "unlink" => Some(named()),
        _ => call.file(),
    };
    let path = path.as_ref().and_then(|path| path.strip_prefix(root).ok());
    let path = path.filter(|path| !holds_nothing(path));
    match (&*call.name, path.map(Path::to_owned)) {
        (name, None) if SENDS.contains(&name) => answer(call).into_iter().collect(),
        (_, None) => Vec::new(),
        ("openat", Some(path)) => opened(call, path),
        ("mkdir", Some(path)) => vec![Action::MakeDirectory(path)],
        ("unlink", Some(path)) => vec![Action::Unlink(path)],
        ("ftruncate", Some(path)) => vec![Action::Change(path, Change::Truncate(call.number()))],
        ("pwrite64", Some(path)) => {
            let data = call.data();
            assert_eq!(i64::try_from(data.len()), Ok(call.result), "is not whole: {call:?}");
            vec![Action::Change(path, Change::Write { at: call.number(), data })]
        }
        ("fsync" | "fdatasync", Some(path)) => vec![Action::Sync(path)],
        // Room behind the end of the file: its content stays.
        ("fallocate", Some(_)) if call.arguments.contains("FALLOC_FL_KEEP_SIZE, ") => Vec::new(),
        _ => panic!("the model of the disk lacks this call: {call:?}"),
    }
}

fn opened(call: &Call, path: PathBuf) -> Vec<Action> {
    let mut actions = Vec::new();
    if call.arguments.contains("O_CREAT") {
        actions.push(Action::Create(path.clone()));
    }
    if call.arguments.contains("O_TRUNC") {
        actions.push(Action::Change(path, Change::Truncate(0)));
    }
    actions
}

fn answer(call: &Call) -> Option<Action> {
    let sent = call.data();
    let at = sent.windows(REQUEST_ID.len()).position(|window| window == REQUEST_ID)?;
    let id = sent[at + REQUEST_ID.len()..].split(|byte| *byte == b'\r').next()?;
    Some(Action::Answer(String::from_utf8(id.to_vec()).unwrap()))
}
