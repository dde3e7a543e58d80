//! Identifiers of everything the service keeps, in the order in which it was made.

use std::{fmt, str::FromStr};

use jiff::Timestamp;

/// An identifier: 24 lower-case hex digits, the first 8 of them the Unix second. Ids compare as their
/// texts do, so that newer ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id([u8; Self::BYTES]);

/// Text that is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 24 hexadecimal digits")]
pub(crate) struct InvalidId;

impl Id {
    /// Bytes of an id.
    pub(crate) const BYTES: usize = 12;

    /// An id that comes before all that are made.
    pub(crate) const FIRST: Self = Self([0; Self::BYTES]);

    /// An id that comes after all that are made.
    pub(crate) const LAST: Self = Self([0xff; Self::BYTES]);

    /// An id that comes after all that are made before the second of `at`, and before all others.
    pub(crate) fn at(at: Timestamp) -> Self {
        let second = u32::try_from(at.as_second()).unwrap_or(0);
        Self::numbered(u128::from(second) << 64)
    }

    /// The id that follows this one.
    #[must_use]
    pub(crate) fn successor(self) -> Self {
        Self::numbered(self.number().saturating_add(1).min(Self::LAST.number()))
    }

    /// An id that was stored.
    pub(crate) fn stored(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes, which compare as the ids do.
    pub(crate) fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn number(self) -> u128 {
        self.0.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
    }

    /// The id of a number below 2^96.
    fn numbered(number: u128) -> Self {
        let mut bytes = [0; Self::BYTES];
        bytes.copy_from_slice(&number.to_be_bytes()[4..]);
        Self(bytes)
    }
}

impl FromStr for Id {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(number) if is_hex && text.len() == 2 * Self::BYTES => Ok(Self::numbered(number)),
            _ => Err(InvalidId),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:024x}", self.number())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Makes ids, each greater than all before it, whatever the clock does.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    last: Id,
    salt: u64,
}

impl Ids {
    /// Ids that follow `last`, the last that was made. In each second they begin at half of `salt`,
    /// which may be any number, so that none looks like the number of a card.
    pub(crate) fn after(last: Id, salt: u64) -> Self {
        Self { last, salt: salt >> 1 }
    }

    /// The last that was made.
    pub(crate) fn last(&self) -> Id {
        self.last
    }

    /// Goes on after `last`, if that is newer than the last that was made here.
    pub(crate) fn follow(&mut self, last: Id) {
        self.last = self.last.max(last);
    }

    /// The next id, at `now`.
    pub(crate) fn next(&mut self, now: Timestamp) -> Id {
        let first = Id::at(now).number().saturating_add(u128::from(self.salt));
        self.last = Id::numbered(self.last.number().max(first).saturating_add(1));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_24_hex_digits() {
        let id: Id = "555ECA95ed59804d2cf12b11".parse().unwrap();
        assert_eq!(id.to_string(), "555eca95ed59804d2cf12b11");
        for bad in
            ["", "555eca95ed59804d2cf12b1", "555eca95ed59804d2cf12b111", "+55eca95ed59804d2cf12b11"]
        {
            assert_eq!(bad.parse::<Id>(), Err(InvalidId), "{bad}");
        }
    }

    #[test]
    fn ids_begin_with_the_second_and_rise_even_when_the_clock_goes_back() {
        let mut ids = Ids::after(Id::FIRST, u64::MAX);
        let now = Timestamp::from_second(0x674f_0001).unwrap();
        let made = [ids.next(now), ids.next(now), ids.next(Timestamp::UNIX_EPOCH)];
        assert!(made.is_sorted() && made[0] < made[1] && made[1] < made[2]);
        assert!(made.iter().all(|id| id.to_string().starts_with("674f0001")), "{made:?}");
        assert_eq!(Ids::after(made[2], 0).next(now).number(), made[2].number() + 1);
        ids.follow(made[0]);
        assert!(ids.next(now) > made[2]);
        ids.follow(Id::LAST);
        assert_eq!(ids.last(), Id::LAST);
    }
}
