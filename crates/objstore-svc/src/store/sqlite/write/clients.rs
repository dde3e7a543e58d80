//! Clients: their sessions, what they watch, and what they have acknowledged.

use rusqlite::Connection;

use super::{Answer, Applier, Done, read};
use crate::domain::{ClientId, Entry, Pattern, Refusal, Timestamp, TokenDigest};

/// Sessions removed in one commit.
const REAP_BATCH: usize = 1000;

/// Positions written in one commit.
const POSITIONS_BATCH: usize = 512;

impl Applier {
    pub(super) fn register(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> rusqlite::Result<Answer> {
        let id = client.uuid().as_bytes();
        let known =
            transaction.prepare_cached("SELECT 1 FROM clients WHERE id = ?1")?.exists([id])?;
        if !known {
            if self.state.clients >= self.config.max_clients {
                return Ok(Err(Refusal::TooManyClients));
            }
            transaction
                .prepare_cached("INSERT INTO clients VALUES (?1, ?2, 0)")?
                .execute((id, self.state.revision.cast_signed()))?;
            self.state.clients += 1;
        }
        transaction.prepare_cached("INSERT INTO sessions VALUES (?1, ?2, ?3)")?.execute((
            token.as_bytes(),
            id,
            self.config.lifetime.expiry(now),
        ))?;
        Ok(self.done())
    }

    /// Sessions stay for one more lifetime after their end, and a client as long as any of them:
    /// so it goes when it has had neither a live session nor a socket, which extends its session,
    /// for that long.
    pub(super) fn reap(
        &mut self,
        transaction: &Connection,
        now: Timestamp,
    ) -> rusqlite::Result<Answer> {
        let before = now.saturating_sub(self.config.lifetime.millis());
        let clients: Vec<ClientId> = transaction
            .prepare_cached(
                "DELETE FROM sessions WHERE digest IN
                     (SELECT digest FROM sessions WHERE expires <= ?1 LIMIT ?2)
                 RETURNING client",
            )?
            .query_map((before, i64::try_from(REAP_BATCH).unwrap_or(i64::MAX)), |row| {
                read::client_id(row, 0)
            })?
            .collect::<Result<_, _>>()?;
        let more = clients.len() == REAP_BATCH;
        for client in clients {
            let id = client.uuid().as_bytes();
            let removed = transaction
                .prepare_cached(
                    "DELETE FROM watches WHERE client = ?1
                         AND NOT EXISTS (SELECT 1 FROM sessions WHERE client = ?1)",
                )?
                .execute([id])
                .and_then(|_| {
                    transaction
                        .prepare_cached(
                            "DELETE FROM clients WHERE id = ?1
                                 AND NOT EXISTS (SELECT 1 FROM sessions WHERE client = ?1)",
                        )?
                        .execute([id])
                })?;
            if removed > 0 {
                self.append(transaction, Entry::Forget(client))?;
                self.state.clients -= removed;
            }
        }
        Ok(self.done().map(|done| Done { more, ..done }))
    }

    pub(super) fn extend(
        &mut self,
        transaction: &Connection,
        token: TokenDigest,
        now: Timestamp,
    ) -> rusqlite::Result<Answer> {
        transaction
            .prepare_cached("UPDATE sessions SET expires = max(expires, ?2) WHERE digest = ?1")?
            .execute((token.as_bytes(), self.config.lifetime.expiry(now)))?;
        Ok(self.done())
    }

    pub(super) fn watch(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        pattern: &Pattern,
    ) -> rusqlite::Result<Answer> {
        let id = client.uuid().as_bytes();
        let [kind, namespace, name] = pattern.parts();
        let known = transaction
            .prepare_cached(
                "SELECT 1 FROM watches WHERE client = ?1 AND until IS NULL
                     AND type = ?2 AND namespace = ?3 AND name = ?4",
            )?
            .exists((id, kind, namespace, name))?;
        if known {
            return Ok(self.done());
        }
        let counted = transaction
            .prepare_cached(
                "UPDATE clients SET watches = watches + 1 WHERE id = ?1 AND watches < ?2",
            )?
            .execute((id, i64::try_from(self.config.max_watches).unwrap_or(i64::MAX)))?;
        if counted == 0 {
            return Ok(Err(Refusal::TooManyWatches));
        }
        let since = self.append(transaction, Entry::Watch(client, pattern.clone()))?;
        transaction
            .prepare_cached("INSERT INTO watches VALUES (?1, ?2, ?3, ?4, ?5, NULL)")?
            .execute((id, kind, namespace, name, since.cast_signed()))?;
        Ok(self.done())
    }

    pub(super) fn unwatch(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        pattern: &Pattern,
    ) -> rusqlite::Result<Answer> {
        let [kind, namespace, name] = pattern.parts();
        let until = self.state.revision + 1;
        let ended = transaction
            .prepare_cached(
                "UPDATE watches SET until = ?5 WHERE client = ?1 AND until IS NULL
                     AND type = ?2 AND namespace = ?3 AND name = ?4",
            )?
            .execute((client.uuid().as_bytes(), kind, namespace, name, until.cast_signed()))?;
        if ended > 0 {
            transaction
                .prepare_cached("UPDATE clients SET watches = watches - 1 WHERE id = ?1")?
                .execute([client.uuid().as_bytes()])?;
            self.append(transaction, Entry::Unwatch(client, pattern.clone()))?;
        }
        Ok(self.done())
    }

    /// Writes some of what clients have acknowledged. What is taken is written to its end before
    /// more is, so that no client waits behind others that acknowledge all the time.
    pub(super) fn write_positions(&mut self, transaction: &Connection) -> rusqlite::Result<()> {
        let batch = self.positions().take(POSITIONS_BATCH);
        let mut statement = transaction
            .prepare_cached("UPDATE clients SET position = ?2 WHERE id = ?1 AND position < ?2")?;
        for (client, position) in batch {
            statement.execute((client.uuid().as_bytes(), position.cast_signed()))?;
        }
        Ok(())
    }
}
