//! The newest records, with frames that are serialized once for all sockets.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;

use crate::domain::{Cause, Entry, Key, Object, Record, Revision, Sight, write_key};

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

/// How a record changes the objects that a client may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Set,
    Delete,
    /// The object has another owner now, so the client may not see it anymore.
    Hide,
}

impl Change {
    /// `None`: the client may not see the change, or the record is about no object.
    pub(super) fn of(entry: &Entry, sight: &Sight) -> Option<Self> {
        match entry {
            Entry::Set(object, _) if sight.has(&object.key, &object.owner) => Some(Self::Set),
            Entry::Set(object, before) => {
                let was_seen = before.as_ref().is_some_and(|owner| sight.has(&object.key, owner));
                was_seen.then_some(Self::Hide)
            }
            Entry::Delete(object, _) => {
                sight.has(&object.key, &object.owner).then_some(Self::Delete)
            }
            Entry::Watch(..) | Entry::Unwatch(..) | Entry::Forget(_) | Entry::Rules(_) => None,
        }
    }

    pub(super) fn is_sent(self, format: MessageFormat) -> bool {
        self == Self::Set || format == MessageFormat::Events
    }
}

/// A message to a client.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The kind of the message: `set`, `delete`, `reset`, `synced` or `mark`.
    pub(crate) event: &'static str,
    /// The revision that the message shows.
    pub(crate) revision: Revision,
    /// The revision that a client can resume after, once it has received this message.
    pub(crate) resume: Option<Revision>,
    pub(crate) json: Bytes,
}

/// The newest records, without gaps. Drops the oldest when it exceeds [`RING_BYTES`].
pub(super) struct Ring {
    slots: VecDeque<Slot>,
    /// The revision before the first slot's.
    before: Revision,
    bytes: usize,
}

/// A record with its frame in each format, made on first use.
pub(super) struct Slot {
    record: Arc<Record>,
    object: Option<Frame>,
    event: Option<Frame>,
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

    /// The record of a revision; `None` if the ring has dropped it.
    pub(super) fn slot(&mut self, revision: Revision) -> Option<&mut Slot> {
        let index = usize::try_from(revision.checked_sub(self.before + 1)?).ok()?;
        self.slots.get_mut(index)
    }
}

impl Slot {
    /// The message for a client that may see these objects; `None` if it gets none.
    pub(super) fn frame(&mut self, format: MessageFormat, sight: &Sight) -> Option<Frame> {
        let cached = match format {
            MessageFormat::Objects => &mut self.object,
            MessageFormat::Events => &mut self.event,
        };
        // Without rules, the record need not be read: this is the path of most messages.
        if cached.is_none() || !sight.is_unlimited() {
            let change = Change::of(&self.record.entry, sight)?;
            if change == Change::Hide {
                return change_frame(&self.record, change, format);
            }
            if cached.is_none() {
                *cached = change_frame(&self.record, change, format);
            }
        }
        cached.clone()
    }
}

fn cost(record: &Record) -> usize {
    // The record and a frame in each format.
    OVERHEAD + 3 * record.entry.size()
}

/// The message for a client that may see these objects; `None` if it gets none.
pub(super) fn frame(record: &Record, format: MessageFormat, sight: &Sight) -> Option<Frame> {
    change_frame(record, Change::of(&record.entry, sight)?, format)
}

fn change_frame(record: &Record, change: Change, format: MessageFormat) -> Option<Frame> {
    if !change.is_sent(format) {
        return None;
    }
    let revision = record.revision;
    let frame = match (&record.entry, change) {
        (Entry::Set(object, _), Change::Set) => object_frame("set", None, revision, object, format),
        (Entry::Set(object, _), _) => hidden_frame(revision, &object.key),
        (Entry::Delete(object, cause), _) => {
            let cause = cause.map(Cause::as_str);
            object_frame("delete", cause, revision, object, format)
        }
        _ => return None,
    };
    Some(Frame { resume: Some(revision), ..frame })
}

/// The message for the current value of an object. `revision` is that of its last set.
pub(super) fn current_frame(revision: Revision, object: &Object, format: MessageFormat) -> Frame {
    object_frame("set", None, revision, object, format)
}

/// The message before a reset: the stream will send current values instead of changes.
pub(super) fn reset_frame(revision: Revision) -> Frame {
    Frame { resume: None, ..state_frame("reset", revision) }
}

/// The message after the current values: the client has the state of `revision`.
pub(super) fn synced_frame(revision: Revision) -> Frame {
    state_frame("synced", revision)
}

/// The message that everything up to `revision` has been sent.
pub(super) fn mark_frame(revision: Revision) -> Frame {
    state_frame("mark", revision)
}

fn state_frame(event: &'static str, revision: Revision) -> Frame {
    let json = format!("{{\"Event\":\"{event}\",\"Revision\":{revision}}}").into();
    Frame { event, revision, resume: Some(revision), json }
}

/// A deletion that shows only the key: the client may see neither the new value nor the new owner.
fn hidden_frame(revision: Revision, key: &Key) -> Frame {
    let event = "delete";
    let mut json = format!(
        "{{\"Revision\":{revision},\"Event\":\"{event}\",\"Cause\":\"hidden\",\"Object\":{{\"Key\":"
    )
    .into_bytes();
    write_key(key.parts(), &mut json);
    json.extend_from_slice(b"}}");
    Frame { event, revision, resume: None, json: json.into() }
}

fn object_frame(
    event: &'static str,
    cause: Option<&'static str>,
    revision: Revision,
    object: &Object,
    format: MessageFormat,
) -> Frame {
    let mut json = Vec::new();
    match format {
        MessageFormat::Objects => object.write_json(&mut json),
        MessageFormat::Events => {
            let cause = cause.map(|cause| format!("\"Cause\":\"{cause}\","));
            let cause = cause.unwrap_or_default();
            json = format!("{{\"Revision\":{revision},\"Event\":\"{event}\",{cause}\"Object\":")
                .into();
            object.write_json(&mut json);
            json.push(b'}');
        }
    }
    Frame { event, revision, resume: None, json: json.into() }
}
