//! The rows that a batch of writes changes, each once, in its final state.

use std::collections::BTreeMap;

use sql::{Row as _, RowWriter};

use super::BatchRows;
use crate::{AcquirerKey, Id, User, are_balanced};

/// The row changes of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    pub rows: BatchRows,
    /// New rows, by e-mail address in lower case: batches insert them in this order.
    pub users: BTreeMap<String, User>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        !self.rows.are_changed() && self.users.is_empty()
    }

    /// A line whose postings do not sum to 0. A decision that adds one is a bug, and panics: this
    /// finds what it did not see, before it is written.
    pub fn unbalanced_line(&self) -> Option<Id> {
        let postings: Vec<_> = self.rows.postings.new_rows().collect();
        let lines = postings.chunk_by(|one, other| one.line == other.line);
        let mut lines = lines.filter(|line| !are_balanced(line.iter().map(|row| &row.money)));
        lines.next().and_then(|line| line.first()).map(|row| row.line)
    }

    /// Writes the changes. All batches write in this order, and the rows of a table in the order of
    /// their keys, so they take locks in one order.
    pub fn write<'a, W: RowWriter<'a>>(&'a self, writer: &mut W) -> Result<(), W::Error> {
        self.rows.write(writer)?;
        writer.insert(&User::INSERT, self.users.values())
    }
}

/// The reason for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepOrigin {
    /// A capture, refund or void, with its key at the acquirer.
    Request(AcquirerKey),
    /// A dispute was decided.
    Dispute(Id),
    /// The acquirer refused the step with this index, which this step reverses.
    Refusal(u32),
    /// The acquirer has released the rest of the authorization.
    Expiry,
}

impl StepOrigin {
    pub(crate) fn acquirer_key(&self) -> Option<&AcquirerKey> {
        match self {
            Self::Request(key) => Some(key),
            Self::Dispute(_) | Self::Refusal(_) | Self::Expiry => None,
        }
    }

    pub(crate) fn dispute(&self) -> Option<&Id> {
        match self {
            Self::Dispute(dispute) => Some(dispute),
            Self::Request(_) | Self::Refusal(_) | Self::Expiry => None,
        }
    }

    pub(crate) fn reversed_step(&self) -> Option<&u32> {
        match self {
            Self::Refusal(number) => Some(number),
            Self::Request(_) | Self::Dispute(_) | Self::Expiry => None,
        }
    }
}
