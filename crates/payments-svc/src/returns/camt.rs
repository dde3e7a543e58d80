//! Account statements and notifications: `camt.053.001.08` and `camt.054.001.08`.
//!
//! 1. A return is a booked credit with the information on a return (`RtrInf`), with the code of a
//!    returned transfer (`RRTN`), or that reverses a debit (`RvslInd`). All other entries are counted.
//! 2. An entry can have the details of several transfers. Its own amount is their sum: it counts
//!    only for the details that are alone and have no amount.

use std::mem::take;

use super::{
    Entry, Returned,
    book::{Problem, ProblemKind},
    reason::ReasonText,
    xml::Path,
};
use crate::formula;

/// The sub-family of a bank transaction code: a transfer that came back.
const RETURNED_TRANSFER: &str = "RRTN";

/// The path of the details of a transfer, in an entry.
const TRANSFER: &str = "/NtryDtls/TxDtls";

pub(super) struct Camt {
    /// The path of the entries.
    entries: &'static str,
    entry: Details,
    is_booked: bool,
    /// Whether the entry undoes an earlier one in the other direction.
    is_reversal: bool,
    /// The details of the current transfer.
    current: Details,
    /// Details that have ended. Others may follow in the entry.
    previous: Option<Details>,
    /// Whether the entry has the details of several transfers.
    has_several: bool,
}

/// What an entry, or the details of one of its transfers, say.
#[derive(Default)]
struct Details {
    line: u64,
    end_to_end_id: String,
    amount: Option<[String; 2]>,
    is_credit: Option<bool>,
    date: Option<String>,
    is_return: bool,
    reason: ReasonText,
}

impl Camt {
    pub(super) fn statement() -> Self {
        Self::of("/BkToCstmrStmt/Stmt/Ntry")
    }

    pub(super) fn notification() -> Self {
        Self::of("/BkToCstmrDbtCdtNtfctn/Ntfctn/Ntry")
    }

    fn of(entries: &'static str) -> Self {
        Self {
            entries,
            entry: Details::default(),
            is_booked: false,
            is_reversal: false,
            current: Details::default(),
            previous: None,
            has_several: false,
        }
    }

    pub(super) fn begin(&mut self, path: &Path) {
        let details = || Details { line: path.line(), ..Details::default() };
        match path.below(self.entries) {
            Some("") => *self = Self { entry: details(), ..Self::of(self.entries) },
            Some(TRANSFER) => self.current = details(),
            _ => {}
        }
    }

    pub(super) fn end(&mut self, path: &Path) -> Option<Entry> {
        let name = path.below(self.entries)?;
        match (name, name.strip_prefix(TRANSFER)) {
            (_, Some("")) => {
                let ended = self.previous.replace(take(&mut self.current))?;
                self.has_several = true;
                return Some(self.entry_of(ended));
            }
            (_, Some(name)) => self.current.read(name, path),
            ("", None) => {
                let line = self.entry.line;
                let last = self.previous.take();
                let last = last.unwrap_or_else(|| Details { line, ..Details::default() });
                return Some(self.entry_of(last));
            }
            ("/Sts/Cd", None) => self.is_booked = path.text() == "BOOK",
            ("/RvslInd", None) => self.is_reversal = ["true", "1"].contains(&&*path.text()),
            (name, None) => self.entry.read(name, path),
        }
        None
    }

    /// The return of a transfer, if it is one: the reversal of a debit returns it, too. The reversal of
    /// a return is named.
    fn entry_of(&self, details: Details) -> Entry {
        let is_credit = details.is_credit.or(self.entry.is_credit) == Some(true);
        let is_return = details.is_return || self.entry.is_return;
        let own = self.entry.amount.clone().filter(|_| !self.has_several);
        let (line, end_to_end_id, amount) =
            (details.line, details.end_to_end_id, details.amount.or(own).unwrap_or_default());
        match (is_credit, self.is_reversal) {
            _ if !self.is_booked => Entry::Other,
            (true, is_reversal) if is_return || is_reversal => Entry::Returned(Returned {
                line,
                end_to_end_id,
                amount: Some(amount),
                date: self.entry.date.clone(),
                reason: details.reason.into_text(),
            }),
            (false, true) if is_return => {
                let there = formula::quote(&amount.join(" "));
                let problem = Problem { kind: ProblemKind::Reversed, here: String::new(), there };
                Entry::Named(line, end_to_end_id, problem)
            }
            _ => Entry::Other,
        }
    }
}

impl Details {
    /// Reads the element that ends.
    fn read(&mut self, name: &str, path: &Path) {
        match name {
            "/Refs/EndToEndId" => self.end_to_end_id = path.text(),
            "/Amt" => self.amount = Some(path.amount()),
            "/AmtDtls/TxAmt/Amt" if self.amount.is_none() => self.amount = Some(path.amount()),
            "/CdtDbtInd" => self.is_credit = Some(path.text() == "CRDT"),
            "/BookgDt/Dt" | "/BookgDt/DtTm" => self.date = Some(path.date()),
            "/BkTxCd/Domn/Fmly/SubFmlyCd" => self.is_return |= path.text() == RETURNED_TRANSFER,
            "/RtrInf" => self.is_return = true,
            "/RtrInf/Rsn/Cd" | "/RtrInf/Rsn/Prtry" | "/RtrInf/AddtlInf" => {
                self.reason.add(&path.text());
            }
            _ => {}
        }
    }
}
