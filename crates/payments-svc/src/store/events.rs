//! Reads events, and the data that they refer to.
//!
//! The events of an app are those of all its merchants. A page of them reads at most one page of
//! each merchant from an index, and sorts these rows. So its cost depends on the number of
//! merchants, but not on the number of events. For an app with many merchants, a page is first
//! looked for among the nearest events of all merchants.

use std::{collections::HashMap, sync::LazyLock};

use common::sql::{ColumnError, Columns, Param, Row, Stored as _};
use payments_domain::{
    ApiKeyDigest, BankChange, Dispute, Event, EventData, EventType, Fact, FraudAlert, Hold, Id,
    NewEvent, PageQuery, Transaction, write::PayoutRow,
};

use super::{
    Found, Store, StoreError,
    lists::{padded, placeholders},
    rows::{LoadedEvent, LoadedTrail, Resource as _},
};

/// The types that the index `rare_events` does not contain. Most events of a merchant have one of
/// them, so the index of all its events serves them.
const FREQUENT: [EventType; 2] = [EventType::TransactionCreated, EventType::TransactionCaptured];

/// An app with more merchants has many.
const MANY_MERCHANTS: u32 = 500;

/// The number of events that are searched for those of an app with many merchants.
const NEAREST: u32 = 5000;

/// Finds a row if the app `$1` has many merchants.
static HAS_MANY: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT 1 FROM merchant_apps WHERE app = $1 LIMIT 1 OFFSET {MANY_MERCHANTS}")
});

/// Finds a row if more than the nearest events are after `$1` and before `$2`.
static BEYOND_NEAREST: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT 1 FROM events WHERE id > $1 AND id < $2 LIMIT 1 OFFSET {NEAREST}")
});

/// The events to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventFilter {
    /// `None` for those of all merchants of the app.
    pub(crate) merchant: Option<Id>,
    pub(crate) event_type: Option<EventType>,
}

impl EventFilter {
    /// SQL of a page: events of the merchant, or of all merchants of the app, `$1`, after `$2` and
    /// before `$3`, at most `$4`.
    fn page(self, forward: bool) -> String {
        let (order, reverse) = if forward { ("ASC", "DESC") } else { ("DESC", "ASC") };
        let merchants = match self.merchant {
            Some(_) => "SELECT id AS merchant FROM merchants WHERE id = $1",
            None => "SELECT merchant FROM merchant_apps WHERE app = $1",
        };
        let page = format!(
            "SELECT page.id FROM events AS page
             WHERE page.merchant = listed.merchant AND page.id > $2 AND page.id < $3 {}",
            self.of_type("page")
        );
        // The last event of the merchant's page, or its last event if the page is not full.
        let last = format!(
            "coalesce(({page} ORDER BY page.id {order} LIMIT 1 OFFSET $4 - 1),
                 ({page} ORDER BY page.id {reverse} LIMIT 1))"
        );
        let range = if forward {
            format!("own.id > $2 AND own.id <= {last}")
        } else {
            format!("own.id >= {last} AND own.id < $3")
        };
        let of_type = self.of_type("own");
        // Only the IDs come from the index, so it contains all that is read.
        let ids = format!(
            "SELECT own.id FROM ({merchants}) AS listed
                 JOIN events AS own ON own.merchant = listed.merchant AND {range} {of_type}
             ORDER BY own.id {order} LIMIT $4"
        );
        with_rows(&ids, order)
    }

    /// SQL of those events of a page of the app `$3` that are among the nearest of all merchants: after
    /// `$1` and before `$2`, at most `$4`.
    fn nearest(self, forward: bool) -> String {
        let order = if forward { "ASC" } else { "DESC" };
        let of_type = self.of_type("near");
        let ids = format!(
            "SELECT near.id FROM (
                 SELECT id, merchant, type FROM events WHERE id > $1 AND id < $2
                 ORDER BY id {order} LIMIT {NEAREST}
             ) AS near
             WHERE EXISTS (SELECT 1 FROM merchant_apps
                 WHERE merchant_apps.merchant = near.merchant AND app = $3) {of_type}
             ORDER BY near.id {order} LIMIT $4"
        );
        with_rows(&ids, order)
    }

    /// A condition on the type. It is text, not a parameter, because only then a partial index can
    /// be used. SQLite also needs the condition of the index.
    fn of_type(self, table: &str) -> String {
        let Some(event_type) = self.event_type else { return String::new() };
        let rare = if FREQUENT.contains(&event_type) {
            String::new()
        } else {
            let [one, other] = FREQUENT.map(EventType::name);
            format!("AND {table}.type NOT IN ('{one}', '{other}')")
        };
        format!("AND {table}.type = '{}' {rare}", event_type.name())
    }
}

/// SQL of the events with these IDs.
fn with_rows(ids: &str, order: &str) -> String {
    let (event, _) = LoadedEvent::select();
    format!(
        "SELECT {event} FROM ({ids}) AS ids JOIN events ON events.id = ids.id
             JOIN merchants ON merchants.id = events.merchant ORDER BY events.id {order}"
    )
}

/// SQL of [`Store::events_by_id`]: as many IDs from `$1`, then the app.
fn by_id_sql(count: usize) -> String {
    let (event, from) = LoadedEvent::select();
    format!(
        "SELECT {event} FROM {from} WHERE events.id IN ({})
             AND EXISTS (SELECT 1 FROM merchant_apps
                 WHERE merchant_apps.merchant = events.merchant AND app = ${})
         ORDER BY events.id",
        placeholders(count),
        count + 1
    )
}

impl Store {
    /// An event, as the app with the key `caller` sees it.
    pub(crate) async fn event(
        &self,
        id: Id,
        caller: ApiKeyDigest,
    ) -> Result<Option<Found<Event>>, StoreError> {
        let event = self.resource::<LoadedEvent>(id, caller).await?;
        let Some(Found { value, is_member }) = event else { return Ok(None) };
        let event = self.with_data(vec![value]).await?.pop();
        Ok(event.map(|value| Found { value, is_member }))
    }

    /// These events, in the order of their IDs, without those of merchants that the app is no member
    /// of.
    pub(crate) async fn events_by_id(&self, app: Id, ids: &[Id]) -> Result<Vec<Event>, StoreError> {
        let mut params = padded(ids);
        let sql = by_id_sql(params.len());
        params.push(app.param());
        let events = self.query_all(&sql, &params, LoadedEvent::of_row).await?;
        self.with_data(events).await
    }

    /// The events of an app after the first ID and up to the second, without their data: at most
    /// `limit`.
    pub(crate) async fn new_events(
        &self,
        app: Id,
        [after, to]: [Id; 2],
        limit: u16,
    ) -> Result<Vec<NewEvent>, StoreError> {
        let filter = EventFilter { merchant: None, event_type: None };
        let range = [after, to.successor()];
        let events = self.page_of_events(app, filter, range, (limit.into(), true)).await?;
        Ok(events.into_iter().map(|loaded| loaded.event).collect())
    }

    /// A page of events; see [`super::lists`] for `after`.
    pub(crate) async fn events(
        self,
        app: Id,
        filter: EventFilter,
        page_query: PageQuery,
    ) -> Result<Vec<Event>, StoreError> {
        let range = self.window(page_query).await?;
        let page = (page_query.limit, page_query.is_forward());
        let events = self.page_of_events(app, filter, range, page).await?;
        self.with_data(events).await
    }

    /// The first or last events between these IDs, at most `limit`.
    async fn page_of_events(
        &self,
        app: Id,
        filter: EventFilter,
        [after, before]: [Id; 2],
        (limit, forward): (u32, bool),
    ) -> Result<Vec<LoadedEvent>, StoreError> {
        let max = Param::Int(limit.into());
        let has_many = async || self.query_one(&HAS_MANY, &[app.param()], |_| Ok(())).await;
        if filter.merchant.is_none() && has_many().await?.is_some() {
            let range = [after.param(), before.param()];
            let params = [range[0].clone(), range[1].clone(), app.param(), max.clone()];
            let sql = filter.nearest(forward);
            let events = self.query_all(&sql, &params, LoadedEvent::of_row).await?;
            let is_full = u32::try_from(events.len()) == Ok(limit);
            if is_full || self.query_all(&BEYOND_NEAREST, &range, |_| Ok(())).await?.is_empty() {
                return Ok(events);
            }
        }
        let owner = filter.merchant.unwrap_or(app);
        let params = [owner.param(), after.param(), before.param(), max];
        self.query_all(&filter.page(forward), &params, LoadedEvent::of_row).await
    }

    /// Reads the rows with these IDs.
    async fn by_id<T: Send + 'static>(
        &self,
        (columns, from): (String, &str),
        ids: &[Id],
        read: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<HashMap<Id, T>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let params = padded(ids);
        let ids_list = placeholders(params.len());
        let sql = format!("SELECT id, {columns} FROM {from} WHERE id IN ({ids_list})");
        let read = move |columns: &mut Columns<'_>| Ok((columns.read()?, read(columns)?));
        Ok(self.query_all(&sql, &params, read).await?.into_iter().collect())
    }

    /// Reads whole rows, whose keys are IDs.
    pub(super) async fn rows_by_id<R: Row + Send + 'static>(
        &self,
        ids: &[Id],
    ) -> Result<HashMap<Id, R>, StoreError> {
        self.by_id((R::of(R::INSERT.name), R::INSERT.name), ids, R::read).await
    }

    pub(super) async fn transactions_by_id(
        &self,
        ids: &[Id],
    ) -> Result<HashMap<Id, Transaction>, StoreError> {
        let found = self.by_id(LoadedTrail::select(), ids, LoadedTrail::of_row).await?;
        let found = self.with_trails(found.into_values().collect()).await?;
        Ok(found.into_iter().map(|transaction| (transaction.id, transaction)).collect())
    }

    /// Reads the data of events.
    async fn with_data(&self, events: Vec<LoadedEvent>) -> Result<Vec<Event>, StoreError> {
        let (mut transactions, mut disputes) = (Vec::new(), Vec::new());
        let (mut alerts, mut payouts) = (Vec::new(), Vec::new());
        let (mut holds, mut banks) = (Vec::new(), Vec::new());
        for LoadedEvent { event, .. } in &events {
            match event.fact {
                Fact::Transaction(version) => transactions.push(version.transaction),
                Fact::Dispute { dispute, .. } => disputes.push(dispute),
                Fact::Fraud { alert, .. } => alerts.push(alert),
                Fact::Payout(payout) => payouts.push(payout),
                Fact::Hold(hold) => holds.push(hold),
                Fact::Bank(change) => banks.push(change),
            }
        }
        let transactions = self.transactions_by_id(&transactions).await?;
        let disputes = self.by_id(Dispute::select(), &disputes, Dispute::of_row).await?;
        let alerts = self.by_id(FraudAlert::select(), &alerts, FraudAlert::of_row).await?;
        let payouts = self.rows_by_id::<PayoutRow>(&payouts).await?;
        let holds = self.rows_by_id::<Hold>(&holds).await?;
        let banks = self.rows_by_id::<BankChange>(&banks).await?;
        let data = |event_type, created, fact: &Fact| match fact {
            Fact::Transaction(version) => {
                let transaction = transactions.get(&version.transaction)?.clone();
                Some(EventData::Transaction(Box::new(transaction.at(*version))))
            }
            Fact::Dispute { dispute, .. } => {
                Some(EventData::Dispute(disputes.get(dispute)?.clone().at(event_type, created)))
            }
            Fact::Fraud { alert, .. } => alerts.get(alert).cloned().map(EventData::Fraud),
            Fact::Payout(payout) => {
                let mut payout = payouts.get(payout)?.clone().payout();
                // It may have come back since then.
                payout.returned =
                    payout.returned.filter(|_| event_type == EventType::PayoutReturned);
                Some(EventData::Payout(payout))
            }
            Fact::Hold(hold) => holds.get(hold).cloned().map(EventData::Hold),
            Fact::Bank(change) => banks.get(change).cloned().map(EventData::Bank),
        };
        let event = |LoadedEvent { event, test, actor_name }| {
            let NewEvent { id, merchant, created, event_type, actor, trace, fact } = event;
            let data = data(event_type, created, &fact)?;
            Some(Event { id, merchant, test, created, event_type, actor, actor_name, trace, data })
        };
        Ok(events.into_iter().filter_map(event).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn events_are_found_by_their_ids() {
        let searched = [
            "SEARCH events USING PRIMARY KEY (id=?)",
            "SEARCH merchants USING PRIMARY KEY (id=?)",
            "SEARCH merchant_apps EXISTS USING PRIMARY KEY (merchant=? AND app=?)",
            "CORRELATED SCALAR SUBQUERY 1",
            "SEARCH apps USING PRIMARY KEY (id=?)",
            "CORRELATED SCALAR SUBQUERY 2",
            "SEARCH users USING PRIMARY KEY (id=?)",
        ];
        assert_eq!(plan(&database(), &by_id_sql(3)), searched);
    }

    #[test]
    fn the_nearest_events_are_read_in_their_order() {
        let filter = EventFilter { merchant: None, event_type: None };
        for forward in [true, false] {
            let plan = plan(&database(), &filter.nearest(forward));
            for step in [
                "SEARCH events USING PRIMARY KEY (id>? AND id<?)",
                "SEARCH merchant_apps EXISTS USING PRIMARY KEY (merchant=? AND app=?)",
            ] {
                assert!(plan.iter().any(|it| it == step), "{plan:?}");
            }
            let scans = plan.iter().filter(|step| step.starts_with("SCAN"));
            assert!(scans.eq(["SCAN near", "SCAN ids"]), "{plan:?}");
        }
    }

    #[test]
    fn a_page_reads_only_a_range_of_an_index_of_each_merchant() {
        let db = database();
        for merchant in [None, Some(Id::MIN)] {
            for event_type in EventType::ALL.map(Some).into_iter().chain([None]) {
                let index = match event_type {
                    Some(event_type) if !FREQUENT.contains(&event_type) => {
                        "INDEX rare_events (merchant=? AND type=? AND id>? AND id<?)"
                    }
                    _ => "INDEX events_of_merchants (merchant=? AND id>? AND id<?)",
                };
                for forward in [true, false] {
                    let sql = EventFilter { merchant, event_type }.page(forward);
                    let plan = plan(&db, &sql);
                    let steps = |of: &str| {
                        let step = |step: &&String| step.starts_with(&format!("SEARCH {of} "));
                        plan.iter().filter(step).collect::<Vec<_>>()
                    };
                    let reads = [steps("own"), steps("page")].concat();
                    assert_eq!(reads.len(), 3, "{plan:?}");
                    assert!(reads.iter().all(|read| read.ends_with(index)), "{plan:?}");
                    let scans = plan.iter().filter(|step| step.starts_with("SCAN"));
                    assert!(scans.eq(["SCAN ids"]), "{plan:?}");
                }
            }
        }
    }
}
