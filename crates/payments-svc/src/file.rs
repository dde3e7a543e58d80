//! Files that only their owner can read, because they contain keys or bank accounts. A
//! [`NamedTempFile`] has the mode 0600.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// A file that is not visible under its path before [`Self::save`].
pub(crate) struct NewFile {
    temporary: NamedTempFile,
    directory: PathBuf,
    path: PathBuf,
}

impl NewFile {
    /// Creates a temporary file in the same directory. So a caller learns that the directory is not
    /// writable before it does work that the file must record.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).to_owned();
        let temporary = NamedTempFile::new_in(&directory)?;
        Ok(Self { temporary, directory, path: path.to_owned() })
    }

    /// Writes the content, and atomically replaces an existing file. Returns when it is durable.
    pub(crate) fn save(mut self, content: &[u8]) -> io::Result<()> {
        self.temporary.write_all(content)?;
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.path)?;
        File::open(&self.directory)?.sync_all()
    }

    /// Writes nothing, and removes an existing file, whose content is no longer true.
    pub(crate) fn remove(self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => File::open(&self.directory)?.sync_all(),
        }
    }
}
