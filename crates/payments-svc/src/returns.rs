//! The subcommand `returns`: books transfers back that the bank returned or rejected.
//!
//! 1. The file is read twice: first completely, so that nothing is booked from a broken file, and
//!    then to book.
//! 2. Returns are booked in batches of [`BATCH`]. A return is booked once, whatever file reports it,
//!    and however often. So the command can be stopped and repeated.
//! 3. Memory is bounded: the file is read piece by piece. Only the IDs of the payouts that came back
//!    are kept, to name a transfer that is in the file twice.

use std::{
    collections::HashSet,
    io::{self, StdoutLock},
    mem::take,
    path::{Path, PathBuf},
    process::ExitCode,
};

use common::{
    config::SecretError,
    control::{Operator, OrderError},
    exit::{DIFFERENT, Fatal, USAGE},
    progress::{Interrupted, Progress},
    store::OpenError,
};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{config::Config, file::copy_of_stream, formula, store::Store};

mod book;
mod camt;
mod csv_returns;
mod file;
mod pain002;
mod reason;
#[cfg(test)]
mod tests;
mod xml;

pub(crate) use book::{BookReturns, PayoutsOfFile};
use book::{Outcome, Problem, ProblemKind};
use file::{ReadError, ReturnsFile};
use payments_domain::Id;

/// The returns that are booked at once.
const BATCH: usize = 100;

const HEADER: [&str; 5] = ["kind", "line", "end_to_end_id", "here", "there"];

/// A transfer that came back, in the words of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Returned {
    /// In the file, from 1.
    line: u64,
    end_to_end_id: String,
    /// The currency, and the amount in major units. `None`: the whole transfer.
    amount: Option<[String; 2]>,
    date: Option<String>,
    reason: String,
}

/// A file of transfers that the bank rejected as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RejectedFile {
    line: u64,
    message_id: String,
    date: Option<String>,
    reason: String,
}

/// What a file reports.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Returned(Returned),
    Rejected(RejectedFile),
    /// Something else, such as a payment.
    Other,
    /// What cannot be booked, with its line and end-to-end ID.
    Named(u64, String, Problem),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReturnsError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{path:?} cannot be read: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path:?} is no file of returns, so nothing is booked: {reason}")]
    Format { path: PathBuf, reason: String },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("not every return is booked: {0}; run the command again")]
    Order(#[from] OrderError),
    #[error("the output cannot be written: {0}")]
    Output(#[from] csv::Error),
    #[error("interrupted: not every return is booked; run the command again")]
    Interrupted(#[from] Interrupted),
}

impl Fatal for ReturnsError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::File { source, .. } => source.exit_code(),
            Self::Open(error) => error.exit_code(),
            Self::Order(error) => error.exit_code(),
            Self::Interrupted(error) => error.exit_code(),
            Self::Secret(_) | Self::Format { .. } | Self::Output(_) => USAGE,
        }
    }
}

/// Books the returns of a file, and prints those that cannot be booked. Returns the exit code.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn returns(
    config: &Config,
    from: &Path,
    progress: &Progress,
) -> Result<ExitCode, ReturnsError> {
    let unreadable = |error| match error {
        ReadError::Io(source) => ReturnsError::File { path: from.to_owned(), source },
        ReadError::Format(reason) => ReturnsError::Format { path: from.to_owned(), reason },
    };
    let copy = copy_of_stream(from, &config.data_dir).map_err(|error| unreadable(error.into()))?;
    let path = copy.as_ref().map_or(from, NamedTempFile::path);
    let open = || ReturnsFile::open(path).map_err(unreadable);
    let mut file = open()?;
    progress.begin("bytes read", file.size());
    while file.next().map_err(unreadable)?.is_some() {
        progress.check()?;
        progress.set(file.position());
    }
    let mut operator = Operator::open(&config.store()?).await?;
    let mut run = Run::new(&mut operator, progress);
    let mut file = open()?;
    progress.begin("bytes booked", file.size());
    let booked = async {
        while let Some(entry) = file.next().map_err(unreadable)? {
            progress.check()?;
            progress.set(file.position());
            run.add(entry).await?;
        }
        run.book().await
    };
    let booked = booked.await;
    let finished = booked.and_then(|()| run.finish());
    operator.close().await;
    finished
}

/// The booking of a file, and the output.
struct Run<'a> {
    operator: &'a mut Operator<Store>,
    progress: &'a Progress,
    batch: Vec<Returned>,
    /// The payouts that the file has returned or named so far.
    seen: HashSet<Id>,
    problems: csv::Writer<StdoutLock<'a>>,
    booked: u64,
    already_booked: u64,
    others: u64,
    named: u64,
}

impl<'a> Run<'a> {
    fn new(operator: &'a mut Operator<Store>, progress: &'a Progress) -> Self {
        Self {
            operator,
            progress,
            batch: Vec::new(),
            seen: HashSet::new(),
            problems: csv::Writer::from_writer(io::stdout().lock()),
            booked: 0,
            already_booked: 0,
            others: 0,
            named: 0,
        }
    }

    async fn add(&mut self, entry: Entry) -> Result<(), ReturnsError> {
        match entry {
            Entry::Returned(returned) => self.add_returned(returned).await,
            Entry::Rejected(file) => self.reject(file).await,
            Entry::Named(line, id, problem) => {
                self.book().await?;
                // A rejection of the whole file does not book it.
                self.seen.extend(id.parse::<Id>());
                self.name(line, &id, &problem)
            }
            Entry::Other => {
                self.others = self.others.saturating_add(1);
                Ok(())
            }
        }
    }

    async fn add_returned(&mut self, returned: Returned) -> Result<(), ReturnsError> {
        let id = &returned.end_to_end_id;
        let is_it = |other: &Returned| other.end_to_end_id.eq_ignore_ascii_case(id);
        // One batch has no transfer twice, so that the first one is booked.
        if self.batch.len() == BATCH || self.batch.iter().any(is_it) {
            self.book().await?;
        }
        self.batch.push(returned);
        Ok(())
    }

    /// Books all payouts of a file that the bank rejected, without those that it named before.
    async fn reject(&mut self, file: RejectedFile) -> Result<(), ReturnsError> {
        self.book().await?;
        let RejectedFile { line, message_id, date, reason } = file;
        let mut after = Id::MIN;
        loop {
            let message_id = message_id.clone();
            let payouts = self.operator.send(PayoutsOfFile { message_id, after }).await?;
            let Some(last) = payouts.last() else { break };
            after = *last;
            for payout in payouts {
                if !self.seen.contains(&payout) {
                    let (date, reason) = (date.clone(), reason.clone());
                    let end_to_end_id = payout.to_string();
                    let returned = Returned { line, end_to_end_id, amount: None, date, reason };
                    self.add_returned(returned).await?;
                }
            }
            self.progress.check()?;
        }
        if after == Id::MIN {
            let there = formula::quote(&message_id);
            let problem = Problem { kind: ProblemKind::MissingFile, here: String::new(), there };
            return self.name(line, "", &problem);
        }
        self.book().await
    }

    /// Books the batch.
    async fn book(&mut self) -> Result<(), ReturnsError> {
        let batch = take(&mut self.batch);
        let outcomes = self.operator.send(BookReturns(batch.clone())).await?;
        for (returned, outcome) in batch.iter().zip(outcomes) {
            let id = &returned.end_to_end_id;
            if let Outcome::Refused(problem) = &outcome {
                self.name(returned.line, id, problem)?;
                continue;
            }
            let is_new = id.parse().is_ok_and(|id| self.seen.insert(id));
            if outcome == Outcome::Booked {
                self.booked = self.booked.saturating_add(1);
            } else if is_new {
                self.already_booked = self.already_booked.saturating_add(1);
            } else {
                let (here, there) = (String::new(), String::new());
                let problem = Problem { kind: ProblemKind::Twice, here, there };
                self.name(returned.line, id, &problem)?;
            }
        }
        Ok(())
    }

    /// Prints what is not booked.
    fn name(&mut self, line: u64, id: &str, problem: &Problem) -> Result<(), ReturnsError> {
        if self.named == 0 {
            self.problems.write_record(HEADER)?;
        }
        self.named = self.named.saturating_add(1);
        // The ID is text of the file. The other texts are ours, or quoted.
        let id = match id.parse::<Id>() {
            Ok(id) => id.to_string(),
            Err(_) if id.is_empty() => String::new(),
            Err(_) => formula::quote(id),
        };
        let Problem { kind, here, there } = problem;
        let columns = [kind.name(), &line.to_string(), &id, here, there];
        Ok(self.problems.write_record(columns)?)
    }

    fn finish(mut self) -> Result<ExitCode, ReturnsError> {
        self.problems.flush().map_err(csv::Error::from)?;
        let Self { progress, booked, already_booked, others, named, .. } = self;
        progress.print(&format_args!(
            "returns: {booked} booked, {already_booked} already booked, {named} not booked"
        ));
        if others > 0 {
            progress.print(&format_args!("returns: {others} entries that are no returns"));
        }
        Ok(if named == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}
