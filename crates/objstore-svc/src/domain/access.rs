//! Access rules: which client may do what with which objects.
//!
//! 1. **Without rules everything is allowed**, as the specification has it. With rules, everything is
//!    forbidden that no rule allows.
//! 2. **A rule of the owner needs an object**: it allows nothing on a key without one, except to
//!    create the client's own object. So `get` and `delete` do not show whether another client's
//!    object exists.
//! 3. **The decision about a write has two steps.** [`AccessRules::permit`] looks at the key when the
//!    request arrives. If only the owner may write, the decision compares the stored owner, in the
//!    order of the commits.
//! 4. **With rules, each set compares the owners**, and records the one that it replaces. A stream
//!    then hides the object from the old owner. This does not depend on the content of the rules:
//!    they may change before the set is committed.
//! 5. **A change of rules is a record of the change log** ([`AdoptedRules`]). So a stream that
//!    resumes at an earlier revision, on any replica, begins with a reset.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, LazyLock},
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{ClientId, Key, Owner, Pattern, Refusal, Revision};

/// Maximum number of rules. Each client with an open stream keeps a list of its rules.
pub(crate) const MAX_RULES: usize = 1000;

/// The number of actions.
const ACTIONS: usize = 5;

/// An action that a rule can allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Get,
    Find,
    /// To receive the changes and current values of an object. Everybody may watch a pattern.
    Watch,
    Set,
    Delete,
}

/// A rule of the file: these clients may do these actions with the objects under these keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) who: Who,
    pub(crate) may: BTreeSet<Action>,
    pub(crate) keys: KeyRule,
}

/// The clients of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) everybody: bool,
    /// The client whose ID is the `Owner` of the object.
    pub(crate) owner: bool,
    pub(crate) clients: HashSet<ClientId>,
    /// Many rules can name one group.
    pub(crate) groups: Vec<Arc<HashSet<ClientId>>>,
}

impl Who {
    fn permit(&self, client: ClientId) -> Option<Permit> {
        let mut sets = self.groups.iter().map(|group| &**group).chain([&self.clients]);
        if self.everybody || sets.any(|clients| clients.contains(&client)) {
            Some(Permit::Always)
        } else {
            self.owner.then_some(Permit::AsOwner)
        }
    }
}

/// The keys of a rule: type, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyRule(pub(crate) [PartRule; 3]);

impl KeyRule {
    fn matches(&self, parts: [&str; 3]) -> bool {
        self.0.iter().zip(parts).all(|(rule, part)| rule.matches(part))
    }

    /// Whether it matches a key of a pattern with these parts.
    fn meets(&self, pattern: [&str; 3]) -> bool {
        let mut pairs = self.0.iter().zip(pattern);
        pairs.all(|(rule, part)| part.is_empty() || rule.matches(part))
    }

    /// Whether it matches every key of the pattern that `other` matches.
    fn covers(&self, other: &Self, pattern: [&str; 3]) -> bool {
        let mut rules = self.0.iter().zip(&other.0).zip(pattern);
        rules.all(|((rule, other), part)| match part {
            "" => rule.covers(other),
            part => rule.matches(part),
        })
    }
}

/// One part of the keys of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PartRule {
    Any,
    Equal(Box<str>),
    Prefix(Box<str>),
}

impl PartRule {
    /// A trailing `*` stands for any text.
    pub(crate) fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some("") => Self::Any,
            Some(prefix) => Self::Prefix(prefix.into()),
            None => Self::Equal(text.into()),
        }
    }

    fn matches(&self, part: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Equal(text) => **text == *part,
            Self::Prefix(prefix) => part.starts_with(&**prefix),
        }
    }

    /// Whether it matches every part that `other` matches.
    fn covers(&self, other: &Self) -> bool {
        match other {
            Self::Any => *self == Self::Any,
            Self::Equal(text) => self.matches(text),
            Self::Prefix(prefix) => match self {
                Self::Any => true,
                Self::Equal(_) => false,
                Self::Prefix(shorter) => prefix.starts_with(&**shorter),
            },
        }
    }
}

/// The extent of an allowed action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Permit {
    /// On every object.
    Always,
    /// Only on objects whose `Owner` is the ID of the client.
    AsOwner,
}

impl Permit {
    fn allows(self, client: ClientId, owner: &Owner) -> bool {
        self == Self::Always || owner.is(client)
    }

    /// Decides about an object with this owner; `None` if there is no object.
    pub(crate) fn check(self, client: ClientId, owner: Option<&Owner>) -> Result<(), Refusal> {
        let is_allowed = owner.map_or(self == Self::Always, |owner| self.allows(client, owner));
        if is_allowed { Ok(()) } else { Err(Refusal::NotAllowed) }
    }
}

/// The rules of a process.
#[derive(Debug, Default)]
pub(crate) struct AccessRules {
    /// The rules of each action; `None`: everything is allowed.
    rules: Option<[ActionRules; ACTIONS]>,
    count: usize,
    digest: RulesDigest,
}

/// The rules of one action, by the types that they name. So a request looks at few of many rules.
#[derive(Debug, Default)]
struct ActionRules {
    by_type: BTreeMap<Box<str>, Vec<ActionRule>>,
    /// Rules without a type, or with a prefix.
    others: Vec<ActionRule>,
}

type ActionRule = (Arc<Who>, Arc<KeyRule>);

impl ActionRules {
    fn all(&self) -> impl Iterator<Item = &ActionRule> {
        self.by_type.values().flatten().chain(&self.others)
    }

    /// The rules that match a key.
    fn matching(&self, key: &Key) -> impl Iterator<Item = &Who> {
        let parts = key.parts();
        let of_type = self.by_type.get(parts[0]).into_iter().flatten().chain(&self.others);
        of_type.filter(move |(_, keys)| keys.matches(parts)).map(|(who, _)| &**who)
    }
}

impl AccessRules {
    /// `text` is different for different rules.
    pub(crate) fn new(rules: Vec<Rule>, text: &[u8]) -> Self {
        let digest = RulesDigest(Some(Sha256::digest(text).into()));
        let count = rules.len();
        let mut compiled = <[ActionRules; ACTIONS]>::default();
        for Rule { who, may, keys } in rules {
            let (who, keys) = (Arc::new(who), Arc::new(keys));
            for action in may {
                let of_action = &mut compiled[action as usize];
                let list = match &keys.0[0] {
                    PartRule::Equal(kind) => of_action.by_type.entry(kind.clone()).or_default(),
                    PartRule::Any | PartRule::Prefix(_) => &mut of_action.others,
                };
                list.push((Arc::clone(&who), Arc::clone(&keys)));
            }
        }
        Self { rules: Some(compiled), count, digest }
    }

    /// The number of rules in the file.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn digest(&self) -> RulesDigest {
        self.digest
    }

    /// Whether the client may do this under the key; `None` if not.
    pub(crate) fn permit(&self, client: ClientId, action: Action, key: &Key) -> Option<Permit> {
        let Some(rules) = &self.rules else { return Some(Permit::Always) };
        let mut permit = None;
        for who in rules[action as usize].matching(key) {
            match who.permit(client) {
                Some(Permit::Always) => return Some(Permit::Always),
                Some(Permit::AsOwner) => permit = Some(Permit::AsOwner),
                None => {}
            }
        }
        permit
    }

    /// Whether everything is allowed.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.rules.is_none()
    }

    /// The objects on which `client` may do `action`.
    pub(crate) fn sight(&self, client: ClientId, action: Action) -> Sight {
        let Some(rules) = &self.rules else { return Sight { client, rules: None } };
        let of_client = rules[action as usize]
            .all()
            .filter_map(|(who, keys)| Some((who.permit(client)?, Arc::clone(keys))))
            .collect();
        Sight { client, rules: Some(of_client) }
    }
}

/// The objects on which one client may do one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sight {
    client: ClientId,
    /// `None`: all objects.
    rules: Option<Vec<SightRule>>,
}

type SightRule = (Permit, Arc<KeyRule>);

/// The rule that allows everything.
static EVERYTHING: LazyLock<[SightRule; 1]> = LazyLock::new(|| {
    let any = KeyRule([PartRule::Any, PartRule::Any, PartRule::Any]);
    [(Permit::Always, Arc::new(any))]
});

/// Maximum number of patterns for which [`Sight::differs`] compares rules.
const MAX_COMPARED: usize = 100;

impl Sight {
    /// Whether every object is in it.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.rules.is_none()
    }

    /// Whether another sight of the client may have other objects of these patterns. A rule that other
    /// rules cover makes no difference.
    ///
    /// Rules that only together are the same as others count as a difference, and so does every
    /// difference for a client with more than [`MAX_COMPARED`] patterns: comparing costs time.
    pub(crate) fn differs<'a>(
        &self,
        other: &Self,
        patterns: impl Iterator<Item = &'a Pattern>,
    ) -> bool {
        let (lost, new) = (self.uncovered(other), other.uncovered(self));
        if lost.is_empty() && new.is_empty() {
            return false;
        }
        let differs_in = |pattern: [&str; 3]| {
            let is_uncovered =
                |rule: &&SightRule, by: &Self| rule.1.meets(pattern) && !by.covers(rule, pattern);
            lost.iter().any(|rule| is_uncovered(rule, other))
                || new.iter().any(|rule| is_uncovered(rule, self))
        };
        let mut patterns = patterns.enumerate();
        patterns.any(|(index, pattern)| index >= MAX_COMPARED || differs_in(pattern.parts()))
    }

    fn rules(&self) -> &[SightRule] {
        self.rules.as_deref().unwrap_or(&*EVERYTHING)
    }

    /// The rules that `other` does not cover.
    fn uncovered(&self, other: &Self) -> Vec<&SightRule> {
        let same: HashSet<_> = other.rules().iter().collect();
        let others = self.rules().iter().filter(|rule| !same.contains(rule));
        others.filter(|rule| !other.covers(rule, [""; 3])).collect()
    }

    /// Whether it has all objects of the pattern that a rule has.
    fn covers(&self, (permit, keys): &SightRule, pattern: [&str; 3]) -> bool {
        self.rules().iter().any(|(known, known_keys)| {
            (*known == Permit::Always || known == permit) && known_keys.covers(keys, pattern)
        })
    }

    pub(crate) fn has(&self, key: &Key, owner: &Owner) -> bool {
        let Some(rules) = &self.rules else { return true };
        let parts = key.parts();
        let mut matching = rules.iter().filter(|(_, keys)| keys.matches(parts));
        matching.any(|(permit, _)| permit.allows(self.client, owner))
    }
}

/// Identifies rules; `None` stands for no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RulesDigest(pub(crate) Option<[u8; 32]>);

/// The newest rules of the store, and the revision of the record that says so; 0 if there never
/// were any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AdoptedRules {
    pub(crate) digest: RulesDigest,
    pub(crate) revision: Revision,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    const BOB: &str = "0d9c6f3a-5f0e-4f0b-9b5e-2a7c1e8d4b11";

    fn client(id: &str) -> ClientId {
        ClientId::parse(id).unwrap()
    }

    fn rule(who: Who, may: &[Action], keys: [&str; 3]) -> Rule {
        let may = may.iter().copied().collect();
        Rule { who, may, keys: KeyRule(keys.map(PartRule::new)) }
    }

    fn owner() -> Who {
        Who { owner: true, ..Who::default() }
    }

    fn only(id: &str) -> Who {
        Who { clients: [client(id)].into(), ..Who::default() }
    }

    fn key(kind: &str, namespace: &str) -> Key {
        Key::new(kind, namespace, "n").unwrap()
    }

    #[test]
    fn without_rules_everything_is_allowed() {
        let rules = AccessRules::default();
        let key = key("t", "ns");
        assert_eq!(rules.permit(client(ALICE), Action::Set, &key), Some(Permit::Always));
        assert!(rules.is_unlimited() && rules.sight(client(ALICE), Action::Find).is_unlimited());
    }

    #[test]
    fn rules_add_up_and_the_rest_is_forbidden() {
        let rules = AccessRules::new(
            vec![
                rule(owner(), &[Action::Get, Action::Set], ["hand", "*", "*"]),
                rule(only(ALICE), &[Action::Get], ["*", "table-*", "*"]),
            ],
            b"",
        );
        for (id, action, kind, namespace, expected) in [
            (ALICE, Action::Get, "hand", "table-1", Some(Permit::Always)),
            (ALICE, Action::Get, "hand", "other", Some(Permit::AsOwner)),
            (ALICE, Action::Get, "board", "table-", Some(Permit::Always)),
            (ALICE, Action::Get, "board", "table", None),
            (ALICE, Action::Set, "hand", "table-1", Some(Permit::AsOwner)),
            (ALICE, Action::Set, "board", "table-1", None),
            (BOB, Action::Get, "hand", "table-1", Some(Permit::AsOwner)),
            (BOB, Action::Get, "board", "table-1", None),
        ] {
            let permit = rules.permit(client(id), action, &key(kind, namespace));
            assert_eq!(permit, expected, "{id} {action:?} {kind}/{namespace}");
        }
    }

    #[test]
    fn a_sight_agrees_with_the_permits() {
        let rules = AccessRules::new(
            vec![
                rule(owner(), &[Action::Watch], ["hand", "*", "*"]),
                rule(only(ALICE), &[Action::Watch], ["*", "table-*", "*"]),
                rule(only(BOB), &[Action::Find], ["*", "*", "*"]),
            ],
            b"",
        );
        for (id, owner) in [(ALICE, ALICE), (ALICE, BOB), (BOB, ALICE), (BOB, BOB), (BOB, "x")] {
            let (client, owner) = (client(id), Owner::new(owner).unwrap());
            for (kind, namespace) in [("hand", "x"), ("board", "x"), ("hand", "table-1")] {
                let key = key(kind, namespace);
                let permit = rules.permit(client, Action::Watch, &key);
                let allowed = permit.is_some_and(|permit| permit.allows(client, &owner));
                assert_eq!(rules.sight(client, Action::Watch).has(&key, &owner), allowed);
            }
        }
    }

    #[test]
    fn sights_differ_only_in_patterns_where_they_show_other_objects() {
        let sight = |rules: &[(bool, &str, &str)]| {
            let rules = rules.iter().map(|&(is_owner, kind, namespace)| {
                let who = if is_owner { owner() } else { only(ALICE) };
                rule(who, &[Action::Watch], [kind, namespace, "*"])
            });
            AccessRules::new(rules.collect(), b"").sight(client(ALICE), Action::Watch)
        };
        let patterns = [["", ""], ["board", ""], ["", "a"], ["board", "a"], ["hand", "b"]];
        let base = [(false, "board", "*"), (true, "hand", "*"), (false, "*", "pub*")];
        let everything = AccessRules::default().sight(client(ALICE), Action::Watch);
        let (board, own) = ((false, "board", "*"), (true, "hand", "*"));
        for (others, expected) in [
            (base.to_vec(), "00000"),
            (vec![base[2], base[0], base[1], board], "00000"),
            (
                vec![base[0], base[1], base[2], (true, "board", "*"), (false, "x", "public")],
                "00000",
            ),
            (vec![base[0], base[1], base[2], (false, "zzz", "*")], "10100"),
            (vec![base[0], base[1], base[2], (false, "zzz", "b")], "10000"),
            (vec![base[0], base[1], base[2], (false, "hand", "*")], "10101"),
            (vec![own, base[2]], "11110"),
            (vec![own, base[2], (false, "board", "a"), (false, "b*", "a*")], "11100"),
            (vec![], "11111"),
        ] {
            let (base, others) = (sight(&base), sight(&others));
            for (index, [kind, namespace]) in patterns.into_iter().enumerate() {
                let pattern = Pattern::new(kind, namespace, "").unwrap();
                let differs = expected.as_bytes()[index] == b'1';
                assert_eq!(
                    base.differs(&others, [&pattern].into_iter()),
                    differs,
                    "{index} {others:?}"
                );
                assert_eq!(
                    others.differs(&base, [&pattern].into_iter()),
                    differs,
                    "{index} {others:?}"
                );
                assert!(
                    base.differs(&everything, [&pattern].into_iter()) == (index != 1 && index != 3)
                );
            }
        }
        let all = sight(&[(false, "*", "*")]);
        assert!(!all.differs(&everything, std::iter::empty()));
    }
}
