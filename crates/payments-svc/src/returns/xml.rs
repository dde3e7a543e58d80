//! Reads a message of ISO 20022, element by element.
//!
//! 1. The namespace of the root decides the format.
//! 2. Nothing in the file can make the reader use much memory: a piece of markup or text has at most
//!    [`MAX_PIECE`] bytes, and elements are nested at most [`MAX_DEPTH`] deep. There is no document
//!    type definition, and no entity but those of XML itself.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

use quick_xml::{
    NsReader,
    escape::resolve_predefined_entity,
    events::{BytesRef, BytesStart, Event},
    name::{Namespace, ResolveResult},
};

use super::{Entry, camt::Camt, file::ReadError, pain002::Pain002};

/// The maximum bytes of a tag, a comment or a text.
const MAX_PIECE: usize = 64 * 1024;

/// The maximum depth of elements. Those of ISO 20022 are less than 20 deep.
const MAX_DEPTH: usize = 64;

const NAMESPACES: &str = "urn:iso:std:iso:20022:tech:xsd:";

pub(super) struct XmlFile {
    reader: NsReader<Bounded>,
    piece: Vec<u8>,
    /// The open elements below the root.
    path: Path,
    format: Option<Format>,
    is_complete: bool,
}

/// The open elements, and the last text.
#[derive(Default)]
pub(super) struct Path {
    /// The names of the elements below the root, each after a `/`.
    names: String,
    depth: usize,
    text: String,
    /// The attribute `Ccy` of the last opened element.
    currency: String,
    /// The line of the last tag, from 1.
    line: u64,
}

impl Path {
    /// The names of the open elements after those of `parent`. `None` outside of `parent`.
    pub(super) fn below(&self, parent: &str) -> Option<&str> {
        let rest = self.names.strip_prefix(parent)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The text of the element that ends, if it has no elements.
    pub(super) fn text(&self) -> String {
        self.text.trim().to_owned()
    }

    /// The amount of the element that ends.
    pub(super) fn amount(&self) -> [String; 2] {
        [self.currency.clone(), self.text()]
    }

    /// The date of the element that ends, which can be a date or a time.
    pub(super) fn date(&self) -> String {
        self.text.trim().chars().take("2026-11-21".len()).collect()
    }
}

/// The formats of messages.
enum Format {
    Camt(Box<Camt>),
    Pain002(Box<Pain002>),
}

impl XmlFile {
    pub(super) fn new(file: BufReader<File>) -> Self {
        let bounded = Bounded { file, left: MAX_PIECE, position: 0, line: 1 };
        let (piece, path) = (Vec::new(), Path::default());
        let reader = NsReader::from_reader(bounded);
        Self { reader, piece, path, format: None, is_complete: false }
    }

    /// The bytes that were read so far.
    pub(super) fn position(&self) -> u64 {
        self.reader.get_ref().position
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            match self.step() {
                Ok(Step::Entry(entry)) => return Ok(Some(entry)),
                Ok(Step::Nothing) => {}
                Ok(Step::End) => return Ok(None),
                Err(StepError::Io(error)) => return Err(error.into()),
                Err(StepError::Format(reason)) => {
                    let line = self.reader.get_ref().line;
                    // An error can quote the file. A terminal must not run its codes.
                    let reason = reason.escape_debug();
                    return Err(ReadError::Format(format!("line {line}: {reason}")));
                }
            }
        }
    }

    /// Reads one piece.
    fn step(&mut self) -> Result<Step, StepError> {
        self.reader.get_mut().left = MAX_PIECE;
        self.piece.clear();
        let event = self.reader.read_event_into(&mut self.piece)?;
        self.path.line = self.reader.get_ref().line;
        match event {
            Event::Start(tag) => {
                if self.format.is_none() {
                    let (namespace, _) = self.reader.resolver().resolve_element(tag.name());
                    self.format = Some(format(namespace)?);
                    self.path.depth = 1;
                    return Ok(Step::Nothing);
                }
                self.path.open(&tag)?;
                self.begin();
                Ok(Step::Nothing)
            }
            Event::Empty(tag) => {
                if self.format.is_none() {
                    return Err(StepError::Format("it has no content".to_owned()));
                }
                self.path.open(&tag)?;
                self.begin();
                Ok(self.end())
            }
            Event::End(_) => Ok(self.end()),
            Event::Text(text) => self.path.append(&text.xml10_content()),
            Event::CData(text) => self.path.append(&text.xml10_content()),
            Event::GeneralRef(reference) => self.path.append(&resolve(&reference)?),
            Event::Decl(declaration) => match declaration.encoding() {
                Some(Ok(encoding)) if !encoding.eq_ignore_ascii_case("UTF-8") => {
                    Err(StepError::Format(format!("its encoding is {encoding}, not UTF-8")))
                }
                _ => Ok(Step::Nothing),
            },
            Event::DocType(_) => {
                Err(StepError::Format("it has a document type definition".to_owned()))
            }
            Event::Comment(_) | Event::PI(_) => Ok(Step::Nothing),
            Event::Eof if self.is_complete => Ok(Step::End),
            Event::Eof => Err(StepError::Format("it ends too early".to_owned())),
        }
    }

    fn begin(&mut self) {
        match &mut self.format {
            Some(Format::Camt(camt)) => camt.begin(&self.path),
            Some(Format::Pain002(report)) => report.begin(&self.path),
            None => {}
        }
    }

    fn end(&mut self) -> Step {
        let entry = match &mut self.format {
            Some(Format::Camt(camt)) => camt.end(&self.path),
            Some(Format::Pain002(report)) => report.end(&self.path),
            None => None,
        };
        self.path.close();
        self.is_complete = self.path.depth == 0;
        entry.map_or(Step::Nothing, Step::Entry)
    }
}

impl Path {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), StepError> {
        if self.depth == 0 {
            return Err(StepError::Format("it has several root elements".to_owned()));
        }
        if self.depth == MAX_DEPTH {
            return Err(StepError::Format(format!(
                "elements are more than {MAX_DEPTH} levels deep"
            )));
        }
        self.depth += 1;
        self.names.push('/');
        self.names.push_str(tag.local_name().as_ref());
        self.text.clear();
        self.currency.clear();
        if let Some(currency) = tag.try_get_attribute("Ccy").map_err(quick_xml::Error::from)? {
            self.currency.push_str(&currency.value);
        }
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<Step, StepError> {
        if self.depth == 0 && !text.trim().is_empty() {
            return Err(StepError::Format("it has text outside of its root element".to_owned()));
        }
        if self.text.len() + text.len() > MAX_PIECE {
            return Err(StepError::Format(format!("a text is longer than {MAX_PIECE} bytes")));
        }
        self.text.push_str(text);
        Ok(Step::Nothing)
    }

    fn close(&mut self) {
        let parent = self.names.rfind('/').unwrap_or(0);
        self.names.truncate(parent);
        self.depth = self.depth.saturating_sub(1);
        self.text.clear();
    }
}

fn format(namespace: ResolveResult<'_>) -> Result<Format, StepError> {
    let name = match namespace {
        ResolveResult::Bound(Namespace(name)) => name.strip_prefix(NAMESPACES),
        ResolveResult::Unbound | ResolveResult::Unknown(_) => None,
    };
    match name {
        Some("camt.053.001.08") => Ok(Format::Camt(Box::new(Camt::statement()))),
        Some("camt.054.001.08") => Ok(Format::Camt(Box::new(Camt::notification()))),
        Some("pain.002.001.10") => Ok(Format::Pain002(Box::default())),
        _ => Err(StepError::Format(
            "it is none of camt.053.001.08, camt.054.001.08 and pain.002.001.10".to_owned(),
        )),
    }
}

/// A character, or an entity of XML itself.
fn resolve(reference: &BytesRef<'_>) -> Result<String, StepError> {
    if let Some(character) = reference.resolve_char_ref()? {
        return Ok(character.to_string());
    }
    match resolve_predefined_entity(reference) {
        Some(text) => Ok(text.to_owned()),
        None => Err(StepError::Format("it refers to an entity".to_owned())),
    }
}

enum Step {
    Nothing,
    Entry(Entry),
    End,
}

enum StepError {
    Io(io::Error),
    Format(String),
}

impl From<quick_xml::Error> for StepError {
    fn from(error: quick_xml::Error) -> Self {
        match error {
            quick_xml::Error::Io(error) if error.kind() != io::ErrorKind::Other => {
                Self::Io(io::Error::new(error.kind(), error))
            }
            error => Self::Format(error.to_string()),
        }
    }
}

/// Reads the file, and fails if a piece of it is too long.
struct Bounded {
    file: BufReader<File>,
    /// How many bytes can be read before the piece must have ended.
    left: usize,
    position: u64,
    line: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let size = available.read(buffer)?;
        self.consume(size);
        Ok(size)
    }
}

impl BufRead for Bounded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let available = self.file.fill_buf()?;
        if self.left == 0 && !available.is_empty() {
            let reason = format!("a tag, a comment or a text is longer than {MAX_PIECE} bytes");
            return Err(io::Error::other(reason));
        }
        Ok(&available[..available.len().min(self.left)])
    }

    fn consume(&mut self, size: usize) {
        let read = self.file.buffer().iter().take(size);
        let lines = read.filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(lines.try_into().unwrap_or(u64::MAX));
        self.position = self.position.saturating_add(size.try_into().unwrap_or(u64::MAX));
        self.left = self.left.saturating_sub(size);
        self.file.consume(size);
    }
}
