//! Stripe's list of [events](https://docs.stripe.com/api/events/list), which it keeps for 30 days,
//! whether or not an endpoint gets them.
//!
//! Pages go from the newest event to the oldest one. `ending_before` gives the page before an event,
//! which has the next newer ones.

use std::time::Duration;

use jiff::Timestamp;
use payments_domain::AcquirerId;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::form_urlencoded::Serializer;

use super::{
    super::{Facts, FactsQuestion, NoAnswer, report::AcquirerFact},
    Stripe,
    client::StripeError,
    event::{self, TYPES},
};

/// The number of objects on a page: few enough that an answer is not too long.
pub(super) const PAGE_SIZE: &str = "50";

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) data: Vec<Box<RawValue>>,
    pub(super) has_more: bool,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    created: i64,
}

impl Stripe {
    /// The events after this one. Without it, and if Stripe has deleted it, the oldest ones. Each
    /// request ends within the timeout.
    pub(in super::super) async fn facts(
        &self,
        after: Option<&AcquirerId>,
        FactsQuestion { now, min_age, due_after }: FactsQuestion,
        timeout: Duration,
    ) -> Result<Facts, NoAnswer> {
        let next = match after {
            Some(after) => self.events(Some(("ending_before", after.as_str())), timeout).await,
            None => self.oldest_events(timeout).await,
        };
        let events = match next {
            // Stripe does not document the code of the refusal.
            Err(NoAnswer::Stripe(
                StripeError::Refused(_) | StripeError::Status(StatusCode::NOT_FOUND, _),
            )) if after.is_some() => {
                self.forgotten.log("stripe");
                // The rest next time, because Stripe may refuse to go on there, too.
                Page { has_more: false, ..self.oldest_events(timeout).await? }
            }
            events => events?,
        };
        let newest = now.checked_sub(min_age).unwrap_or(Timestamp::MIN).as_second();
        let (mut facts, mut has_more) = (Vec::new(), events.has_more);
        for event in events.data.iter().rev() {
            if Head::of(event)?.created > newest {
                has_more = false;
                break;
            }
            let fact = AcquirerFact::read(event, |fields| event::report(fields, due_after));
            facts.push(fact.ok_or(StripeError::Malformed)?);
        }
        Ok(Facts { facts, has_more })
    }

    /// Goes back to the last page. `has_more` says whether there is a newer one.
    async fn oldest_events(&self, timeout: Duration) -> Result<Page, NoAnswer> {
        let mut events = self.events(None, timeout).await?;
        let mut has_newer = false;
        while let (true, Some(oldest)) = (events.has_more, events.data.last()) {
            let place = ("starting_after", &*Head::of(oldest)?.id);
            (events, has_newer) = (self.events(Some(place), timeout).await?, true);
        }
        Ok(Page { has_more: has_newer, ..events })
    }

    async fn events(
        &self,
        place: Option<(&str, &str)>,
        timeout: Duration,
    ) -> Result<Page, NoAnswer> {
        let path = path(place);
        let events = tokio::time::timeout(timeout, self.client.get(&path)).await;
        Ok(events.map_err(|_| NoAnswer::Timeout)??)
    }
}

fn path(place: Option<(&str, &str)>) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("limit", PAGE_SIZE).extend_pairs(TYPES.map(|kind| ("types[]", kind)));
    query.extend_pairs(place);
    format!("v1/events?{}", query.finish())
}

impl Head {
    fn of(event: &RawValue) -> Result<Self, StripeError> {
        serde_json::from_str(event.get()).map_err(|_| StripeError::Malformed)
    }
}
