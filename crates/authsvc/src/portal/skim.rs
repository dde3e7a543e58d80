//! Reads JSON while it arrives, keeps the members that are needed, and drops the others.
//!
//! 1. A response can have 8 MiB, mostly a photo. A [`Skimmer`] holds only what it keeps, at most
//!    [`MAX_KEPT`] bytes, so a thousand sign-ins fit in memory.
//! 2. A value that is not kept is not parsed: the skimmer only looks for its end. So half a
//!    surrogate pair or a number like `1e999` does not matter there. Nesting is limited
//!    ([`MAX_DEPTH`]).
//! 3. A kept value is not parsed here, either. Its reader does that, so that one wrong value does
//!    not make the others unreadable.

/// Limit of the kept members, in bytes.
const MAX_KEPT: usize = 64 * 1024;

/// Limit of objects and arrays within each other.
const MAX_DEPTH: usize = 1_000;

/// Limit of a kept key, in bytes. No needed key is so long, even if each letter is escaped.
const MAX_KEY: usize = 256;

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
    kept: Vec<u8>,
    state: State,
    /// The needed members of the text.
    root: &'a [Needed],
    /// The needed members of each open object with such members.
    objects: Vec<&'a [Needed]>,
    /// The needed members of the value that is read or comes next.
    members: &'a [Needed],
    /// Whether the value that is read is kept.
    is_kept: bool,
    /// The number of open brackets of the value that is read.
    depth: usize,
    /// The key that is read, as it stands between its quotes.
    key: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a value.
    Value,
    /// In a number or a word.
    Word,
    /// In a string that is a value or a part of one.
    Text {
        is_escaped: bool,
    },
    /// Between the tokens of a value with brackets.
    Brackets,
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
            kept: Vec::new(),
            state: State::Value,
            root: needed,
            objects: Vec::new(),
            members: needed,
            is_kept: true,
            depth: 0,
            key: Vec::new(),
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

    /// Returns the kept members as JSON text, in the shape of the whole text.
    pub(super) fn finish(self) -> Result<Vec<u8>, Unreadable> {
        let is_complete = self.state == State::End && self.objects.is_empty();
        is_complete.then_some(self.kept).ok_or(Unreadable::NotAnObject)
    }

    fn step(&mut self, byte: u8) -> Result<(), Unreadable> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::Value | State::End | State::Key { .. } | State::Colon if is_space => {}
            State::Value => self.begin(byte)?,
            State::Word if is_space || matches!(byte, b',' | b'}') => {
                self.state = State::End;
                self.step(byte)?;
            }
            State::Word => self.keep(&[byte])?,
            State::Text { is_escaped } => {
                self.keep(&[byte])?;
                self.state = match byte {
                    _ if is_escaped => State::Text { is_escaped: false },
                    b'\\' => State::Text { is_escaped: true },
                    b'"' if self.depth == 0 => State::End,
                    b'"' => State::Brackets,
                    _ => State::Text { is_escaped: false },
                };
            }
            State::Brackets => self.step_brackets(byte)?,
            State::End => match (byte, self.objects.last()) {
                (b',', Some(_)) => self.state = State::Key { is_first: false },
                (b'}', Some(_)) => self.close()?,
                _ => return Err(Unreadable::NotAnObject),
            },
            State::Key { .. } if byte == b'"' => {
                self.key.clear();
                self.state = State::KeyText { is_escaped: false };
            }
            State::Key { is_first: true } if byte == b'}' => self.close()?,
            State::KeyText { is_escaped: false } if byte == b'"' => self.state = State::Colon,
            State::KeyText { is_escaped } => {
                if self.key.len() < MAX_KEY {
                    self.key.push(byte);
                }
                self.state = State::KeyText { is_escaped: !is_escaped && byte == b'\\' };
            }
            State::Colon if byte == b':' => self.choose()?,
            State::Key { .. } | State::Colon => return Err(Unreadable::NotAnObject),
        }
        Ok(())
    }

    /// Reads the first byte of a value.
    fn begin(&mut self, byte: u8) -> Result<(), Unreadable> {
        let is_root = self.objects.is_empty();
        match byte {
            b'{' if !self.members.is_empty() => {
                self.keep(b"{")?;
                self.objects.push(self.members);
                self.state = State::Key { is_first: true };
            }
            _ if is_root => return Err(Unreadable::NotAnObject),
            b',' | b':' | b'}' | b']' => return Err(Unreadable::NotAnObject),
            b'{' | b'[' => {
                self.state = State::Brackets;
                self.step_brackets(byte)?;
            }
            _ => {
                self.keep(&[byte])?;
                self.state =
                    if byte == b'"' { State::Text { is_escaped: false } } else { State::Word };
            }
        }
        Ok(())
    }

    fn step_brackets(&mut self, byte: u8) -> Result<(), Unreadable> {
        self.keep(&[byte])?;
        match byte {
            b'"' => self.state = State::Text { is_escaped: false },
            b'{' | b'[' => {
                self.depth += 1;
                if self.objects.len() + self.depth > MAX_DEPTH {
                    return Err(Unreadable::TooDeep);
                }
            }
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.state = State::End;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Decides after a key whether its value is kept.
    fn choose(&mut self) -> Result<(), Unreadable> {
        let known = self.objects.last().copied().unwrap_or(self.root);
        let needed = known.iter().find(|needed| is_name(&self.key, needed.name));
        self.is_kept = needed.is_some();
        self.members = needed.map_or(&[], |needed| &needed.members);
        self.state = State::Value;
        let Some(needed) = needed else { return Ok(()) };
        if self.kept.last() != Some(&b'{') {
            self.keep(b",")?;
        }
        self.keep(b"\"")?;
        self.keep(needed.name.as_bytes())?;
        self.keep(b"\":")
    }

    /// Ends the innermost object.
    fn close(&mut self) -> Result<(), Unreadable> {
        self.objects.pop();
        self.is_kept = true;
        self.state = State::End;
        self.keep(b"}")
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        if self.is_kept {
            if self.kept.len() + bytes.len() > MAX_KEPT {
                return Err(Unreadable::TooMuchKept);
            }
            self.kept.extend_from_slice(bytes);
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
