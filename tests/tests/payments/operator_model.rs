//! Compares the books with a plain model: payments, disputes, payouts and returned transfers in any
//! order, while the service and the operator's commands are killed. A command that was cut off is
//! repeated until it ends. Then everything must be as if it had run once.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    iter::repeat_n,
};

use blackbox::{
    payments::{Acquirer, Card, Move, Refusal as _, SECRET, Service, seconds, signature},
    soak::{rounds, seed},
};
use jiff::{ToSpan as _, civil::Date};
use rand::{
    RngExt as _, SeedableRng as _,
    rngs::StdRng,
    seq::{IndexedMutRandom as _, IndexedRandom as _, SliceRandom as _},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    ledger::{Model, Rate},
    payouts::{DANISH, DEBTOR, GERMAN, merchant, payouts_of},
};

mod bank;
mod killed;

use bank::{
    Account, CASES, EARLY, FORMATS, Outcome, Payout, Payouts, Report, Row, Run, is_of_file, major,
    minor, payout, rows,
};
use killed::{Ended, Machine};

/// The amount of each payment in cents.
const RESERVED: i64 = 100_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Move,
    Dispute,
    Payout,
    Hold,
    Release,
    SetBank,
    Stop,
    Return(&'static str, &'static str),
    Compare,
}

struct World {
    rng: StdRng,
    machine: Machine,
    accounts: Vec<Account>,
    payouts: Payouts,
    /// The runs that were cut off and not repeated, with whether they may be closed.
    open: BTreeMap<Run, bool>,
    reports: Vec<Report>,
    day: Date,
}

impl World {
    async fn new(mut rng: StdRng) -> Self {
        let service = Service::with(&[&[SECRET], &DEBTOR[..]].concat()).await;
        let mut accounts = Vec::new();
        for currency in ["EUR", "EUR", "EUR", "DKK", "HUF", "USD"] {
            let holder = format!("Shop {}", accounts.len());
            let iban = (accounts.len() != 1).then_some(DANISH);
            accounts.push(Account {
                merchant: merchant(&service, currency, Some(&holder), iban).await,
                currency,
                payments: Vec::new(),
                paid: 0,
                holds_payments: false,
                holds_payouts: false,
                bank: iban.map(|iban| [holder, iban.to_owned()]),
            });
        }
        Self {
            machine: Machine::new(StdRng::from_rng(&mut rng), service),
            rng,
            accounts,
            payouts: Payouts::default(),
            open: BTreeMap::new(),
            reports: Vec::new(),
            day: EARLY.parse().unwrap(),
        }
    }

    async fn perform(&mut self, step: Step) {
        let number = self.rng.random_range(0..self.accounts.len());
        match step {
            Step::Move => self.make_move(number).await,
            Step::Dispute => self.dispute(number).await,
            Step::Payout => {
                if self.rng.random() {
                    self.fund().await;
                }
                let earlier = i64::from(self.rng.random_range(0..3));
                let is_new = self.rng.random();
                let day = if is_new { self.next_day() } else { self.day - earlier.days() };
                match self.rng.random_range(0..6) {
                    0 => self.pay_in_part((day, "csv")).await,
                    1 => self.pay_in_part((day, "pain001")).await,
                    2 => self.pay_out(day, &["csv"]).await,
                    3 => self.pay_out(day, &["pain001"]).await,
                    _ => self.pay_out(day, &["pain001", "csv"]).await,
                }
            }
            Step::Hold => {
                let options = [&["--payments"][..], &["--payouts"], &[]];
                let options = *options.choose(&mut self.rng).unwrap();
                let hold = ["hold", &self.accounts[number].merchant.id, "--reason", "fraud"];
                let printed = self.machine.run(&[&hold, options].concat()).await.stdout;
                assert!(printed.ends_with(": fraud\n"), "{printed}");
                let account = &mut self.accounts[number];
                account.holds_payments |= options != ["--payouts"];
                account.holds_payouts |= options != ["--payments"];
            }
            Step::Release => self.release(number).await,
            Step::SetBank => {
                let iban = *[DANISH, GERMAN].choose(&mut self.rng).unwrap();
                let holder = format!("Shop {number} of {}", self.rng.random_range(0..9));
                let id = self.accounts[number].merchant.id.clone();
                let bank = ["set-bank", &id, "--iban", iban, "--holder", &holder];
                let printed = self.machine.run(&bank).await.stdout;
                assert_eq!(printed, format!("{id} is paid to {holder}, {iban}\n"));
                self.accounts[number].bank = Some([holder, iban.to_owned()]);
            }
            Step::Stop => self.machine.down(self.rng.random()).await,
            Step::Return(format, case) => self.report(format, case).await,
            Step::Compare => self.compare().await,
        }
    }

    fn next_day(&mut self) -> Date {
        self.day += 1.day();
        self.day
    }

    async fn release(&mut self, number: usize) {
        let id = self.accounts[number].merchant.id.clone();
        let printed = self.machine.run(&["release", &id]).await.stdout;
        assert_eq!(printed, format!("{id} is not held\n"));
        let account = &mut self.accounts[number];
        (account.holds_payments, account.holds_payouts) = (false, false);
    }

    /// A payment, without a capture.
    async fn pay(&mut self, number: usize) {
        let service = self.machine.up().await;
        let account = &mut self.accounts[number];
        let merchant = account.at(service);
        if account.holds_payments {
            let body = merchant.payment(Card::VISA, "EUR", RESERVED);
            merchant.charge(&body).await.declined(27);
        } else {
            let model = Model::new(Rate::of(account.currency), RESERVED);
            account.payments.push((merchant.pay("EUR", RESERVED).await, model));
        }
    }

    async fn make_move(&mut self, number: usize) {
        let payments = self.accounts[number].payments.len();
        if payments == 0 || self.rng.random_ratio(1, 4) {
            return self.pay(number).await;
        }
        let (movement, most) = match self.rng.random_range(0..4) {
            0..2 => (Move::Capture, RESERVED),
            2 => (Move::Refund, RESERVED / 4),
            _ => (Move::Void, RESERVED / 4),
        };
        let payment = self.rng.random_range(0..payments);
        let amount = self.rng.random_range(1..most);
        self.take(number, payment, movement, amount).await;
    }

    async fn take(&mut self, number: usize, payment: usize, movement: Move, amount: i64) {
        let Account { merchant, payments, holds_payments, .. } = &mut self.accounts[number];
        let (transaction, model) = &mut payments[payment];
        let (app, path) = (&merchant.app, transaction.path_of(movement));
        let key = self.rng.random::<u64>().to_string();
        let request = |service: &Service| {
            let request = app.at(service).request(Method::POST, &path);
            request.header("idempotency-key", &key).json(&json!({ "amount": amount }))
        };
        let answer = self.machine.ask(request).await;
        if *holds_payments && movement == Move::Capture {
            answer.refused(400, "merchant_held");
        } else if model.perform(movement, amount) {
            model.matches(&answer.expect(201).json()["transaction"], &[]);
        } else {
            answer.names(&["amount"]);
        }
    }

    /// Opens a dispute of one of the merchant's payments, or decides one.
    async fn dispute(&mut self, number: usize) {
        let payment = self.accounts[number].payments.choose_mut(&mut self.rng);
        let Some((transaction, model)) = payment else { return };
        let how = ["opened", "opened", "won", "lost"].choose(&mut self.rng).unwrap();
        let members = if *how == "opened" {
            let (name, amount) = (self.rng.random::<u64>(), self.rng.random_range(1..RESERVED / 2));
            model.open(name.to_string(), amount);
            json!({ "disputeId": name.to_string(), "amount": amount })
        } else {
            let Some(name) = model.end(how) else { return };
            json!({ "disputeId": name })
        };
        let event = Acquirer::event(&format!("dispute.{how}"), transaction, members).to_string();
        // An acquirer may repeat a notification that was answered.
        for _ in 0..self.rng.random_range(1..3) {
            let notification = |service: &Service| {
                let signature = signature(SECRET.1, seconds(), &event);
                Acquirer(service).signed(&signature, &event)
            };
            let _ = self.machine.ask(notification).await.expect(204);
        }
    }

    /// The merchants that a run must pay, with their transfers, which have no IDs yet.
    fn due(&self, run: Run) -> BTreeMap<usize, Row> {
        let (day, format) = run;
        if self.payouts.files.contains_key(&run) {
            return BTreeMap::new();
        }
        let due = self.accounts.iter().enumerate().filter_map(|(number, account)| {
            let is_due = account.balance() > 0
                && !account.holds_payouts
                && (format == "csv" || account.currency == "EUR")
                && self.payouts.of_account(number).all(|payout| payout.run.0 != day);
            let bank = account.bank.clone().filter(|_| is_due)?;
            let (currency, amount) = (account.currency.to_owned(), major(account.balance()));
            Some((number, Row { id: String::new(), bank, currency, amount }))
        });
        due.collect()
    }

    /// Whether a repeat of the run would send what came back.
    fn has_returned(&self, run: Run) -> bool {
        self.payouts.of_run(run).any(|id| self.payouts.by_id[id].returned.is_some())
    }

    fn book_payout(&mut self, run: Run, account: usize, row: Row) {
        self.accounts[account].paid += minor(&row.amount);
        let id = row.id.clone();
        let payout = Payout { run, account, row, returned: None };
        assert!(self.payouts.by_id.insert(id, payout).is_none());
    }

    /// Runs payouts until they have ended.
    async fn pay_out(&mut self, day: Date, formats: &[&'static str]) {
        let folder = self.machine.place().data().to_owned();
        let Ended { code, stderr, .. } = self.machine.run(&payout(day, formats, &folder)).await;
        let has_returned = formats.iter().any(|format| self.has_returned((day, format)));
        assert_eq!(code, i32::from(has_returned), "{stderr}");
        for format in formats {
            let content = fs::read_to_string(folder.join(format)).unwrap_or_default();
            self.compare_file((day, format), content);
        }
    }

    /// The file must have every payout of the run, also those that were booked before it was cut
    /// off, and that came back.
    fn compare_file(&mut self, run: Run, content: String) {
        let mut due = self.due(run);
        if let Some(before) = self.payouts.files.get(&run) {
            assert_eq!(content, *before);
            return;
        }
        let mut known: HashSet<_> = self.payouts.of_run(run).cloned().collect();
        let rows = rows(run.1, &content);
        let has_new = rows.iter().any(|row| !known.contains(&row.id));
        for row in &rows {
            if known.remove(&row.id) {
                assert_eq!(self.payouts.by_id[&row.id].row, *row);
                continue;
            }
            let is_it = |due: &Row| Row { id: row.id.clone(), ..due.clone() } == *row;
            let number = due.iter().find(|(_, due)| is_it(due)).map(|(number, _)| *number);
            let number = number.unwrap_or_else(|| panic!("{row:?} is not due: {due:?}"));
            due.remove(&number);
            self.book_payout(run, number, row.clone());
        }
        assert!(known.is_empty(), "{known:?} are missing");
        let was_closed = self.open.remove(&run) == Some(true) && !has_new;
        assert!(due.is_empty() || was_closed, "{due:?} are missing");
        if !rows.is_empty() {
            self.payouts.files.insert(run, content);
        }
    }

    /// Cuts a payout off, and repeats it later. Some merchants may be paid.
    async fn pay_in_part(&mut self, run: Run) {
        let mut due = self.due(run);
        let folder = self.machine.place().data().to_owned();
        let ended = self.machine.cut_off(&payout(run.0, &[run.1], &folder)).await;
        self.machine.be_quiet().await;
        for (number, row) in due.clone() {
            let merchant = self.accounts[number].at(self.machine.up().await);
            let ids = payouts_of(&merchant).await.into_iter().map(|payout| text(&payout["id"]));
            let new: Vec<_> = ids.filter(|id| !self.payouts.by_id.contains_key(id)).collect();
            assert!(new.len() <= 1, "{new:?}");
            for id in new {
                due.remove(&number);
                self.book_payout(run, number, Row { id, ..row.clone() });
            }
        }
        let was_closed = self.open.get(&run) == Some(&true);
        if let Some(Ended { code, stderr, .. }) = ended {
            assert_eq!(code, i32::from(self.has_returned(run)), "{stderr}");
            assert!(due.is_empty() || was_closed, "{due:?} are not paid: {stderr}");
        }
        if !self.payouts.files.contains_key(&run) {
            let is_paid = due.is_empty() && self.payouts.of_run(run).next().is_some();
            self.open.insert(run, is_paid || was_closed);
        }
    }

    /// Makes payouts to most merchants possible.
    async fn fund(&mut self) {
        for number in 0..self.accounts.len() {
            let account = &self.accounts[number];
            if account.bank.is_none() || self.rng.random_ratio(1, 3) {
                continue;
            }
            if account.holds_payments || account.holds_payouts {
                self.release(number).await;
            }
            while self.accounts[number].balance() <= 0 {
                self.pay(number).await;
                let newest = self.accounts[number].payments.len() - 1;
                self.take(number, newest, Move::Capture, RESERVED).await;
            }
        }
    }

    /// Payouts that have not come back, in random order, and perhaps of SEPA files only. Makes some
    /// if there are none.
    async fn unreturned(&mut self, is_sepa: bool) -> Vec<String> {
        loop {
            let Payouts { by_id, files } = &self.payouts;
            let is_wanted = |payout: &Payout| {
                let is_sent = payout.run.1 == "pain001" && files.contains_key(&payout.run);
                payout.returned.is_none() && (is_sent || !is_sepa)
            };
            let wanted = by_id.iter().filter(|(_, payout)| is_wanted(payout));
            let mut ids: Vec<_> = wanted.map(|(id, _)| id.clone()).collect();
            if !ids.is_empty() {
                ids.shuffle(&mut self.rng);
                return ids;
            }
            self.fund().await;
            let day = self.next_day();
            self.pay_out(day, if is_sepa { &["pain001"] } else { &["csv"] }).await;
        }
    }

    /// Gives a file of the bank to the command, and perhaps an older one.
    async fn report(&mut self, format: &'static str, case: &str) {
        let ids = self.unreturned(is_of_file(format)).await;
        let report = self.payouts.report(&mut self.rng, (format, case), &ids);
        self.book(&report).await;
        if case == "again" {
            self.book(&report).await;
        }
        self.reports.push(report);
        if self.rng.random_ratio(1, 4) {
            let report = self.reports.choose(&mut self.rng).unwrap().clone();
            self.book(&report).await;
        }
    }

    async fn book(&mut self, report: &Report) {
        let file = self.machine.place().data().join("report");
        fs::write(&file, report.content()).unwrap();
        let Outcome { named, booked, already, .. } = self.payouts.outcome(report);
        let returns = ["returns", "--from", file.to_str().unwrap()];
        let Ended { code, stdout, stderr, was_cut } = self.machine.run(&returns).await;
        assert_eq!(code, i32::from(!named.is_empty()), "{report:?}: {stdout}{stderr}");
        let mut reader = csv::Reader::from_reader(stdout.as_bytes());
        let rows = reader.records().map(Result::unwrap);
        let rows: Vec<_> = rows.map(|row| [0, 2].map(|column| row[column].to_owned())).collect();
        assert_eq!(rows, named, "{report:?}");
        let summary = stderr.lines().next().unwrap().split(' ');
        let counts: Vec<usize> = summary.filter_map(|word| word.parse().ok()).collect();
        assert_eq!(counts[0] + counts[1], booked.len() + already, "{report:?}: {stderr}");
        assert_eq!(counts[2], named.len(), "{report:?}: {stderr}");
        assert!(was_cut || counts[0] == booked.len(), "{report:?}: {stderr}");
        for (id, reason) in booked {
            let payout = self.payouts.by_id.get_mut(&id).unwrap();
            payout.returned = Some(reason);
            let account = &mut self.accounts[payout.account];
            account.paid -= minor(&payout.row.amount);
            account.holds_payouts = true;
        }
    }

    /// Compares everything that the API shows with the model, and runs `check`.
    async fn compare(&mut self) {
        let service = self.machine.up().await;
        for (number, account) in self.accounts.iter().enumerate() {
            let merchant = account.at(service);
            assert_eq!(merchant.sum_of_lines().await, account.balance());
            let fetched = merchant.fetch().await;
            let held = ["payments", "payouts"].map(|what| fetched["held"][what] == true);
            assert_eq!(held, [account.holds_payments, account.holds_payouts], "{fetched}");
            let iban = account.bank.as_ref().map(|[_, iban]| &**iban);
            assert_eq!(fetched["bank"]["iban"].as_str(), iban, "{fetched}");
            for (transaction, model) in &account.payments {
                model.matches(&transaction.by(&merchant.app).fetch().await, &[]);
            }
            let shown = payouts_of(&merchant).await.into_iter().map(|payout| {
                let returned = payout["returned"].as_object();
                let reason = returned.map(|returned| returned["reason"].clone());
                (text(&payout["id"]), reason)
            });
            let payouts: BTreeMap<_, _> = self
                .payouts
                .of_account(number)
                .map(|payout| (payout.row.id.clone(), payout.returned.clone()))
                .collect();
            assert_eq!(shown.collect::<BTreeMap<_, _>>(), payouts);
            let lines = merchant.list("/lines?limit=1000").await;
            let returned = lines.iter().filter(|line| line["returned"] == true).count();
            assert_eq!(returned, payouts.values().flatten().count());
        }
        service.data().agrees().await;
    }

    /// Finishes all runs. What the files pay, less what came back, must be what the merchants no
    /// longer have.
    async fn finish(mut self) {
        for (day, format) in self.open.clone().into_keys() {
            self.pay_out(day, &[format]).await;
        }
        self.compare().await;
        let files = self.payouts.files.iter();
        let rows: Vec<_> = files.flat_map(|(run, file)| rows(run.1, file)).collect();
        let by_id = &self.payouts.by_id;
        assert_eq!(rows.len(), by_id.len(), "a transfer is in two files, or in none");
        let service = self.machine.up().await;
        for (number, account) in self.accounts.iter().enumerate() {
            let kept = rows.iter().filter(|row| {
                by_id[&row.id].account == number && by_id[&row.id].returned.is_none()
            });
            let paid: i64 = kept.map(|row| minor(&row.amount)).sum();
            let earned: i64 = account.payments.iter().map(|(_, model)| model.balance).sum();
            assert_eq!(account.at(service).balance().await, earned - paid);
        }
        self.machine.down(false).await;
        self.machine.place().agrees().await;
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_go_as_the_model_says_whatever_is_killed() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut cuts = 0;
    for _ in 0..rounds(1, 50) {
        let mut steps = Vec::new();
        for case in CASES {
            let formats = FORMATS.sample(&mut rng, rounds(3, FORMATS.len()));
            steps.extend(formats.map(|format| Step::Return(format, case)));
        }
        for (count, step) in [
            (60, Step::Move),
            (15, Step::Dispute),
            (18, Step::Payout),
            (6, Step::Hold),
            (6, Step::Release),
            (5, Step::SetBank),
            (6, Step::Stop),
            (3, Step::Compare),
        ] {
            steps.extend(repeat_n(step, count));
        }
        steps.shuffle(&mut rng);
        let mut world = World::new(StdRng::from_rng(&mut rng)).await;
        for step in steps {
            println!("{step:?}");
            world.perform(step).await;
        }
        cuts += world.machine.cuts;
        world.finish().await;
    }
    assert!(cuts > 0, "each command was faster than the kill: the test shows nothing");
}
