use crate::{
    AnswerError, EvidenceFile, EvidenceText, Id, MAX_FILES, MAX_OPEN_BYTES, NewFile,
    write::{Action, Batch, EvidenceFileRow, EvidenceRow, Needs, Rejection},
};

/// Save evidence for a dispute, in place of the earlier one.
#[derive(Debug)]
pub struct SaveEvidence {
    pub merchant: Id,
    pub transaction: Id,
    pub dispute: Id,
    pub text: EvidenceText,
    /// At most [`MAX_FILES`]. `None`: the earlier ones are kept.
    pub files: Option<Vec<NewFile>>,
}

impl SaveEvidence {
    fn size(&self) -> usize {
        self.files.iter().flatten().map(|file| file.content.0.len()).sum()
    }
}

impl Action for SaveEvidence {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.add_answer(self.transaction, self.dispute);
        needs.merchants.insert(self.merchant);
        needs.evidence.insert(self.merchant);
    }

    fn ids(&self) -> usize {
        self.files.as_ref().map_or(0, Vec::len).saturating_add(1)
    }

    fn cost(&self) -> (usize, usize) {
        (12, self.size().saturating_add(self.text.as_str().len()))
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, dispute, .. } = *self;
        let row = batch.rows.disputes.get(&dispute).ok_or(Rejection::NotFound)?;
        row.require_answerable(batch.loaded.now)?;
        let before = batch.rows.evidence.get(&dispute).map_or(0, |row| row.size);
        let others = batch.loaded.evidence.get(&merchant).copied().unwrap_or_default();
        let size = match self.files {
            Some(_) => i64::try_from(self.size()).unwrap_or(i64::MAX),
            None => before,
        };
        if size == 0 && self.text.as_str().is_empty() {
            return Err(AnswerError::Missing.into());
        }
        let sum = others.saturating_sub(before).saturating_add(size);
        if sum > MAX_OPEN_BYTES {
            return Err(AnswerError::NoSpace.into());
        }
        batch.loaded.evidence.insert(merchant, sum);
        let (id, created, text) = (batch.id(), batch.loaded.now, self.text.clone());
        batch.rows.evidence.replace(EvidenceRow { dispute, id, created, size, text });
        let Some(files) = &self.files else { return Ok(()) };
        for (number, file) in (0..).zip(files) {
            let NewFile { name, file_type, content } = file.clone();
            let size = i64::try_from(content.0.len()).unwrap_or(i64::MAX);
            let file = EvidenceFile { id: batch.id(), name, file_type, size };
            batch.rows.evidence_files.replace(EvidenceFileRow { dispute, number, file, content });
        }
        let kept = u32::try_from(files.len()).unwrap_or(MAX_FILES);
        (kept..MAX_FILES).for_each(|number| batch.rows.evidence_files.delete((dispute, number)));
        Ok(())
    }
}
