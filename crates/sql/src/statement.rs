//! The parts of statements that both engines have.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use super::{Column, Table};

impl<R> Table<R> {
    pub(super) fn columns(&self) -> impl Iterator<Item = Column> + Clone {
        self.key.iter().chain(self.values).copied()
    }
}

/// Joins the names of columns. Each one replaces `{}` in `form`, in quotes because some are SQL
/// keywords.
pub(super) fn list(columns: impl Iterator<Item = Column>, form: &str, separator: &str) -> String {
    let names: Vec<_> =
        columns.map(|(name, _)| form.replace("{}", &format!("\"{name}\""))).collect();
    names.join(separator)
}

/// A statement of one engine, and the table that it writes.
type Statement = (&'static str, &'static str, &'static [Column], &'static [Column]);

/// The statement `verb` of an engine for a table. `make` writes it the first time. Each is kept for
/// the life of the process: a program has a few for each of its tables.
pub(super) fn statement<R>(
    verb: &'static str,
    table: &Table<R>,
    make: impl FnOnce() -> String,
) -> &'static str {
    static MADE: LazyLock<Mutex<HashMap<Statement, &'static str>>> = LazyLock::new(Mutex::default);
    let name = (verb, table.name, table.key, table.values);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(name).or_insert_with(|| make().leak())
}
