//! Status reports: `pain.002.001.10`.
//!
//! 1. A bank rejects a whole file (`GrpSts`), a batch of it (`PmtInfSts`) or a transfer (`TxSts`). A
//!    file of this service has one batch, with the ID of the file.
//! 2. The rejection of a file or a batch is an entry after those of its transfers, because these can
//!    have their own reasons. Those without one are left to it.
//! 3. The amount of a rejected transfer is optional.
//! 4. The bank rejects what it got twice, and executes the first. So a rejection as a duplicate returns
//!    nothing: neither what is in it, nor what it is in, unless that has a reason of its own.

use std::mem::take;

use super::{
    Entry, RejectedFile, Returned,
    book::{Problem, ProblemKind},
    reason::ReasonText,
    xml::Path,
};
use crate::formula;

const REJECTED: &str = "RJCT";

/// The codes of duplicates: of a file, a batch or a transfer.
const DUPLICATE: [&str; 6] = ["AM05", "DU01", "DU02", "DU03", "DU04", "DU05"];

const GROUP: &str = "/CstmrPmtStsRpt/OrgnlGrpInfAndSts";
const BATCH: &str = "/CstmrPmtStsRpt/OrgnlPmtInfAndSts";
const TRANSFER: &str = "/CstmrPmtStsRpt/OrgnlPmtInfAndSts/TxInfAndSts";

#[derive(Default)]
pub(super) struct Pain002 {
    date: Option<String>,
    group: Status,
    batch: Status,
    transfer: Status,
}

#[derive(Default)]
enum Level {
    /// A file, or a batch: a file of ours has one.
    #[default]
    File,
    Transfer,
}

/// What the report says about a file, a batch or a transfer.
#[derive(Default)]
struct Status {
    level: Level,
    line: u64,
    id: String,
    is_rejected: bool,
    is_duplicate: bool,
    /// Whether a part of it is a duplicate.
    has_duplicates: bool,
    amount: Option<[String; 2]>,
    reason: ReasonText,
}

impl Pain002 {
    pub(super) fn begin(&mut self, path: &Path) {
        let status = || Status { line: path.line(), ..Status::default() };
        if path.below(GROUP) == Some("") {
            self.group = status();
        } else if path.below(BATCH) == Some("") {
            self.batch = status();
        } else if path.below(TRANSFER) == Some("") {
            self.transfer = Status { level: Level::Transfer, ..status() };
        }
    }

    pub(super) fn end(&mut self, path: &Path) -> Option<Entry> {
        if let Some(name) = path.below(TRANSFER) {
            if name.is_empty() {
                let transfer = take(&mut self.transfer);
                let is_duplicate =
                    self.group.is_rejected_duplicate() || self.batch.is_rejected_duplicate();
                self.batch.has_duplicates |= transfer.is_rejected_duplicate();
                return Some(self.rejected(transfer, is_duplicate).unwrap_or(Entry::Other));
            }
            self.transfer.read(name, path);
        } else if let Some(name) = path.below(BATCH) {
            if name.is_empty() {
                let batch = take(&mut self.batch);
                self.group.has_duplicates |= batch.is_rejected_duplicate() || batch.has_duplicates;
                return self.rejected(batch, self.group.is_rejected_duplicate());
            }
            self.batch.read(name, path);
        } else if let Some(name) = path.below(GROUP) {
            self.group.read(name, path);
        } else if path.below("/CstmrPmtStsRpt") == Some("/GrpHdr/CreDtTm") {
            self.date = Some(path.date());
        } else if path.below("/CstmrPmtStsRpt") == Some("") {
            let group = take(&mut self.group);
            return self.rejected(group, false);
        }
        None
    }

    /// `is_duplicate`: the file or the batch is one.
    fn rejected(&self, status: Status, is_duplicate: bool) -> Option<Entry> {
        let is_duplicate = is_duplicate
            || status.is_duplicate
            || status.has_duplicates && status.reason.is_empty();
        let Status { level, line, id, is_rejected, amount, reason, .. } = status;
        let (date, reason) = (self.date.clone(), reason.into_text());
        let entry = match level {
            _ if !is_rejected => return None,
            _ if is_duplicate => {
                let there = formula::quote(&reason);
                let problem = Problem { kind: ProblemKind::Duplicate, here: String::new(), there };
                Entry::Named(line, id, problem)
            }
            // What it is in has the reason, and comes later.
            Level::Transfer
                if reason.is_empty() && (self.group.is_rejected || self.batch.is_rejected) =>
            {
                Entry::Other
            }
            Level::Transfer => {
                Entry::Returned(Returned { line, end_to_end_id: id, amount, date, reason })
            }
            Level::File => Entry::Rejected(RejectedFile { line, message_id: id, date, reason }),
        };
        Some(entry)
    }
}

impl Status {
    fn is_rejected_duplicate(&self) -> bool {
        self.is_rejected && self.is_duplicate
    }

    /// Reads the element that ends.
    fn read(&mut self, name: &str, path: &Path) {
        match name {
            "/OrgnlMsgId" | "/OrgnlPmtInfId" | "/OrgnlEndToEndId" => self.id = path.text(),
            "/GrpSts" | "/PmtInfSts" | "/TxSts" => self.is_rejected = path.text() == REJECTED,
            "/OrgnlTxRef/Amt/InstdAmt" => self.amount = Some(path.amount()),
            "/StsRsnInf/Rsn/Cd" | "/StsRsnInf/Rsn/Prtry" => {
                let text = path.text();
                self.is_duplicate |= DUPLICATE.contains(&&*text);
                self.reason.add(&text);
            }
            "/StsRsnInf/AddtlInf" => self.reason.add(&path.text()),
            _ => {}
        }
    }
}
