//! Bookings: turn a decided [`TransactionChange`] into rows.

use super::{
    Balance, Batch, CaptureRow, LastStep, LineRow, LoadedTransaction, Moved, OutboxRow, PostingRow,
    RefusedVoid, Rejection, StateRow, StepOrigin, StepRow, TransactionAmounts,
};
use crate::{
    AcquirerKey, Amounts, Descriptor, EventType, Fact, Id, LedgerEntry, Movement, MovementError,
    OutboxKind, Posting, RefusedStep, Step, TransactionChange, TransactionState,
    TransactionVersion,
};

impl Batch {
    /// Books a capture, refund or void, with its outbox entry and its event. If it fails, nothing is
    /// changed.
    pub(crate) fn book_movement(
        &mut self,
        transaction: Id,
        kind: OutboxKind,
        change: TransactionChange,
        descriptor: Option<&Descriptor>,
    ) -> Result<Moved, Rejection> {
        let loaded = self.loaded.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let (merchant, acquirer, number) = (loaded.merchant, loaded.acquirer, loaded.state.steps);
        let amount = match kind {
            OutboxKind::Reverse => loaded.state.amounts.amount,
            _ => change.amount,
        };
        let disputed = change.amounts.disputed;
        let event_type = change.movement.map(EventType::of_movement);
        let id = self.id();
        let key = self.acquirer_key(id);
        let origin = StepOrigin::Request(key);
        let last = self.record_change(transaction, change, descriptor, origin)?.step;
        self.rows.outbox.insert(OutboxRow {
            id,
            acquirer,
            acquirer_key: key.digest(),
            transaction,
            kind,
            amount,
            step: Some(number),
            dispute: None,
            trace: self.trace,
            attempts: 0,
            due: None,
        });
        let steps = number.saturating_add(1);
        let version = TransactionVersion { transaction, steps, disputed };
        if let Some(event_type) = event_type {
            self.add_event(merchant, event_type, Fact::Transaction(version));
        }
        Ok(Moved { version, last })
    }

    /// Voids what the acquirer releases by itself.
    pub(crate) fn void_ended(
        &mut self,
        transaction: Id,
        void: TransactionChange,
    ) -> Result<Moved, Rejection> {
        let disputed = void.amounts.disputed;
        self.record_change(transaction, void, None, StepOrigin::Expiry)?;
        let loaded = self.loaded.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let (merchant, steps) = (loaded.merchant, loaded.state.steps);
        let version = TransactionVersion { transaction, steps, disputed };
        self.add_event(merchant, EventType::TransactionVoided, Fact::Transaction(version));
        Ok(Moved { version, last: None })
    }

    /// Records a change of a transaction: its amounts, its captures, the step of its trail if it
    /// has one, and the booking if money moved. If it fails, nothing is changed.
    pub(crate) fn record_change(
        &mut self,
        transaction: Id,
        change: TransactionChange,
        descriptor: Option<&Descriptor>,
        origin: StepOrigin,
    ) -> Result<Booked, Rejection> {
        let loaded = self.loaded.transactions.get(&transaction).ok_or(Rejection::NotFound)?.clone();
        let balance = match &change.booking {
            Some(_) => Some(self.balance(loaded.merchant, change.balance)?),
            None => None,
        };
        let fee = change.fee.total().map_err(MovementError::from)?;
        let line = change.booking.as_ref().map(|booking| LineRow {
            id: self.id(),
            merchant: loaded.merchant,
            created: self.loaded.now,
            balance: change.balance,
            fee,
            kind: booking.kind,
            transaction: Some(transaction),
            amount: booking.amount,
        });
        let line_id = line.as_ref().map(|line| line.id);
        let step = change.movement.map(|movement| Step {
            created: self.loaded.now,
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
                self.loaded.refusable_steps.insert((transaction, *key), refusable);
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
        let (merchant, before) = (loaded.merchant, loaded.state.amounts.status());
        loaded.state = loaded.state.apply(change);
        assert!(loaded.state.amounts.are_possible(), "impossible amounts of {transaction}");
        let state = loaded.state.amounts.status();
        if state != before {
            self.rows.transaction_states.delete((merchant, before, transaction));
            self.rows.transaction_states.insert(StateRow { merchant, state, transaction });
        }
        let Amounts { captured, refunded, voided, disputed, .. } = loaded.state.amounts;
        let steps = loaded.state.steps;
        self.loaded.transactions.insert(transaction, loaded);
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

    pub(crate) fn book(&mut self, line: LineRow, entry: &LedgerEntry, balance: Balance) {
        self.post(line.id, entry);
        self.rows.lines.insert(line);
        self.rows.balances.update(balance);
    }

    pub fn post(&mut self, line: Id, entry: &LedgerEntry) {
        assert!(entry.is_balanced(), "the postings of {line} do not sum to 0");
        for (number, &Posting { account, money }) in (0..).zip(entry.postings()) {
            self.rows.postings.insert(PostingRow { line, number, account, money });
        }
    }

    /// Books the refusal of a capture, refund or void. Does nothing if no step has the key, as for
    /// a reversal of an authorization, or if it was refused before.
    pub fn refuse(&mut self, transaction: Id, key: AcquirerKey) -> Result<(), Rejection> {
        let name = (transaction, key);
        let Some(step) = self.loaded.refusable_steps.get(&name).copied() else { return Ok(()) };
        let loaded = self.loaded.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let (merchant, disputed) = (loaded.merchant, loaded.state.amounts.disputed);
        let mut state = loaded.state.clone();
        let reversal = state.reverse(&step, &loaded.disputed).map_err(MovementError::from)?;
        state = reversal.iter().fold(state, TransactionState::apply);
        // Decided before anything is recorded, so that all is booked or nothing.
        let is_capture = step.movement == Movement::Capture;
        let void = is_capture.then(|| state.void(step.amount)).transpose()?;
        match reversal {
            Some(reversal) => {
                let origin = StepOrigin::Refusal(step.number);
                self.record_change(transaction, reversal, None, origin)?;
            }
            None => self.rows.refused_voids.insert(RefusedVoid { transaction, step: step.number }),
        }
        self.loaded.refusable_steps.remove(&name);
        let version = TransactionVersion { transaction, steps: state.steps, disputed };
        self.add_event(merchant, EventType::AcquirerRefused, Fact::Transaction(version));
        if let Some(void) = void {
            if state.has_ended {
                self.void_ended(transaction, void)?;
                return Ok(());
            }
            // A single capture has voided the rest without an entry: all is still reserved.
            let once = state.capabilities.captures_once;
            let kind = if once { OutboxKind::Reverse } else { OutboxKind::Void };
            self.book_movement(transaction, kind, void, None)?;
        }
        Ok(())
    }
}

/// The rows that [`Batch::record_change`] recorded.
pub(crate) struct Booked {
    pub line: Option<Id>,
    pub step: Option<Box<LastStep>>,
}
