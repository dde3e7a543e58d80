//! The access rules of the scenarios.

use std::sync::{Arc, LazyLock};

use crate::domain::{AccessRules, Action, KeyRule, PartRule, Rule, RulesDigest, Who};

/// Without rules, everybody sees everything.
pub const NONE: usize = 0;

/// Everybody sees `eggs`, and the owner sees all other objects.
pub const OWNER: usize = 1;

/// Everybody sees `eggs` and `milk`, and nobody sees other objects.
pub const MILK: usize = 2;

static ALL: LazyLock<[Arc<AccessRules>; 3]> = LazyLock::new(|| {
    let everybody = || Who { everybody: true, ..Who::default() };
    let owner = Who { owner: true, ..Who::default() };
    let new = |rules: Vec<Rule>, file: &[u8]| Arc::new(AccessRules::new(rules, file));
    [
        Arc::default(),
        new(vec![rule(everybody(), "eggs"), rule(owner, "*")], b"owner"),
        new(vec![rule(everybody(), "eggs"), rule(everybody(), "milk")], b"milk"),
    ]
});

fn rule(who: Who, name: &str) -> Rule {
    let keys = KeyRule([PartRule::Any, PartRule::Any, PartRule::new(name)]);
    Rule { who, may: [Action::Watch].into(), keys }
}

pub(crate) fn numbered(number: usize) -> Arc<AccessRules> {
    Arc::clone(&ALL[number])
}

pub(crate) fn with_digest(digest: RulesDigest) -> &'static AccessRules {
    ALL.iter().find(|rules| rules.digest() == digest).expect("rules of a scenario")
}
