//! Files of settings that a running service reads again: certificates, secrets and lists.
//!
//! A file is read again within a second after a change, and at SIGHUP. A file that cannot be used
//! changes nothing.

use std::{
    error::Error,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use secrecy::SecretString;
use tokio::{
    signal::unix::Signal,
    sync::watch::{Receiver, Sender},
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    config::{SecretError, secret, secret_file},
    error::Cause,
};

/// How often the service looks whether a file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The files that a service reads again. A subcommand reads them once, and drops this.
#[derive(Default)]
pub struct Files(Vec<File>);

struct File {
    setting: String,
    path: PathBuf,
    /// The version that was read last.
    version: Option<Version>,
    /// Reads the file, and sends its value to the users.
    read: Box<dyn Fn() -> Result<(), Cause> + Send>,
}

impl Files {
    /// Reads a setting whose value depends on a file. Without a path, the value never changes.
    pub fn read<T, E>(
        &mut self,
        setting: impl Into<String>,
        path: Option<PathBuf>,
        read: impl Fn(Option<&Path>) -> Result<T, E> + Send + 'static,
    ) -> Result<Receiver<T>, E>
    where
        T: Send + Sync + 'static,
        E: Error + Send + Sync + 'static,
    {
        // Before the content, so that no change is missed.
        let version = path.as_deref().and_then(Version::of);
        let value = Sender::new(read(path.as_deref())?);
        let receiver = value.subscribe();
        if let Some(path) = path {
            let file = path.clone();
            let read = move || {
                value.send_replace(read(Some(&file)).map_err(Cause::new)?);
                Ok(())
            };
            self.0.push(File { setting: setting.into(), path, version, read: Box::new(read) });
        }
        Ok(receiver)
    }

    /// Reads a secret with [`secret`], and converts it. `None` if it is unset or empty.
    pub fn secret<T, E>(
        &mut self,
        name: &'static str,
        convert: impl Fn(&SecretString) -> Result<T, E> + Send + 'static,
    ) -> Result<Option<Receiver<T>>, E>
    where
        T: Send + Sync + 'static,
        E: Error + From<SecretError> + Send + Sync + 'static,
    {
        if secret(name)?.is_none() {
            return Ok(None);
        }
        let read = move |_: Option<&Path>| convert(&secret(name)?.ok_or(SecretError::Empty(name))?);
        self.read(format!("{name}_FILE"), secret_file(name), read).map(Some)
    }

    /// Reads the files again from now on, until the handle is dropped. Create `hangup` with
    /// [`crate::process::hangup`] before the first reading.
    pub fn follow(self, mut hangup: Signal) -> AbortOnDropHandle<()> {
        let files = Arc::new(Mutex::new(self));
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut ticks = interval(LOOK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let is_asked = tokio::select! {
                    _ = ticks.tick() => false,
                    Some(()) = hangup.recv() => true,
                };
                let files = Arc::clone(&files);
                let again = move || {
                    let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                    files.0.iter_mut().for_each(|file| file.read_again(is_asked));
                };
                // A panic while reading keeps the old values, too.
                let _ = spawn_blocking(again).await;
            }
        }))
    }
}

impl File {
    fn read_again(&mut self, is_asked: bool) {
        let version = Version::of(&self.path);
        if version == self.version && !is_asked {
            return;
        }
        self.version = version;
        let setting = &self.setting;
        match (self.read)() {
            Ok(()) => tracing::info!(setting, "file read again"),
            Err(cause) => {
                tracing::error!(setting, %cause, "file not usable: its old content stays in use");
            }
        }
    }
}

/// Differs after every change of a file, also after one that keeps the time of its content.
#[derive(PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Version {
    /// `None` if there is no file.
    fn of(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok()?;
        let changed = (data.ctime(), data.ctime_nsec());
        Some(Self { device: data.dev(), inode: data.ino(), length: data.len(), changed })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_rewritten_file_with_its_old_time_is_another_version() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "one").unwrap();
        let (first, time) = (Version::of(&path), fs::metadata(&path).unwrap().modified().unwrap());
        let begun = Instant::now();
        // A second change within a tick of the kernel's clock has the time of the first one.
        while Version::of(&path) == first {
            assert!(begun.elapsed() < Duration::from_secs(10), "the change is not seen");
            fs::write(&path, "two").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }
}
