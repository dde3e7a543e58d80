//! Files that only their owner can read, because they contain keys or bank accounts. A
//! [`NamedTempFile`] has the mode 0600.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

use tempfile::NamedTempFile;

/// Writes a file, or atomically replaces the existing one. Returns when it is durable.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}
