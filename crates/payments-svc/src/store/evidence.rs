//! The evidence for disputes. Only the outbox and downloads read the content of files.

use common::sql::{ColumnError, Columns, Group as _, Stored as _};
use jiff::{SignedDuration, Timestamp};
use payments_domain::{
    Evidence, EvidenceFile, EvidenceText, FileContent, Id, NewFile, SubmittedEvidence,
};

use super::{Store, StoreError, reads::LIMIT};

/// How long evidence is kept after the decision, or after the deadline of an inquiry.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Bytes of files after which one write deletes no further evidence.
const DELETED_BYTES: i64 = 64_000_000;

/// Evidence to delete, of disputes that were decided before `$1`, at most `$2`.
const OLD: &str = "SELECT dispute, size FROM evidence JOIN disputes ON disputes.id = evidence.dispute
     WHERE CASE
         WHEN decision IS NOT NULL THEN
             (SELECT max(trail.created) FROM trail
              WHERE trail.\"transaction\" = disputes.\"transaction\" AND trail.dispute = disputes.id)
         WHEN line IS NULL THEN due
     END < $1
     LIMIT $2";

impl Store {
    pub(crate) async fn evidence(&self, dispute: Id) -> Result<Option<Evidence>, StoreError> {
        let sql = "SELECT evidence.id, evidence.created, text, submitted
                   FROM evidence JOIN disputes ON disputes.id = evidence.dispute
                   WHERE evidence.dispute = $1";
        let read = |columns: &mut Columns<'_>| {
            Ok(Evidence {
                id: columns.read()?,
                created: columns.read()?,
                text: columns.read()?,
                submitted: columns.read()?,
                files: Vec::new(),
            })
        };
        let Some(evidence) = self.query_one(sql, &[dispute.param()], read).await? else {
            return Ok(None);
        };
        let sql = format!(
            "SELECT {} FROM evidence_files WHERE dispute = $1 ORDER BY number",
            EvidenceFile::of("evidence_files")
        );
        let files = self.query_all(&sql, &[dispute.param()], EvidenceFile::read).await?;
        Ok(Some(Evidence { files, ..evidence }))
    }

    /// The evidence of a dispute that an outbox entry submits, with the content of its files. `None`
    /// if it was deleted, or replaced after the entry: then it was not submitted yet.
    pub(crate) async fn submitted_evidence(
        &self,
        dispute: Id,
        entry: Id,
    ) -> Result<Option<SubmittedEvidence>, StoreError> {
        let sql = "SELECT name, type, content FROM evidence_files
                   WHERE dispute = $1 ORDER BY number";
        let files = self.query_all(sql, &[dispute.param()], file).await?;
        // After the files: newer ones have a newer text.
        let sql = "SELECT text FROM evidence WHERE dispute = $1 AND id < $2";
        let read = |columns: &mut Columns<'_>| columns.read::<EvidenceText>();
        let text = self.query_one(sql, &[dispute.param(), entry.param()], read).await?;
        Ok(text.map(|text| SubmittedEvidence { text, files }))
    }

    /// A file of the evidence for a dispute.
    pub(crate) async fn evidence_file(
        &self,
        dispute: Id,
        id: Id,
    ) -> Result<Option<NewFile>, StoreError> {
        let sql = "SELECT name, type, content FROM evidence_files WHERE dispute = $1 AND id = $2";
        self.query_one(sql, &[dispute.param(), id.param()], file).await
    }

    /// Disputes whose evidence is to be deleted.
    pub(crate) async fn old_evidence(&self) -> Result<Vec<Id>, StoreError> {
        let Some(now) = self.job_time().await? else { return Ok(Vec::new()) };
        let before = now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
        let read = |columns: &mut Columns<'_>| Ok((columns.read()?, columns.read()?));
        let old: Vec<(Id, i64)> = self.query_all(OLD, &[before.param(), LIMIT], read).await?;
        let mut bytes: i64 = 0;
        let fits = |(_, size): &(Id, i64)| {
            let fits = bytes < DELETED_BYTES;
            bytes = bytes.saturating_add(*size);
            fits
        };
        Ok(old.into_iter().take_while(fits).map(|(dispute, _)| dispute).collect())
    }
}

fn file(columns: &mut Columns<'_>) -> Result<NewFile, ColumnError> {
    let (name, file_type) = (columns.read()?, columns.read()?);
    Ok(NewFile { name, file_type, content: columns.read::<FileContent>()? })
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn the_end_of_a_dispute_is_searched_in_its_own_trail() {
        let plan = plan(&database(), OLD);
        let trail = plan.iter().find(|step| step.contains("trail")).unwrap();
        assert!(trail.contains("(transaction=?)"), "{plan:?}");
    }
}
