//! What a user searches for among the payments of a merchant: the form, its fields, and the filter of
//! the store.

use std::borrow::Cow;

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use payments_domain::{Currency, ReferenceDigest, TransactionStatus, is_last4};
use url::form_urlencoded;

use super::view::{Field, Select};
use crate::{
    app::{Range, TransactionFilter},
    language::Language,
    web::fields,
};

/// What the user has typed into the form, and the page.
#[derive(Default)]
pub(super) struct Search {
    reference: Option<String>,
    last4: Option<String>,
    amount: Option<String>,
    state: Option<String>,
    from: Option<String>,
    to: Option<String>,
    /// Only payments before this one.
    pub(super) before: Option<String>,
}

/// The names of the fields that are wrong.
pub(super) type Wrong = Vec<&'static str>;

impl Search {
    /// Empty fields are left out. A query that cannot be read searches for nothing.
    pub(super) fn read(query: Option<&str>) -> Self {
        let read = fields::read_query(query, |fields| {
            let mut text = |name| {
                let text = fields.optional(name, |text| Ok::<_, String>(text.trim().to_owned()));
                text.map(|text| text.filter(|text| !text.is_empty()))
            };
            let (reference, last4, amount) = (text("reference"), text("last4"), text("amount"));
            let (state, from, to, before) =
                (text("state"), text("from"), text("to"), text("before"));
            Ok(Self {
                reference: reference?,
                last4: last4?,
                amount: amount?,
                state: state?,
                from: from?,
                to: to?,
                before: before?,
            })
        });
        read.unwrap_or_default()
    }

    /// The amount is in the currency of the merchant, and both days belong to the range.
    pub(super) fn filter(
        &self,
        language: &Language,
        currency: Currency,
    ) -> Result<TransactionFilter, Wrong> {
        let mut wrong = Vec::new();
        let last4 = self.last4.clone();
        if last4.as_ref().is_some_and(|text| !is_last4(text)) {
            wrong.push("last4");
        }
        let amount_of =
            |typed: &String| language.amount_of(typed, Some(currency))?.amount(currency).ok();
        let amount = read(self.amount.as_ref(), amount_of, "amount", &mut wrong);
        let state_of = |typed: &String| TransactionStatus::from_name(typed);
        let state = read(self.state.as_ref(), state_of, "state", &mut wrong);
        let from = read(self.from.as_ref(), |day| beginning(day, 0), "from", &mut wrong);
        let to = read(self.to.as_ref(), |day| beginning(day, 1), "to", &mut wrong);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let reference = self.reference.as_ref().map(|text| ReferenceDigest::of(text));
        let created = Range { from, to };
        let filter = TransactionFilter::default();
        Ok(TransactionFilter { reference, last4, amount, state, created, ..filter })
    }

    /// The query of the same search, or of a page of it.
    pub(super) fn query(&self, before: Option<&str>) -> String {
        let Self { reference, last4, amount, state, from, to, before: _ } = self;
        let fields = [
            ("reference", reference.as_deref()),
            ("last4", last4.as_deref()),
            ("amount", amount.as_deref()),
            ("state", state.as_deref()),
            ("from", from.as_deref()),
            ("to", to.as_deref()),
            ("before", before),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
    }

    /// Whether the user has searched for more than a reference.
    pub(super) fn has_filters(&self) -> bool {
        let Self { last4, amount, state, from, to, .. } = self;
        [last4, amount, state, from, to].into_iter().any(Option::is_some)
    }

    /// The field for the reference, and the others but for the state. `wrong` are those that are
    /// wrong.
    pub(super) fn fields<'a>(
        &'a self,
        language: &'a Language,
        currency: Currency,
        wrong: &[&str],
    ) -> (Field<'a>, [Field<'a>; 4]) {
        let Self { reference, last4, amount, from, to, .. } = self;
        let amount_label = format!("{} ({currency})", language.amount());
        let field = |name, label, value, attributes, error| Field {
            name,
            label,
            value: Option::as_deref(value).unwrap_or_default(),
            attributes,
            hint: None,
            error: Some(error).filter(|_| wrong.contains(&name)),
        };
        let digits = "inputmode=\"numeric\" autocomplete=\"off\" maxlength=\"4\"";
        let (text, decimal) =
            ("autocomplete=\"off\"", "inputmode=\"decimal\" autocomplete=\"off\"");
        let (date, day_error) = ("type=\"date\"", language.day_error());
        let amount_error = language.amount_error(currency.exponent());
        let reference = field("reference", language.reference(), reference, text, Cow::default());
        let filters = [
            field("last4", language.last_four(), last4, digits, language.last_four_error()),
            field("amount", amount_label.into(), amount, decimal, amount_error),
            field("from", language.first_day(), from, date, day_error.clone()),
            field("to", language.last_day(), to, date, day_error),
        ];
        (reference, filters)
    }

    pub(super) fn states<'a>(&'a self, language: &'a Language) -> Select<'a> {
        let states = TransactionStatus::ALL;
        let states = states.map(|state| (state.name().into(), status(language, state)));
        let options = [(Cow::default(), language.all_states())].into_iter().chain(states).collect();
        let value = self.state.as_deref().unwrap_or_default();
        Select { name: "state", label: language.state(), value, options }
    }
}

/// Reads a field that was filled in.
fn read<T>(
    typed: Option<&String>,
    read: impl FnOnce(&String) -> Option<T>,
    name: &'static str,
    wrong: &mut Wrong,
) -> Option<T> {
    let value = read(typed?);
    if value.is_none() {
        wrong.push(name);
    }
    value
}

/// The beginning in UTC of the day so many days after this one.
pub(super) fn beginning(day: &str, later: i64) -> Option<Timestamp> {
    let day: Date = day.parse().ok()?;
    Some(day.checked_add(later.days()).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The state in the words of the language.
pub(super) fn status(language: &Language, state: TransactionStatus) -> Cow<'_, str> {
    match state {
        TransactionStatus::Failed => language.failed(),
        TransactionStatus::Disputed => language.disputed(),
        TransactionStatus::Refunded => language.refunded(),
        TransactionStatus::PartlyRefunded => language.partly_refunded(),
        TransactionStatus::Captured => language.captured(),
        TransactionStatus::PartlyCaptured => language.partly_captured(),
        TransactionStatus::Voided => language.voided(),
        TransactionStatus::Authorized => language.authorized(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(query: &str) -> Search {
        Search::read(Some(query))
    }

    fn filter(query: &str) -> Result<TransactionFilter, Wrong> {
        search(query).filter(Language::english(), Currency::EUR)
    }

    #[test]
    fn empty_fields_search_for_everything() {
        for query in ["", "reference=&last4=+&amount=&state=&from=&to="] {
            let filter = filter(query).unwrap_or_else(|_| panic!("{query}"));
            assert!(filter.reference.is_none() && filter.last4.is_none());
            assert!(filter.amount.is_none() && filter.created.from.is_none());
        }
    }

    #[test]
    fn a_range_of_days_has_both() {
        let filter = filter("from=2026-11-27&to=2026-11-28").unwrap_or_default();
        let Range { from, to } = filter.created;
        assert_eq!(from, "2026-11-27T00:00:00Z".parse().ok());
        assert_eq!(to, "2026-11-29T00:00:00Z".parse().ok());
    }

    #[test]
    fn wrong_fields_are_named() {
        let wrong = filter("last4=12&amount=x&state=paid&from=2026-02-30&to=tomorrow").err();
        assert_eq!(wrong, Some(vec!["last4", "amount", "state", "from", "to"]));
        assert_eq!(
            filter("amount=9.95").ok().and_then(|it| it.amount).map(|it| it.minor()),
            Some(995)
        );
    }

    #[test]
    fn the_next_page_continues_the_search() {
        let query = search("reference=a%26b&last4=1234&before=old").query(Some("new"));
        assert_eq!(query, "reference=a%26b&last4=1234&before=new");
    }
}
