//! Stripe's answers about a payment. Only the members that the connector reads.

use jiff::Timestamp;
use payments_domain::{
    AcquirerOutcome, Capabilities, Card, Currency, Expiry, Scheme, ThreeDSecure,
};
use serde::Deserialize;

use super::{
    amount::amount_step,
    client::{Refusal, StripeError},
};

/// The status of a card that several captures of a payment can charge.
const AVAILABLE: &str = "available";

/// A payment, as Stripe knows it.
#[derive(Deserialize)]
pub(super) struct PaymentIntent {
    pub(super) status: Status,
    /// Holds the card for later payments.
    customer: Option<String>,
    payment_method: Option<String>,
    /// The last attempt to charge the card, because every request asks Stripe to expand it.
    latest_charge: Option<Charge>,
    currency: String,
    last_payment_error: Option<Refusal>,
    next_action: Option<NextAction>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    RequiresPaymentMethod,
    RequiresConfirmation,
    /// The customer must answer 3-D Secure.
    RequiresAction,
    Processing,
    /// The amount is authorized.
    RequiresCapture,
    Succeeded,
    Canceled,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Charge {
    payment_method_details: Option<PaymentMethodDetails>,
}

#[derive(Deserialize)]
struct PaymentMethodDetails {
    card: Option<ChargedCard>,
}

#[derive(Deserialize)]
struct ChargedCard {
    three_d_secure: Option<Authentication>,
    multicapture: Option<Multicapture>,
    /// In seconds since 1970.
    capture_before: Option<i64>,
}

#[derive(Deserialize)]
struct Multicapture {
    status: String,
}

#[derive(Deserialize)]
struct Authentication {
    result: Option<String>,
}

#[derive(Deserialize)]
struct NextAction {
    redirect_to_url: Option<RedirectToUrl>,
}

#[derive(Deserialize)]
struct RedirectToUrl {
    url: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    capture: Option<String>,
}

impl PaymentIntent {
    /// `None` if nothing is authorized and nothing was declined.
    pub(super) fn outcome(&self) -> Result<Option<AcquirerOutcome>, StripeError> {
        match self.status {
            Status::RequiresCapture | Status::Succeeded => Ok(Some(AcquirerOutcome::Approved {
                reference: self.card_reference(),
                tds: self.three_d_secure(),
                capabilities: self.capabilities()?,
            })),
            Status::RequiresPaymentMethod | Status::RequiresConfirmation | Status::Canceled => {
                let declined = self.last_payment_error.as_ref().map(Refusal::reason);
                Ok(declined.map(AcquirerOutcome::Declined))
            }
            Status::RequiresAction => Ok(None),
            Status::Processing => Err(StripeError::Processing),
            Status::Unknown => Err(StripeError::Malformed),
        }
    }

    /// Whether Stripe has tried to authorize the amount.
    pub(super) fn is_confirmed(&self) -> bool {
        let is_open =
            matches!(self.status, Status::RequiresPaymentMethod | Status::RequiresConfirmation);
        !is_open || self.last_payment_error.is_some()
    }

    /// The page where the customer answers 3-D Secure.
    pub(super) fn challenge_url(&self) -> Option<&str> {
        let redirect = self.next_action.as_ref()?.redirect_to_url.as_ref()?;
        redirect.url.as_deref()
    }

    /// Whether the capture with this key was carried out. It is the last one: captures of a payment
    /// are sent one after the other.
    pub(super) fn is_captured_by(&self, key: &str) -> bool {
        let may_be = [Status::Succeeded, Status::RequiresCapture, Status::Canceled];
        may_be.contains(&self.status) && self.metadata.capture.as_deref() == Some(key)
    }

    /// Whether nothing can be captured any more.
    pub(super) fn is_released(&self) -> bool {
        matches!(self.status, Status::Canceled | Status::Succeeded)
    }

    /// Amounts in currencies with three decimals end in 0.
    fn capabilities(&self) -> Result<Capabilities, StripeError> {
        let currency = Currency::current_or_former(&self.currency.to_ascii_uppercase());
        let currency = currency.map_err(|_| StripeError::Malformed)?;
        let card = self.charged_card();
        let several = card.and_then(|card| card.multicapture.as_ref());
        let until = card.and_then(|card| card.capture_before);
        let until = until.map(Timestamp::from_second).transpose();
        Ok(Capabilities {
            captures_once: several.is_none_or(|several| several.status != AVAILABLE),
            amount_step: amount_step(currency),
            valid_until: until.map_err(|_| StripeError::Malformed)?,
        })
    }

    /// `None`: without a customer, Stripe does not keep the card.
    fn card_reference(&self) -> Option<String> {
        Some(format!("{}/{}", self.customer.as_ref()?, self.payment_method.as_ref()?))
    }

    fn charged_card(&self) -> Option<&ChargedCard> {
        self.latest_charge.as_ref()?.payment_method_details.as_ref()?.card.as_ref()
    }

    fn three_d_secure(&self) -> ThreeDSecure {
        let card = self.charged_card();
        let result = card.and_then(|card| card.three_d_secure.as_ref()?.result.as_deref());
        match result {
            Some("authenticated") => ThreeDSecure::Full,
            Some("attempt_acknowledged") => ThreeDSecure::Attempt,
            _ => ThreeDSecure::None,
        }
    }
}

/// The check of a card, as Stripe knows it.
#[derive(Deserialize)]
pub(super) struct SetupIntent {
    pub(super) status: SetupStatus,
    pub(super) payment_method: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SetupStatus {
    Succeeded,
    RequiresAction,
    #[serde(other)]
    Other,
}

/// A card behind a token.
#[derive(Deserialize)]
pub(super) struct PaymentMethod {
    /// `None`: not a card.
    pub(super) card: Option<TypedCard>,
}

#[derive(Deserialize)]
pub(super) struct TypedCard {
    brand: String,
    last4: String,
    exp_month: i64,
    exp_year: i64,
}

impl TypedCard {
    pub(super) fn read(self) -> Result<Card, StripeError> {
        let (year, month) = (Expiry::year(self.exp_year), Expiry::month(self.exp_month));
        let (Ok(year), Ok(month)) = (year, month) else { return Err(StripeError::Malformed) };
        Ok(Card {
            bin: String::new(),
            last4: self.last4,
            expiry: Expiry::new(year, month),
            scheme: Scheme::from_name(&self.brand).unwrap_or(Scheme::Unknown),
            code_present: true,
        })
    }
}

/// Any object of which only the ID is needed.
#[derive(Deserialize)]
pub(super) struct Created {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct Refund {
    pub(super) status: Option<String>,
    pub(super) failure_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct List<T> {
    pub(super) data: Vec<Made<T>>,
}

/// An object with the key of the operation that has made it.
#[derive(Deserialize)]
pub(super) struct Made<T> {
    #[serde(flatten)]
    pub(super) object: T,
    metadata: Option<OperationMetadata>,
}

#[derive(Deserialize)]
struct OperationMetadata {
    operation: Option<String>,
}

impl<T> Made<T> {
    pub(super) fn has_key(&self, key: &str) -> bool {
        let made_by = self.metadata.as_ref().and_then(|metadata| metadata.operation.as_deref());
        made_by == Some(key)
    }
}
