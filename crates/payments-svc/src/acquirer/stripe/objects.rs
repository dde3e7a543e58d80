//! Disputes, refunds and PaymentIntents at Stripe as they are now. Stripe deletes
//! [events](super::facts) after 30 days, but no object.

use std::time::Duration;

use payments_domain::AcquirerId;
use reqwest::StatusCode;
use url::form_urlencoded::Serializer;

use super::{
    super::{Facts, FactsQuestion, NoAnswer, ObjectKind, report::AcquirerFact},
    Stripe, StripeError, event,
    facts::{PAGE_SIZE, Page},
};

const DAY: Duration = Duration::from_secs(24 * 3600);

impl ObjectKind {
    fn path(self) -> &'static str {
        match self {
            Self::Disputes => "v1/disputes",
            Self::Refunds => "v1/refunds",
        }
    }

    /// The age of the oldest objects that are listed. Scheme rules give a dispute less than a year,
    /// with an appeal. A refund fails within 30 days.
    fn max_age(self) -> Duration {
        match self {
            Self::Disputes => 400 * DAY,
            Self::Refunds => 60 * DAY,
        }
    }
}

fn path(kind: ObjectKind, oldest: i64, after: Option<&AcquirerId>) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("limit", PAGE_SIZE).append_pair("created[gte]", &oldest.to_string());
    query.extend_pairs(after.map(|after| ("starting_after", after.as_str())));
    format!("{}?{}", kind.path(), query.finish())
}

impl Stripe {
    /// A page of the objects older than `after`, the newest first.
    pub(in super::super) async fn objects(
        &self,
        kind: ObjectKind,
        after: Option<&AcquirerId>,
        FactsQuestion { now, due_after, .. }: FactsQuestion,
    ) -> Result<Facts, NoAnswer> {
        let oldest = now.checked_sub(kind.max_age()).unwrap_or_default().as_second();
        let Page { data, has_more } = self.client.get(&path(kind, oldest, after)).await?;
        let facts = data.iter().map(|object| {
            AcquirerFact::read(object, |fields| event::object(kind, fields, (now, due_after)))
        });
        let facts = facts.collect::<Option<_>>().ok_or(StripeError::Malformed)?;
        Ok(Facts { facts, has_more })
    }

    /// Whether nothing can be captured any more. Not, if Stripe does not know the payment.
    pub(in super::super) async fn has_ended(&self, id: &str) -> Result<bool, NoAnswer> {
        match self.payment_intent(id).await {
            Ok(payment) => Ok(payment.is_released()),
            Err(StripeError::Refused(_) | StripeError::Status(StatusCode::NOT_FOUND, _)) => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
