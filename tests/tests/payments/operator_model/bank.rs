//! Merchants, their payouts, the files that pay them, and the files in which a bank reports what came
//! back.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use blackbox::payments::{Merchant, Service, Transaction, seconds};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use rand::{RngExt as _, rngs::StdRng, seq::SliceRandom as _};
use roxmltree::Document;
use serde_json::{Value, json};

use crate::{
    ledger::Model,
    payouts::transfers,
    reports::{self, Transfer},
    sepa::texts,
};

/// What a bank sends. A status report rejects transfers, a file, its batch, or both.
pub(super) const FORMATS: [&str; 7] =
    ["camt.053", "camt.054", "csv", "transfers", "file", "batch", "both"];

/// What is special in it.
pub(super) const CASES: [&str; 9] = [
    "right",
    "several",
    "doubled",
    "again",
    "another amount",
    "another currency",
    "unknown",
    "too early",
    "partly right",
];

/// The status of what a bank rejects.
const REJECTED: &str = "RJCT";

/// A merchant as it should be.
pub(super) struct Account {
    pub(super) merchant: Merchant,
    pub(super) currency: &'static str,
    pub(super) payments: Vec<(Transaction, Model)>,
    /// The payouts that have not come back.
    pub(super) paid: i64,
    pub(super) holds_payments: bool,
    pub(super) holds_payouts: bool,
    pub(super) bank: Option<[String; 2]>,
}

impl Account {
    pub(super) fn balance(&self) -> i64 {
        self.payments.iter().map(|(_, model)| model.balance).sum::<i64>() - self.paid
    }

    /// By requests to a service that was started again.
    pub(super) fn at(&self, service: &Service) -> Merchant {
        self.merchant.by(&self.merchant.app.at(service))
    }
}

/// A day, and the format of its file.
pub(super) type Run = (Date, &'static str);

/// A transfer in a payout file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: String,
    /// Holder and IBAN.
    pub(super) bank: [String; 2],
    pub(super) currency: String,
    /// In major units.
    pub(super) amount: String,
}

impl Row {
    pub(super) fn returned(&self) -> Transfer {
        Transfer::new(&self.id, &self.currency, &self.amount)
    }
}

/// The transfers in a payout file.
pub(super) fn rows(format: &str, file: &str) -> Vec<Row> {
    if format == "csv" {
        let row = |row: Value| {
            let [id, holder, iban, currency, amount] = ["id", "name", "iban", "currency", "amount"]
                .map(|column| row[column].as_str().unwrap().to_owned());
            Row { id, bank: [holder, iban], currency, amount }
        };
        return transfers(file).into_iter().map(row).collect();
    }
    if file.is_empty() {
        return Vec::new();
    }
    let document = Document::parse(file).unwrap();
    let columns = ["PmtId/EndToEndId", "Cdtr/Nm", "CdtrAcct/Id/IBAN", "InstdAmt"]
        .map(|path| texts(&document, path));
    let row = |number| {
        let text = |column: &Vec<&str>| str::to_owned(column[number]);
        let [id, holder, iban, amount] = columns.each_ref().map(text);
        Row { id, bank: [holder, iban], currency: "EUR".to_owned(), amount }
    };
    (0..columns[0].len()).map(row).collect()
}

/// The arguments of a command that writes the files of these formats, with the format as their name.
pub(super) fn payout(day: Date, formats: &[&str], folder: &Path) -> Vec<String> {
    let mut arguments = ["payout", "--test", "--day"].map(str::to_owned).to_vec();
    arguments.push(day.to_string());
    for format in formats {
        arguments.push(format!("--{format}"));
        arguments.push(folder.join(format).to_str().unwrap().to_owned());
    }
    arguments
}

/// An amount in major units.
pub(super) fn major(minor: i64) -> String {
    format!("{}.{:02}", minor / 100, minor % 100)
}

pub(super) fn minor(major: &str) -> i64 {
    major.replace('.', "").parse().unwrap()
}

pub(super) struct Payout {
    pub(super) run: Run,
    /// The number of the account that is paid.
    pub(super) account: usize,
    pub(super) row: Row,
    /// The bank's reason, once it has come back.
    pub(super) returned: Option<Value>,
}

/// A file of the bank.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) format: &'static str,
    pub(super) day: String,
    pub(super) returns: Vec<Transfer>,
    /// The ID of the file that is rejected. Empty: of none.
    pub(super) message: String,
}

/// The status of the file, and of its batch.
fn statuses(format: &str) -> [&'static str; 2] {
    match format {
        "file" => [REJECTED, "PART"],
        "batch" => ["PART", REJECTED],
        "both" => [REJECTED, REJECTED],
        _ => ["PART", "PART"],
    }
}

/// Whether it rejects a whole file.
pub(super) fn is_of_file(format: &str) -> bool {
    statuses(format).contains(&REJECTED)
}

impl Report {
    pub(super) fn content(&self) -> String {
        let Self { format, day, returns, message } = self;
        match *format {
            "csv" => reports::csv(day, returns),
            "camt.053" | "camt.054" => reports::camt(format, day, returns),
            _ => {
                let returns = returns.iter().map(|returned| (returned.clone(), REJECTED));
                reports::pain002(day, message, statuses(format), &returns.collect::<Vec<_>>())
            }
        }
    }
}

/// The payouts that were booked.
#[derive(Default)]
pub(super) struct Payouts {
    pub(super) by_id: BTreeMap<String, Payout>,
    /// The file of each run that is closed.
    pub(super) files: BTreeMap<Run, String>,
}

/// What `returns` must make of a file.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Kinds and IDs.
    pub(super) named: Vec<[String; 2]>,
    /// With the bank's reasons.
    pub(super) booked: Vec<(String, Value)>,
    pub(super) already: usize,
    seen: HashSet<String>,
}

impl Payouts {
    pub(super) fn of_run(&self, run: Run) -> impl Iterator<Item = &String> {
        self.by_id.iter().filter(move |(_, payout)| payout.run == run).map(|(id, _)| id)
    }

    pub(super) fn of_account(&self, account: usize) -> impl Iterator<Item = &Payout> {
        self.by_id.values().filter(move |payout| payout.account == account)
    }

    /// A file about some of these payouts.
    pub(super) fn report(
        &self,
        rng: &mut StdRng,
        (format, case): (&'static str, &str),
        ids: &[String],
    ) -> Report {
        let bad = self.by_id[&ids[0]].row.returned();
        let several = match case {
            _ if is_of_file(format) => 0,
            "several" | "partly right" => rng.random_range(2..5),
            _ => 1,
        };
        let several = ids.iter().take(several).map(|id| self.by_id[id].row.returned());
        let mut report =
            Report { format, day: today(), returns: several.collect(), message: String::new() };
        if is_of_file(format) {
            message(&self.files[&self.by_id[&ids[0]].run]).clone_into(&mut report.message);
        }
        let unknown = format!("{:024x}", rng.random::<u64>());
        match case {
            "doubled" => report.returns.push(Transfer { id: bad.id.to_uppercase(), ..bad }),
            "another amount" => {
                let amount = major(minor(&bad.amount) + 1);
                report.returns = vec![Transfer { amount, ..bad }];
            }
            "another currency" => {
                report.returns = vec![Transfer { currency: "SEK".to_owned(), ..bad }];
            }
            "unknown" if is_of_file(format) => report.message = format!("20200101-{unknown}"),
            "unknown" => report.returns = vec![Transfer { id: unknown, ..bad }],
            "too early" => EARLY.clone_into(&mut report.day),
            "partly right" => {
                report.returns.push(Transfer { id: unknown, ..bad.clone() });
                report.returns.push(Transfer { currency: "SEK".to_owned(), ..bad });
                report.returns.shuffle(rng);
            }
            _ if format == "transfers" => {
                report.returns.iter_mut().for_each(|returned| returned.amount.clear());
            }
            _ => {}
        }
        report
    }

    pub(super) fn outcome(&self, report: &Report) -> Outcome {
        let mut outcome = Outcome::default();
        let reason = match report.format {
            "csv" => "AC04",
            "camt.053" | "camt.054" => "AC04: account closed",
            _ => "AC01",
        };
        for returned in &report.returns {
            self.add(&mut outcome, report, returned, &json!(reason));
        }
        for _ in statuses(report.format).iter().filter(|status| **status == REJECTED) {
            let is_it = |(_, file): &(&Run, &String)| message(file) == report.message;
            let Some((run, _)) = self.files.iter().find(is_it) else {
                outcome.named.push(["missing-file".to_owned(), String::new()]);
                continue;
            };
            for id in self.of_run(*run) {
                if !outcome.seen.contains(id) {
                    let returned = Transfer::new(id, "", "");
                    self.add(&mut outcome, report, &returned, &Value::Null);
                }
            }
        }
        outcome
    }

    fn add(&self, outcome: &mut Outcome, report: &Report, returned: &Transfer, reason: &Value) {
        let Transfer { id, currency, amount } = returned;
        let id = id.to_lowercase();
        let problem = match self.by_id.get(&id) {
            None => Some("missing-here"),
            Some(it) if !amount.is_empty() && *currency != it.row.currency => Some("currency"),
            Some(it) if !amount.is_empty() && *amount != it.row.amount => Some("amount"),
            Some(_) if report.day == EARLY => Some("date"),
            Some(_) if !outcome.seen.insert(id.clone()) => Some("twice"),
            Some(it) => {
                match it.returned {
                    Some(_) => outcome.already += 1,
                    None => outcome.booked.push((id.clone(), reason.clone())),
                }
                None
            }
        };
        outcome.named.extend(problem.map(|problem| [problem.to_owned(), id]));
    }
}

/// The message ID of a SEPA file. Empty: it is another file.
pub(super) fn message(file: &str) -> &str {
    let message = file.split_once("<MsgId>").and_then(|(_, rest)| rest.split_once('<'));
    message.map(|(message, _)| message).unwrap_or_default()
}

/// A day before all payouts were booked.
pub(super) const EARLY: &str = "2020-01-01";

pub(super) fn today() -> String {
    Timestamp::from_second(seconds()).unwrap().to_zoned(TimeZone::UTC).date().to_string()
}
