//! How rows are written.

use super::{Kind, Param};

/// A column, by its name.
pub(super) type Column = (&'static str, Kind);

/// A table, or some of its columns, and how an `R` becomes a row of it.
pub struct Table<R> {
    /// Its name.
    pub name: &'static str,
    /// The columns that tell its rows apart.
    pub key: &'static [Column],
    /// The other columns.
    pub values: &'static [Column],
    /// Adds the values of a row, in the order of the columns.
    pub params: for<'a> fn(&'a R, &mut Vec<Param<'a>>),
}

impl<R> Table<R> {
    pub(super) fn columns(&self) -> impl Iterator<Item = Column> + Clone {
        self.key.iter().chain(self.values).copied()
    }
}

/// Writes the rows of a batch. A key occurs once in each call.
pub trait Rows<'a> {
    /// Why the database refuses rows.
    type Error;

    /// Inserts rows.
    fn insert<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Self::Error>;

    /// Sets the values of the rows with these keys.
    fn update<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Self::Error>;

    /// Deletes the rows with these keys. The table has no other columns.
    fn delete<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Self::Error>;
}

/// Names in quotes, since some are words of SQL, each put into `form` for `{}`.
pub(super) fn list(columns: impl Iterator<Item = Column>, form: &str, separator: &str) -> String {
    let names: Vec<_> =
        columns.map(|(name, _)| form.replace("{}", &format!("\"{name}\""))).collect();
    names.join(separator)
}
