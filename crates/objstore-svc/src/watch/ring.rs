//! The newest records with their frames, serialized once for all who receive them.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;

use crate::domain::{Entry, Object, Record, Revision};

/// Bytes of records that the ring holds.
const RING_BYTES: usize = 32 * 1024 * 1024;

/// Bytes a record costs beside what it carries.
const OVERHEAD: usize = 256;

/// What the messages of a socket look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object that was set, alone. Deletions are not told.
    Objects,
    /// `{"Revision":n,"Event":"set"|"delete","Object":{…}}`.
    Events,
}

/// The newest records, without gaps.
pub(super) struct Ring {
    slots: VecDeque<Slot>,
    /// The revision that the first slot follows.
    before: Revision,
    bytes: usize,
}

struct Slot {
    record: Arc<Record>,
    object: Option<Bytes>,
    event: Option<Bytes>,
}

impl Ring {
    pub(super) fn new(revision: Revision) -> Self {
        Self { slots: VecDeque::new(), before: revision, bytes: 0 }
    }

    /// The newest revision.
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

    /// The records after `revision`, if the ring still has all of them.
    pub(super) fn after(&self, revision: Revision) -> Option<impl Iterator<Item = &Arc<Record>>> {
        let skipped = usize::try_from(revision.checked_sub(self.before)?).ok()?;
        Some(self.slots.range(skipped.min(self.slots.len())..).map(|slot| &slot.record))
    }

    /// The frame of a change, if the ring still has it.
    pub(super) fn frame(&mut self, revision: Revision, form: Form) -> Option<Bytes> {
        let index = usize::try_from(revision.checked_sub(self.before + 1)?).ok()?;
        let slot = self.slots.get_mut(index)?;
        let made = match form {
            Form::Objects => &mut slot.object,
            Form::Events => &mut slot.event,
        };
        if made.is_none() {
            *made = frame(&slot.record, form);
        }
        made.clone()
    }
}

fn cost(record: &Record) -> usize {
    // The object once in the record and once in a frame.
    OVERHEAD + 2 * record.entry.size()
}

/// The message that tells a change in this form, if it does.
pub(super) fn frame(record: &Record, form: Form) -> Option<Bytes> {
    match (&record.entry, form) {
        (Entry::Set(object), Form::Objects) => Some(object_frame(object)),
        (Entry::Set(object), Form::Events) => Some(event_frame(record.revision, "set", object)),
        (Entry::Delete(object), Form::Events) => {
            Some(event_frame(record.revision, "delete", object))
        }
        _ => None,
    }
}

/// The current value of an object in this form.
pub(super) fn current_frame(revision: Revision, object: &Object, form: Form) -> Bytes {
    match form {
        Form::Objects => object_frame(object),
        Form::Events => event_frame(revision, "set", object),
    }
}

/// Tells that what came before is not known any more: current values follow.
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
