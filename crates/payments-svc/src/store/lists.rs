//! Lists of one owner (an app, a merchant or a transaction), in the order of IDs.
//!
//! 1. A page is a range of IDs of one owner. An index in the order of the list serves it, so a page
//!    costs the same wherever it is in the list. A test checks the query plans in SQLite.
//! 2. In PostgreSQL, database transactions can commit in another order than the order of their IDs.
//!    A caller that continues after the last item of a page would then miss an item with a smaller
//!    ID that is committed later.
//! 3. So a page with `after` shows only settled items: those with an ID up to a limit, such that no
//!    open database transaction can add an item with an ID up to this limit. [`Store::settled`]
//!    waits for this, up to a second.
//! 4. A page without `after` does not wait, and shows everything that is committed. In SQLite,
//!    everything is settled, because one database transaction writes at a time.

use std::collections::HashMap;

use common::sql::{ColumnError, Columns, Group as _, Param, Stored};
use jiff::{SignedDuration, Timestamp};
use payments_domain::{
    Amount, ApiKeyDetails, App, BalanceLine, Currency, Dispute, Email, FraudAlert, Id, Merchant,
    PageQuery, Payout, ReferenceDigest, Step, Transaction, TransactionStatus, User, Webhook,
    write::AttemptRow,
};

use super::{
    Engine, Owner, SHORT_TRAIL, Store, StoreError,
    rows::{self, LoadedTrail, Resource},
};

/// The transactions to list: those that satisfy all conditions.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransactionFilter {
    pub(crate) successful: Option<bool>,
    pub(crate) reference: Option<ReferenceDigest>,
    /// The last four digits of the card.
    pub(crate) last4: Option<String>,
    pub(crate) amount: Option<Amount>,
    pub(crate) state: Option<TransactionStatus>,
    pub(crate) currency: Option<Currency>,
    pub(crate) created: Range,
}

/// A user of a merchant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) id: Id,
    pub(crate) email: Email,
    /// The time of the first invitation.
    pub(crate) created: Timestamp,
    /// When the user accepted the invitation.
    pub(crate) accepted: Option<Timestamp>,
    /// When the last link of an invitation ends.
    pub(crate) until: Option<Timestamp>,
    /// Whether a mail with a link waits to be sent.
    pub(crate) is_mailed: bool,
}

/// Times from the first one, and before the second one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
}

/// The second of an ID and the time of its row differ if a batch waited, or if somebody set the
/// clock back. By more than this, a list does not find the row by its time.
const CLOCK_MARGIN: SignedDuration = SignedDuration::from_hours(1);

impl Range {
    /// The IDs before and after those of rows of these times.
    pub(super) fn ids(self) -> [Id; 2] {
        let from = self.from.map(|from| from.checked_sub(CLOCK_MARGIN).unwrap_or(Timestamp::MIN));
        let to = self.to.map(|to| to.checked_add(CLOCK_MARGIN).unwrap_or(Timestamp::MAX));
        [from.map_or(Id::MIN, Id::at), to.map_or(Id::MAX, Id::at)]
    }
}

/// A search may read so many transactions one by one.
const FEW: Param<'static> = Param::Int(5000);

/// Finds a row if the merchant `$1` has more than `$3` transactions in the state `$2`.
const BEYOND_FEW: &str =
    "SELECT 1 FROM transaction_states WHERE merchant = $1 AND state = $2 LIMIT 1 OFFSET $3";

/// Begins the condition that a payout holds a line back: it is a capture, not its refusal, and younger
/// than a time.
const YOUNG: &str = "kind = 'capture' AND lines.amount > 0 AND lines.created";

/// The column of the state of a transaction.
const STATE: &str = "transaction_states.state";

struct List<'a> {
    /// Selects the rows of the owner `$1`.
    select: String,
    /// The column that the list is sorted by.
    id: &'static str,
    /// All IDs of the list are between these.
    ids: [Id; 2],
    /// Further conditions, with parameters from `$4`.
    filter: String,
    params: Vec<Param<'a>>,
}

impl<'a> List<'a> {
    fn new(select: String, id: &'static str) -> Self {
        Self { select, id, ids: [Id::MIN, Id::MAX], filter: String::new(), params: Vec::new() }
    }

    /// The resources of type `R` that satisfy a condition on their owner.
    fn of<R: Resource>(condition: &str, id: &'static str) -> Self {
        let (columns, from) = R::select();
        Self::new(format!("SELECT {columns} FROM {from} WHERE {condition}"), id)
    }

    /// Adds a condition: a column, an operator and a parameter.
    fn compare(&mut self, (column, operator): (&str, &str), param: Param<'a>) {
        let number = self.bind(param);
        self.filter += &format!(" AND {column} {operator} ${number}");
    }

    /// Keeps only the rows of these times in the column.
    fn within(mut self, column: &'static str, times: Range) -> Self {
        self.ids = times.ids();
        for (operator, time) in [(">=", times.from), ("<", times.to)] {
            if let Some(time) = time {
                self.compare((column, operator), time.param().owned());
            }
        }
        self
    }

    /// Adds a parameter, and returns its number.
    fn bind(&mut self, param: Param<'a>) -> usize {
        self.params.push(param);
        self.params.len() + 3
    }

    /// `test_column` is the column that marks test merchants.
    fn merchants(test_column: &str, test: Option<bool>) -> Self {
        let filter = test.map(|test| format!("AND {test_column} = {test}")).unwrap_or_default();
        let (columns, _) = Merchant::select();
        let select = format!(
            "SELECT {columns}
             FROM merchant_apps JOIN merchants ON merchants.id = merchant_apps.merchant
             WHERE app = $1 {filter}"
        );
        Self::new(select, "merchant_apps.merchant")
    }

    fn users() -> Self {
        let select = format!(
            "SELECT {}, accepted,
                 (SELECT max(until) FROM sign_in_links AS link
                  WHERE link.\"user\" = users.id AND link.merchant = $1),
                 EXISTS (SELECT 1 FROM mails
                         WHERE mails.merchant = $1 AND mails.\"user\" = users.id)
             FROM merchant_users JOIN users ON users.id = \"user\" WHERE merchant = $1",
            User::of("users")
        );
        Self::new(select, "\"user\"")
    }

    fn apps() -> Self {
        let select = format!(
            "SELECT {} FROM merchant_apps JOIN apps ON apps.id = app WHERE merchant = $1",
            App::of("apps")
        );
        Self::new(select, "app")
    }

    fn api_keys() -> Self {
        let key = ApiKeyDetails::of("api_keys");
        Self::new(format!("SELECT {key} FROM api_keys WHERE app = $1"), "id")
    }

    fn lines(created: Range) -> Self {
        Self::of::<BalanceLine>("lines.merchant = $1", "lines.id").within("lines.created", created)
    }

    fn payouts() -> Self {
        Self::of::<Payout>("payouts.merchant = $1", "payouts.id")
    }

    /// The lines since the payout `before`, and the captures that it held back; without those that
    /// `payout` held back.
    fn lines_of_payout(payout: &'a Payout, before: Option<&'a Payout>) -> Self {
        let mut list = Self::lines(Range::default());
        list.ids[1] = payout.line;
        if let Some(since) = &payout.held_since {
            let since = list.bind(since.param());
            list.filter += &format!(" AND NOT ({YOUNG} > ${since})");
        }
        let Some(before) = before else { return list };
        list.ids[0] = before.line;
        if let Some(since) = &before.held_since {
            list.ids[0] = before.line.min(Range { from: Some(*since), to: None }.ids()[0]);
            let (line, since) = (list.bind(before.line.param()), list.bind(since.param()));
            list.filter += &format!(" AND (lines.id > ${line} OR {YOUNG} > ${since})");
        }
        list
    }

    /// `hints` says whether the SQL names the index, for SQLite. `rare`: few transactions have the
    /// state.
    fn transactions(filter: &'a TransactionFilter, hints: bool, rare: bool) -> Self {
        let TransactionFilter { successful, reference, last4, amount, state, currency, created } =
            filter;
        // The first of these that is given probably finds the fewest transactions.
        let mut equal = [
            ("custom_reference", "reference", reference.as_ref().map(Stored::param)),
            ("last4", "last4", last4.as_ref().map(Stored::param)),
            ("amount", "amount", amount.as_ref().map(Stored::param)),
            (STATE, "state", state.as_ref().map(Stored::param)),
            ("currency", "currency", currency.as_ref().map(Stored::param)),
        ];
        if rare {
            equal.swap(2, 3);
        }
        let first = equal.iter().find(|(.., param)| param.is_some());
        let begins_with_state = first.is_some_and(|(column, ..)| *column == STATE);
        let (columns, tables) = LoadedTrail::select();
        let mut tables = match first {
            // SQLite does not know how many rows a condition finds.
            Some((_, index, _)) if hints && !begins_with_state => {
                let hint = format!("transactions INDEXED BY transactions_by_{index}");
                tables.replacen("transactions", &hint, 1)
            }
            _ => tables.to_owned(),
        };
        let (mut id, mut with_state) = ("transactions.id", "");
        if state.is_some() {
            with_state = "AND transaction_states.merchant = transactions.merchant
                 AND transaction_states.\"transaction\" = transactions.id";
            // SQLite joins in this order.
            tables = if begins_with_state {
                id = "transaction_states.\"transaction\"";
                format!("transaction_states CROSS JOIN {tables}")
            } else {
                format!("{tables} CROSS JOIN transaction_states")
            };
        }
        let condition = match successful {
            None => "",
            Some(true) => "AND error IS NULL",
            Some(false) => "AND error IS NOT NULL",
        };
        let select = format!(
            "SELECT {columns} FROM {tables}
             WHERE transactions.merchant = $1 {condition} {with_state}"
        );
        let mut list = Self::new(select, id);
        for (column, _, param) in equal {
            if let Some(param) = param {
                list.compare((column, "="), param);
            }
        }
        list.within("transactions.created", *created)
    }

    fn disputes(about: Owner) -> Self {
        Self::of::<Dispute>(&format!("{} = $1", owner(about).0), "id")
    }

    fn webhooks() -> Self {
        let webhook = Webhook::of("webhooks");
        Self::new(format!("SELECT {webhook} FROM webhooks WHERE app = $1"), "id")
    }

    /// The only list that is sorted when it is read: it has at most
    /// [`MAX_RECORDED_ATTEMPTS`](payments_domain::MAX_RECORDED_ATTEMPTS) items.
    fn deliveries() -> Self {
        let attempt = AttemptRow::of("webhook_attempts");
        Self::new(format!("SELECT {attempt} FROM webhook_attempts WHERE webhook = $1"), "id")
    }

    fn frauds(about: Owner) -> Self {
        Self::of::<FraudAlert>(&format!("{} = $1", owner(about).0), "id")
    }

    /// SQL of a page: items after `$2` and before `$3`. The last parameter is their maximum number.
    fn page(&self, forward: bool) -> String {
        let Self { select, id, filter, params, ids: _ } = self;
        let order = if forward { "ASC" } else { "DESC" };
        let limit = params.len() + 4;
        format!("{select} AND {id} > $2 AND {id} < $3{filter} ORDER BY {id} {order} LIMIT ${limit}")
    }
}

/// The column that selects rows, and its value.
fn owner(about: Owner) -> (&'static str, Id) {
    match about {
        Owner::Merchant(id) => ("merchant", id),
        Owner::Transaction(id) => ("\"transaction\"", id),
    }
}

impl Store {
    /// The merchants of an app: all, only test merchants (`true`), or only the others (`false`).
    pub(crate) async fn merchants(
        self,
        app: Id,
        page_query: PageQuery,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, StoreError> {
        let test_column = match &self.engine {
            // An index on this column has the order of the list.
            Engine::Sqlite(_) => "merchant_apps.test",
            // There is no such index.
            Engine::Postgres(_) => "merchants.test",
        };
        self.page(&List::merchants(test_column, test), app, page_query, Merchant::of_row).await
    }

    pub(crate) async fn users(
        self,
        merchant: Id,
        page_query: PageQuery,
    ) -> Result<Vec<Member>, StoreError> {
        let read = |columns: &mut Columns<'_>| {
            let User { id, email, created } = User::read(columns)?;
            let (accepted, until) = (columns.read()?, columns.read()?);
            Ok(Member { id, email, created, accepted, until, is_mailed: columns.read()? })
        };
        self.page(&List::users(), merchant, page_query, read).await
    }

    pub(crate) async fn apps(
        self,
        merchant: Id,
        page_query: PageQuery,
    ) -> Result<Vec<App>, StoreError> {
        self.page(&List::apps(), merchant, page_query, App::read).await
    }

    pub(crate) async fn api_keys(
        self,
        app: Id,
        page_query: PageQuery,
    ) -> Result<Vec<ApiKeyDetails>, StoreError> {
        self.page(&List::api_keys(), app, page_query, ApiKeyDetails::read).await
    }

    pub(crate) async fn lines(
        self,
        merchant: Id,
        page_query: PageQuery,
        created: Range,
    ) -> Result<Vec<BalanceLine>, StoreError> {
        self.page(&List::lines(created), merchant, page_query, BalanceLine::of_row).await
    }

    /// The transactions of a merchant that satisfy all conditions of the filter.
    pub(crate) async fn transactions(
        self,
        merchant: Id,
        page_query: PageQuery,
        filter: TransactionFilter,
    ) -> Result<Vec<Transaction>, StoreError> {
        let found = self.found(merchant, page_query, &filter).await?;
        self.with_trails(found).await
    }

    /// Like [`Self::transactions`], without their trails.
    pub(crate) async fn bare_transactions(
        self,
        merchant: Id,
        page_query: PageQuery,
        filter: TransactionFilter,
    ) -> Result<Vec<Transaction>, StoreError> {
        let found = self.found(merchant, page_query, &filter).await?;
        Ok(found.into_iter().map(|(transaction, _)| transaction).collect())
    }

    async fn found(
        &self,
        merchant: Id,
        page_query: PageQuery,
        filter: &TransactionFilter,
    ) -> Result<Vec<LoadedTrail>, StoreError> {
        let rare = self.has_rare_state(merchant, filter).await?;
        let list = List::transactions(filter, matches!(self.engine, Engine::Sqlite(_)), rare);
        self.page(&list, merchant, page_query, LoadedTrail::of_row).await
    }

    /// Whether few transactions have the state, so that its index finds them sooner than the amount,
    /// which all of them may have. False if only one of the two is given.
    async fn has_rare_state(
        &self,
        merchant: Id,
        filter: &TransactionFilter,
    ) -> Result<bool, StoreError> {
        let TransactionFilter { state: Some(state), amount: Some(_), .. } = filter else {
            return Ok(false);
        };
        let params = [merchant.param(), state.param(), FEW];
        Ok(self.query_one(BEYOND_FEW, &params, |_| Ok(())).await?.is_none())
    }

    pub(crate) async fn disputes(
        self,
        about: Owner,
        page_query: PageQuery,
    ) -> Result<Vec<Dispute>, StoreError> {
        self.page(&List::disputes(about), owner(about).1, page_query, Dispute::of_row).await
    }

    pub(crate) async fn frauds(
        self,
        about: Owner,
        page_query: PageQuery,
    ) -> Result<Vec<FraudAlert>, StoreError> {
        self.page(&List::frauds(about), owner(about).1, page_query, FraudAlert::of_row).await
    }

    pub(crate) async fn webhooks(
        self,
        app: Id,
        page_query: PageQuery,
    ) -> Result<Vec<Webhook>, StoreError> {
        self.page(&List::webhooks(), app, page_query, Webhook::read).await
    }

    pub(crate) async fn payouts(
        self,
        merchant: Id,
        page_query: PageQuery,
    ) -> Result<Vec<Payout>, StoreError> {
        self.page(&List::payouts(), merchant, page_query, Payout::of_row).await
    }

    /// The lines that a payout paid.
    pub(crate) async fn lines_of_payout(
        self,
        payout: Payout,
        page_query: PageQuery,
    ) -> Result<Vec<BalanceLine>, StoreError> {
        let merchant = payout.transfer.merchant;
        let last = PageQuery { limit: 1, before: Some(payout.id), after: None };
        let before = self.clone().payouts(merchant, last).await?;
        let list = List::lines_of_payout(&payout, before.first());
        self.page(&list, merchant, page_query, BalanceLine::of_row).await
    }

    /// The last attempts to deliver events to an endpoint.
    pub(crate) async fn deliveries(
        self,
        webhook: Id,
        page_query: PageQuery,
    ) -> Result<Vec<AttemptRow>, StoreError> {
        self.page(&List::deliveries(), webhook, page_query, AttemptRow::read).await
    }

    /// Adds the trails to these transactions. The numbers are the lengths of the trails.
    pub(super) async fn with_trails(
        &self,
        found: Vec<(Transaction, u32)>,
    ) -> Result<Vec<Transaction>, StoreError> {
        let mut trails = self.trails(&found).await?;
        let with_trail = |found: (Transaction, u32)| {
            let trail = trails.remove(&found.0.id).unwrap_or_default();
            rows::with_trail(found, trail)
        };
        Ok(found.into_iter().map(with_trail).collect())
    }

    async fn trails(
        &self,
        transactions: &[(Transaction, u32)],
    ) -> Result<HashMap<Id, Vec<Step>>, StoreError> {
        let moved = transactions.iter().filter(|(_, steps)| *steps > 0);
        let (ids, steps): (Vec<Id>, Vec<u64>) =
            moved.map(|(transaction, steps)| (transaction.id, u64::from(*steps))).unzip();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let params = padded(&ids);
        let sql = format!(
            "SELECT \"transaction\", {} FROM trail WHERE \"transaction\" IN ({})
             ORDER BY \"transaction\", step",
            Step::of("trail"),
            placeholders(params.len())
        );
        let step = |columns: &mut Columns<'_>| Ok((columns.read::<Id>()?, Step::read(columns)?));
        let steps = if steps.iter().sum::<u64>() <= SHORT_TRAIL.into() {
            self.query_all(&sql, &params, step).await?
        } else {
            self.query_all_in_background(sql, &params, step).await?
        };
        let mut trails = HashMap::<_, Vec<_>>::new();
        for (transaction, step) in steps {
            trails.entry(transaction).or_default().push(step);
        }
        Ok(trails)
    }

    /// A page of a list; see the module for `after`.
    async fn page<T: Send + 'static>(
        &self,
        list: &List<'_>,
        owner: Id,
        page_query: PageQuery,
        item: fn(&mut Columns<'_>) -> Result<T, ColumnError>,
    ) -> Result<Vec<T>, StoreError> {
        let [after, before] = self.window(page_query).await?;
        let (after, before) = (after.max(list.ids[0]), before.min(list.ids[1]));
        let mut params = vec![owner.param(), after.param(), before.param()];
        params.extend_from_slice(&list.params);
        params.push(Param::Int(page_query.limit.into()));
        self.query_all(&list.page(page_query.is_forward()), &params, item).await
    }

    /// The IDs before and after the items of a page; see the module for `after`.
    pub(super) async fn window(&self, page_query: PageQuery) -> Result<[Id; 2], StoreError> {
        let settled = match page_query.after {
            Some(_) => self.settled().await?,
            None => Id::MAX,
        };
        let after = page_query.after.unwrap_or(Id::MIN);
        Ok([after, page_query.before.unwrap_or(Id::MAX).min(settled.successor())])
    }
}

/// Values for an `IN`. The last ID is repeated up to the next power of two, so that there are few
/// different statements, which PostgreSQL keeps for each connection.
pub(super) fn padded(ids: &[Id]) -> Vec<Param<'_>> {
    let count = ids.len().next_power_of_two();
    ids.iter().chain(ids.last().into_iter().cycle()).take(count).map(Id::param).collect()
}

/// Parameters from `$1` for an `IN` of so many values.
pub(super) fn placeholders(count: usize) -> String {
    (1..=count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use payments_domain::{Iban, Money, Transfer};

    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    /// Two payouts. The second one was before the first, and held captures back.
    fn payouts() -> (Payout, Payout) {
        let payout = Payout {
            id: Id::MAX,
            created: Timestamp::UNIX_EPOCH,
            test: true,
            line: Id::MAX,
            held_since: None,
            transfer: Transfer {
                merchant: Id::MIN,
                name: String::new(),
                iban: Iban::new("DK5000400440116243").unwrap(),
                amount: Money { currency: Currency::EUR, minor: 1 },
            },
            returned: None,
        };
        (payout.clone(), Payout { held_since: Some(Timestamp::UNIX_EPOCH), ..payout })
    }

    /// All combinations of filters of transactions, each with the index that finds them.
    fn filters() -> Vec<(TransactionFilter, &'static str)> {
        let indexes =
            ["by_reference", "by_last4", "by_amount", "transaction_states", "by_currency"];
        let all = (0..1 << 7).flat_map(|bits| {
            [None, Some(true), Some(false)].map(|successful| {
                let has = |bit: u32| bits & 1 << bit != 0;
                let created = Range {
                    from: has(5).then_some(Timestamp::UNIX_EPOCH),
                    to: has(6).then_some(Timestamp::MAX),
                };
                let filter = TransactionFilter {
                    successful,
                    reference: has(0).then(|| ReferenceDigest::of("5011")),
                    last4: has(1).then(|| "0000".to_owned()),
                    amount: has(2).then(|| Amount::new(100).unwrap()),
                    state: has(3).then_some(TransactionStatus::Captured),
                    currency: has(4).then_some(Currency::EUR),
                    created,
                };
                let of_successful = match successful {
                    None => "transactions_of_merchants",
                    Some(true) => "successful_transactions",
                    Some(false) => "failed_transactions",
                };
                let first = (0..5).find(|&bit| has(bit));
                (filter, first.map_or(of_successful, |bit| indexes[bit as usize]))
            })
        });
        all.collect()
    }

    #[test]
    fn the_first_filter_of_transactions_chooses_the_index() {
        let db = database();
        for (filter, index) in filters() {
            for (forward, rare) in [(true, false), (false, false), (false, true)] {
                let is_swapped = rare && filter.state.is_some() && index == "by_amount";
                let index = if is_swapped { "SEARCH transaction_states" } else { index };
                let plan = plan(&db, &List::transactions(&filter, true, rare).page(forward));
                assert!(plan.iter().any(|step| step.contains(index)), "{filter:?}: {plan:?}");
            }
        }
    }

    #[test]
    fn deliveries_are_those_of_one_endpoint() {
        let plan = plan(&database(), &List::deliveries().page(false));
        let expected = ["SEARCH webhook_attempts USING PRIMARY KEY (webhook=?)"];
        assert_eq!(
            plan.iter().filter(|step| !step.starts_with("USE TEMP")).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn a_time_narrows_the_ids() {
        let time = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let (from, to) = (time("2026-11-27T10:00:00Z"), time("2026-11-27T11:00:00Z"));
        let [after, before] = Range { from, to }.ids();
        assert_eq!(after.created(), time("2026-11-27T09:00:00Z").unwrap());
        assert_eq!(before.created(), time("2026-11-27T12:00:00Z").unwrap());
        let all = Range { from: Some(Timestamp::MIN), to: Some(Timestamp::MAX) }.ids();
        assert!(all[0] == Id::MIN && all[1] > Id::at("2106-01-01T00:00:00Z".parse().unwrap()));
        assert_eq!(Range::default().ids(), [Id::MIN, Id::MAX]);
    }

    #[test]
    fn every_page_is_an_index_range_that_needs_no_sort() {
        let db = database();
        let mut lists = vec![List::users(), List::apps(), List::api_keys(), List::webhooks()];
        for filter in [None, Some(true), Some(false)] {
            lists.push(List::merchants("merchant_apps.test", filter));
        }
        let (payout, before) = payouts();
        for (payout, before) in [(&payout, None), (&payout, Some(&before)), (&before, None)] {
            lists.push(List::lines_of_payout(payout, before));
        }
        lists.push(List::payouts());
        let month = Range { from: Some(Timestamp::UNIX_EPOCH), to: Some(Timestamp::MAX) };
        lists.extend([Range::default(), month].map(List::lines));
        let filters = filters();
        for rare in [true, false] {
            lists.extend(filters.iter().map(|(filter, _)| List::transactions(filter, true, rare)));
        }
        for about in [Owner::Merchant(Id::MIN), Owner::Transaction(Id::MIN)] {
            lists.extend([List::disputes(about), List::frauds(about)]);
        }
        for list in lists {
            for forward in [true, false] {
                let plan = plan(&db, &list.page(forward));
                let is_window =
                    |step: &&String| step.contains("=? AND ") && step.contains(">? AND ");
                assert_eq!(plan.iter().filter(is_window).count(), 1, "{plan:?}");
                // All other steps look up single rows. None sorts.
                let is_looked_up =
                    |step: &String| !step.starts_with("SCAN") && !step.contains("TEMP B-TREE");
                assert!(plan.iter().all(is_looked_up), "{plan:?}");
            }
        }
    }
}
