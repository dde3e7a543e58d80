//! Captures, refunds, voids and payouts: turns a decided [`TransactionChange`] into row changes.

use std::iter::{once, repeat};

use super::{ActionResult, Batch, MAX_BALANCE, done};
use crate::domain::{
    Amounts, Descriptor, EventType, Fact, Id, LedgerEntry, LineKind, Movement, MovementError,
    MovementRequest, OutboxKind, Overflow, Payout, Posting, RefusedStep, Step, TransactionChange,
    TransactionVersion, Transfer,
    write::{
        Balance, CaptureRow, LastStep, LineRow, OutboxRow, Outcome, PayoutRow, PostingRow,
        Rejection, StepOrigin, StepRow, TransactionAmounts, known::LoadedTransaction,
    },
};

impl Batch {
    pub(super) fn execute_movement(
        &mut self,
        transaction: Id,
        request: &MovementRequest,
        descriptor: Option<&Descriptor>,
    ) -> ActionResult {
        let loaded = self.known.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let change = loaded.state.decide(request)?;
        if let MovementRequest::Capture { .. } = request
            && self.balance(loaded.merchant, change.balance)?.minor > MAX_BALANCE
        {
            return Err(MovementError::from(Overflow).into());
        }
        let (version, last) =
            self.book_movement(transaction, request.outbox_kind(), change, descriptor)?;
        Ok((Outcome::Moved(version), last))
    }

    /// Books a capture, refund or void, with its outbox entry and its event. If it fails, nothing is
    /// changed.
    pub(super) fn book_movement(
        &mut self,
        transaction: Id,
        kind: OutboxKind,
        change: TransactionChange,
        descriptor: Option<&Descriptor>,
    ) -> Result<(TransactionVersion, Option<Box<LastStep>>), Rejection> {
        let loaded = self.known.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let (merchant, number) = (loaded.merchant, loaded.state.steps);
        let (amount, disputed) = (change.amount, change.amounts.disputed);
        let event_type = change.movement.map(EventType::of_movement);
        let id = self.id();
        let key = self.acquirer_key(id);
        let origin = StepOrigin::Request(key);
        let last = self.record_change(transaction, change, descriptor, origin)?.step;
        self.rows.outbox.insert(OutboxRow {
            id,
            acquirer_key: key.digest(),
            transaction,
            kind,
            amount,
            step: Some(number),
            attempts: 0,
            due: None,
        });
        let steps = number.saturating_add(1);
        let version = TransactionVersion { transaction, steps, disputed };
        if let Some(event_type) = event_type {
            self.add_event(merchant, event_type, Fact::Transaction(version));
        }
        Ok((version, last))
    }

    /// Records a change of a transaction: its amounts, its captures, the step of its trail if it
    /// has one, and the booking if money moved. If it fails, nothing is changed.
    pub(super) fn record_change(
        &mut self,
        transaction: Id,
        change: TransactionChange,
        descriptor: Option<&Descriptor>,
        origin: StepOrigin,
    ) -> Result<Booked, Rejection> {
        let loaded = self.known.transactions.get(&transaction).ok_or(Rejection::NotFound)?.clone();
        let balance = match &change.booking {
            Some(_) => Some(self.balance(loaded.merchant, change.balance)?),
            None => None,
        };
        let fee = change.fee.total().map_err(MovementError::from)?;
        let line = change.booking.as_ref().map(|booking| LineRow {
            id: self.id(),
            merchant: loaded.merchant,
            created: self.known.now,
            balance: change.balance,
            fee,
            kind: booking.kind,
            transaction: Some(transaction),
            amount: booking.amount,
        });
        let line_id = line.as_ref().map(|line| line.id);
        let step = change.movement.map(|movement| Step {
            created: self.known.now,
            movement,
            amount: change.amount,
            balance: change.balance,
            fee: change.fee,
            descriptor: match movement {
                Movement::Void => None,
                _ => Some(descriptor.unwrap_or(&loaded.descriptor).clone()),
            },
            line: line_id,
            dispute: origin.dispute().copied(),
        });
        let number = loaded.state.steps;
        self.set_captures(transaction, &change);
        self.update_transaction(transaction, loaded, &change);
        if let Some(step) = &step {
            if let Some(key) = origin.acquirer_key() {
                let Step { movement, amount, balance, fee, .. } = *step;
                let refusable = RefusedStep { number, movement, amount, balance, fee };
                self.known.refusable_steps.insert((transaction, *key), refusable);
            }
            let (step, acquirer_key) = (step.clone(), origin.acquirer_key().copied());
            let reverses = origin.reversed_step().copied();
            self.rows.trail.insert(StepRow { transaction, number, step, acquirer_key, reverses });
        }
        if let (Some(line), Some(booking), Some(balance)) = (line, &change.booking, balance) {
            self.book(line, &booking.entry, balance);
        }
        let amounts = change.amounts;
        let step = step.map(|step| Box::new(LastStep { step, amounts }));
        Ok(Booked { line: line_id, step })
    }

    /// Updates the loaded transaction.
    fn update_transaction(
        &mut self,
        transaction: Id,
        mut loaded: LoadedTransaction,
        change: &TransactionChange,
    ) {
        loaded.state = loaded.state.apply(change);
        let Amounts { captured, refunded, voided, disputed, .. } = loaded.state.amounts;
        let steps = loaded.state.steps;
        self.known.transactions.insert(transaction, loaded);
        let row =
            TransactionAmounts { id: transaction, captured, refunded, voided, disputed, steps };
        self.rows.transaction_amounts.update(row);
    }

    fn set_captures(&mut self, transaction: Id, change: &TransactionChange) {
        let is_capture = change.movement == Some(Movement::Capture) && change.amount > 0;
        for capture in &change.captures {
            let row = CaptureRow::new(transaction, *capture);
            if is_capture {
                self.rows.captures.insert(row);
            } else {
                self.rows.captures.update(row);
            }
        }
    }

    fn book(&mut self, line: LineRow, entry: &LedgerEntry, balance: Balance) {
        self.post(line.id, entry);
        self.rows.lines.insert(line);
        self.rows.balances.update(balance);
    }

    fn post(&mut self, line: Id, entry: &LedgerEntry) {
        for (number, &Posting { account, money }) in (0..).zip(entry.postings()) {
            self.rows.postings.insert(PostingRow { line, number, account, money });
        }
    }

    /// Pays out the balance of a merchant, once in a run. The first row of the balance keeps what
    /// is not paid, and all other rows become 0.
    pub(super) fn pay_out(&mut self) -> ActionResult {
        let Some(mut state) = self.known.payout.take().filter(|state| !state.is_done) else {
            return done(Outcome::Done);
        };
        let merchant = state.merchant.id;
        let rows: Vec<Balance> = self.balances(merchant).copied().collect();
        let sum = rows.iter().try_fold(0_i64, |sum, row| sum.checked_add(row.minor));
        state.merchant.balance = sum.ok_or(MovementError::from(Overflow))?;
        let Some(transfer) = Transfer::due(&state.merchant, state.held, state.run.format) else {
            return done(Outcome::Done);
        };
        let rest = state.merchant.balance.saturating_sub(transfer.amount.minor);
        let (debit, entry) = transfer.booking();
        let line = LineRow {
            id: self.id(),
            merchant,
            created: self.known.now,
            balance: debit.minor,
            fee: 0,
            kind: LineKind::Payout,
            transaction: None,
            amount: debit,
        };
        let payout = Payout { id: self.id(), line: line.id, transfer };
        let fact = Fact::Payout(payout.id);
        self.rows.payouts.insert(PayoutRow::new(state.run, payout));
        self.post(line.id, &entry);
        self.rows.lines.insert(line);
        for (row, minor) in rows.into_iter().zip(once(rest).chain(repeat(0))) {
            self.rows.balances.update(Balance { minor, ..row });
        }
        self.add_event(merchant, EventType::PayoutBooked, fact);
        done(Outcome::Done)
    }
}

/// The rows that [`Batch::record_change`] recorded.
pub(super) struct Booked {
    pub(super) line: Option<Id>,
    pub(super) step: Option<Box<LastStep>>,
}
