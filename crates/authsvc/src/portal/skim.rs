//! Reads JSON while it arrives, keeps the members that are needed, and drops the others.
//!
//! 1. A response can have 8 MiB, mostly a photo. A [`Skimmer`] holds only what it keeps, at most
//!    [`MAX_KEPT`] bytes, so a thousand sign-ins fit in memory.
//! 2. Only the structure is checked, of kept members and others alike: brackets, keys, colons and
//!    commas. So a value ends at the same byte, whether it is kept or not. What a string or a word
//!    contains does not matter here: half a surrogate pair, a raw control character, a byte that is
//!    not UTF-8, or a number like `1e999`. Nesting is limited ([`MAX_DEPTH`]).
//! 3. A kept value is not parsed here. Its reader parses each value alone, so that one wrong value
//!    does not make the others unreadable.
//! 4. A byte order mark before the text is ignored, as RFC 8259 (section 8.1) allows.

use std::collections::BTreeMap;

/// Limit of the kept values, in bytes.
const MAX_KEPT: usize = 64 * 1024;

/// Limit of objects and arrays within each other.
const MAX_DEPTH: usize = 1_000;

/// Limit of a kept key, in bytes. No needed key is so long, even if each letter is escaped.
const MAX_KEY: usize = 256;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A needed member.
#[derive(Debug)]
pub(super) struct Needed {
    pub(super) name: &'static str,
    /// The needed members of its value. If there are none, the whole value is needed.
    pub(super) members: Vec<Needed>,
}

impl Needed {
    pub(super) fn value(name: &'static str) -> Self {
        Self { name, members: Vec::new() }
    }

    pub(super) fn object(
        name: &'static str,
        members: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self { name, members: members.into_iter().map(Self::value).collect() }
    }
}

/// The needed members of an object. Of members with the same name, the last one.
pub(super) type Members = BTreeMap<&'static str, Member>;

/// The value of a needed member.
pub(super) enum Member {
    /// A string, a number or a word, as sent. Of an array, or of an object without needed members,
    /// only the first byte: no reader wants them.
    Value(Vec<u8>),
    Object(Members),
}

/// Why a text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("not a JSON object")]
    NotAnObject,
    #[error("nested more deeply than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the members that are read are longer than {MAX_KEPT} bytes")]
    TooMuchKept,
}

/// A text that arrives in chunks.
pub(super) struct Skimmer<'a> {
    state: State,
    /// The open objects that can have needed members. The first one is the text.
    objects: Vec<Open<'a>>,
    /// The brackets that are open within them.
    brackets: Vec<Bracket>,
    /// The key that is read, as it stands between its quotes.
    key: Vec<u8>,
    /// The needed member whose value is read or comes next.
    member: Option<&'a Needed>,
    /// The value that is read, if it is needed.
    value: Vec<u8>,
    /// The number of bytes of all needed values.
    kept: usize,
    /// The needed members of the text, when it has ended.
    members: Option<Members>,
}

struct Open<'a> {
    name: &'static str,
    needed: &'a [Needed],
    members: Members,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Array,
    Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the text, after so many bytes of a byte order mark.
    Start {
        marked: usize,
    },
    /// Before a value. The first value of an array can be missing.
    Value {
        is_first: bool,
    },
    /// In a number or a word.
    Word,
    /// In a string that is a value.
    Text {
        is_escaped: bool,
    },
    /// After a value.
    End,
    /// Before a key. The first key of an object can be missing.
    Key {
        is_first: bool,
    },
    KeyText {
        is_escaped: bool,
    },
    /// Between a key and its value.
    Colon,
}

impl<'a> Skimmer<'a> {
    pub(super) fn new(needed: &'a [Needed]) -> Self {
        Self {
            state: State::Start { marked: 0 },
            objects: vec![Open { name: "", needed, members: Members::new() }],
            brackets: Vec::new(),
            key: Vec::new(),
            member: None,
            value: Vec::new(),
            kept: 0,
            members: None,
        }
    }

    /// Reads the next chunk.
    pub(super) fn push(&mut self, mut chunk: &[u8]) -> Result<(), Unreadable> {
        while let Some((&byte, rest)) = chunk.split_first() {
            let (plain, after) = chunk.split_at(self.plain_length(chunk));
            if plain.is_empty() {
                self.step(byte)?;
                chunk = rest;
            } else {
                self.keep(plain)?;
                chunk = after;
            }
        }
        Ok(())
    }

    /// The number of bytes that only continue a string. Most bytes of an answer do.
    fn plain_length(&self, chunk: &[u8]) -> usize {
        match self.state {
            State::Text { is_escaped: false } => {
                chunk.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count()
            }
            _ => 0,
        }
    }

    /// Returns the needed members.
    pub(super) fn finish(self) -> Result<Members, Unreadable> {
        self.members.ok_or(Unreadable::NotAnObject)
    }

    fn step(&mut self, byte: u8) -> Result<(), Unreadable> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::Start { marked } => self.start(byte, marked, is_space)?,
            State::Value { .. } | State::End | State::Key { .. } | State::Colon if is_space => {}
            State::Value { is_first: true } if byte == b']' => self.close(byte)?,
            State::Value { .. } => self.begin(byte)?,
            State::Word if is_space || matches!(byte, b',' | b'}' | b']') => {
                self.end();
                self.step(byte)?;
            }
            State::Word if matches!(byte, b'"' | b':' | b'{' | b'[') => {
                return Err(Unreadable::NotAnObject);
            }
            State::Word => self.keep(&[byte])?,
            State::Text { is_escaped } => {
                self.keep(&[byte])?;
                match byte {
                    b'"' if !is_escaped => self.end(),
                    _ => self.state = State::Text { is_escaped: !is_escaped && byte == b'\\' },
                }
            }
            State::End => self.go_on(byte)?,
            State::Key { .. } if byte == b'"' => {
                self.key.clear();
                self.state = State::KeyText { is_escaped: false };
            }
            State::Key { is_first: true } if byte == b'}' => self.close(byte)?,
            State::KeyText { is_escaped: false } if byte == b'"' => self.state = State::Colon,
            State::KeyText { is_escaped } => {
                if self.key.len() < MAX_KEY {
                    self.key.push(byte);
                }
                self.state = State::KeyText { is_escaped: !is_escaped && byte == b'\\' };
            }
            State::Colon if byte == b':' => self.choose(),
            State::Key { .. } | State::Colon => return Err(Unreadable::NotAnObject),
        }
        Ok(())
    }

    /// Reads a byte before the text, which must be an object.
    fn start(&mut self, byte: u8, marked: usize, is_space: bool) -> Result<(), Unreadable> {
        let is_marked = marked == 0 || marked == BYTE_ORDER_MARK.len();
        if BYTE_ORDER_MARK.get(marked) == Some(&byte) {
            self.state = State::Start { marked: marked + 1 };
        } else if is_marked && is_space {
            self.state = State::Start { marked: BYTE_ORDER_MARK.len() };
        } else if is_marked && byte == b'{' {
            self.state = State::Key { is_first: true };
        } else {
            return Err(Unreadable::NotAnObject);
        }
        Ok(())
    }

    /// Reads the first byte of a value.
    fn begin(&mut self, byte: u8) -> Result<(), Unreadable> {
        match byte {
            b'{' => match self.member.filter(|needed| !needed.members.is_empty()) {
                Some(needed) if self.brackets.is_empty() => {
                    let Needed { name, members } = needed;
                    self.objects.push(Open { name, needed: members, members: Members::new() });
                    self.state = State::Key { is_first: true };
                }
                _ => self.open(byte, Bracket::Object, State::Key { is_first: true })?,
            },
            b'[' => self.open(byte, Bracket::Array, State::Value { is_first: true })?,
            b',' | b':' | b'}' | b']' => return Err(Unreadable::NotAnObject),
            _ => {
                self.keep(&[byte])?;
                self.state =
                    if byte == b'"' { State::Text { is_escaped: false } } else { State::Word };
            }
        }
        Ok(())
    }

    fn open(&mut self, byte: u8, bracket: Bracket, state: State) -> Result<(), Unreadable> {
        self.keep(&[byte])?;
        self.brackets.push(bracket);
        if self.objects.len() + self.brackets.len() > MAX_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        self.state = state;
        Ok(())
    }

    /// Reads a byte after a value.
    fn go_on(&mut self, byte: u8) -> Result<(), Unreadable> {
        match byte {
            b',' if self.brackets.last() == Some(&Bracket::Array) => {
                self.state = State::Value { is_first: false };
            }
            b',' if !self.objects.is_empty() => self.state = State::Key { is_first: false },
            b'}' | b']' => self.close(byte)?,
            _ => return Err(Unreadable::NotAnObject),
        }
        Ok(())
    }

    /// Closes the innermost object or array.
    fn close(&mut self, byte: u8) -> Result<(), Unreadable> {
        let closed = if byte == b'}' { Bracket::Object } else { Bracket::Array };
        match self.brackets.pop() {
            Some(open) if open == closed => self.end(),
            None if closed == Bracket::Object => self.close_object()?,
            _ => return Err(Unreadable::NotAnObject),
        }
        Ok(())
    }

    /// Closes the innermost object that can have needed members.
    fn close_object(&mut self) -> Result<(), Unreadable> {
        let Open { name, members, .. } = self.objects.pop().ok_or(Unreadable::NotAnObject)?;
        match self.objects.last_mut() {
            Some(parent) => _ = parent.members.insert(name, Member::Object(members)),
            None => self.members = Some(members),
        }
        self.member = None;
        self.state = State::End;
        Ok(())
    }

    /// Decides after a key whether its value is kept.
    fn choose(&mut self) {
        self.state = State::Value { is_first: false };
        if self.brackets.is_empty() {
            let known = self.objects.last().map_or(&[][..], |open| open.needed);
            self.member = known.iter().find(|needed| is_name(&self.key, needed.name));
        }
    }

    /// Ends a value.
    fn end(&mut self) {
        self.state = State::End;
        if self.brackets.is_empty()
            && let Some(needed) = self.member.take()
            && let Some(open) = self.objects.last_mut()
        {
            open.members.insert(needed.name, Member::Value(std::mem::take(&mut self.value)));
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        if self.member.is_some() && self.brackets.is_empty() {
            self.kept += bytes.len();
            if self.kept > MAX_KEPT {
                return Err(Unreadable::TooMuchKept);
            }
            self.value.extend_from_slice(bytes);
        }
        Ok(())
    }
}

/// Whether a key, as it stands between its quotes, is this name.
fn is_name(key: &[u8], name: &str) -> bool {
    if !key.contains(&b'\\') {
        return key == name.as_bytes();
    }
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|key| key == name)
}

#[cfg(test)]
mod tests;
