//! Status reports: `pain.002.001.10`.
//!
//! 1. A bank rejects a whole file (`GrpSts`), a batch of it (`PmtInfSts`) or a transfer (`TxSts`). A
//!    file of this service has one batch, with the ID of the file.
//! 2. The rejection of a file or a batch is an entry after those of its transfers, because these can
//!    have their own reasons.
//! 3. The amount of a rejected transfer is optional.

use std::mem::take;

use super::{Entry, RejectedFile, Returned, reason::ReasonText, xml::Path};

const REJECTED: &str = "RJCT";

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

/// What the report says about a file, a batch or a transfer.
#[derive(Default)]
struct Status {
    line: u64,
    id: String,
    is_rejected: bool,
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
            self.transfer = status();
        }
    }

    pub(super) fn end(&mut self, path: &Path) -> Option<Entry> {
        if let Some(name) = path.below(TRANSFER) {
            if name.is_empty() {
                return Some(self.end_transfer());
            }
            self.transfer.read(name, path);
        } else if let Some(name) = path.below(BATCH) {
            if name.is_empty() {
                let batch = take(&mut self.batch);
                return self.rejected(batch);
            }
            self.batch.read(name, path);
        } else if let Some(name) = path.below(GROUP) {
            self.group.read(name, path);
        } else if path.below("/CstmrPmtStsRpt") == Some("/GrpHdr/CreDtTm") {
            self.date = Some(path.date());
        } else if path.below("/CstmrPmtStsRpt") == Some("") {
            let group = take(&mut self.group);
            return self.rejected(group);
        }
        None
    }

    fn end_transfer(&mut self) -> Entry {
        let Status { line, id, is_rejected, amount, reason } = take(&mut self.transfer);
        if !is_rejected {
            return Entry::Other;
        }
        let (date, reason) = (self.date.clone(), reason.into_text());
        Entry::Returned(Returned { line, end_to_end_id: id, amount, date, reason })
    }

    fn rejected(&self, status: Status) -> Option<Entry> {
        let Status { line, id, is_rejected, amount: _, reason } = status;
        let (date, reason) = (self.date.clone(), reason.into_text());
        is_rejected.then_some(Entry::Rejected(RejectedFile { line, message_id: id, date, reason }))
    }
}

impl Status {
    /// Reads the element that ends.
    fn read(&mut self, name: &str, path: &Path) {
        match name {
            "/OrgnlMsgId" | "/OrgnlPmtInfId" | "/OrgnlEndToEndId" => self.id = path.text(),
            "/GrpSts" | "/PmtInfSts" | "/TxSts" => self.is_rejected = path.text() == REJECTED,
            "/OrgnlTxRef/Amt/InstdAmt" => self.amount = Some(path.amount()),
            "/StsRsnInf/Rsn/Cd" | "/StsRsnInf/Rsn/Prtry" | "/StsRsnInf/AddtlInf" => {
                self.reason.add(&path.text());
            }
            _ => {}
        }
    }
}
