//! objstore-svc for power cuts.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
};

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, Service, Stopped, revision},
    process::DEADLINE,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rusqlite::{Connection, OpenFlags};
use tokio::task::JoinSet;

use super::{DATA, Record, Rows};
use crate::{
    database::{Database, FILE},
    eventually::eventually,
    trace::traced,
    writers::{number, value},
};

/// Starts of the service in one record.
const STARTS: usize = 2;

/// Concurrent clients after each start, so that their changes share commits.
const CLIENTS: usize = 4;

/// Changes of each client before and after the write-ahead log begins anew.
const CHANGES: usize = 30;

/// Bytes of a value that makes the service copy the write-ahead log into the database.
const LARGE: usize = 1_500_000;

fn place(data: &Path) -> Stopped {
    let settings = [("OBJSTORE_DATA_DIR", data.to_str().unwrap()), ("OBJSTORE_MAX_BODY", "2MiB")];
    Stopped::on(None, &settings)
}

/// The request ids of answers, with the changes in the order of one client.
type Changes = Vec<(String, String)>;

fn note(changes: &mut Changes, answer: &Answer, change: String) {
    changes.push((answer.header("x-request-id").unwrap().to_owned(), change));
}
