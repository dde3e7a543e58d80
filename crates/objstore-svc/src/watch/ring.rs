//! The newest records, with frames that are serialized once for all sockets.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;

use crate::domain::{Entry, Object, Record, Revision};

/// Limit of the ring, in bytes as [`cost`] counts them.
const RING_BYTES: usize = 32 * 1024 * 1024;

/// Bytes counted for each record in addition to its texts.
const OVERHEAD: usize = 256;

/// The format of a socket's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageFormat {
    /// The object that was set, alone. Deletions are not pushed.
    Objects,
    /// `{"Revision":n,"Event":"set"|"delete","Object":{…}}`.
    Events,
}

/// The newest records, without gaps. Drops the oldest when it exceeds [`RING_BYTES`].
pub(super) struct Ring {
    slots: VecDeque<Slot>,
    /// The revision before the first slot's.
    before: Revision,
    bytes: usize,
}

/// A record with its frame in each format, made on first use.
struct Slot {
    record: Arc<Record>,
    object: Option<Bytes>,
    event: Option<Bytes>,
}

impl Ring {
    pub(super) fn new(revision: Revision) -> Self {
        Self { slots: VecDeque::new(), before: revision, bytes: 0 }
    }

    /// The newest revision that was pushed to the ring.
    pub(super) fn head(&self) -> Revision {
        self.slots.back().map_or(self.before, |slot| slot.record.revision)
    }

    pub(super) fn push(&mut self, record: Arc<Record>) {
        self.bytes += cost(&record);
        self.slots.push_back(Slot { record, object: None, event: None });
        while self.bytes > RING_BYTES
            && let Some(slot) = self.slots.pop_front()
        {
            self.bytes -= cost(&slot.record);
            self.before = slot.record.revision;
        }
    }

    /// The records after `revision`; `None` if the ring has dropped some of them.
    pub(super) fn after(&self, revision: Revision) -> Option<impl Iterator<Item = &Arc<Record>>> {
        let skipped = usize::try_from(revision.checked_sub(self.before)?).ok()?;
        Some(self.slots.range(skipped.min(self.slots.len())..).map(|slot| &slot.record))
    }

    /// The frame of a change; `None` if the ring has dropped it, or the format does not push it.
    pub(super) fn frame(&mut self, revision: Revision, format: MessageFormat) -> Option<Bytes> {
        let index = usize::try_from(revision.checked_sub(self.before + 1)?).ok()?;
        let slot = self.slots.get_mut(index)?;
        let cached = match format {
            MessageFormat::Objects => &mut slot.object,
            MessageFormat::Events => &mut slot.event,
        };
        if cached.is_none() {
            *cached = frame(&slot.record, format);
        }
        cached.clone()
    }
}

fn cost(record: &Record) -> usize {
    // The record and a frame in each format.
    OVERHEAD + 3 * record.entry.size()
}

/// The message for a record; `None` if the format does not push it.
pub(super) fn frame(record: &Record, format: MessageFormat) -> Option<Bytes> {
    match (&record.entry, format) {
        (Entry::Set(object), MessageFormat::Objects) => Some(object_frame(object)),
        (Entry::Set(object), MessageFormat::Events) => {
            Some(event_frame(record.revision, "set", object))
        }
        (Entry::Delete(object), MessageFormat::Events) => {
            Some(event_frame(record.revision, "delete", object))
        }
        _ => None,
    }
}

/// The message for the current value of an object. `revision` is that of its last set.
pub(super) fn current_frame(revision: Revision, object: &Object, format: MessageFormat) -> Bytes {
    match format {
        MessageFormat::Objects => object_frame(object),
        MessageFormat::Events => event_frame(revision, "set", object),
    }
}

/// The message before a reset: the socket will send current values instead of changes.
pub(super) fn reset_frame(revision: Revision) -> Bytes {
    format!("{{\"Event\":\"reset\",\"Revision\":{revision}}}").into()
}

fn object_frame(object: &Object) -> Bytes {
    let mut json = Vec::new();
    object.write_json(&mut json);
    json.into()
}

fn event_frame(revision: Revision, event: &str, object: &Object) -> Bytes {
    let mut json =
        format!("{{\"Revision\":{revision},\"Event\":\"{event}\",\"Object\":").into_bytes();
    object.write_json(&mut json);
    json.push(b'}');
    json.into()
}
