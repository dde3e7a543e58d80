//! What the first page of a merchant shows.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use payments_domain::{Event, EventType, Id, Merchant, PageQuery, Webhook, write::DayTotal};

use super::{error::Error, payments::Payments};
use crate::store::{EventFilter, ListedDispute, now};

/// Days of the plot, and of what the acquirer has refused.
pub(crate) const DAYS: i64 = 30;

/// Items of each list.
const ITEMS: u32 = 5;

pub(crate) struct Overview {
    /// What a payout would pay now, unless payouts are held.
    pub(crate) next_payout: i64,
    /// Those with the next deadlines.
    pub(crate) disputes: Vec<ListedDispute>,
    /// The last refusals of the acquirer.
    pub(crate) refused: Vec<Event>,
    /// Those that the service has disabled.
    pub(crate) webhooks: Vec<Webhook>,
    /// Captured less refunded, of each of the last days in UTC, oldest first.
    pub(crate) days: Vec<(i64, i64)>,
}

impl Payments {
    pub(crate) async fn overview(&self, user: Id, merchant: &Merchant) -> Result<Overview, Error> {
        let (id, store, now) = (merchant.id, &self.store, now());
        let payout_delay = store.payout_delay();
        let held = match payout_delay.is_zero() {
            true => 0,
            false => {
                let since = now.checked_sub(payout_delay).unwrap_or(Timestamp::MIN);
                store.captured_since(id, since).await?
            }
        };
        let first = (Timestamp::MIN, Id::MIN);
        let refused = EventType::AcquirerRefused;
        let refused = EventFilter { merchant: Some(id), event_type: Some(refused) };
        let newest = PageQuery { limit: ITEMS, before: None, after: None };
        let mut refused = store.clone().events(Id::MIN, refused, newest).await?;
        let oldest = now.saturating_sub(SignedDuration::from_hours(24 * DAYS)).unwrap_or(now);
        refused.retain(|event| event.created > oldest);
        let today = DayTotal::day_of(now);
        let days = today.saturating_sub(DAYS - 1)..=today;
        let totals: BTreeMap<_, _> = store.day_totals(id, *days.start()).await?;
        Ok(Overview {
            next_payout: merchant.balance.saturating_sub(held.max(0)).max(0),
            disputes: store.disputes_by_due_date(id, first, ITEMS).await?,
            refused,
            webhooks: store.disabled_webhooks(user, id).await?,
            days: days.map(|day| (day, totals.get(&day).copied().unwrap_or(0))).collect(),
        })
    }
}
