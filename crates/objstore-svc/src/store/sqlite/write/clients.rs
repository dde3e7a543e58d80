//! Clients: their sessions, what they watch, and what they have acknowledged.

use rusqlite::Connection;

use super::{Answer, Applier, Done, read};
use crate::domain::{
    ClientId, Entry, MAX_SESSIONS, Pattern, Refusal, Session, Timestamp, TokenDigest, WatchCounts,
};

/// Sessions removed in one commit.
const REAP_BATCH: usize = 1000;

/// Positions written in one commit.
const POSITIONS_BATCH: usize = 512;

const PRUNE_WATCHES: &str = "DELETE FROM watches
     WHERE client = ?1 AND until <= (SELECT position FROM clients WHERE id = ?1)";

const COUNT_ENDED: &str = "SELECT count(*) FROM watches WHERE client = ?1 AND until IS NOT NULL";

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
        if known {
            self.postpone_removal(transaction, client, Session::unused_until(now))?.ok();
        } else {
            if self.state.clients >= self.config.max_clients {
                return Ok(Err(Refusal::TooManyClients));
            }
            transaction
                .prepare_cached("INSERT INTO clients VALUES (?1, ?2, 0, 0, ?3)")?
                .execute((id, self.state.revision.cast_signed(), Session::unused_until(now)))?;
            self.state.clients += 1;
        }
        let kept = i64::try_from(MAX_SESSIONS - 1).unwrap_or(i64::MAX);
        let ended = transaction
            .prepare_cached(
                "DELETE FROM sessions WHERE digest IN (
                     SELECT digest FROM sessions WHERE client = ?1
                     ORDER BY expires DESC LIMIT -1 OFFSET ?2
                 ) RETURNING digest",
            )?
            .query_map((id, kept), |row| Ok(TokenDigest::stored(row.get(0)?)))?
            .collect::<rusqlite::Result<_>>()?;
        transaction.prepare_cached("INSERT INTO sessions VALUES (?1, ?2, ?3)")?.execute((
            token.as_bytes(),
            id,
            self.config.lifetime.expiry(now),
        ))?;
        Ok(self.done().map(|done| Done { ended, ..done }))
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
        let (unused, ended) = self.reap_unused(transaction, now)?;
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
        let more = more || unused == REAP_BATCH;
        Ok(self.done().map(|done| Done { more, ended, ..done }))
    }

    /// Removes clients that were not used in time. How many, and their sessions.
    fn reap_unused(
        &mut self,
        transaction: &Connection,
        now: Timestamp,
    ) -> rusqlite::Result<(usize, Vec<TokenDigest>)> {
        // Where marking a client as used failed, its watches still tell.
        transaction
            .prepare_cached(
                "UPDATE clients SET unused_until = NULL WHERE unused_until <= ?1 AND watches > 0",
            )?
            .execute([now])?;
        let unused: Vec<ClientId> = transaction
            .prepare_cached("SELECT id FROM clients WHERE unused_until <= ?1")?
            .query_map([now], |row| read::client_id(row, 0))?
            .take(REAP_BATCH)
            .collect::<Result<_, _>>()?;
        let mut ended = Vec::new();
        for &client in &unused {
            let id = client.uuid().as_bytes();
            let mut sessions = transaction
                .prepare_cached("DELETE FROM sessions WHERE client = ?1 RETURNING digest")?;
            for digest in sessions.query_map([id], |row| row.get(0))? {
                ended.push(TokenDigest::stored(digest?));
            }
            transaction.prepare_cached("DELETE FROM watches WHERE client = ?1")?.execute([id])?;
            transaction.prepare_cached("DELETE FROM clients WHERE id = ?1")?.execute([id])?;
            self.append(transaction, Entry::Forget(client))?;
            self.state.clients = self.state.clients.saturating_sub(1);
        }
        Ok((unused.len(), ended))
    }

    pub(super) fn postpone_removal(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        until: Timestamp,
    ) -> rusqlite::Result<Answer> {
        transaction
            .prepare_cached(
                "UPDATE clients SET unused_until = ?2 WHERE id = ?1 AND unused_until < ?2",
            )?
            .execute((client.uuid().as_bytes(), until))?;
        Ok(self.done())
    }

    pub(super) fn mark_used(
        &mut self,
        transaction: &Connection,
        client: ClientId,
    ) -> rusqlite::Result<Answer> {
        transaction
            .prepare_cached(
                "UPDATE clients SET unused_until = NULL
                 WHERE id = ?1 AND unused_until IS NOT NULL",
            )?
            .execute([client.uuid().as_bytes()])?;
        Ok(self.done())
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
        if read::open_watch(transaction, client, pattern)?.is_some() {
            return Ok(self.done());
        }
        let limit = u64::try_from(self.config.max_watches).unwrap_or(u64::MAX);
        let Some(mut counts) = read::watch_counts(transaction, client)? else {
            // A client that was removed may watch nothing.
            return Ok(Err(Refusal::TooManyWatches));
        };
        if counts.is_count_due(limit) {
            counts.ended = prune(transaction, client)?;
        }
        let counts = match counts.begin(limit) {
            Ok(counts) => counts,
            Err(refusal) => return Ok(Err(refusal)),
        };
        write_counts(transaction, client, counts)?;
        let since = self.append(transaction, Entry::Watch(client, pattern.clone()))?;
        let [kind, namespace, name] = pattern.parts();
        transaction
            .prepare_cached("INSERT INTO watches VALUES (?1, ?2, ?3, ?4, ?5, NULL)")?
            .execute((client.uuid().as_bytes(), kind, namespace, name, since.cast_signed()))?;
        Ok(self.done())
    }

    pub(super) fn unwatch(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        pattern: &Pattern,
    ) -> rusqlite::Result<Answer> {
        let Some(since) = read::open_watch(transaction, client, pattern)? else {
            return Ok(self.done());
        };
        let until = self.append(transaction, Entry::Unwatch(client, pattern.clone()))?;
        let [kind, namespace, name] = pattern.parts();
        transaction
            .prepare_cached(
                "UPDATE watches SET until = ?6
                 WHERE client = ?1 AND type = ?2 AND namespace = ?3 AND name = ?4 AND since = ?5",
            )?
            .execute((
                client.uuid().as_bytes(),
                kind,
                namespace,
                name,
                since.cast_signed(),
                until.cast_signed(),
            ))?;
        if let Some(counts) = read::watch_counts(transaction, client)? {
            write_counts(transaction, client, counts.end())?;
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

/// Removes the ended watches that the client's position has passed, and counts those left.
fn prune(transaction: &Connection, client: ClientId) -> rusqlite::Result<u64> {
    let id = client.uuid().as_bytes();
    transaction.prepare_cached(PRUNE_WATCHES)?.execute([id])?;
    transaction.prepare_cached(COUNT_ENDED)?.query_row([id], |row| read::count(row, 0))
}

fn write_counts(
    transaction: &Connection,
    client: ClientId,
    counts: WatchCounts,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE clients SET watches = ?2, ended = ?3 WHERE id = ?1")?
        .execute((
            client.uuid().as_bytes(),
            counts.open.cast_signed(),
            counts.ended.cast_signed(),
        ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::super::migrations::migrations, *};

    #[test]
    fn watches_are_sought_in_an_index_by_what_is_asked() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::runner().run(&mut connection).unwrap();
        for (sql, sought) in [
            (read::NEWEST_WATCH, "PRIMARY KEY (client=? AND type=? AND namespace=? AND name=?)"),
            (PRUNE_WATCHES, "INDEX watches_ended (client=? AND until<?)"),
            (COUNT_ENDED, "COVERING INDEX watches_ended (client=? AND until>?)"),
            ("DELETE FROM watches WHERE until <= ?1", "INDEX watches_by_end (until<?)"),
        ] {
            let mut plans = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut plans = plans.raw_query();
            let plan: String = plans.next().unwrap().unwrap().get(3).unwrap();
            assert!(plan.starts_with("SEARCH watches") && plan.ends_with(sought), "{plan}");
        }
    }
}
