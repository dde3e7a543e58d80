//! Objects: decided by the domain, written here.

use std::sync::Arc;

use rusqlite::Connection;

use super::{Answer, Applier, read};
use crate::domain::{Entry, Intent, Key, Object};

impl Applier {
    pub(super) fn set(
        &mut self,
        transaction: &Connection,
        object: &Arc<Object>,
        intent: &Intent,
    ) -> rusqlite::Result<Answer> {
        let [kind, namespace, name] = object.key.parts();
        let current = if intent.precondition.is_empty() {
            None
        } else {
            read::revision_of(transaction, &object.key)?
        };
        if let Err(refusal) = intent.decide_set(object, current, self.config.owner, self.epoch) {
            return Ok(Err(refusal));
        }
        let revision = self.append(transaction, Entry::Set(Arc::clone(object)))?;
        transaction
            .prepare_cached(
                "INSERT INTO objects (type, namespace, name, value, owner, revision)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (type, namespace, name) DO UPDATE
                 SET value = excluded.value, owner = excluded.owner, revision = excluded.revision",
            )?
            .execute((
                kind,
                namespace,
                name,
                object.value.as_bytes(),
                object.owner.as_str(),
                revision.cast_signed(),
            ))?;
        Ok(self.done())
    }

    pub(super) fn delete(
        &mut self,
        transaction: &Connection,
        key: &Key,
        intent: &Intent,
    ) -> rusqlite::Result<Answer> {
        let current = read::object(transaction, key)?;
        match intent.decide_delete(current, self.config.owner, self.epoch) {
            Err(refusal) => Ok(Err(refusal)),
            Ok(object) => {
                transaction
                    .prepare_cached(
                        "DELETE FROM objects WHERE type = ?1 AND namespace = ?2 AND name = ?3",
                    )?
                    .execute(key.parts())?;
                self.append(transaction, Entry::Delete(Arc::new(object)))?;
                Ok(self.done())
            }
        }
    }
}
