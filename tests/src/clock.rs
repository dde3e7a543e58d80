//! The wall clock of programs, which a test moves while they run. Their timers are not affected.

use std::{env::consts::ARCH, fs, path::Path};

use tempfile::TempDir;

/// A wall clock. The programs that it applies to must not outlive it.
#[derive(Debug)]
pub struct Clock {
    library: String,
    file: String,
    place: TempDir,
}

impl Clock {
    /// A clock with the time of this machine.
    pub fn new() -> Self {
        let library = format!("/usr/lib/{ARCH}-linux-gnu/faketime/libfaketimeMT.so.1");
        assert!(Path::new(&library).exists(), "install it with: apt-get install libfaketime");
        let place = tempfile::tempdir().expect("a directory can be made");
        let file = place.path().join("offset").to_str().expect("a plain path").to_owned();
        let clock = Self { library, file, place };
        clock.set(0);
        clock
    }

    /// The variables of a program with this clock.
    pub fn variables(&self) -> [(&str, &str); 5] {
        [
            ("LD_PRELOAD", &self.library),
            ("FAKETIME_TIMESTAMP_FILE", &self.file),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("NO_FAKE_STAT", "1"),
        ]
    }

    /// Sets the clock this many seconds ahead of this machine's. Programs see it at once.
    pub fn set(&self, offset: i64) {
        // A program must not read half of the file.
        let next = self.place.path().join("next");
        fs::write(&next, format!("{offset:+}")).expect("a file can be written");
        fs::rename(&next, &self.file).expect("a file can be renamed");
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
