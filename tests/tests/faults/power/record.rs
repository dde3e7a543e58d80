//! The record of a data directory, and what its service has answered.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

use rand::{SeedableRng as _, rngs::StdRng};
use tempfile::TempDir;

use super::{
    disk::{Disk, Fate},
    history::{Event, events, holds_nothing},
};

/// The name of the data directory. It does not exist before the service starts.
pub(super) const DATA: &str = "data";

/// The changes in a store, as text.
pub(super) type Rows = BTreeSet<String>;

pub(super) struct Record {
    pub(super) events: Vec<Event>,
    /// The row that each request made, by request id.
    rows: HashMap<String, String>,
}

/// The directories of a service that is recorded.
pub(super) struct Recording {
    root: TempDir,
    traces: Vec<PathBuf>,
}

impl Recording {
    pub(super) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), traces: Vec::new() }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(DATA)
    }

    /// The file for the trace of the next process.
    pub(super) fn trace(&mut self) -> PathBuf {
        let trace = self.root.path().join(format!("trace-{}", self.traces.len()));
        self.traces.push(trace.clone());
        trace
    }

    /// The record, after the last process has ended. The rows in the store have to be those of the
    /// answered requests.
    pub(super) async fn ended(self, rows: HashMap<String, String>, stored: &Rows) -> Record {
        let answered: Rows = rows.values().cloned().collect();
        assert!(answered == *stored, "the store differs from the answers");
        let data = self.data();
        let events = events(&self.traces, data.parent().unwrap()).await;
        let answers = events.iter().filter_map(Event::request).collect::<BTreeSet<_>>();
        assert!(rows.keys().all(|request| answers.contains(request)), "the traces lack answers");
        let record = Record { events, rows };
        record.makes(&data);
        record
    }
}

impl Record {
    /// Checks that the events make these files. Otherwise, a change is not in the record.
    fn makes(&self, data: &Path) {
        let copy = tempfile::tempdir().unwrap();
        let mut rng = StdRng::seed_from_u64(0);
        Disk::after(&self.events, |_, _| true).write_to(copy.path(), Fate::Kept, &mut rng);
        let files = |data: &Path| -> HashMap<_, _> {
            let files = fs::read_dir(data).unwrap().map(|file| file.unwrap().path());
            let files = files.filter(|file| !holds_nothing(file));
            files
                .map(|file| (file.file_name().unwrap().to_owned(), fs::read(file).unwrap()))
                .collect()
        };
        assert!(files(&copy.path().join(DATA)) == files(data), "the record is not complete");
    }

    /// Checks that a store has every row that was answered in `before`, and no row that is not in
    /// the record.
    pub(super) fn verify(&self, stored: &Rows, before: &[Event]) {
        let answered = before.iter().filter_map(Event::request);
        for row in answered.filter_map(|request| self.rows.get(request)) {
            assert!(stored.contains(row), "was answered, and is lost: {row:.200}");
        }
        let sent: BTreeSet<_> = self.rows.values().collect();
        for row in stored {
            assert!(sent.contains(row), "was never sent: {row:.200}");
        }
    }
}
