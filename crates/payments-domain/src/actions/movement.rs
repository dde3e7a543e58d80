use crate::{
    Descriptor, Id, MovementError, MovementRequest, Overflow,
    write::{
        Action, Batch, CapturesToLoad, MAX_BALANCE, MOVEMENT_ROWS, Moved, Needs, Rejection,
        captures,
    },
};

/// Capture, refund or void.
#[derive(Debug)]
pub struct Move {
    pub transaction: Id,
    pub request: MovementRequest,
    /// Replaces the transaction's descriptor for this movement.
    pub descriptor: Option<Descriptor>,
    /// The length of the trail when it was last read, or 0: an estimate of how many rows a
    /// refund reads and writes.
    pub steps: u32,
}

impl Action for Move {
    type Outcome = Moved;

    fn needs(&self, needs: &mut Needs) {
        let captures = match self.request {
            MovementRequest::Refund { amount } => CapturesToLoad::Refundable(amount.minor()),
            MovementRequest::Capture { .. } | MovementRequest::Void { .. } => CapturesToLoad::None,
        };
        needs.add_transaction(self.transaction, captures);
    }

    fn cost(&self) -> (usize, usize) {
        let captures = match self.request {
            MovementRequest::Refund { .. } => captures(self.steps),
            MovementRequest::Capture { .. } | MovementRequest::Void { .. } => 0,
        };
        (MOVEMENT_ROWS.saturating_add(captures), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<Moved, Rejection> {
        let Self { transaction, request, descriptor, .. } = self;
        let loaded = batch.loaded.transactions.get(transaction).ok_or(Rejection::NotFound)?;
        let change = loaded.state.decide(request)?;
        let is_capture = matches!(request, MovementRequest::Capture { .. });
        if is_capture && batch.balance(loaded.merchant, change.balance)?.minor > MAX_BALANCE {
            return Err(MovementError::from(Overflow).into());
        }
        let kind = request.outbox_kind();
        let moved = batch.book_movement(*transaction, kind, change, descriptor.as_ref())?;
        let captured = batch.loaded.transactions.get(transaction).filter(|_| is_capture);
        match captured.and_then(|captured| captured.state.released()) {
            Some(released) => batch.void_ended(*transaction, released),
            None => Ok(moved),
        }
    }
}
