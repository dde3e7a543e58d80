//! The books of payments-svc beside those of demo-acquirer.

use std::collections::HashSet;

use serde_json::Value;

use super::Stopped;

impl Stopped {
    /// Compares the live payments, captures, refunds and voids with the operations in the book of
    /// demo-acquirer. Each must be executed there once, with the same currency and amount, and
    /// nothing else. A reversed authorization must not be a payment here. All must be settled.
    #[track_caller]
    pub fn equals(&self, operations: &[Value]) {
        let (here, there) = (self.operations(), executed(operations));
        let [ours, theirs] =
            [&here, &there].map(|operations| operations.iter().collect::<HashSet<_>>());
        let only_here: Vec<_> = ours.difference(&theirs).collect();
        let only_there: Vec<_> = theirs.difference(&ours).collect();
        assert!(
            only_here.is_empty() && only_there.is_empty(),
            "only here: {only_here:?}, only there: {only_there:?}"
        );
        assert_eq!(here.len(), there.len(), "an operation is booked twice");
    }

    /// Each operation that is booked and not reversed: its key, kind, currency and amount.
    fn operations(&self) -> Vec<String> {
        let payment = self.digits("coalesce(acquirer_key, pending_payment)");
        let movement = self.digits("trail.acquirer_key");
        self.texts(&format!(
            "SELECT {payment} || ' authorization ' || currency || ' ' || amount
             FROM transactions WHERE error IS NULL AND acquirer = 'http'
             UNION ALL
             SELECT {movement} || ' ' || movement || ' ' || currency || ' ' || trail.amount
             FROM trail JOIN transactions ON transactions.id = trail.\"transaction\"
             WHERE trail.acquirer_key IS NOT NULL AND reverses IS NULL AND acquirer = 'http'
                 AND NOT EXISTS (
                     SELECT 1 FROM trail AS reversal
                     WHERE reversal.\"transaction\" = trail.\"transaction\"
                         AND reversal.reverses = trail.step
                 )"
        ))
    }
}

/// Each operation that demo-acquirer has executed, apart from reversals, what they reversed, and
/// checks of cards.
fn executed(operations: &[Value]) -> Vec<String> {
    let is_executed = |operation: &&Value| {
        let executed = operation["executed"].as_u64().expect("a number");
        assert!(executed <= 1, "executed twice: {operation}");
        assert_ne!(operation["outcome"]["status"], "pending", "{operation}");
        ["approved", "done"].iter().any(|status| operation["outcome"]["status"] == *status)
    };
    let executed: Vec<_> = operations.iter().filter(is_executed).collect();
    let (reversals, others): (Vec<&Value>, Vec<_>) =
        executed.into_iter().partition(|operation| operation["kind"] == "reversal");
    let reversed: HashSet<_> =
        reversals.iter().filter_map(|reversal| reversal["authorization"].as_str()).collect();
    let text =
        |operation: &Value, member: &str| operation[member].as_str().expect("text").to_owned();
    let others = others.into_iter().filter(|operation| {
        operation["amount"] != 0 && !reversed.contains(&*text(operation, "key"))
    });
    others
        .map(|operation| {
            let [key, kind, currency] =
                ["key", "kind", "currency"].map(|member| text(operation, member));
            format!("{key} {kind} {currency} {}", operation["amount"])
        })
        .collect()
}
