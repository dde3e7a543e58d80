//! The state of the application, which all requests and jobs share.

use std::{sync::Arc, time::Duration};

use common::{aside::Aside, limits::Budget, outage::Outage, telemetry::trace};
use payments_domain::{
    AcquirerName, Pricing,
    write::{Action, Answer, By, Group, KeyedRequest, Row},
};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::{declines::Declines, error::Error, notifications::ReportMetrics, once::Written};
use crate::{
    acquirer::Acquirers, limits::Limits, rates::ExchangeRates, store::Store, webhook::Sender,
};

/// Default values, for a request of a caller or an acquirer that does not contain them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    /// The pricing of new merchants.
    pub(crate) pricing: Pricing,
    /// Whether a live merchant takes no payment before the operator has approved it.
    pub(crate) needs_approval: bool,
    /// Time to answer a dispute if the acquirer gives no deadline.
    pub(crate) dispute_due: Duration,
}

pub(crate) struct Payments {
    pub(super) store: Store,
    pub(super) acquirers: Arc<Acquirers>,
    pub(super) rates: Arc<ExchangeRates>,
    pub(super) limits: Arc<Limits>,
    pub(super) declines: Declines,
    pub(super) report_metrics: ReportMetrics,
    /// Permits for new payments and card checks. Each keeps a connection while it waits for the
    /// acquirer.
    pub(super) in_flight: Arc<Budget>,
    /// Payments and card checks that continue even if their callers disconnect.
    under_way: TaskTracker,
    /// Of questions for the outcome of a payment, by acquirer.
    pub(super) asking: [Outage; AcquirerName::ALL.len()],
    pub(super) defaults: Defaults,
    /// Sends webhooks.
    pub(super) sender: Arc<Sender>,
}

impl Payments {
    pub(crate) fn new(
        store: Store,
        acquirers: Arc<Acquirers>,
        rates: Arc<ExchangeRates>,
        (declines, report_metrics): (Declines, ReportMetrics),
        in_flight: Arc<Budget>,
        defaults: Defaults,
        sender: Arc<Sender>,
    ) -> Self {
        let (limits, under_way) = (declines.limits(), TaskTracker::new());
        Self {
            store,
            acquirers,
            rates,
            limits,
            declines,
            report_metrics,
            in_flight,
            under_way,
            asking: AcquirerName::ALL.map(|_| Outage::of("asking for the outcome of a payment")),
            defaults,
            sender,
        }
    }

    /// The memory for uploads.
    pub(crate) fn uploads(&self) -> &Arc<Budget> {
        &self.limits.uploads
    }

    /// Worker threads for work that takes milliseconds, such as serializing a transaction with many
    /// steps.
    pub(crate) fn aside(&self) -> &Aside {
        self.store.aside()
    }

    /// The row with this key.
    pub(crate) async fn row<R: Row + Send>(&self, key: &R::Key) -> Result<Option<R>, Error> {
        Ok(self.store.row(key).await?)
    }

    /// Executes an action.
    pub(crate) async fn write<A: Action>(
        &self,
        by: impl Into<By>,
        action: A,
    ) -> Result<A::Outcome, Error> {
        Ok(self.store.write(by, action).await??)
    }

    /// Executes an action; with an idempotency key, at most once.
    pub(crate) async fn write_keyed<A: Action<Outcome: Group>>(
        &self,
        by: impl Into<By>,
        action: A,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<A::Outcome>, Error> {
        match self.store.write_keyed(by, action, keyed).await?? {
            Answer::Executed(outcome) => Ok(Written::now(outcome)),
            Answer::Replayed(outcome) => Written::before(&outcome),
        }
    }

    /// Continues even if the caller disconnects.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.under_way.spawn(trace::inherit(work))
    }

    /// Waits until no payment or card check is under way. To be called after the last request.
    pub(crate) async fn finished(&self) {
        self.under_way.close();
        self.under_way.wait().await;
    }
}
