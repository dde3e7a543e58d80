//! Answers to disputes: evidence for the acquirer, or the acceptance of the loss.
//!
//! 1. Evidence is saved first and submitted later, so that it can be looked at. Evidence that is
//!    saved again replaces the earlier one.
//! 2. A dispute is answered once, before its deadline: with evidence, or by accepting it. If the
//!    acquirer refuses the answer, the dispute can be answered again.
//! 3. An answer decides nothing: the acquirer does, and reports it.
//! 4. An inquiry can be answered with evidence. If it becomes a dispute, that can be answered, too.

use std::sync::Arc;

use jiff::Timestamp;
use sql::{Param, group, named, stored};

use super::{id::Id, merchant::has_bidi_control, write::DisputeRow};

/// The maximum number of files.
pub const MAX_FILES: u32 = 5;

/// The maximum size of all files of a dispute, in bytes.
pub const MAX_FILE_BYTES: usize = 4_500_000;

/// The maximum size of the files of all open disputes of a merchant, in bytes.
pub(crate) const MAX_OPEN_BYTES: i64 = 100_000_000;

/// In characters.
const MAX_TEXT: usize = 20_000;

/// In characters.
const MAX_FILE_NAME: usize = 255;

/// The text of an answer, with any number of lines. It may be empty if there are files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceText(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be text of at most {MAX_TEXT} characters, without NUL characters or bidirectional \
     controls"
)]
pub struct InvalidEvidenceText;

impl EvidenceText {
    pub fn new(text: &str) -> Result<Self, InvalidEvidenceText> {
        let valid =
            text.chars().count() <= MAX_TEXT && !text.contains('\0') && !has_bidi_control(text);
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidEvidenceText) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

stored! { EvidenceText(String) }

/// The name of a file without folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must have a file name of 1 to {MAX_FILE_NAME} characters, without control characters or \
     bidirectional controls"
)]
pub struct InvalidFileName;

impl FileName {
    pub fn new(path: &str) -> Result<Self, InvalidFileName> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default().trim();
        let valid = (1..=MAX_FILE_NAME).contains(&name.chars().count())
            && !name.contains(char::is_control)
            && !has_bidi_control(name);
        if valid { Ok(Self(name.to_owned())) } else { Err(InvalidFileName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

stored! { FileName(String) }

named! {
    /// The type of a file, as its content shows it.
    pub enum FileType {
        Pdf = "application/pdf",
        Png = "image/png",
        Jpeg = "image/jpeg",
    }
}

impl FileType {
    pub fn of(content: &[u8]) -> Option<Self> {
        match content {
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            _ => None,
        }
    }
}

/// The bytes of a file. Copies share them.
#[derive(Clone, PartialEq, Eq)]
pub struct FileContent(pub Arc<Vec<u8>>);

/// Prints no content.
impl std::fmt::Debug for FileContent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "FileContent({})", self.0.len())
    }
}

stored! {
    FileContent as Vec<u8>: |content| Param::Bytes(content.0.as_slice().into()),
        |bytes| Some(Self(Arc::new(bytes)))
}

/// A file that is not saved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    pub name: FileName,
    pub file_type: FileType,
    pub content: FileContent,
}

group! {
    /// A saved file without its content.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct EvidenceFile {
        id: Id = "id",
        name: FileName = "name",
        file_type: FileType = "type",
        /// In bytes.
        size: i64 = "size",
    }
}

/// Evidence without the content of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub id: Id,
    pub created: Timestamp,
    pub text: EvidenceText,
    pub files: Vec<EvidenceFile>,
    pub submitted: Option<Timestamp>,
}

/// Evidence with the content of its files, for the acquirer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedEvidence {
    pub text: EvidenceText,
    pub files: Vec<NewFile>,
}

/// How a dispute is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisputeAnswer {
    /// The saved evidence is submitted.
    Evidence,
    /// The loss is accepted.
    Acceptance,
}

/// Why a dispute cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the dispute is decided")]
    Decided,
    #[error("the dispute was accepted")]
    Accepted,
    #[error("the evidence was submitted")]
    Submitted,
    #[error("the time to answer the dispute has passed")]
    Overdue,
    #[error("an inquiry cannot be accepted: refund the payment instead")]
    Inquiry,
    #[error("is required: save a text or a file first")]
    Missing,
    #[error(
        "the files of the merchant's open disputes would be larger than {} MB together",
        MAX_OPEN_BYTES / 1_000_000
    )]
    NoSpace,
}

impl DisputeRow {
    /// Whether the dispute can be answered now.
    pub fn require_answerable(&self, now: Timestamp) -> Result<(), AnswerError> {
        if self.decision.is_some() {
            Err(AnswerError::Decided)
        } else if self.accepted.is_some() {
            Err(AnswerError::Accepted)
        } else if self.submitted.is_some() {
            Err(AnswerError::Submitted)
        } else if self.due <= now {
            Err(AnswerError::Overdue)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_shows_the_type() {
        for (content, expected) in [
            (&b"%PDF-1.7\n"[..], Some(FileType::Pdf)),
            (b"\x89PNG\r\n\x1a\n", Some(FileType::Png)),
            (b"\xff\xd8\xff\xe0", Some(FileType::Jpeg)),
            (b"\x89PNG", None),
            (b"GIF89a", None),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(FileType::of(content), expected, "{content:?}");
        }
    }

    #[test]
    fn a_file_name_has_no_folders() {
        for path in ["a b.pdf", "C:\\fakepath\\a b.pdf", "/tmp/../a b.pdf"] {
            assert_eq!(FileName::new(path).map(|name| name.0), Ok("a b.pdf".to_owned()));
        }
        for path in ["", " ", "folder/", "a\nb", "a\u{202e}b", &"a".repeat(256)] {
            assert_eq!(FileName::new(path), Err(InvalidFileName), "{path:?}");
        }
    }

    #[test]
    fn a_text_has_at_most_20_000_characters() {
        assert!(EvidenceText::new(&"ä".repeat(20_000)).is_ok());
        for text in [&*"a".repeat(20_001), "\0", "\u{2066}"] {
            assert_eq!(EvidenceText::new(text), Err(InvalidEvidenceText));
        }
    }
}
