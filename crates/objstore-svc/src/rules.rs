//! The access rules of this process: reads them from a file, and again when the file changes.
//!
//! 1. New rules apply to requests and streams at once. A file that cannot be used keeps the old ones.
//! 2. Then they are recorded in the store, so that streams on all replicas are reset: see rules 6 and 7
//!    of `watch/state.rs`. A new epoch may lack the record, so it is repeated.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use common::outage::Outage;
use prometheus::IntCounter;
use serde::Deserialize;
use tokio::{
    signal::unix::Signal,
    sync::watch::Sender,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use crate::{
    domain::{
        AccessRules, Action, ClientId, Epoch, KeyRule, MAX_RULES, PartRule, Rule, RulesDigest, Who,
    },
    store::Store,
    watch::Hub,
};

/// How often the file is read.
const READ_EVERY: Duration = Duration::from_secs(1);

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Why a rules file cannot be used: one line.
#[derive(Debug, thiserror::Error)]
#[error("{path:?} (OBJSTORE_RULES_FILE, --rules-file): {source}")]
pub(crate) struct RulesFileError {
    path: PathBuf,
    source: InvalidRules,
}

#[derive(Debug, thiserror::Error)]
enum InvalidRules {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error("the file is longer than {MAX_FILE} bytes")]
    TooLong,
    #[error("line {line}: {message}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        message: String,
    },
    #[error("there are more than {MAX_RULES} rules")]
    TooMany,
    #[error("group {0:?}: the name is \"owner\", \"*\" or a client ID, which have a meaning")]
    GroupName(String),
    #[error("group {group:?}: {member:?} is not a client ID")]
    Member { group: String, member: String },
    #[error("rule {number}: {source}")]
    Rule {
        /// Counted from 1.
        number: usize,
        source: InvalidRule,
    },
}

#[derive(Debug, thiserror::Error)]
enum InvalidRule {
    #[error("{0} is empty")]
    Empty(&'static str),
    #[error("who has {0:?}, which is no group, no client ID, not \"owner\" and not \"*\"")]
    Unknown(String),
    #[error("{0} is empty: leave it out to match everything")]
    EmptyPart(&'static str),
}

/// The content of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileInput {
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default, rename = "rule")]
    rules: Vec<RuleInput>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleInput {
    who: Vec<String>,
    may: BTreeSet<Action>,
    #[serde(rename = "Type")]
    kind: Option<String>,
    #[serde(rename = "Namespace")]
    namespace: Option<String>,
    #[serde(rename = "Name")]
    name: Option<String>,
}

/// Reads the rules. Without a file everything is allowed.
pub(crate) fn read(path: Option<&Path>) -> Result<AccessRules, RulesFileError> {
    let Some(path) = path else { return Ok(AccessRules::default()) };
    content(path)
        .and_then(|content| parse(&content))
        .map_err(|source| RulesFileError { path: path.to_owned(), source })
}

fn content(path: &Path) -> Result<Vec<u8>, InvalidRules> {
    let mut content = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut content)?;
    match u64::try_from(content.len()) {
        Ok(0..=MAX_FILE) => Ok(content),
        _ => Err(InvalidRules::TooLong),
    }
}

fn parse(content: &[u8]) -> Result<AccessRules, InvalidRules> {
    let input: FileInput = toml::from_slice(content).map_err(|error| {
        let end = error.span().map_or(0, |span| span.start).min(content.len());
        let line = content[..end].iter().filter(|&&byte| byte == b'\n').count() + 1;
        InvalidRules::Syntax { line, message: error.message().replace('\n', ", ") }
    })?;
    if input.rules.len() > MAX_RULES {
        return Err(InvalidRules::TooMany);
    }
    // Without comments and white space, so that they do not make other rules.
    let text = format!("{input:?}");
    let mut groups = HashMap::new();
    for (group, members) in input.groups {
        if ["owner", "*"].contains(&&*group) || ClientId::parse(&group).is_ok() {
            return Err(InvalidRules::GroupName(group));
        }
        let members = members.into_iter().map(|member| {
            ClientId::parse(&member)
                .map_err(|_| InvalidRules::Member { group: group.clone(), member })
        });
        let members = members.collect::<Result<HashSet<_>, _>>()?;
        groups.insert(group, Arc::new(members));
    }
    let rules = input.rules.into_iter().enumerate().map(|(index, rule)| {
        let number = index + 1;
        rule.parse(&groups).map_err(|source| InvalidRules::Rule { number, source })
    });
    Ok(AccessRules::new(rules.collect::<Result<_, _>>()?, text.as_bytes()))
}

impl RuleInput {
    fn parse(self, groups: &HashMap<String, Arc<HashSet<ClientId>>>) -> Result<Rule, InvalidRule> {
        let mut who = Who::default();
        for text in &self.who {
            match &**text {
                "*" => who.everybody = true,
                "owner" => who.owner = true,
                text => match (groups.get(text), ClientId::parse(text)) {
                    (Some(group), _) => who.groups.push(Arc::clone(group)),
                    (None, Ok(client)) => drop(who.clients.insert(client)),
                    (None, Err(_)) => return Err(InvalidRule::Unknown(text.to_owned())),
                },
            }
        }
        if self.who.is_empty() || self.may.is_empty() {
            let name = if self.who.is_empty() { "who" } else { "may" };
            return Err(InvalidRule::Empty(name));
        }
        let part = |name, text: Option<String>| match text.as_deref() {
            None => Ok(PartRule::Any),
            Some("") => Err(InvalidRule::EmptyPart(name)),
            Some(text) => Ok(PartRule::new(text)),
        };
        let keys = [
            part("Type", self.kind)?,
            part("Namespace", self.namespace)?,
            part("Name", self.name)?,
        ];
        Ok(Rule { who, may: self.may, keys: KeyRule(keys) })
    }
}

/// Keeps the rules of the process up to date.
pub(crate) struct Reload {
    pub(crate) path: Option<PathBuf>,
    pub(crate) store: Store,
    pub(crate) hub: Arc<Hub>,
    /// The rules of requests.
    pub(crate) rules: Sender<Arc<AccessRules>>,
    pub(crate) errors: IntCounter,
    /// The rules that were recorded last, and the epoch of the store at that time.
    pub(crate) recorded: Option<(RulesDigest, Epoch)>,
    pub(crate) outage: Outage,
}

impl Reload {
    /// Reads the file every second and at SIGHUP. Runs until it is aborted.
    pub(crate) async fn run(mut self, mut hangup: Signal) {
        if self.path.is_some() {
            self.log_read();
        }
        let mut ticks = interval(READ_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut invalid = None;
        loop {
            let asked = tokio::select! {
                _ = ticks.tick() => false,
                Some(()) = hangup.recv() => self.path.is_some(),
            };
            let was_invalid = invalid.is_some();
            if asked {
                // Somebody waits for the result, so it is logged again.
                invalid = None;
            }
            match self.reload().await {
                Ok(has_changed) => {
                    if has_changed || was_invalid || asked {
                        self.log_read();
                    }
                    invalid = None;
                }
                Err(error) => self.report(&mut invalid, error.to_string()),
            }
            self.record().await;
        }
    }

    /// Records the rules in the store, unless they are recorded. If this fails, [`Self::run`] tries
    /// again.
    pub(crate) async fn record(&mut self) {
        let (digest, epoch) = (self.rules.borrow().digest(), self.store.epoch());
        if self.recorded == Some((digest, epoch)) {
            return;
        }
        let adopted = async {
            let revision = self.store.adopt_rules(digest).await?;
            self.hub.rules_recorded(revision).await
        };
        if self.outage.observe(adopted.await).is_some() {
            self.recorded = Some((digest, epoch));
        }
    }

    /// Applies the rules of the file. Returns whether they have changed.
    async fn reload(&mut self) -> Result<bool, RulesFileError> {
        let Some(path) = self.path.clone() else { return Ok(false) };
        // A panic while reading keeps the old rules, too.
        let Ok(rules) = spawn_blocking(move || read(Some(&path))).await else { return Ok(false) };
        let rules = Arc::new(rules?);
        let has_changed = rules.digest() != self.rules.borrow().digest();
        if has_changed {
            self.recorded = None;
            self.rules.send_replace(Arc::clone(&rules));
            self.hub.set_rules(rules);
        }
        Ok(has_changed)
    }

    fn log_read(&self) {
        tracing::info!(rules = self.rules.borrow().count(), "access rules read");
    }

    /// Counts and logs an error once, until it changes.
    fn report(&self, last: &mut Option<String>, error: String) {
        if last.as_ref() != Some(&error) {
            self.errors.inc();
            tracing::error!(cause = %error, "the access rules stay, because the file cannot be used");
            *last = Some(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Key, Permit};

    const ALICE: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    const BOB: &str = "0d9c6f3a-5f0e-4f0b-9b5e-2a7c1e8d4b11";

    fn error(content: &str) -> String {
        parse(content.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn groups_ids_owners_and_prefixes_are_read() {
        let content = format!(
            r#"
            [groups]
            players = ["{ALICE}"]
            [[rule]]
            who = ["players", "owner"]
            may = ["get", "find"]
            Type = "board"
            Namespace = "table-*"
            [[rule]]
            who = ["{BOB}"]
            may = ["set"]
            "#
        );
        let rules = parse(content.as_bytes()).unwrap();
        let permit = |id, action, kind, namespace| {
            let key = Key::new(kind, namespace, "n").unwrap();
            rules.permit(ClientId::parse(id).unwrap(), action, &key)
        };
        assert_eq!(permit(ALICE, Action::Get, "board", "table-1"), Some(Permit::Always));
        assert_eq!(permit(BOB, Action::Find, "board", "table-1"), Some(Permit::AsOwner));
        assert_eq!(permit(ALICE, Action::Get, "board", "x"), None);
        assert_eq!(permit(BOB, Action::Set, "x", "x"), Some(Permit::Always));
        assert_eq!(permit(BOB, Action::Delete, "x", "x"), None);
    }

    #[test]
    fn comments_and_white_space_make_no_other_rules() {
        let rule = "[[rule]]\nwho = [\"*\"]\nmay = [\"get\", \"find\"]\n";
        let digest = |content: String| parse(content.as_bytes()).unwrap().digest();
        let other = rule.replace("get\", \"find", "find\",   \"get") + "# a comment\n";
        assert_eq!(digest(other), digest(rule.to_owned()));
        assert_ne!(digest(rule.replace("find", "watch")), digest(rule.to_owned()));
    }

    #[test]
    fn an_empty_file_allows_nothing() {
        let rules = parse(b"").unwrap();
        let key = Key::new("t", "ns", "n").unwrap();
        assert_eq!(rules.permit(ClientId::parse(ALICE).unwrap(), Action::Get, &key), None);
    }

    #[test]
    fn errors_name_the_line_or_the_rule() {
        let rule = |rule: &str| error(&format!("[[rule]]\n{rule}"));
        assert!(error("\n[[rule]").starts_with("line 2: "), "{}", error("\n[[rule]"));
        assert!(error("colour = 1").starts_with("line 1: unknown field `colour`"));
        assert!(rule("who = [\"*\"]\nmay = [\"read\"]").contains("unknown variant `read`"));
        for (wrong, message) in [
            (rule("who = []\nmay = [\"get\"]"), "rule 1: who is empty"),
            (rule("who = [\"*\"]\nmay = []"), "rule 1: may is empty"),
            (
                rule("who = [\"playerz\"]\nmay = [\"get\"]"),
                "rule 1: who has \"playerz\", which is no group, no client ID, not \"owner\" and not \
                 \"*\"",
            ),
            (
                rule("who = [\"*\"]\nmay = [\"get\"]\nName = \"\""),
                "rule 1: Name is empty: leave it out to match everything",
            ),
            (
                error("[groups]\nplayers = [\"alice\"]"),
                "group \"players\": \"alice\" is not a client ID",
            ),
            (
                error("[groups]\nowner = []"),
                "group \"owner\": the name is \"owner\", \"*\" or a client ID, which have a meaning",
            ),
            (
                error(&"[[rule]]\nwho = [\"*\"]\nmay = [\"get\"]\n".repeat(MAX_RULES + 1)),
                "there are more than 1000 rules",
            ),
        ] {
            assert_eq!(wrong, message);
        }
    }
}
