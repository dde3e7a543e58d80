//! Answers to disputes: once, in time, and with limited files.

use super::*;
use crate::{
    AcquirerId, AcquirerKey, AnswerError, Decision, DisputeAnswer, EvidenceText, FileContent,
    FileName, FileType, MAX_OPEN_BYTES, NewFile,
    actions::{AnswerDispute, RefuseEntry, SaveEvidence},
    write::{DisputeRow, EvidenceRow},
};

/// A merchant with an open dispute.
fn disputed() -> (BatchTester, DisputeRow) {
    let mut run = BatchTester::new();
    let spec = WriteSpec { kind: open_dispute, choice: 1, second: 0, amount: 100, key: None };
    run.write(&[spec], 0);
    let row = run.tables.disputes.values().next().unwrap().clone();
    (run, row)
}

fn evidence(row: &DisputeRow) -> SaveEvidence {
    let file = NewFile {
        name: FileName::new("a.pdf").unwrap(),
        file_type: FileType::Pdf,
        content: FileContent(vec![0; 10].into()),
    };
    let (merchant, transaction, dispute) = (row.merchant, row.transaction, row.id);
    let text = EvidenceText::new("text").unwrap();
    SaveEvidence { merchant, transaction, dispute, text, files: Some(vec![file]) }
}

fn answer(row: &DisputeRow, answer: DisputeAnswer) -> AnswerDispute {
    AnswerDispute { transaction: row.transaction, dispute: row.id, answer }
}

#[test]
fn a_dispute_is_answered_once() {
    let answers = [DisputeAnswer::Evidence, DisputeAnswer::Acceptance];
    for (first, expected) in
        answers.into_iter().zip([AnswerError::Submitted, AnswerError::Accepted])
    {
        let (mut run, row) = disputed();
        run.execute(evidence(&row)).unwrap();
        let both = answers.map(|second| answer(&row, second).into());
        let outcomes =
            run.execute_at_once([answer(&row, first).into()].into_iter().chain(both).collect());
        assert!(outcomes[0].is_ok());
        assert_eq!(outcomes[1..], [Err(expected.into()), Err(expected.into())]);
        assert_eq!(run.execute(evidence(&row)), Err(expected.into()));
        let entry = run.tables.outbox.values().find(|entry| entry.dispute == Some(row.id)).unwrap();
        let (entry, transaction) = (entry.id, entry.transaction);
        let (key, dispute) = (AcquirerKey::Id(entry), Some(row.id));
        run.execute(RefuseEntry { entry, transaction, key, dispute }).unwrap();
        // The acquirer has refused the answer.
        assert!(run.execute(answer(&row, first)).is_ok());
    }
}

#[test]
fn a_refused_answer_to_an_inquiry_ends_no_newer_answer() {
    let (mut run, row) = disputed();
    let submitted = |run: &BatchTester| run.tables.disputes[&row.id].submitted;
    let mut entries = Vec::new();
    for _ in 0..2 {
        run.execute(evidence(&row)).unwrap();
        run.execute(answer(&row, DisputeAnswer::Evidence)).unwrap();
        entries.push(*run.tables.outbox.keys().next_back().unwrap());
        if entries.len() == 1 {
            // The inquiry becomes a dispute.
            run.tables.disputes.get_mut(&row.id).unwrap().submitted = None;
        }
    }
    for (entry, stays) in entries.into_iter().zip([true, false]) {
        let (transaction, key, dispute) = (row.transaction, AcquirerKey::Id(entry), Some(row.id));
        run.execute(RefuseEntry { entry, transaction, key, dispute }).unwrap();
        assert_eq!(submitted(&run).is_some(), stays);
    }
}

#[test]
fn only_an_open_dispute_can_be_answered_in_time() {
    let (past, line) = (at(99), None);
    for (change, evidence_error, acceptance_error) in [
        (
            &(|row: &mut DisputeRow| row.due = past) as &dyn Fn(&mut DisputeRow),
            Some(AnswerError::Overdue),
            AnswerError::Overdue,
        ),
        (
            &|row| row.decision = Some(Decision::Won),
            Some(AnswerError::Decided),
            AnswerError::Decided,
        ),
        (&|row| row.line = line, None, AnswerError::Inquiry),
    ] {
        let (mut run, row) = disputed();
        change(run.tables.disputes.get_mut(&row.id).unwrap());
        let expected = evidence_error.map_or(Ok(()), |error| Err(error.into()));
        assert_eq!(run.execute(evidence(&row)).map(drop), expected);
        let accepted = run.execute(answer(&row, DisputeAnswer::Acceptance));
        assert_eq!(accepted, Err(acceptance_error.into()));
    }
}

#[test]
fn without_evidence_nothing_is_submitted() {
    let (mut run, row) = disputed();
    let submitted = run.execute(answer(&row, DisputeAnswer::Evidence));
    assert_eq!(submitted, Err(AnswerError::Missing.into()));
}

#[test]
fn without_new_files_the_earlier_ones_are_kept() {
    let (mut run, row) = disputed();
    let text = |text| EvidenceText::new(text).unwrap();
    let save = |text, files| SaveEvidence { text, files, ..evidence(&row) };
    assert_eq!(run.execute(save(text(""), None)), Err(AnswerError::Missing.into()));
    run.execute(evidence(&row)).unwrap();
    let files = run.tables.evidence_files.clone();
    for changed in ["changed", ""] {
        run.execute(save(text(changed), None)).unwrap();
        let EvidenceRow { size, text, .. } = &run.tables.evidence[&row.id];
        assert_eq!((*size, text.as_str()), (10, changed));
        assert_eq!(run.tables.evidence_files, files);
    }
    run.execute(save(text("alone"), Some(Vec::new()))).unwrap();
    assert_eq!((run.tables.evidence[&row.id].size, run.tables.evidence_files.len()), (0, 0));
    assert_eq!(run.execute(save(text(""), None)), Err(AnswerError::Missing.into()));
}

#[test]
fn files_of_open_disputes_have_a_limit() {
    for (others, decision, expected) in [
        (MAX_OPEN_BYTES - 10, None, Ok(())),
        (MAX_OPEN_BYTES - 9, None, Err(AnswerError::NoSpace.into())),
        (MAX_OPEN_BYTES, Some(Decision::Lost), Ok(())),
    ] {
        let (mut run, row) = disputed();
        let reference = AcquirerId::of_sandbox("other", id(7));
        let other = DisputeRow { id: id(7), reference, decision, ..row.clone() };
        run.tables.disputes.insert(other.id, other);
        let text = EvidenceText::new("").unwrap();
        let other = EvidenceRow { dispute: id(7), id: id(8), created: at(1), size: others, text };
        run.tables.evidence.insert(other.dispute, other);
        assert_eq!(run.execute(evidence(&row)).map(drop), expected);
        // Its own earlier files do not count.
        assert_eq!(run.execute(evidence(&row)).map(drop), expected);
    }
}
