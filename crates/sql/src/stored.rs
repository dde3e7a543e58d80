//! Macros that make a type [`Stored`](crate::Stored).

/// Makes a type [`Stored`](crate::Stored): as its only field, or converted to a
/// [`Param`](crate::Param) and back from the type of its column.
///
/// ```
/// use sql::{Param, Stored as _, stored};
///
/// struct Name(String);
/// struct Percent(u8);
/// stored! { Name(String) }
/// stored! {
///     Percent as u8: |percent| Param::Int(percent.0.into()),
///         |number| Some(Self(number)).filter(|percent| percent.0 <= 100)
/// }
/// assert_eq!(Percent(7).param(), Param::Int(7));
/// ```
#[macro_export]
macro_rules! stored {
    ($type:ident($column:ty)) => {
        impl $crate::Stored for $type {
            const KIND: $crate::Kind = <$column as $crate::Stored>::KIND;

            fn param(&self) -> $crate::Param<'_> {
                $crate::Stored::param(&self.0)
            }

            fn of(cell: $crate::Cell<'_>) -> Result<Self, $crate::BadCell> {
                <$column as $crate::Stored>::of(cell).map(Self)
            }
        }
    };
    ($type:ident as $column:ty: $to:expr, $from:expr) => {
        impl $crate::Stored for $type {
            const KIND: $crate::Kind = <$column as $crate::Stored>::KIND;

            fn param(&self) -> $crate::Param<'_> {
                let to: fn(&Self) -> $crate::Param<'_> = $to;
                to(self)
            }

            fn of(cell: $crate::Cell<'_>) -> Result<Self, $crate::BadCell> {
                let from: fn($column) -> Option<Self> = $from;
                from(<$column as $crate::Stored>::of(cell)?).ok_or($crate::BadCell)
            }
        }
    };
}

/// Declares an enum whose values have names. The database stores the name, and users see the same.
///
/// ```
/// sql::named! {
///     pub enum Size { Small = "small", Large = "large" }
/// }
/// assert_eq!(Size::from_name("large"), Some(Size::Large));
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$value_meta:meta])* $value:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $type { $($(#[$value_meta])* $value),+ }

        impl $type {
            /// All values.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name of the value.
            $vis fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }

            /// The value with this name.
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        $crate::stored! {
            $type as String: |value| $crate::Param::Text(value.name().into()),
                |name| Self::from_name(&name)
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{BadCell, Cell, Kind, Param, Stored};

    #[derive(Debug, PartialEq)]
    struct Digest([u8; 2]);
    stored! { Digest([u8; 2]) }

    #[derive(Debug, PartialEq)]
    struct Even(u16);
    stored! {
        Even as u16: |even| Param::Int(even.0.into()),
            |number| Some(number).filter(|number| number % 2 == 0).map(Self)
    }

    named! {
        enum Size { Small = "small", Large = "large" }
    }

    #[test]
    fn a_value_is_read_as_it_is_written() {
        assert_eq!(Digest::of(Digest([1, 2]).param().cell()), Ok(Digest([1, 2])));
        assert_eq!(Even::of(Even(4).param().cell()), Ok(Even(4)));
        for size in Size::ALL {
            assert_eq!(Size::of(size.param().cell()), Ok(size));
        }
        assert_eq!([Digest::KIND, Even::KIND, Size::KIND], [Kind::Bytes, Kind::Int, Kind::Text]);
    }

    #[test]
    fn a_cell_that_holds_no_value_of_the_type_is_an_error() {
        assert_eq!(Digest::of(Cell::Bytes(&[1])), Err(BadCell));
        assert_eq!(Even::of(Cell::Int(3)), Err(BadCell));
        assert_eq!(Size::of(Cell::Text("medium")), Err(BadCell));
    }
}
