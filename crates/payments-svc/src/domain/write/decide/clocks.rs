//! Sandbox clocks of apps.

use super::{ActionResult, Batch, done};
use crate::domain::{
    Advance, AdvanceBy, Id,
    write::{Outcome, Rejection},
};

impl Batch {
    pub(super) fn advance_clock(&mut self, app: Id, by: AdvanceBy) -> ActionResult {
        let mut row = self.rows.apps.get(&app).ok_or(Rejection::NotFound)?.clone();
        row.clock.advance(Advance { id: self.id(), by });
        self.rows.apps.update(row);
        done(Outcome::Done)
    }

    pub(super) fn finish_advance(&mut self, app: Id, advance: Id) -> ActionResult {
        let mut row = self.rows.apps.get(&app).ok_or(Rejection::NotFound)?.clone();
        if row.clock.finish(advance) {
            self.rows.apps.update(row);
        }
        done(Outcome::Done)
    }
}
