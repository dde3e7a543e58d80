//! The rows of a table that a batch loads and changes.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{Column, ColumnError, Columns, Param, Row, RowWriter};

/// The rows of one table in a batch, by key, each in its last state.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<R: Row>(BTreeMap<R::Key, State<R>>);

#[derive(Debug, Clone, PartialEq)]
enum State<R> {
    Loaded(R),
    /// The database does not have the row.
    Inserted(R),
    Updated(R),
    /// The database may have a row with this key: it is deleted first.
    Replaced(R),
    /// The database may have the row.
    Deleted,
}

impl<R> State<R> {
    fn row(&self) -> Option<&R> {
        match self {
            Self::Loaded(row) | Self::Inserted(row) | Self::Updated(row) | Self::Replaced(row) => {
                Some(row)
            }
            Self::Deleted => None,
        }
    }
}

impl<R: Row> Default for Rows<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R: Row> Rows<R> {
    /// Adds a row of the database.
    pub fn load(&mut self, row: R) {
        self.0.insert(row.key(), State::Loaded(row));
    }

    /// The row as the batch left it. `None` if it was not loaded, or is deleted.
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).and_then(State::row)
    }

    /// Whether the row exists.
    pub fn contains(&self, key: &R::Key) -> bool {
        self.get(key).is_some()
    }

    /// All rows, as the batch left them, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        self.0.values().filter_map(State::row)
    }

    /// The rows with these keys, as the batch left them.
    pub fn range(&self, keys: RangeInclusive<R::Key>) -> impl Iterator<Item = &R> {
        self.0.range(keys).filter_map(|(_, state)| state.row())
    }

    /// Adds a new row. If the batch deleted a row with its key, the new row replaces it.
    ///
    /// # Panics
    /// If the row exists: the decision has to know.
    pub fn insert(&mut self, row: R) {
        let state = match self.0.get(&row.key()) {
            None => State::Inserted,
            Some(State::Deleted) => State::Replaced,
            Some(_) => panic!("a row is inserted twice: {:?}", row.key()),
        };
        self.0.insert(row.key(), state(row));
    }

    /// Changes a row of the database, loaded or not, or one that this batch adds.
    ///
    /// # Panics
    /// If the batch deleted the row.
    pub fn update(&mut self, row: R) {
        let state = match self.0.get(&row.key()) {
            None | Some(State::Loaded(_) | State::Updated(_)) => State::Updated,
            Some(State::Inserted(_)) => State::Inserted,
            Some(State::Replaced(_)) => State::Replaced,
            Some(State::Deleted) => panic!("a deleted row is updated: {:?}", row.key()),
        };
        self.0.insert(row.key(), state(row));
    }

    /// Adds a row in place of the one with its key, if the database has it.
    pub fn replace(&mut self, row: R) {
        let state = match self.0.get(&row.key()) {
            Some(State::Inserted(_)) => State::Inserted,
            _ => State::Replaced,
        };
        self.0.insert(row.key(), state(row));
    }

    /// Deletes a row, if the database has it or this batch adds it.
    pub fn delete(&mut self, key: R::Key) {
        match self.0.get(&key) {
            Some(State::Inserted(_)) => drop(self.0.remove(&key)),
            _ => drop(self.0.insert(key, State::Deleted)),
        }
    }

    /// Changes rows that the batch adds.
    pub fn update_new(&mut self, change: impl Fn(&mut R)) {
        for state in self.0.values_mut() {
            if let State::Inserted(row) | State::Replaced(row) = state {
                change(row);
            }
        }
    }

    /// Forgets the rows that `is_kept` refuses, and what the batch did to them.
    pub fn retain(&mut self, is_kept: impl Fn(&R::Key) -> bool) {
        self.0.retain(|key, _| is_kept(key));
    }

    /// The rows that the batch adds.
    pub fn new_rows(&self) -> impl Iterator<Item = &R> {
        self.0.values().filter_map(|state| match state {
            State::Inserted(row) | State::Replaced(row) => Some(row),
            State::Loaded(_) | State::Updated(_) | State::Deleted => None,
        })
    }

    /// The rows of the database that the batch changes.
    pub fn updated_rows(&self) -> impl Iterator<Item = &R> {
        self.0.values().filter_map(|state| match state {
            State::Updated(row) => Some(row),
            _ => None,
        })
    }

    /// The keys of the rows that the database must lose.
    pub fn deleted_keys(&self) -> impl Iterator<Item = &R::Key> {
        self.0.iter().filter_map(|(key, state)| match state {
            State::Deleted | State::Replaced(_) => Some(key),
            _ => None,
        })
    }

    /// Whether the batch changes a row.
    pub fn are_changed(&self) -> bool {
        self.0.values().any(|state| !matches!(state, State::Loaded(_)))
    }

    /// Applies the changes to a table in memory.
    ///
    /// # Panics
    /// If a new row exists, or an updated one does not.
    pub fn apply(&self, table: &mut RowsByKey<R>)
    where
        R: Clone,
    {
        self.deleted_keys().for_each(|key| drop(table.remove(key)));
        for row in self.updated_rows() {
            let old = table.insert(row.key(), row.clone());
            assert!(old.is_some(), "{:?} does not exist", row.key());
        }
        for row in self.new_rows() {
            let old = table.insert(row.key(), row.clone());
            assert!(old.is_none(), "{:?} exists", row.key());
        }
    }

    /// Deletes rows in the database.
    pub fn write_deletes<'a, W: RowWriter<'a>>(&'a self, writer: &mut W) -> Result<(), W::Error> {
        writer.delete(&R::DELETE, self.deleted_keys())
    }

    /// Updates rows in the database.
    pub fn write_updates<'a, W: RowWriter<'a>>(&'a self, writer: &mut W) -> Result<(), W::Error> {
        writer.update(&R::UPDATE, self.updated_rows())
    }

    /// Inserts rows into the database.
    pub fn write_inserts<'a, W: RowWriter<'a>>(&'a self, writer: &mut W) -> Result<(), W::Error> {
        writer.insert(&R::INSERT, self.new_rows())
    }
}

/// A statement that loads rows by key: `select`, the condition on `key`, then `rest`. The keys are in
/// `N`, and `L` gets the rows.
pub struct Query<N, L> {
    /// `SELECT … FROM …`, without a condition.
    pub select: fn() -> String,
    /// The columns of the key: names, or SQL.
    pub key: &'static [Column],
    /// SQL after the condition: further conditions and `ORDER BY`.
    pub rest: &'static str,
    /// The table whose rows PostgreSQL locks.
    pub lock: Option<&'static str>,
    /// The keys to find. The values of each key follow each other, in the order of its columns.
    pub keys: for<'n> fn(&'n N) -> Vec<Param<'n>>,
    /// The parameters after the key.
    pub values: for<'n> fn(&'n N) -> Vec<Param<'n>>,
    /// Adds a row to the loaded rows.
    pub read: fn(&mut L, &mut Columns<'_>) -> Result<(), ColumnError>,
}

impl<N, L> Query<N, L> {
    /// A query without what most queries do not have.
    pub const PLAIN: Self = Self {
        select: String::new,
        key: &[],
        rest: "",
        lock: None,
        keys: |_| Vec::new(),
        values: |_| Vec::new(),
        read: |_, _| Ok(()),
    };
}

/// `SELECT … FROM …` with all columns of a row.
#[doc(hidden)]
pub fn select<R: Row>() -> String {
    let table = R::INSERT.name;
    format!("SELECT {} FROM {table}", R::of(table))
}

/// Reads the rows of a table without keeping them, to find those that cannot be read.
#[derive(Debug, Clone, Copy)]
pub struct StoredRows {
    /// The name of the table.
    pub table: &'static str,
    /// The selected columns: first the columns of the key.
    pub columns: &'static [Column],
    /// The columns of the key.
    pub key: &'static [Column],
    /// Selects all rows.
    pub select: fn() -> String,
    /// Reads a selected row.
    pub read: fn(&mut Columns<'_>) -> Result<(), ColumnError>,
}

impl StoredRows {
    /// The table of this type of row.
    pub const fn of<R: Row>() -> Self {
        Self {
            table: R::INSERT.name,
            columns: R::COLUMNS,
            key: R::INSERT.key,
            select: select::<R>,
            read: |columns| R::read(columns).map(drop),
        }
    }

    /// SQL after [`Self::select`]: selects so many rows in the order of the key, from the key in the
    /// parameters if `has_key`.
    pub fn page(&self, has_key: bool, rows: u32) -> String {
        let key = self.key.iter().map(|(name, _)| key_column(name)).collect::<Vec<_>>().join(", ");
        let params = (1..=self.key.len()).map(|number| format!("${number}"));
        let params = params.collect::<Vec<_>>().join(", ");
        let from = if has_key { format!("WHERE ({key}) >= ({params}) ") } else { String::new() };
        format!("{from}ORDER BY {key} LIMIT {rows}")
    }

    /// The key of a selected row. `None` if it cannot be read.
    pub fn key_of(&self, mut columns: Columns<'_>) -> Option<Vec<Param<'static>>> {
        self.key.iter().map(|_| columns.cell().ok().map(Param::from)).collect()
    }
}

/// A column of a key in SQL. A name is quoted, because it can be a word of SQL.
pub fn key_column(column: &str) -> String {
    let is_name = column.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_name { format!("\"{column}\"") } else { column.to_owned() }
}

/// The values of the columns of these keys.
#[doc(hidden)]
pub fn key_params<'k, R: Row>(keys: impl IntoIterator<Item = &'k R::Key>) -> Vec<Param<'k>>
where
    R::Key: 'k,
{
    let mut params = Vec::new();
    keys.into_iter().for_each(|key| (R::DELETE.params)(key, &mut params));
    params
}

/// A table in memory.
pub type RowsByKey<R> = BTreeMap<<R as Row>::Key, R>;

/// Reads whole tables of a database.
pub trait TableReader {
    /// All rows of a table.
    fn table<R: Row>(&self) -> RowsByKey<R>;
}

/// Declares all rows of a batch, a field for each table. The order is the order in which they are
/// written: first the deletes of all tables, then the updates, then the inserts. Keys are in order,
/// too. So batches that write the same rows take locks in the same order, and never deadlock.
///
/// The second struct has keys of these rows, to load. Its `QUERIES` load them, where `$needs` has the
/// keys in its field `rows`, and `$loaded` gets the rows there.
///
/// The third struct is a database in memory: these tables, and others that no batch loads.
#[macro_export]
macro_rules! rows {
    (
        $(#[$meta:meta])*
        $vis:vis struct $rows:ident { $($(#[$field_meta:meta])* $field:ident: $row:ty),* $(,)? }

        $(#[$keys_meta:meta])*
        $keys_vis:vis struct $keys:ident from $needs:ty, into $loaded:ty;

        $(#[$tables_meta:meta])*
        $tables_vis:vis struct $tables:ident { $($other:ident: $other_row:ty),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        $vis struct $rows { $($(#[$field_meta])* $vis $field: $crate::Rows<$row>),* }

        impl $rows {
            /// The tables of all fields.
            $vis const TABLES: &'static [$crate::StoredRows] =
                &[$($crate::StoredRows::of::<$row>()),*];

            /// Whether a row is changed.
            $vis fn are_changed(&self) -> bool {
                $(self.$field.are_changed())||*
            }

            /// Writes all changes: deletes, then updates, then inserts.
            $vis fn write<'a, W: $crate::RowWriter<'a>>(
                &'a self,
                writer: &mut W,
            ) -> Result<(), W::Error> {
                $(self.$field.write_deletes(writer)?;)*
                $(self.$field.write_updates(writer)?;)*
                $(self.$field.write_inserts(writer)?;)*
                Ok(())
            }
        }

        $(#[$keys_meta])*
        #[derive(Debug, Default)]
        $keys_vis struct $keys {
            $($keys_vis $field: std::collections::BTreeSet<<$row as $crate::Row>::Key>),*
        }

        impl $keys {
            $keys_vis const QUERIES: &'static [$crate::Query<$needs, $loaded>] = &[$(
                $crate::Query {
                    select: $crate::select::<$row>,
                    key: <$row as $crate::Row>::INSERT.key,
                    keys: |needs| $crate::key_params::<$row>(&needs.rows.$field),
                    read: |loaded, columns| {
                        loaded.rows.$field.load($crate::Group::read(columns)?);
                        Ok(())
                    },
                    ..$crate::Query::PLAIN
                }
            ),*];
        }

        $(#[$tables_meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        $tables_vis struct $tables {
            $($tables_vis $field: $crate::RowsByKey<$row>,)*
            $($tables_vis $other: $crate::RowsByKey<$other_row>,)*
        }

        $(#[$tables_meta])*
        impl $tables {
            /// Reads all tables.
            $tables_vis fn read(reader: &impl $crate::TableReader) -> Self {
                Self { $($field: reader.table(),)* $($other: reader.table(),)* }
            }

            /// Panics if a table differs, with its name.
            $tables_vis fn assert_equal(&self, other: &Self) {
                $(assert_eq!(self.$field, other.$field, stringify!($field));)*
                $(assert_eq!(self.$other, other.$other, stringify!($other));)*
            }

            /// Loads the rows with these keys.
            $tables_vis fn load_rows(&self, keys: &$keys, rows: &mut $rows) {
                $(for row in keys.$field.iter().filter_map(|key| self.$field.get(key)) {
                    rows.$field.load(row.clone());
                })*
            }

            /// Applies the changes of a batch.
            $tables_vis fn apply_rows(&mut self, rows: &$rows) {
                $(rows.$field.apply(&mut self.$field);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::row! {
        struct Pet in "pets" {
            key { id: u32 = "id" }
            changing { name: String = "name" }
        }
    }

    fn pet(id: u32, name: &str) -> Pet {
        Pet { id, name: name.to_owned() }
    }

    /// The keys that are deleted, updated and inserted.
    fn changes(rows: &Rows<Pet>) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let deleted = rows.deleted_keys().copied().collect();
        let updated = rows.updated_rows().map(|row| row.id).collect();
        (deleted, updated, rows.new_rows().map(|row| row.id).collect())
    }

    fn loaded() -> Rows<Pet> {
        let mut rows = Rows::default();
        rows.load(pet(1, "loaded"));
        rows
    }

    #[test]
    fn a_loaded_row_is_written_only_if_it_changes() {
        let mut rows = loaded();
        assert_eq!((rows.are_changed(), changes(&rows)), (false, (vec![], vec![], vec![])));
        rows.update(pet(1, "changed"));
        rows.update(pet(1, "again"));
        assert_eq!((rows.are_changed(), changes(&rows)), (true, (vec![], vec![1], vec![])));
        assert_eq!(rows.get(&1), Some(&pet(1, "again")));
    }

    #[test]
    fn a_new_row_that_is_deleted_leaves_no_trace() {
        let mut rows = Rows::default();
        rows.insert(pet(2, "new"));
        rows.update(pet(2, "changed"));
        assert_eq!(changes(&rows), (vec![], vec![], vec![2]));
        rows.delete(2);
        assert!(!rows.are_changed() && !rows.contains(&2));
    }

    #[test]
    fn a_row_that_is_deleted_and_inserted_is_replaced() {
        let mut rows = loaded();
        rows.delete(1);
        assert_eq!((changes(&rows), rows.get(&1)), ((vec![1], vec![], vec![]), None));
        rows.insert(pet(1, "new"));
        assert_eq!(changes(&rows), (vec![1], vec![], vec![1]));
        rows.delete(1);
        assert_eq!(changes(&rows), (vec![1], vec![], vec![]));
    }

    #[test]
    fn a_row_that_was_not_loaded_can_be_replaced_updated_or_deleted() {
        let mut rows = Rows::default();
        rows.replace(pet(1, "replaced"));
        rows.update(pet(2, "updated"));
        rows.delete(3);
        assert_eq!(changes(&rows), (vec![1, 3], vec![2], vec![1]));
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    #[should_panic(expected = "inserted twice: 1")]
    fn a_row_is_not_inserted_twice() {
        loaded().insert(pet(1, "twice"));
    }

    #[test]
    #[should_panic(expected = "a deleted row is updated: 1")]
    fn a_deleted_row_is_not_updated() {
        let mut rows = loaded();
        rows.delete(1);
        rows.update(pet(1, "gone"));
    }
}
