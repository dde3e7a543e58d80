//! Reads the rows of a CSV file of any size.

use std::{
    cell::Cell,
    fs::File,
    io::{self, Read},
    path::Path,
    rc::Rc,
    str::Utf8Error,
};

use csv::{ByteRecord, Reader, ReaderBuilder};
use jiff::civil::Date;

/// The maximum size of a row in bytes. A quote that is not closed would make the rest of the file one
/// row.
const MAX_ROW: usize = 64 * 1024;

/// A CSV file (RFC 4180). A byte order mark at its beginning is ignored.
pub(crate) struct CsvFile {
    reader: Reader<Lines>,
    left: Rc<Cell<usize>>,
    size: u64,
    header: ByteRecord,
    columns: ByteRecord,
}

impl CsvFile {
    /// Opens a file and reads its header.
    pub(crate) fn open(path: &Path) -> csv::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let left = Rc::new(Cell::new(MAX_ROW));
        let lines = Lines { file: file.chain(b"\n"), left: Rc::clone(&left) };
        let mut reader = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(lines);
        let mut header = ByteRecord::new();
        reader.read_byte_record(&mut header)?;
        Ok(Self { reader, left, size, header, columns: ByteRecord::new() })
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether the file has a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.header.iter().any(|column| column == name.as_bytes())
    }

    /// Whether the file has these columns, in this order, and no others.
    pub(crate) fn has_only(&self, names: &[&str]) -> bool {
        self.header.iter().eq(names.iter().map(|name| name.as_bytes()))
    }

    /// The next row. Empty lines are skipped.
    pub(crate) fn next(&mut self) -> csv::Result<Option<Row<'_>>> {
        self.left.set(MAX_ROW);
        if !self.reader.read_byte_record(&mut self.columns)? {
            return Ok(None);
        }
        // The row has just ended, and a text in quotes can have several lines.
        let end = self.reader.position();
        let within = self.columns.as_slice().iter().filter(|byte| **byte == b'\n').count();
        let within = u64::try_from(within).unwrap_or(u64::MAX);
        Ok(Some(Row {
            line: end.line().saturating_sub(within).saturating_sub(1),
            end: end.byte(),
            header: &self.header,
            columns: &self.columns,
        }))
    }
}

/// A row, with its columns by name.
pub(crate) struct Row<'a> {
    /// From 1.
    pub(crate) line: u64,
    /// The position in the file after the row, in bytes.
    pub(crate) end: u64,
    header: &'a ByteRecord,
    columns: &'a ByteRecord,
}

impl<'a> Row<'a> {
    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The number of columns of the header.
    pub(crate) fn header_width(&self) -> usize {
        self.header.len()
    }

    /// The text in a column. Empty if there is no such column.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Utf8Error> {
        let index = self.header.iter().position(|column| column == name.as_bytes());
        std::str::from_utf8(index.and_then(|index| self.columns.get(index)).unwrap_or_default())
    }
}

/// Parses a date such as 2026-11-22.
pub(crate) fn date(text: &str) -> Result<Date, &'static str> {
    // The parser also accepts shorter and longer texts.
    let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text);
    date.ok_or("must be a date such as 2026-11-22")
}

/// Reads the file in lines that end with a line feed only, the last one, too. Fails if a row is too
/// long.
struct Lines {
    file: io::Chain<File, &'static [u8]>,
    /// How many bytes can be read before the row must have ended.
    left: Rc<Cell<usize>>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let too_long = || {
            io::Error::other(format!(
                "a row is longer than {MAX_ROW} bytes: look for a quote that is not closed"
            ))
        };
        loop {
            let size = self.file.read(buffer)?;
            self.left.set(self.left.get().checked_sub(size).ok_or_else(too_long)?);
            let mut kept = 0;
            for at in 0..size {
                buffer[kept] = buffer[at];
                kept += usize::from(buffer[at] != b'\r');
            }
            if kept > 0 || size == 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(content: &str) -> Vec<(u64, String)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        let mut file = CsvFile::open(file.path()).unwrap();
        assert!(file.has_only(&["a", "b"]) && file.has("b") && !file.has("c"), "{content}");
        let mut rows = Vec::new();
        while let Some(row) = file.next().unwrap() {
            rows.push((row.line, row.text("b").unwrap().to_owned()));
        }
        rows
    }

    #[test]
    fn rows_have_the_numbers_of_their_lines() {
        for (content, expected) in [
            ("a,b\n1,x\n2,y\n", &[(2, "x"), (3, "y")][..]),
            ("a,b\r\n1,x\r\n2,y", &[(2, "x"), (3, "y")]),
            ("a,b\n\n\n1,x\n\n2,y\n\n", &[(4, "x"), (6, "y")]),
            ("a,b\n1,\"x\r\ny\"\n2,\"y\"\n", &[(2, "x\ny"), (4, "y")]),
            ("\u{feff}a,b\n1\n2,y,z\n", &[(2, ""), (3, "y")]),
            ("a,b", &[]),
        ] {
            let expected: Vec<_> =
                expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
            assert_eq!(lines(content), expected, "{content:?}");
        }
    }
}
