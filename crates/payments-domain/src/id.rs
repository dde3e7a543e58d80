//! IDs that sort in the order of their creation.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sql::stored;

/// An ID has 12 bytes, and the first four are the Unix second. Its text has 24 lower-case
/// hexadecimal digits; capitals are accepted, too. IDs compare like their texts, so newer IDs are
/// greater. Lists rely on this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id([u8; Self::BYTES]);
stored! { Id([u8; Self::BYTES]) }

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 24 hexadecimal digits")]
pub struct InvalidId;

impl Id {
    pub const BYTES: usize = 12;

    /// Less than every ID that is made.
    pub const MIN: Self = Self([0; Self::BYTES]);

    /// Greater than every ID that is made.
    pub const MAX: Self = Self([0xff; Self::BYTES]);

    /// The lower bound of the IDs that are made in the second of `at` or later.
    pub fn at(at: Timestamp) -> Self {
        let second = u32::try_from(at.as_second().max(0)).unwrap_or(u32::MAX);
        Self::numbered(u128::from(second) << 64)
    }

    /// The second in which the ID was made.
    pub fn created(self) -> Timestamp {
        Timestamp::from_second(self.second().into()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    pub fn second(self) -> u32 {
        let [first, second, third, fourth, ..] = self.0;
        u32::from_be_bytes([first, second, third, fourth])
    }

    #[must_use]
    pub fn successor(self) -> Self {
        Self::numbered(self.number().saturating_add(1).min(Self::MAX.number()))
    }

    #[must_use]
    pub(crate) fn predecessor(self) -> Self {
        Self::numbered(self.number().saturating_sub(1))
    }

    pub fn stored(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes compare like the IDs.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn number(self) -> u128 {
        self.0.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
    }

    /// `number` must be below 2^96.
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

impl TryFrom<String> for Id {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.to_string()
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

/// Makes IDs. Each is greater than all before it, even if the clock goes back.
#[derive(Debug, Clone)]
pub struct IdGenerator {
    last: Id,
    offset: u64,
}

impl IdGenerator {
    /// IDs that follow `last`, the last ID that was made. In each second they begin at half of
    /// `random`, a random number, so that they rarely look like a card number. The half leaves
    /// enough numbers for the rest of the second.
    pub fn after(last: Id, random: u64) -> Self {
        Self { last, offset: random >> 1 }
    }

    pub fn last(&self) -> Id {
        self.last
    }

    pub fn next(&mut self, now: Timestamp) -> Id {
        let first = Id::at(now).number().saturating_add(u128::from(self.offset));
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
    fn ids_begin_with_the_second_and_always_increase() {
        let mut ids = IdGenerator::after(Id::MIN, u64::MAX);
        let now = Timestamp::from_second(0x674f_0001).unwrap();
        let made = [ids.next(now), ids.next(now), ids.next(Timestamp::UNIX_EPOCH)];
        assert!(made.is_sorted() && made[0] < made[1] && made[1] < made[2]);
        assert!(made.iter().all(|id| id.to_string().starts_with("674f0001")), "{made:?}");
        assert!(made.iter().all(|id| id.second() == 0x674f_0001), "{made:?}");
        assert_eq!(IdGenerator::after(made[2], 0).next(now).number(), made[2].number() + 1);
        assert!(ids.next(now) > made[2]);
    }
}
