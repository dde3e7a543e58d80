//! Answers to disputes: `/disputes/{dispute_id}/evidence`, `…/evidence/files/{file_id}`,
//! `…/evidence/submit` and `…/accept`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use jiff::Timestamp;
use payments_domain::{
    Dispute, DisputeAnswer, Evidence, EvidenceFile, Id,
    actions::{AnswerDispute, SaveEvidence},
};
use serde::Serialize;

use super::{
    access::{Permitted, SecondId},
    api::Api,
    idempotency::Once,
    output::written,
};
use crate::{
    app::Payments,
    web::{Error, Upload, as_date, as_optional_date, as_text, download, envelope},
};

pub(super) async fn get(
    dispute: Permitted<Dispute>,
    State(api): State<Arc<Api>>,
) -> Result<Response, Error> {
    evidence(&api.payments, dispute.resource.id, StatusCode::OK).await
}

pub(super) async fn file(
    dispute: Permitted<Dispute>,
    SecondId(file): SecondId,
    State(api): State<Arc<Api>>,
) -> Result<Response, Error> {
    let file = api.payments.evidence_file(dispute.resource.id, file).await?;
    download(file, api.payments.uploads())
}

/// Saves evidence in place of the earlier one.
pub(super) async fn save(
    dispute: Permitted<Dispute>,
    request: Once<Upload>,
) -> Result<Response, Error> {
    let Permitted { caller, resource: Dispute { id, merchant, transaction, .. } } = dispute;
    let saved = request.write(caller.access(Some(merchant)), |upload| {
        let (text, files) = upload.evidence()?;
        Ok(SaveEvidence { merchant, transaction, dispute: id, text, files: Some(files) })
    });
    let is_replayed = saved.await?.is_replayed;
    // The current evidence, also for a repeat: it may have been replaced or submitted.
    let answer = evidence(&request.payments, id, StatusCode::CREATED).await?;
    Ok(written(is_replayed, answer))
}

pub(super) async fn submit(dispute: Permitted<Dispute>, request: Once) -> Result<Response, Error> {
    let id = dispute.resource.id;
    let is_replayed = answer(dispute, &request, DisputeAnswer::Evidence).await?;
    let answer = evidence(&request.payments, id, StatusCode::CREATED).await?;
    Ok(written(is_replayed, answer))
}

pub(super) async fn accept(dispute: Permitted<Dispute>, request: Once) -> Result<Response, Error> {
    let is_replayed = answer(dispute, &request, DisputeAnswer::Acceptance).await?;
    Ok(written(is_replayed, StatusCode::NO_CONTENT.into_response()))
}

/// Answers the dispute. Returns whether the request is a repeat.
async fn answer(
    dispute: Permitted<Dispute>,
    request: &Once,
    answer: DisputeAnswer,
) -> Result<bool, Error> {
    let Permitted { caller, resource: Dispute { id, merchant, transaction, .. } } = dispute;
    let answered = request.write(caller.access(Some(merchant)), |body| {
        body.read(|_| Ok(()))?;
        Ok(AnswerDispute { transaction, dispute: id, answer })
    });
    Ok(answered.await?.is_replayed)
}

async fn evidence(payments: &Payments, dispute: Id, status: StatusCode) -> Result<Response, Error> {
    let evidence = payments.evidence(dispute).await?;
    Ok(envelope(status, "evidence", EvidenceOutput::new(&evidence)))
}

#[derive(Serialize)]
struct EvidenceOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    text: &'a str,
    files: Vec<FileOutput<'a>>,
    #[serde(serialize_with = "as_optional_date")]
    submitted: Option<Timestamp>,
}

#[derive(Serialize)]
struct FileOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    name: &'a str,
    #[serde(rename = "type")]
    file_type: &'static str,
    size: i64,
}

impl<'a> EvidenceOutput<'a> {
    fn new(Evidence { id, created, text, files, submitted }: &'a Evidence) -> Self {
        let file = |EvidenceFile { id, name, file_type, size }: &'a EvidenceFile| FileOutput {
            id: *id,
            name: name.as_str(),
            file_type: file_type.name(),
            size: *size,
        };
        let files = files.iter().map(file).collect();
        Self { id: *id, created: *created, text: text.as_str(), files, submitted: *submitted }
    }
}
