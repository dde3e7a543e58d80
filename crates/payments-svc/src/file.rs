//! Files that only their owner can read, because they contain keys or bank accounts. A
//! [`NamedTempFile`] has the mode 0600. Instead of a file, an operator can name a stream, such as
//! `/dev/stdin` and `/dev/stdout` in a container.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// A file that is not visible under its path before [`Self::save`].
pub(crate) enum NewFile {
    /// A pipe or a device: it is written, never replaced.
    Stream(File),
    Hidden {
        temporary: NamedTempFile,
        directory: PathBuf,
        path: PathBuf,
    },
}

impl NewFile {
    /// Creates a temporary file in the same directory. So a caller learns that the directory is not
    /// writable before it does work that the file must record.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // `/dev/stdout` can be a link to a file, whose earlier content stays.
        if is_stream(path) || path.parent() == Some(Path::new("/dev")) {
            return Ok(Self::Stream(File::options().append(true).open(path)?));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize()?;
        let temporary = NamedTempFile::new_in(&directory)?;
        let path = directory.join(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        Ok(Self::Hidden { temporary, directory, path })
    }

    /// Whether one of both would replace the other. Streams take both.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Hidden { path: one, .. }, Self::Hidden { path: other, .. }) => one == other,
            _ => false,
        }
    }

    /// Writes the content, and atomically replaces an existing file. Returns when it is durable.
    pub(crate) fn save(self, content: &[u8]) -> io::Result<()> {
        match self {
            Self::Stream(mut stream) => stream.write_all(content),
            Self::Hidden { mut temporary, directory, path } => {
                temporary.write_all(content)?;
                temporary.as_file().sync_all()?;
                temporary.persist(path)?;
                File::open(directory)?.sync_all()
            }
        }
    }

    /// Writes nothing, and removes an existing file, whose content is no longer true.
    pub(crate) fn remove(self) -> io::Result<()> {
        let Self::Hidden { directory, path, .. } = self else { return Ok(()) };
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => File::open(directory)?.sync_all(),
        }
    }
}

/// A copy of a stream, which can be read only once, in the data directory, or in the system's
/// directory if the data directory cannot be written. `None` for a file.
pub(crate) fn copy_of_stream(path: &Path, data: &Path) -> io::Result<Option<NamedTempFile>> {
    if !is_stream(path) {
        return Ok(None);
    }
    let mut copy = NamedTempFile::new_in(data).or_else(|_| NamedTempFile::new())?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    Ok(Some(copy))
}

fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file())
}
