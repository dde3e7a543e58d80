//! Writes the rows that a batch changes, table by table.

use common::sql::SqliteRows;
use rusqlite::{Connection, Params};

use super::{super::tables, log};
use crate::domain::{
    Timestamp,
    decide::{Changes, SetObject},
};

/// Deletes the ended watches of a client up to its position.
pub(super) const PRUNE_WATCHES: &str = "DELETE FROM watches
     WHERE client = ?1 AND until <= (SELECT position FROM clients WHERE id = ?1)";

const POSTPONE: &str = "UPDATE clients SET unused_until = ?2 WHERE id = ?1 AND unused_until < ?2";

const END: &str = "UPDATE sessions SET digest = ?2, expires = ?3 WHERE digest = ?1";

const EXTEND: &str = "UPDATE sessions SET expires = max(expires, ?2) WHERE digest = ?1";

const MOVE_POSITION: &str = "UPDATE clients SET position = ?2 WHERE id = ?1 AND position < ?2";

const SET: &str =
    "INSERT INTO objects (type, namespace, name, value, owner, revision, expires, present)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
     ON CONFLICT (type, namespace, name) DO UPDATE
     SET value = excluded.value, owner = excluded.owner, revision = excluded.revision,
         expires = excluded.expires, present = excluded.present";

const ADOPT_RULES: &str = "UPDATE store SET rules = ?1, rules_revision = ?2";

const BEGIN_PRESENCE: &str = "INSERT INTO presences VALUES (?1, ?2)
     ON CONFLICT (client) DO UPDATE SET until = max(until, excluded.until)";

const KEEP_PRESENCE: &str = "UPDATE presences SET until = ?2 WHERE client = ?1";

/// `at` is the time of the new records of the change log, and of the sets.
pub(super) fn write(
    transaction: &Connection,
    changes: &Changes,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let each = Each(transaction);
    each.run(
        PRUNE_WATCHES,
        changes.pruned_clients.iter().map(|client| [client.uuid().as_bytes()]),
    )?;
    tables::write(&mut SqliteRows(transaction), changes)?;
    let postponed = changes.postponed_removals.iter();
    each.run(POSTPONE, postponed.map(|(client, until)| (client.uuid().as_bytes(), until)))?;
    let ended = changes.ended_sessions.iter();
    let ended = ended.map(|(token, at)| (*token.as_bytes(), *token.ended().as_bytes(), at));
    each.run(END, ended)?;
    let extended = changes.extended_sessions.iter();
    each.run(EXTEND, extended.map(|(token, expires)| (token.as_bytes(), expires)))?;
    let positions = changes.positions.iter();
    let positions =
        positions.map(|(client, position)| (client.uuid().as_bytes(), position.cast_signed()));
    each.run(MOVE_POSITION, positions)?;
    let set = changes.set_objects.iter().map(|SetObject { object, revision, lifespan }| {
        let [kind, namespace, name] = object.key.parts();
        let (value, owner) = (object.value.as_bytes(), object.owner.as_str());
        let expires = lifespan.ttl.map(|ttl| at.saturating_add(ttl.millis()));
        let present = lifespan.presence.as_ref().map(|client| client.uuid().as_bytes());
        (kind, namespace, name, value, owner, revision.cast_signed(), expires, present)
    });
    each.run(SET, set)?;
    for (sql, presences) in
        [(BEGIN_PRESENCE, &changes.begun_presences), (KEEP_PRESENCE, &changes.kept_presences)]
    {
        let presences = presences.iter();
        let until =
            presences.map(|(id, millis)| (id.uuid().as_bytes(), at.saturating_add(*millis)));
        each.run(sql, until)?;
    }
    let rules = changes.rules.as_slice().iter();
    each.run(ADOPT_RULES, rules.map(|rules| (rules.digest.0, rules.revision.cast_signed())))?;
    log::append(transaction, &changes.records, at)
}

struct Each<'c>(&'c Connection);

impl Each<'_> {
    /// Executes a statement once for each row of parameters.
    fn run<P: Params>(
        &self,
        sql: &str,
        rows: impl ExactSizeIterator<Item = P>,
    ) -> rusqlite::Result<()> {
        if rows.len() == 0 {
            return Ok(());
        }
        let mut statement = self.0.prepare_cached(sql)?;
        for row in rows {
            statement.execute(row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{load, migrations::migrations, read},
        *,
    };

    #[test]
    fn statements_on_watches_and_expiry_use_an_index_search() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::runner().run(&mut connection).unwrap();
        for (sql, seek) in [
            (read::NEWEST_WATCH, "PRIMARY KEY (client=? AND type=? AND namespace=? AND name=?)"),
            (PRUNE_WATCHES, "INDEX watches_ended (client=? AND until<?)"),
            (load::COUNT_ENDED, "COVERING INDEX watches_ended (client=? AND until>?)"),
            (log::DROP_WATCHES, "INDEX watches_by_end (until<?)"),
            (load::EXPIRED, "INDEX objects_by_expiry (expires<?)"),
            (load::GONE, "COVERING INDEX presences_by_end (until<?)"),
            (read::EXPIRED, "INDEX objects_by_expiry (expires<?)"),
            (read::GONE, "INDEX presences_by_end (until<?)"),
        ] {
            let mut plans = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut plans = plans.raw_query();
            let plan: String = plans.next().unwrap().unwrap().get(3).unwrap();
            assert!(plan.starts_with("SEARCH ") && plan.ends_with(seek), "{plan}");
        }
    }
}
