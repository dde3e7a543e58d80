//! Rows that are described once: reading, writing, keys and changes follow from the description.
//!
//! [`group!`](crate::group) describes a value that has several columns, and [`row!`](crate::row) a
//! row of a table. Both read and write their columns in one order, which nobody repeats by hand.

use std::fmt;

use super::{ColumnError, Columns, Kind, Param, Stored, Table, select};

/// Name and type of a column.
pub type Column = (&'static str, Kind);

/// A value that is stored in several columns.
pub trait Group: Sized {
    /// Its columns, in the order of [`Group::read`] and [`Group::params`].
    const COLUMNS: &'static [Column];

    /// Reads all columns.
    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError>;

    /// Appends the values of all columns.
    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>);

    /// The names of the columns for a `SELECT`, each as a column of `table`.
    fn of(table: &str) -> String {
        let names = Self::COLUMNS.iter().map(|(column, _)| format!("{table}.\"{column}\""));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// A value without columns.
impl Group for () {
    const COLUMNS: &'static [Column] = &[];

    fn read(_: &mut Columns<'_>) -> Result<Self, ColumnError> {
        Ok(())
    }

    fn params<'a>(&'a self, _: &mut Vec<Param<'a>>) {}
}

/// All columns are `NULL`, or none of those that may not be.
impl<G: Group> Group for Option<G> {
    const COLUMNS: &'static [Column] = G::COLUMNS;

    /// Looks at the first column, which may not be `NULL` in a `G`.
    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        if columns.is_null()? {
            columns.skip(G::COLUMNS.len());
            return Ok(None);
        }
        G::read(columns).map(Some)
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        match self {
            Some(group) => group.params(params),
            None => params.extend(G::COLUMNS.iter().map(|_| Param::Null)),
        }
    }
}

/// Two values that belong together. The group that contains them names the columns.
impl<A: Stored, B: Stored> Group for (A, B) {
    const COLUMNS: &'static [Column] = &[("first", A::KIND), ("second", B::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        Ok((columns.read()?, columns.read()?))
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        params.extend([self.0.param(), self.1.param()]);
    }
}

/// A row of a table, or those of its columns that a write knows.
pub trait Row: Group {
    /// The columns of the key: a value, or a tuple of them.
    type Key: Ord + Clone + fmt::Debug;

    /// Inserts all columns.
    const INSERT: Table<Self>;

    /// Writes the columns that can change.
    const UPDATE: Table<Self>;

    /// Deletes by key.
    const DELETE: Table<Self::Key>;

    /// The key of this row.
    fn key(&self) -> Self::Key;

    /// SQL that selects the row whose key is in the parameters.
    fn select_by_key() -> String {
        let key = Self::INSERT.key.iter().zip(1..);
        let key = key.map(|((column, _), number)| format!("\"{column}\" = ${number}"));
        format!("{} WHERE {}", select::<Self>(), key.collect::<Vec<_>>().join(" AND "))
    }
}

/// Joins lists of columns. `N` is the sum of their lengths.
#[doc(hidden)]
pub const fn join<const N: usize>(parts: &[&[Column]]) -> [Column; N] {
    let mut all = [("", Kind::Int); N];
    let (mut part, mut filled) = (0, 0);
    while part < parts.len() {
        let mut column = 0;
        while column < parts[part].len() {
            all[filled] = parts[part][column];
            column += 1;
            filled += 1;
        }
        part += 1;
    }
    all
}

/// The number of columns in some lists.
#[doc(hidden)]
pub const fn count(parts: &[&[Column]]) -> usize {
    let (mut part, mut count) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// Columns of a group with other names.
#[doc(hidden)]
pub const fn rename<const N: usize>(columns: &[Column], names: [&'static str; N]) -> [Column; N] {
    assert!(columns.len() == N, "a group needs a name for each of its columns");
    let mut all = [("", Kind::Int); N];
    let mut column = 0;
    while column < N {
        all[column] = (names[column], columns[column].1);
        column += 1;
    }
    all
}

/// Declares a struct that is a [`Group`]. A field is one of these:
///
/// - `= "column"`: a value in a column.
/// - `= ..`: a group, with the names of its own columns.
/// - `= ("column", …)`: a group, with these names for its columns.
/// - `= [value]`: not stored. It has this value after a read.
///
/// Without `struct`, the struct is declared elsewhere.
///
/// ```
/// use sql::{Group as _, group};
///
/// group! {
///     struct Money { currency: String = "currency", minor: i64 = "amount" }
/// }
/// group! {
///     struct Fees { flat: Money = ("flat_currency", "flat"), rate: i64 = "rate" }
/// }
/// assert_eq!(Fees::of("t"), r#"t."flat_currency", t."flat", t."rate""#);
/// ```
#[macro_export]
macro_rules! group {
    (
        $(#[$meta:meta])*
        $vis:vis struct $type:ident {
            $($(#[$field_meta:meta])* $field:ident: $field_type:ty = $columns:tt),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $type { $($(#[$field_meta])* $vis $field: $field_type),* }

        $crate::group! { $type { $($field: $field_type = $columns),* } }
    };
    ($type:ident { $($field:ident: $field_type:ty = $columns:tt),* $(,)? }) => {
        impl $crate::Group for $type {
            const COLUMNS: &'static [$crate::Column] =
                $crate::group!(@columns $($field_type = $columns),*);

            fn read(
                columns: &mut $crate::Columns<'_>,
            ) -> Result<Self, $crate::ColumnError> {
                Ok(Self { $($field: $crate::group!(@read $field_type = $columns, columns)),* })
            }

            fn params<'a>(&'a self, params: &mut Vec<$crate::Param<'a>>) {
                $($crate::group!(@params $field_type = $columns, &self.$field, params);)*
            }
        }
    };
    (@columns $($type:ty = $columns:tt),* $(,)?) => {{
        const PARTS: &[&[$crate::Column]] = &[$($crate::group!(@part $type = $columns)),*];
        const ALL: [$crate::Column; $crate::count(PARTS)] = $crate::join(PARTS);
        &ALL
    }};
    (@part $type:ty = ..) => { <$type as $crate::Group>::COLUMNS };
    (@part $type:ty = [$value:expr]) => { &[] };
    (@part $type:ty = ($($name:literal),+ $(,)?)) => {
        &$crate::rename(<$type as $crate::Group>::COLUMNS, [$($name),+])
    };
    (@part $type:ty = $column:literal) => { &[($column, <$type as $crate::Stored>::KIND)] };
    (@read $type:ty = .., $columns:ident) => { <$type as $crate::Group>::read($columns)? };
    (@read $type:ty = [$value:expr], $columns:ident) => { $value };
    (@read $type:ty = ($($name:literal),+ $(,)?), $columns:ident) => {
        <$type as $crate::Group>::read($columns)?
    };
    (@read $type:ty = $column:literal, $columns:ident) => { $columns.read::<$type>()? };
    (@params $type:ty = .., $value:expr, $params:ident) => {
        <$type as $crate::Group>::params($value, $params)
    };
    (@params $type:ty = [$default:expr], $value:expr, $params:ident) => { () };
    (@params $type:ty = ($($name:literal),+ $(,)?), $value:expr, $params:ident) => {
        <$type as $crate::Group>::params($value, $params)
    };
    (@params $type:ty = $column:literal, $value:expr, $params:ident) => {
        $params.push(<$type as $crate::Stored>::param($value))
    };
}

/// Describes a row: its table, its key, the columns that never change (`fixed`), and those that do
/// (`changing`), if it has such. The fields are those of [`group!`](crate::group). Without `struct`,
/// the struct is declared elsewhere.
///
/// ```
/// use sql::{Row as _, row};
///
/// row! {
///     /// A link that pays only once.
///     pub struct UsedLink in "used_links" {
///         key { merchant: u32 = "merchant", link: [u8; 32] = "link" }
///         fixed { payment: u32 = "payment" }
///     }
/// }
/// assert_eq!(UsedLink { merchant: 1, link: [2; 32], payment: 3 }.key(), (1, [2; 32]));
/// ```
#[macro_export]
macro_rules! row {
    (
        $(#[$meta:meta])*
        $vis:vis struct $row:ident in $table:literal {
            key { $($(#[$key_meta:meta])* $key:ident: $key_type:ty = $key_columns:tt),+ $(,)? }
            $(fixed {
                $($(#[$fixed_meta:meta])* $fixed:ident: $fixed_type:ty = $fixed_columns:tt),+ $(,)?
            })?
            $(changing {
                $($(#[$changing_meta:meta])* $changing:ident: $changing_type:ty
                    = $changing_columns:tt),+ $(,)?
            })?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $row {
            $($(#[$key_meta])* $vis $key: $key_type,)+
            $($($(#[$fixed_meta])* $vis $fixed: $fixed_type,)+)?
            $($($(#[$changing_meta])* $vis $changing: $changing_type,)+)?
        }

        $crate::row! {
            $row in $table {
                key { $($key: $key_type = $key_columns),+ }
                $(fixed { $($fixed: $fixed_type = $fixed_columns),+ })?
                $(changing { $($changing: $changing_type = $changing_columns),+ })?
            }
        }
    };
    (
        $row:ident in $table:literal {
            key { $($key:ident: $key_type:ty = $key_columns:tt),+ $(,)? }
            $(fixed { $($fixed:ident: $fixed_type:ty = $fixed_columns:tt),+ $(,)? })?
            $(changing { $($changing:ident: $changing_type:ty = $changing_columns:tt),+ $(,)? })?
        }
    ) => {
        $crate::group! {
            $row {
                $($key: $key_type = $key_columns,)+
                $($($fixed: $fixed_type = $fixed_columns,)+)?
                $($($changing: $changing_type = $changing_columns,)+)?
            }
        }

        impl $crate::Row for $row {
            type Key = $crate::row!(@type $($key_type),+);

            const INSERT: $crate::Table<Self> = $crate::Table {
                name: $table,
                key: $crate::group!(@columns $($key_type = $key_columns),+),
                values: $crate::group!(@columns
                    $($($fixed_type = $fixed_columns,)+)? $($($changing_type = $changing_columns,)+)?
                ),
                params: <Self as $crate::Group>::params,
            };

            const UPDATE: $crate::Table<Self> = $crate::Table {
                values: $crate::group!(@columns $($($changing_type = $changing_columns,)+)?),
                params: |row, params| {
                    $($crate::group!(@params $key_type = $key_columns, &row.$key, params);)+
                    $($($crate::group!(
                        @params $changing_type = $changing_columns, &row.$changing, params
                    );)+)?
                },
                ..Self::INSERT
            };

            const DELETE: $crate::Table<Self::Key> = $crate::Table {
                name: $table,
                key: Self::INSERT.key,
                values: &[],
                params: |$crate::row!(@pattern $($key),+), params| {
                    $($crate::group!(@params $key_type = $key_columns, $key, params);)+
                },
            };

            fn key(&self) -> Self::Key {
                $crate::row!(@value $(self.$key.clone()),+)
            }
        }
    };
    // A tuple, unless it has one part.
    (@type $only:ty) => { $only };
    (@type $($part:ty),+) => { ($($part),+) };
    (@pattern $only:ident) => { $only };
    (@pattern $($part:ident),+) => { ($($part),+) };
    (@value $only:expr) => { $only };
    (@value $($part:expr),+) => { ($($part),+) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cell;

    #[derive(Debug, Clone, PartialEq)]
    struct Size {
        width: i64,
        height: Option<i64>,
    }

    crate::group! { Size { width: i64 = "width", height: Option<i64> = "height" } }

    crate::row! {
        struct Picture in "pictures" {
            key { album: String = "album", number: u32 = "number" }
            fixed { size: Option<Size> = .., frame: Size = ("frame_width", "frame_height") }
            changing {
                title: Option<String> = "title",
                seen: bool = "seen",
                copies: u32 = [7],
            }
        }
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Place {
        shelf: u32,
        board: u64,
    }

    crate::group! { Place { shelf: u32 = "shelf", board: u64 = "board" } }
    crate::row! {
        struct Book in "books" {
            key { place: Place = .. }
            changing { title: String = "title" }
        }
    }

    fn names(columns: &[Column]) -> Vec<&'static str> {
        columns.iter().map(|(name, _)| *name).collect()
    }

    fn picture(size: Option<Size>) -> Picture {
        let frame = Size { width: 9, height: Some(8) };
        Picture {
            album: "a".to_owned(),
            number: 3,
            size,
            frame,
            title: None,
            seen: true,
            copies: 7,
        }
    }

    fn insert_params(picture: &Picture) -> Vec<Param<'_>> {
        let mut params = Vec::new();
        (Picture::INSERT.params)(picture, &mut params);
        params
    }

    #[test]
    fn a_row_lists_its_columns_with_those_of_its_groups() {
        assert_eq!(
            names(Picture::COLUMNS),
            ["album", "number", "width", "height", "frame_width", "frame_height", "title", "seen"]
        );
        assert_eq!(Picture::COLUMNS[0].1, Kind::Text);
        assert_eq!(Picture::COLUMNS[3].1, Kind::Int);
        assert_eq!(Picture::COLUMNS[7].1, Kind::Bool);
        assert_eq!(Size::of("p"), "p.\"width\", p.\"height\"");
    }

    #[test]
    fn a_row_is_read_as_it_is_written() {
        for size in [None, Some(Size { width: 4, height: None })] {
            let written = picture(size);
            let params = insert_params(&written);
            let read = Picture::read(&mut Columns::from(&*params)).unwrap();
            assert_eq!(read, written);
        }
    }

    #[test]
    fn an_update_writes_the_columns_that_change() {
        let mut params = Vec::new();
        let picture = picture(None);
        (Picture::UPDATE.params)(&picture, &mut params);
        assert_eq!(names(Picture::UPDATE.values), ["title", "seen"]);
        let values = [picture.album.param(), 3_u32.param(), Param::Null, Param::Bool(true)];
        assert_eq!(params, values);
    }

    #[test]
    fn a_delete_names_the_key() {
        let mut params = Vec::new();
        let key = picture(None).key();
        (Picture::DELETE.params)(&key, &mut params);
        assert_eq!(names(Picture::DELETE.key), ["album", "number"]);
        assert_eq!(params, [Param::Text("a".into()), Param::Int(3)]);
        assert!(Picture::DELETE.values.is_empty());
    }

    #[test]
    fn a_key_can_be_a_group() {
        let place = Place { shelf: 2, board: u64::MAX };
        let book = Book { place, title: "t".to_owned() };
        assert_eq!((names(Book::DELETE.key), book.key()), (vec!["shelf", "board"], place));
        let (mut deleted, mut updated) = (Vec::new(), Vec::new());
        (Book::DELETE.params)(&place, &mut deleted);
        (Book::UPDATE.params)(&book, &mut updated);
        assert_eq!(deleted, [Param::Int(2), Param::Int(-1)]);
        assert_eq!((&updated[..2], &updated[2..]), (&*deleted, &[book.title.param()][..]));
        assert_eq!(Book::read(&mut Columns::from(&*updated)).unwrap(), book);
    }

    #[test]
    fn a_row_that_ends_too_early_is_an_error() {
        let picture = picture(None);
        let params = insert_params(&picture);
        assert!(Picture::read(&mut Columns::from(&params[..7])).is_err());
        assert_eq!(Columns::from(&params[..1]).cell().unwrap(), Cell::Text("a"));
    }
}
