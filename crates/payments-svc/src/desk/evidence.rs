//! One dispute, and its answer: evidence that is saved first and submitted then, or the acceptance of
//! the loss. Both are asked for on a page of their own.

use std::borrow::Cow;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use payments_domain::{
    DisputeAnswer, Evidence, Id,
    actions::{AnswerDispute, SaveEvidence},
    write::DisputeRow,
};

use super::{
    confirm::ConfirmPage,
    disputes::Shown,
    form::{Form, Sent},
    path::Ids,
    payments::time,
    view,
    visitor::AtMerchant,
};
use crate::{
    app::{self, now},
    web::{Arrived, Error, download},
};

#[derive(Template)]
#[template(path = "desk/evidence.html")]
struct DisputePage<'a> {
    at: &'a AtMerchant,
    shown: &'a Shown<'a>,
    evidence: Option<&'a Evidence>,
    /// The text of the form, if it can be answered.
    text: Option<&'a str>,
    /// The fields that were not accepted.
    wrong: &'a [&'a str],
}

impl DisputePage<'_> {
    /// The path of this page.
    fn path(&self) -> String {
        format!("{}{}", self.at.path(), page(self.shown.dispute.id))
    }

    fn is_wrong(&self, field: &str) -> bool {
        self.wrong.contains(&field)
    }
}

/// The page of a dispute, after the path of the merchant.
pub(super) fn page(dispute: Id) -> String {
    format!("/disputes/{dispute}")
}

pub(super) async fn show(at: AtMerchant, Ids([dispute]): Ids<1>) -> Result<Response, Error> {
    show_with(&at, dispute, None, &[]).await
}

/// `typed`: the text that the user has sent; without it, the saved one is shown. `wrong`: the fields
/// that were not accepted.
async fn show_with(
    at: &AtMerchant,
    dispute: Id,
    typed: Option<&str>,
    wrong: &[&str],
) -> Result<Response, Error> {
    let payments = at.payments();
    let row = payments.dispute_of_merchant(at.merchant.id, dispute).await?;
    let payment = payments.transaction_of_merchant(at.merchant.id, row.transaction).await?;
    let evidence = match payments.evidence(dispute).await {
        Err(app::Error::NotFound) => None,
        evidence => Some(evidence?),
    };
    let saved = evidence.as_ref().map_or("", |evidence| evidence.text.as_str());
    let text = row.require_answerable(now()).is_ok().then(|| typed.unwrap_or(saved));
    let shown = &Shown::new(at, (row, payment.currency));
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let evidence = evidence.as_ref();
    Ok(view::page(status, &DisputePage { at, shown, evidence, text, wrong }))
}

/// Saves the text and the files in place of the earlier ones. Without files, those are kept, unless
/// the user removes them. A repeat does no harm.
pub(super) async fn save(
    Ids([dispute]): Ids<1>,
    Sent { at, body, .. }: Sent<Arrived>,
) -> Result<Response, Error> {
    let row = at.payments().dispute_of_merchant(at.merchant.id, dispute).await?;
    let Arrived(upload, all) = body;
    let typed = upload.text();
    match all {
        // If no text has arrived, an empty one would replace the saved text next time.
        Err(Error::TooLarge { .. }) => {
            let typed = Some(&*typed).filter(|typed| !typed.is_empty());
            return show_with(&at, dispute, typed, &["file"]).await;
        }
        all => all?,
    }
    let DisputeRow { merchant, transaction, .. } = row;
    let saved = match upload.change() {
        Ok((text, files)) => {
            let action = SaveEvidence { merchant, transaction, dispute, text, files };
            at.payments().write(at.actor(), action).await
        }
        Err(wrong) => Err(wrong.into()),
    };
    match saved {
        Err(app::Error::Invalid(errors)) => {
            let wrong: Vec<_> = errors.iter().map(|error| &*error.field).collect();
            show_with(&at, dispute, Some(&typed), &wrong).await
        }
        saved => {
            saved?;
            Ok(at.at_merchant(&page(dispute)))
        }
    }
}

pub(super) async fn file(at: AtMerchant, Ids([dispute, file]): Ids<2>) -> Result<Response, Error> {
    let payments = at.payments();
    let row = payments.dispute_of_merchant(at.merchant.id, dispute).await?;
    download(payments.evidence_file(row.id, file).await?, payments.uploads())
}

pub(super) async fn ask_submit(at: AtMerchant, ids: Ids<1>) -> Result<Response, Error> {
    let (question, hint) = (at.language.submit_evidence(), at.language.submit_evidence_hint());
    ask(&at, ids, "submit", (question, hint)).await
}

pub(super) async fn ask_accept(at: AtMerchant, ids: Ids<1>) -> Result<Response, Error> {
    let (question, hint) = (at.language.accept_dispute(), at.language.accept_dispute_hint());
    ask(&at, ids, "accept", (question, hint)).await
}

async fn ask<'a>(
    at: &'a AtMerchant,
    Ids([dispute]): Ids<1>,
    path: &str,
    (question, hint): (Cow<'a, str>, Cow<'a, str>),
) -> Result<Response, Error> {
    let row = at.payments().dispute_of_merchant(at.merchant.id, dispute).await?;
    let back = &page(dispute);
    at.fresh(&format!("{}{back}/{path}", at.path()))?;
    if row.require_answerable(now()).is_err() {
        return Ok(at.at_merchant(back));
    }
    let action = question.clone();
    Ok(ConfirmPage { at, question, hint, action, back }.show())
}

pub(super) async fn submit(ids: Ids<1>, form: Form) -> Result<Response, Error> {
    answer(ids, &form, DisputeAnswer::Evidence).await
}

pub(super) async fn accept(ids: Ids<1>, form: Form) -> Result<Response, Error> {
    answer(ids, &form, DisputeAnswer::Acceptance).await
}

/// Answers the dispute. If that is no longer possible, the page of the dispute says why.
async fn answer(
    Ids([dispute]): Ids<1>,
    form: &Form,
    answer: DisputeAnswer,
) -> Result<Response, Error> {
    let row = form.at.payments().dispute_of_merchant(form.at.merchant.id, dispute).await?;
    let action = AnswerDispute { transaction: row.transaction, dispute, answer };
    match form.write(action).await {
        Err(app::Error::Invalid(_)) => {}
        answered => {
            answered?;
        }
    }
    Ok(form.at.at_merchant(&page(dispute)))
}
