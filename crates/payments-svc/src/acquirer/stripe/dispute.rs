//! Answers to disputes: <https://docs.stripe.com/api/disputes>.

use payments_domain::{OutboxEntry, OutboxKind, SubmittedEvidence};
use serde::Deserialize;

use super::{
    Stripe,
    client::{Form, StripeError, nothing},
    payment_intent::{Created, Made},
};

/// The kinds of evidence for the files, in their order. Each takes one file.
const FILES: [&str; 5] = [
    "evidence[uncategorized_file]",
    "evidence[customer_communication]",
    "evidence[service_documentation]",
    "evidence[receipt]",
    "evidence[shipping_documentation]",
];

#[derive(Deserialize)]
pub(super) struct Dispute {
    status: String,
}

impl Stripe {
    /// Submits evidence, or closes the dispute as lost.
    pub(super) async fn answer(&self, entry: &OutboxEntry, key: &str) -> Result<(), StripeError> {
        if self.find_answer(entry, key).await?.is_some() {
            return Ok(());
        }
        let path = path(entry)?;
        let (path, form) = match &entry.evidence {
            Some(evidence) => (path, self.form(evidence, key).await?),
            None => (format!("{path}/close"), Form::new()),
        };
        let find = || self.find_answer(entry, key);
        self.client.post(&path, form, Some(key), find).await.map(drop)
    }

    /// The dispute, if the entry has answered it.
    pub(super) async fn find_answer(
        &self,
        entry: &OutboxEntry,
        key: &str,
    ) -> Result<Option<Made<Dispute>>, StripeError> {
        let found: Made<Dispute> = self.client.get(&path(entry)?).await?;
        let is_closed = entry.kind == OutboxKind::Acceptance && found.object.status == "lost";
        Ok(Some(found).filter(|found| is_closed || found.has_key(key)))
    }

    async fn form(&self, evidence: &SubmittedEvidence, key: &str) -> Result<Form, StripeError> {
        let mut form = Form::new().with("submit", "true").with("metadata[operation]", key);
        if !evidence.text.as_str().is_empty() {
            form = form.with("evidence[uncategorized_text]", evidence.text.as_str());
        }
        for (kind, (number, file)) in FILES.into_iter().zip((1..).zip(&evidence.files)) {
            let key = format!("{key}-file-{number}");
            // A file that nothing refers to does no harm.
            let Created { id } = self.client.upload(file, &key, nothing).await?;
            form = form.with(kind, &id);
        }
        Ok(form)
    }
}

fn path(entry: &OutboxEntry) -> Result<String, StripeError> {
    let (_, dispute) = entry.dispute.as_ref().ok_or(StripeError::Malformed)?;
    Ok(format!("v1/disputes/{}", dispute.as_str()))
}
