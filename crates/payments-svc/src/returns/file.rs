//! The file of the bank, whatever its format.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use super::{Entry, csv_returns, xml::XmlFile};
use crate::csv_file::CsvFile;

#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is broken, or of another format.
    #[error("{0}")]
    Format(String),
}

impl From<csv::Error> for ReadError {
    fn from(error: csv::Error) -> Self {
        match error.into_kind() {
            csv::ErrorKind::Io(error) if error.kind() != io::ErrorKind::Other => Self::Io(error),
            csv::ErrorKind::Io(error) => Self::Format(error.to_string()),
            kind => Self::Format(format!("{kind:?}")),
        }
    }
}

pub(super) struct ReturnsFile {
    content: Content,
    size: u64,
    position: u64,
}

enum Content {
    Csv(CsvFile),
    Xml(Box<XmlFile>),
}

impl ReturnsFile {
    /// Opens a file. XML begins with `<`, perhaps after spaces or a byte order mark.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let mut file = BufReader::new(File::open(path)?);
        let size = file.get_ref().metadata()?.len();
        let begin = file.fill_buf()?;
        let begin = begin.strip_prefix("\u{feff}".as_bytes()).unwrap_or(begin);
        let content = if begin.trim_ascii_start().starts_with(b"<") {
            Content::Xml(Box::new(XmlFile::new(file)))
        } else {
            let file = CsvFile::open(path)?;
            csv_returns::check_header(&file)?;
            Content::Csv(file)
        };
        Ok(Self { content, size, position: 0 })
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes that were read so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry>, ReadError> {
        match &mut self.content {
            Content::Csv(file) => {
                let Some(row) = file.next()? else { return Ok(None) };
                self.position = row.end;
                Ok(Some(csv_returns::entry(&row)))
            }
            Content::Xml(file) => {
                let entry = file.next()?;
                self.position = file.position();
                Ok(entry)
            }
        }
    }
}
