//! The statements of SQLite that write rows.

use super::super::tables::Statements;

pub(super) const STATEMENTS: Statements = Statements {
    prune_watches: "DELETE FROM watches
         WHERE client = ?1 AND until <= (SELECT position FROM clients WHERE id = ?1)",
    unused_until: "UPDATE clients SET unused_until = ?2
         WHERE id = ?1 AND (?2 IS NULL OR unused_until < ?2)",
    end: "UPDATE sessions SET digest = ?2, expires = ?3 WHERE digest = ?1",
    extend: "UPDATE sessions SET expires = max(expires, ?2) WHERE digest = ?1",
    move_position: "UPDATE clients SET position = ?2 WHERE id = ?1 AND position < ?2",
    append: "INSERT INTO log (revision, bytes_through, event, type, namespace, name, value, owner, client,
             cause, previous_owner, expires, joins_next, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    set: "INSERT INTO objects (type, namespace, name, value, owner, revision, expires, present)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (type, namespace, name) DO UPDATE
         SET value = excluded.value, owner = excluded.owner, revision = excluded.revision,
             expires = excluded.expires, present = excluded.present",
    begin_presence: "INSERT INTO presences VALUES (?1, ?2)
         ON CONFLICT (client) DO UPDATE SET until = max(until, excluded.until)",
    keep_presence: "UPDATE presences SET until = ?2 WHERE client = ?1",
    adopt_rules: "UPDATE store SET rules = ?1, rules_revision = ?2",
};

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{
        super::{load, log, migrations::migrations, read},
        *,
    };

    #[test]
    fn statements_on_watches_and_expiry_use_an_index_search() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::runner().run(&mut connection).unwrap();
        for (sql, seek) in [
            (read::NEWEST_WATCH, "PRIMARY KEY (client=? AND type=? AND namespace=? AND name=?)"),
            (STATEMENTS.prune_watches, "INDEX watches_ended (client=? AND until<?)"),
            (load::COUNT_ENDED, "COVERING INDEX watches_ended (client=? AND until>?)"),
            (log::DROP_WATCHES, "INDEX watches_by_end (until<?)"),
            (&load::EXPIRED, "INDEX objects_by_expiry (expires<?)"),
            (&load::GONE, "COVERING INDEX presences_by_end (until<?)"),
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
