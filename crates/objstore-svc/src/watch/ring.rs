//! The newest records, with frames that are serialized once for all sockets.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::{
    Cause, ETag, Entry, EpochId, Object, Record, Revision, Sight, StoredLifespan, StoredObject,
    write_key, write_string,
};

/// Limit of the ring, in bytes as [`cost`] counts them.
const RING_BYTES: usize = 32 * 1024 * 1024;

/// Bytes counted for each record in addition to its texts.
const OVERHEAD: usize = 256;

/// The format of a stream's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageFormat {
    /// The object that was set, alone. Deletions are not pushed.
    Objects,
    /// `{"Revision":n,"Event":"set"|"delete","Object":{…}}`, with what ends a set object.
    Events,
    /// Messages of the State protocol: `{"type":…,"key":…,"value":…,"headers":{…}}`.
    State,
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
            Entry::Set { object, .. } if sight.has(&object.key, &object.owner) => Some(Self::Set),
            Entry::Set { object, before, .. } => {
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
        self == Self::Set || format != MessageFormat::Objects
    }
}

/// A message to a client.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The revision that the message shows.
    pub(crate) revision: Revision,
    pub(crate) json: Bytes,
}

/// The newest records, without gaps. Drops the oldest when it exceeds [`RING_BYTES`].
pub(super) struct Ring {
    /// The epoch of the records.
    pub(super) epoch: EpochId,
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
    state: Option<Frame>,
}

impl Ring {
    pub(super) fn new(epoch: EpochId, revision: Revision) -> Self {
        Self { epoch, slots: VecDeque::new(), before: revision, bytes: 0 }
    }

    /// The newest revision that was pushed to the ring.
    pub(super) fn head(&self) -> Revision {
        self.slots.back().map_or(self.before, |slot| slot.record.revision)
    }

    pub(super) fn push(&mut self, record: Arc<Record>) {
        self.bytes += cost(&record);
        self.slots.push_back(Slot { record, object: None, event: None, state: None });
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
    pub(super) fn joins_next(&self) -> bool {
        self.record.joins_next
    }

    /// The message for a client that may see these objects; `None` if it gets none.
    pub(super) fn frame(
        &mut self,
        epoch: EpochId,
        format: MessageFormat,
        sight: &Sight,
    ) -> Option<Frame> {
        let cached = match format {
            MessageFormat::Objects => &mut self.object,
            MessageFormat::Events => &mut self.event,
            MessageFormat::State => &mut self.state,
        };
        // Without rules, the record need not be read: this is the path of most messages.
        if cached.is_none() || !sight.is_unlimited() {
            let change = Change::of(&self.record.entry, sight)?;
            if change == Change::Hide {
                return change_frame(epoch, &self.record, change, format);
            }
            if cached.is_none() {
                *cached = change_frame(epoch, &self.record, change, format);
            }
        }
        cached.clone()
    }
}

fn cost(record: &Record) -> usize {
    // The record and a frame in each format.
    OVERHEAD + 4 * record.entry.size()
}

/// The message for a client that may see these objects; `None` if it gets none.
pub(super) fn frame(
    epoch: EpochId,
    record: &Record,
    format: MessageFormat,
    sight: &Sight,
) -> Option<Frame> {
    change_frame(epoch, record, Change::of(&record.entry, sight)?, format)
}

fn change_frame(
    epoch: EpochId,
    record: &Record,
    change: Change,
    format: MessageFormat,
) -> Option<Frame> {
    if !change.is_sent(format) {
        return None;
    }
    let (object, change) = match (&record.entry, change) {
        (Entry::Set { object, lifespan, .. }, Change::Set) => (object, Shown::Update(*lifespan)),
        (Entry::Set { object, .. }, _) => (object, Shown::Hide),
        (Entry::Delete(object, cause), _) => (object, Shown::Delete(*cause)),
        _ => return None,
    };
    Some(object_frame(epoch, record.revision, change, object, format))
}

/// The news of a message about an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Its current value, which the client may not have.
    Current(StoredLifespan),
    /// A new value.
    Update(StoredLifespan),
    /// It is deleted, with a cause unless a client has deleted it.
    Delete(Option<Cause>),
    /// A deletion that shows only the key: the client may see neither the new value nor the new owner.
    Hide,
}

impl Shown {
    fn cause(self) -> Option<&'static str> {
        match self {
            Self::Current(_) | Self::Update(_) => None,
            Self::Delete(cause) => cause.map(Cause::as_str),
            Self::Hide => Some("hidden"),
        }
    }
}

/// The message for the current value of an object.
pub(super) fn current_frame(epoch: EpochId, stored: &StoredObject, format: MessageFormat) -> Frame {
    let StoredObject { object, revision, lifespan } = stored;
    object_frame(epoch, *revision, Shown::Current(*lifespan), object, format)
}

/// The message before a reset: the stream will send current values instead of changes.
pub(super) fn reset_frame(revision: Revision, format: MessageFormat) -> Frame {
    match format {
        MessageFormat::State => control_frame("reset", revision),
        _ => position_frame("reset", revision),
    }
}

/// The message after the current values: the client has the state of `revision`.
pub(super) fn synced_frame(revision: Revision) -> Frame {
    position_frame("synced", revision)
}

/// The message that everything up to `revision` has been sent.
pub(super) fn mark_frame(revision: Revision) -> Frame {
    position_frame("mark", revision)
}

fn position_frame(event: &'static str, revision: Revision) -> Frame {
    let json = format!("{{\"Event\":\"{event}\",\"Revision\":{revision}}}").into();
    Frame { revision, json }
}

/// A control message of the State protocol.
pub(super) fn control_frame(control: &'static str, revision: Revision) -> Frame {
    let json = format!("{{\"headers\":{{\"control\":\"{control}\"}}}}").into();
    Frame { revision, json }
}

fn object_frame(
    epoch: EpochId,
    revision: Revision,
    shown: Shown,
    object: &Object,
    format: MessageFormat,
) -> Frame {
    let mut json = Vec::new();
    match format {
        MessageFormat::Objects => object.write_json(&mut json),
        MessageFormat::Events => write_event(revision, shown, object, &mut json),
        MessageFormat::State => {
            let txid = ETag::new(epoch, revision).opaque();
            write_change(&txid, shown, object, &mut json);
        }
    }
    Frame { revision, json: json.into() }
}

fn write_event(revision: Revision, shown: Shown, object: &Object, json: &mut Vec<u8>) {
    let (event, lifespan) = match shown {
        Shown::Current(lifespan) | Shown::Update(lifespan) => ("set", lifespan),
        Shown::Delete(_) | Shown::Hide => ("delete", StoredLifespan::default()),
    };
    let head = format!("{{\"Revision\":{revision},\"Event\":\"{event}\"");
    json.extend_from_slice(head.as_bytes());
    lifespan.write_json(json);
    if let Some(cause) = shown.cause() {
        json.extend_from_slice(format!(",\"Cause\":\"{cause}\"").as_bytes());
    }
    json.extend_from_slice(b",\"Object\":");
    if shown == Shown::Hide {
        json.extend_from_slice(b"{\"Key\":");
        write_key(object.key.parts(), json);
        json.push(b'}');
    } else {
        object.write_json(json);
    }
    json.push(b'}');
}

/// The characters that are percent-encoded in a part of a key, so that `/` separates the parts.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A change message of the State protocol, section 4.1. `txid` is the entity tag of the revision, so
/// that a client can wait for its own set.
fn write_change(txid: &str, shown: Shown, object: &Object, json: &mut Vec<u8>) {
    let operation = match shown {
        Shown::Current(_) => "insert",
        Shown::Update(_) => "update",
        Shown::Delete(_) | Shown::Hide => "delete",
    };
    json.reserve(192 + object.size());
    let [kind, namespace, name] = object.key.parts();
    let [namespace, name] = [namespace, name].map(|part| utf8_percent_encode(part, ENCODED));
    json.extend_from_slice(b"{\"type\":");
    write_string(kind, json);
    json.extend_from_slice(format!(",\"key\":\"{namespace}/{name}\",").as_bytes());
    if operation != "delete" {
        json.extend_from_slice(b"\"value\":");
        json.extend_from_slice(object.value.as_bytes());
        json.push(b',');
    }
    let headers = format!("\"headers\":{{\"operation\":\"{operation}\",\"txid\":\"{txid}\"");
    json.extend_from_slice(headers.as_bytes());
    if shown != Shown::Hide {
        json.extend_from_slice(b",\"owner\":");
        write_string(object.owner.as_str(), json);
    }
    if let Some(cause) = shown.cause() {
        json.extend_from_slice(format!(",\"cause\":\"{cause}\"").as_bytes());
    }
    json.extend_from_slice(b"}}");
}
