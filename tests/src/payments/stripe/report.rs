//! The report [Itemized balance change from activity](https://docs.stripe.com/reports/balance).

use jiff::Timestamp;
use serde_json::Value;

use super::{account::Account, form::int};

const HEADER: &str = "balance_transaction_id,created_utc,reporting_category,source_id,gross,currency,\
    fee,customer_facing_amount,customer_facing_currency,payment_intent_id,\
    refund_metadata[operation]";

/// The report of everything that was booked, in currencies with two decimals.
pub(super) fn csv(account: &Account) -> String {
    let rows = account.all("txn").map(|booked| row(account, booked));
    std::iter::once(HEADER.to_owned()).chain(rows).map(|row| row + "\n").collect()
}

fn row(account: &Account, booked: &Value) -> String {
    let text = |object: &Value, name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let decimal = |name: &str| {
        let units = int(booked, name);
        let sign = if units < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", units.abs() / 100, units.abs() % 100)
    };
    let created = Timestamp::from_second(int(booked, "created")).expect("a time");
    let source = account.object(&text(booked, "source")).expect("it was booked");
    let (category, currency) = (text(booked, "reporting_category"), text(booked, "currency"));
    // Stripe knows the amount that the customer sees only of charges and refunds.
    let [seen, seen_in] = match category.as_str() {
        "charge" | "refund" => [decimal("amount"), currency.clone()],
        _ => Default::default(),
    };
    let refund = match category.as_str() {
        "refund" | "refund_failure" => text(&source["metadata"], "operation"),
        _ => String::new(),
    };
    [
        text(booked, "id"),
        created.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        category,
        text(booked, "source"),
        decimal("amount"),
        currency,
        decimal("fee"),
        seen,
        seen_in,
        text(source, "payment_intent"),
        refund,
    ]
    .join(",")
}
