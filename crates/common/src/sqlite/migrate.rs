//! Migrations of the schema.

use refinery::Runner;
use rusqlite::Connection;

use crate::migration::{MigrationError, check};

/// Runs the missing migrations, in one transaction with their records. Otherwise, a crash between a
/// migration and its record would make every later start run the migration again, and fail.
pub fn migrate(connection: &mut Connection, migrations: Runner) -> Result<(), MigrationError> {
    let migrations = migrations.set_grouped(true).set_abort_missing(false);
    migrations.run(connection)?;
    check(migrations.get_migrations(), &migrations.get_applied_migrations(connection)?)
}

#[cfg(test)]
mod tests {
    use refinery::Migration;

    use super::*;

    #[test]
    fn a_migration_without_its_record_is_rolled_back() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, Runner::new(&[])).unwrap();
        let no_records = "CREATE TRIGGER no_records BEFORE INSERT ON refinery_schema_history
                          BEGIN SELECT raise(ABORT, 'no record'); END";
        db.execute_batch(no_records).unwrap();
        let numbers = [Migration::unapplied("V1__numbers", "CREATE TABLE numbers (n)").unwrap()];
        let error = migrate(&mut db, Runner::new(&numbers)).unwrap_err().to_string();
        assert!(error.contains("no record"), "{error}");
        db.execute_batch("DROP TRIGGER no_records").unwrap();
        migrate(&mut db, Runner::new(&numbers)).unwrap();
    }
}
