//! Rules that make the acquirer fail. The documentation of the crate describes their JSON.

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde::Deserialize;

/// Most rules at a time.
const MAX_RULES: usize = 100;

/// The kinds of requests, and notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Authorization,
    Completion,
    Capture,
    Refund,
    Void,
    Reversal,
    Answer,
    Question,
    Notification,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fault {
    Close,
    Hang,
    #[serde(rename = "500")]
    InternalError,
    Refuse,
    Drop,
    Late {
        ms: u64,
    },
    Unsigned,
    WrongSignature,
    Twice,
    OutOfOrder,
    Lost,
}

impl Fault {
    fn can_affect(self, kind: Kind) -> bool {
        match self {
            Self::Twice | Self::OutOfOrder | Self::Lost => kind == Kind::Notification,
            Self::Refuse => !matches!(kind, Kind::Completion | Kind::Question | Kind::Notification),
            _ => kind != Kind::Notification,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// `None` for every kind that the fault can affect.
    kind: Option<Kind>,
    #[serde(default = "certain")]
    probability: f64,
    /// How often it still applies. `None` for ever.
    next: Option<u64>,
    fault: Fault,
}

fn certain() -> f64 {
    1.0
}

/// Why a list of rules is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("there are more than {MAX_RULES} rules: delete them first")]
    TooMany,
    #[error("a probability must be from 0 to 1")]
    Probability,
    #[error("a fault cannot affect this kind")]
    Kind,
}

/// The current rules, oldest first.
pub(crate) struct Faults {
    rules: Vec<Rule>,
    random: StdRng,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rules: Vec::new(), random: StdRng::seed_from_u64(seed) }
    }

    /// Adds rules, all or none.
    pub(crate) fn add(&mut self, rules: Vec<Rule>) -> Result<(), RuleError> {
        if self.rules.len() + rules.len() > MAX_RULES {
            return Err(RuleError::TooMany);
        }
        for rule in &rules {
            if !(0.0..=1.0).contains(&rule.probability) {
                return Err(RuleError::Probability);
            }
            if rule.kind.is_some_and(|kind| !rule.fault.can_affect(kind)) {
                return Err(RuleError::Kind);
            }
        }
        self.rules.extend(rules);
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// The fault of a request or notification that has just arrived.
    pub(crate) fn draw(&mut self, kind: Kind) -> Option<Fault> {
        let rule = self.rules.iter_mut().find(|rule| {
            let applies = rule.kind.is_none_or(|only| only == kind) && rule.fault.can_affect(kind);
            applies && rule.next != Some(0) && self.random.random_bool(rule.probability)
        })?;
        if let Some(next) = &mut rule.next {
            *next -= 1;
        }
        Some(rule.fault)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn faults(rules: Value) -> Faults {
        let mut faults = Faults::new(7);
        faults.add(serde_json::from_value(rules).unwrap()).unwrap();
        faults
    }

    #[test]
    fn the_first_rule_that_applies_wins() {
        let mut faults = faults(json!([
            { "kind": "capture", "next": 1, "fault": { "late": { "ms": 5 } } },
            { "next": 2, "fault": "500" },
            { "fault": "twice" },
        ]));
        let late = Some(Fault::Late { ms: 5 });
        let error = Some(Fault::InternalError);
        assert_eq!(faults.draw(Kind::Capture), late);
        assert_eq!(faults.draw(Kind::Capture), error);
        assert_eq!(faults.draw(Kind::Question), error);
        assert_eq!(faults.draw(Kind::Question), None);
        assert_eq!(faults.draw(Kind::Notification), Some(Fault::Twice));
        faults.clear();
        assert_eq!(faults.draw(Kind::Notification), None);
    }

    #[test]
    fn a_seed_repeats_the_same_faults() {
        let rule = || faults(json!([{ "probability": 0.5, "fault": "drop" }]));
        let drawn = |mut faults: Faults| -> Vec<bool> {
            (0..64).map(|_| faults.draw(Kind::Void).is_some()).collect()
        };
        let first = drawn(rule());
        assert_eq!(first, drawn(rule()));
        assert!(first.contains(&true) && first.contains(&false));
    }

    #[test]
    fn wrong_rules_are_refused_together() {
        let mut faults = Faults::new(0);
        for (rules, error) in [
            (
                json!([{ "fault": "drop" }, { "probability": 1.1, "fault": "drop" }]),
                RuleError::Probability,
            ),
            (json!([{ "kind": "capture", "fault": "twice" }]), RuleError::Kind),
            (json!([{ "kind": "question", "fault": "refuse" }]), RuleError::Kind),
            (json!(vec![json!({ "fault": "drop" }); MAX_RULES + 1]), RuleError::TooMany),
        ] {
            assert_eq!(faults.add(serde_json::from_value(rules).unwrap()), Err(error));
        }
        assert_eq!(faults.draw(Kind::Void), None);
    }
}
