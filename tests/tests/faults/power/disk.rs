//! The model of a disk: what it holds for certain, and what a power cut may leave of the rest.
//!
//! 1. Only a sync that has ended makes something certain: the changes of that file, or the names in
//!    that directory, that were complete when the sync began.
//! 2. Every other change may be lost or kept, whatever came before or after it. Within one sector,
//!    the disk has the contents of one moment.
//! 3. A name that was not synced may be lost, with its file. A removed name may be back.
//! 4. A file may have grown without its data. It then reads as zeros.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use rand::{RngExt as _, rngs::StdRng};

use super::history::{Action, Change, Event};

/// The fate of changes that were not synced when the power was cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Lost,
    Kept,
    /// Each one is lost or kept.
    Half,
    /// Each sector of this size has the contents of any moment since the last sync.
    Torn(usize),
}

impl Fate {
    pub(crate) const ALL: [Self; 5] =
        [Self::Lost, Self::Kept, Self::Half, Self::Torn(512), Self::Torn(4096)];

    fn keeps(self, rng: &mut StdRng) -> bool {
        match self {
            Self::Lost => false,
            Self::Kept => true,
            Self::Half | Self::Torn(_) => rng.random(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    names: BTreeMap<PathBuf, Name>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    unsynced: Unsynced<Change>,
}

/// The thing with a name. `None` if there is none.
#[derive(Default)]
struct Name {
    synced: Option<Node>,
    unsynced: Unsynced<Option<Node>>,
}

#[derive(Clone, Copy)]
enum Node {
    Directory,
    /// The index of the file.
    File(usize),
}

/// Changes in their order, with the lines at which they ended.
struct Unsynced<T>(Vec<(usize, T)>);

impl<T> Default for Unsynced<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Unsynced<T> {
    fn add(&mut self, event: &Event, change: T) {
        self.0.push((event.ended, change));
    }

    /// Removes the changes that had ended before a sync began.
    fn before(&mut self, sync: &Event) -> impl Iterator<Item = T> {
        self.0.extract_if(.., |(ended, _)| *ended < sync.began).map(|(_, change)| change)
    }
}

impl Disk {
    /// The disk after these events. `syncs` decides for each sync whether it works: it receives the
    /// path, and whether this is the first sync of the file.
    pub(crate) fn after(events: &[Event], syncs: impl Fn(&Path, bool) -> bool) -> Self {
        let mut disk = Self::default();
        for event in events {
            match &event.action {
                Action::MakeDirectory(path) => disk.name(path, event, Some(Node::Directory)),
                Action::Create(path) if disk.node(path).is_none() => {
                    disk.files.push(File::default());
                    disk.name(path, event, Some(Node::File(disk.files.len() - 1)));
                }
                Action::Unlink(path) => disk.name(path, event, None),
                Action::Change(path, change) => {
                    let Some(Node::File(file)) = disk.node(path) else { panic!("no {path:?}") };
                    disk.files[file].unsynced.add(event, change.clone());
                }
                Action::Sync(path) if syncs(path, disk.is_new(path)) => disk.sync(path, event),
                Action::Create(_) | Action::Sync(_) | Action::Answer(_) => {}
            }
        }
        disk
    }

    fn name(&mut self, path: &Path, event: &Event, node: Option<Node>) {
        self.names.entry(path.to_owned()).or_default().unsynced.add(event, node);
    }

    /// The thing with this name before any power cut.
    fn node(&self, path: &Path) -> Option<Node> {
        let name = self.names.get(path)?;
        name.unsynced.0.last().map_or(name.synced, |(_, node)| *node)
    }

    /// Whether this is a file of which nothing was synced.
    fn is_new(&self, path: &Path) -> bool {
        matches!(self.node(path), Some(Node::File(file)) if self.files[file].synced.is_empty())
    }

    fn sync(&mut self, path: &Path, sync: &Event) {
        if let Some(Node::File(file)) = self.node(path) {
            let File { synced, unsynced } = &mut self.files[file];
            unsynced.before(sync).for_each(|change| apply(synced, &change));
            return;
        }
        for (_, name) in self.names.iter_mut().filter(|(named, _)| named.parent() == Some(path)) {
            name.synced = name.unsynced.before(sync).last().unwrap_or(name.synced);
        }
    }

    /// Writes one of the possible states after a power cut into an empty directory.
    pub(crate) fn write_to(&self, root: &Path, fate: Fate, rng: &mut StdRng) {
        // A directory comes before the names in it.
        for (path, name) in &self.names {
            let mut node = name.synced;
            for (_, next) in &name.unsynced.0 {
                if !fate.keeps(rng) {
                    break;
                }
                node = *next;
            }
            let path = root.join(path);
            match node {
                _ if !path.parent().unwrap().exists() => {}
                Some(Node::Directory) => fs::create_dir(path).unwrap(),
                Some(Node::File(file)) => {
                    fs::write(path, self.files[file].remains(fate, rng)).unwrap();
                }
                None => {}
            }
        }
    }
}

impl File {
    /// One of the possible contents after a power cut.
    fn remains(&self, fate: Fate, rng: &mut StdRng) -> Vec<u8> {
        let changes = self.unsynced.0.iter().map(|(_, change)| change);
        let mut bytes = self.synced.clone();
        let mut length = bytes.len();
        let mut kept_of_sectors = HashMap::new();
        for (number, change) in changes.enumerate() {
            match change {
                // File systems change lengths in order: nothing later is on the disk.
                Change::Truncate(_) if !fate.keeps(rng) => break,
                Change::Truncate(to) => {
                    bytes.resize(*to, 0);
                    length = *to;
                }
                Change::Write { at, data } => {
                    length = length.max(at + data.len());
                    let Fate::Torn(size) = fate else {
                        if fate.keeps(rng) {
                            write(&mut bytes, *at, data);
                        }
                        continue;
                    };
                    for (at, piece) in pieces(*at, data, size) {
                        let any = || rng.random_range(0..=self.unsynced.0.len());
                        if number < *kept_of_sectors.entry(at / size).or_insert_with(any) {
                            write(&mut bytes, at, piece);
                        }
                    }
                }
            }
        }
        if rng.random() {
            bytes.resize(length.max(bytes.len()), 0);
        }
        bytes
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Truncate(to) => bytes.resize(*to, 0),
        Change::Write { at, data } => write(bytes, *at, data),
    }
}

fn write(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(data);
}

/// Splits a write at the boundaries of sectors.
fn pieces(mut at: usize, mut data: &[u8], sector: usize) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    while !data.is_empty() {
        let (piece, rest) = data.split_at(data.len().min(sector - at % sector));
        pieces.push((at, piece));
        at += piece.len();
        data = rest;
    }
    pieces
}
