//! The disputes of a merchant, for the desk: open ones by their deadline, then decided ones.

use common::sql::{Columns, Group as _, Param, Stored as _};
use jiff::Timestamp;
use payments_domain::{Currency, CustomData, Id, write::DisputeRow};

use super::{Store, StoreError};

/// A dispute, and the currency of its amount.
pub(crate) type DisputeWithCurrency = (DisputeRow, Currency);

/// A dispute in a list, with the custom data of its payment.
pub(crate) type ListedDispute = (DisputeWithCurrency, Option<CustomData>);

/// The open disputes of the merchant `$1` after the deadline `$2` and the ID `$3`, at most `$4`.
const OPEN: &str = "disputes.merchant = $1 AND decision IS NULL AND (due, disputes.id) > ($2, $3)
     ORDER BY due, disputes.id LIMIT $4";

/// The decided disputes of the merchant `$1` before the ID `$2`, newest first, at most `$3`.
const DECIDED: &str = "disputes.merchant = $1 AND decision IS NOT NULL AND disputes.id < $2
     ORDER BY disputes.id DESC LIMIT $3";

fn select(condition: &str) -> String {
    format!(
        "SELECT {}, transactions.currency, customs.custom
         FROM disputes JOIN transactions ON transactions.id = disputes.\"transaction\"
         LEFT JOIN customs ON has_custom AND customs.\"transaction\" = transactions.id
         WHERE {condition}",
        DisputeRow::of("disputes")
    )
}

impl Store {
    /// The open disputes of a merchant by due date, after the dispute with this due date and ID.
    pub(crate) async fn disputes_by_due_date(
        &self,
        merchant: Id,
        (due, id): (Timestamp, Id),
        limit: u32,
    ) -> Result<Vec<ListedDispute>, StoreError> {
        let params = [merchant.param(), due.param(), id.param(), Param::Int(limit.into())];
        self.query_all(&select(OPEN), &params, read).await
    }

    /// The decided disputes of a merchant, newest first.
    pub(crate) async fn decided_disputes(
        &self,
        merchant: Id,
        before: Id,
        limit: u32,
    ) -> Result<Vec<ListedDispute>, StoreError> {
        let params = [merchant.param(), before.param(), Param::Int(limit.into())];
        self.query_all(&select(DECIDED), &params, read).await
    }

    /// The disputes of a transaction.
    pub(crate) async fn disputes_of_transaction(
        &self,
        transaction: Id,
        currency: Currency,
    ) -> Result<Vec<DisputeWithCurrency>, StoreError> {
        let sql = format!(
            "SELECT {} FROM disputes WHERE \"transaction\" = $1 ORDER BY id",
            DisputeRow::of("disputes")
        );
        let read = move |columns: &mut Columns<'_>| Ok((DisputeRow::read(columns)?, currency));
        self.query_all(&sql, &[transaction.param()], read).await
    }
}

fn read(columns: &mut Columns<'_>) -> Result<ListedDispute, common::sql::ColumnError> {
    Ok(((DisputeRow::read(columns)?, columns.read()?), columns.read()?))
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn disputes_are_read_in_the_order_of_an_index() {
        for (condition, index) in [
            (OPEN, "open_disputes_of_merchants (merchant=? AND (due,id)>(?,?))"),
            (DECIDED, "decided_disputes (merchant=? AND id<?)"),
        ] {
            let plan = plan(&database(), &select(condition));
            assert_eq!(plan[0], format!("SEARCH disputes USING INDEX {index}"));
            assert!(plan.len() == 3 && plan[1].starts_with("SEARCH transactions"), "{plan:?}");
            assert!(plan[2].starts_with("SEARCH customs"), "{plan:?}");
        }
    }
}
