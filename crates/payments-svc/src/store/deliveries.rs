//! Reads of the job that delivers events to the endpoints of apps.

use common::sql::{Columns, Group, Param, Stored as _};
use payments_domain::{
    Id, Progress, Retry, Webhook, WebhookSecrets,
    write::{RetryRow, WebhookRow},
};

use super::{Engine, Store, StoreError};

/// Enabled endpoints. Their number does not grow with the events.
const ENABLED: &str = "SELECT webhook, generation
     FROM webhook_progress JOIN webhooks ON id = webhook WHERE disabled IS NULL";

fn endpoint_sql() -> String {
    format!(
        "SELECT {}, {} FROM webhooks JOIN webhook_progress ON webhook = id
         WHERE id = $1 AND disabled IS NULL",
        WebhookRow::of("webhooks"),
        Progress::of("webhook_progress")
    )
}

const LAST_EVENT: &str = "SELECT id FROM events WHERE id <= $1 ORDER BY id DESC LIMIT 1";

const WITH_EVENTS: &str = "SELECT DISTINCT webhooks.id
     FROM (SELECT DISTINCT merchant FROM events WHERE id > $1 AND id <= $2) AS new
         JOIN merchant_apps ON merchant_apps.merchant = new.merchant
         JOIN webhooks ON webhooks.app = merchant_apps.app
     WHERE disabled IS NULL";

fn retries_sql() -> String {
    format!("SELECT {} FROM webhook_retries WHERE webhook = $1", RetryRow::of("webhook_retries"))
}

/// An endpoint, with all that its deliveries need.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) webhook: Webhook,
    pub(crate) secrets: WebhookSecrets,
    pub(crate) progress: Progress,
    pub(crate) retries: Vec<Retry>,
}

impl Store {
    /// The enabled endpoints that this process delivers to for the next seven seconds or longer, at
    /// most `limit`, each with its generation. With SQLite, no other process delivers: the result
    /// can have one more, so that the caller notices an endpoint without deliveries.
    pub(crate) async fn take_webhooks(&self, limit: u16) -> Result<Vec<(Id, u32)>, StoreError> {
        let limit = i64::from(limit);
        let read = |columns: &mut Columns<'_>| Ok((columns.read()?, columns.read()?));
        match &self.engine {
            Engine::Sqlite(_) => {
                let one_more = [Param::Int(limit + 1)];
                self.query_all(&format!("{ENABLED} LIMIT $1"), &one_more, read).await
            }
            Engine::Postgres(engine) => {
                engine.take_webhooks(limit).await?;
                let held =
                    format!("{ENABLED} AND holder = $1 AND until > clock_timestamp() LIMIT $2");
                let params = [Param::Text(engine.holder().into()), Param::Int(limit)];
                self.query_all(&held, &params, read).await
            }
        }
    }

    /// The number of recorded retries of an endpoint.
    pub(crate) async fn retries(&self, webhook: Id) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM webhook_retries WHERE webhook = $1";
        let webhook = [webhook.param()];
        let count = self.query_one(sql, &webhook, |columns| columns.read::<u32>()).await?;
        let count = count.unwrap_or_default();
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// An endpoint, if it is enabled.
    pub(crate) async fn endpoint(&self, id: Id) -> Result<Option<Endpoint>, StoreError> {
        let id = [id.param()];
        let sql = endpoint_sql();
        let endpoint = self.query_one(&sql, &id, |columns| {
            let (row, progress) = (WebhookRow::read(columns)?, Group::read(columns)?);
            let webhook = row.webhook();
            Ok(Endpoint { webhook, secrets: row.secrets, progress, retries: Vec::new() })
        });
        let Some(endpoint) = endpoint.await? else { return Ok(None) };
        let retry = |columns: &mut Columns<'_>| Ok(RetryRow::read(columns)?.retry());
        let retries = self.query_all(&retries_sql(), &id, retry).await?;
        Ok(Some(Endpoint { retries, ..endpoint }))
    }

    /// The last event that no open database transaction can precede with another.
    pub(crate) async fn last_event(&self) -> Result<Id, StoreError> {
        let settled = self.settled().await?;
        let last = self.query_one(LAST_EVENT, &[settled.param()], |columns| columns.read()).await?;
        Ok(last.unwrap_or(Id::MIN))
    }

    /// The event of any app that is `count` events after the first ID, if it is not after the
    /// second.
    pub(crate) async fn event_after(
        &self,
        [after, to]: [Id; 2],
        count: u32,
    ) -> Result<Option<Id>, StoreError> {
        let sql = "SELECT id FROM events WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 1 OFFSET $3";
        let params = [after.param(), to.param(), Param::Int(count.into())];
        let read = |columns: &mut Columns<'_>| columns.read();
        Ok(self.query_all(sql, &params, read).await?.pop())
    }

    /// The enabled endpoints of apps that have events after the first ID and up to the second.
    pub(crate) async fn webhooks_with_events(
        &self,
        [after, to]: [Id; 2],
    ) -> Result<Vec<Id>, StoreError> {
        self.query_all(WITH_EVENTS, &[after.param(), to.param()], |columns| columns.read()).await
    }

    /// Counts how often the database has continued on another timeline: rows that were read before
    /// may be gone.
    pub(crate) fn timeline_changes(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite(_) => 0,
            Engine::Postgres(engine) => engine.timeline_changes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn an_index_finds_the_rows_of_each_statement() {
        let db = database();
        let (endpoint, retries) = (endpoint_sql(), retries_sql());
        for (sql, scanned, searched) in [
            (ENABLED, &["webhooks"][..], &["webhook_progress USING PRIMARY KEY (webhook=?)"][..]),
            (
                &endpoint,
                &[],
                &[
                    "webhooks USING PRIMARY KEY (id=?)",
                    "webhook_progress USING PRIMARY KEY (webhook=?)",
                ],
            ),
            (&retries, &[], &["webhook_retries USING PRIMARY KEY (webhook=?)"]),
            (LAST_EVENT, &[], &["events USING PRIMARY KEY (id<?)"]),
            (
                WITH_EVENTS,
                // The merchants of these events.
                &["new"],
                &[
                    "events USING PRIMARY KEY (id>? AND id<?)",
                    "merchant_apps USING PRIMARY KEY (merchant=?)",
                    "webhooks USING INDEX webhooks_of_apps (app=?)",
                ],
            ),
        ] {
            let plan = plan(&db, sql);
            let steps =
                |verb: &'static str| plan.iter().filter_map(move |step| step.strip_prefix(verb));
            assert!(steps("SCAN ").eq(scanned.iter().copied()), "{plan:?}");
            assert!(steps("SEARCH ").eq(searched.iter().copied()), "{plan:?}");
        }
    }
}
