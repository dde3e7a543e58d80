//! Sandbox clocks of apps.

use super::{ActionResult, Batch, done};
use crate::domain::{
    Advance, AdvanceBy, Id,
    write::{Outcome, Rejection},
};

impl Batch {
    pub(super) fn advance_clock(&mut self, app: Id, by: AdvanceBy) -> ActionResult {
        let mut clock = self.known.clocks.remove(&app).ok_or(Rejection::NotFound)?;
        clock.advance(Advance { id: self.id(), by });
        self.changes.clocks.insert(app, (app, clock.clone()));
        self.known.clocks.insert(app, clock);
        done(Outcome::Done)
    }

    pub(super) fn finish_advance(&mut self, app: Id, advance: Id) -> ActionResult {
        let clock = self.known.clocks.get_mut(&app).ok_or(Rejection::NotFound)?;
        if clock.finish(advance) {
            self.changes.clocks.insert(app, (app, clock.clone()));
        }
        done(Outcome::Done)
    }
}
