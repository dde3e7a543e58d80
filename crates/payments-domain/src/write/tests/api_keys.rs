//! The first, the last and too many API keys of an app, and their uses.

use super::*;
use crate::{
    ApiKeyDetails, ApiKeyDigest, ApiKeyUse, MAX_API_KEYS, Name,
    actions::{CreateApiKey, DeleteApiKey, RecordApiKeyUses},
    hour_of,
};

/// An app with its first key.
struct Keys {
    run: BatchTester,
    app: Id,
}

impl Keys {
    fn new() -> Self {
        let run = BatchTester::new();
        let app = *run.tables.apps.keys().next().unwrap();
        Self { run, app }
    }

    fn create(&mut self, name: &str) -> Result<Id, Rejection> {
        let (app, digest) = (self.app, ApiKeyDigest::of(name));
        let name = Some(Name::new(name).unwrap());
        let answer = self.run.execute(CreateApiKey { app, name, digest, replace: false })?;
        let Answer::Executed(outcome) = answer else { panic!("{answer:?}") };
        let created: Box<dyn Any> = outcome;
        Ok(created.downcast::<ApiKeyDetails>().unwrap().id)
    }

    fn delete(&mut self, key: Id) -> WriteResult {
        self.run.execute(DeleteApiKey { app: self.app, key })
    }

    fn ids(&self) -> Vec<Id> {
        let rows = self.run.tables.api_keys.values().filter(|row| row.app == self.app);
        rows.map(|row| row.id).collect()
    }

    fn record(&mut self, key: Id, time: Timestamp) -> Option<Timestamp> {
        let uses = vec![ApiKeyUse { app: self.app, key, hour: hour_of(time) }];
        assert!(self.run.execute(RecordApiKeyUses { uses }).is_ok());
        self.run.tables.api_keys.get(&key)?.last_used
    }
}

#[test]
fn the_first_key_has_the_id_of_its_app() {
    let keys = Keys::new();
    assert_eq!(keys.ids(), [keys.app]);
}

#[test]
fn an_app_has_a_limited_number_of_keys() {
    let mut keys = Keys::new();
    for number in 1..MAX_API_KEYS {
        keys.create(&number.to_string()).unwrap();
    }
    assert_eq!(keys.create("one more"), Err(Rejection::TooManyApiKeys));
    assert!(keys.delete(keys.app).is_ok());
    assert!(keys.create("one more").is_ok());
    assert_eq!(keys.ids().len(), MAX_API_KEYS);
}

#[test]
fn a_key_can_replace_even_the_most_keys() {
    let mut keys = Keys::new();
    for number in 1..MAX_API_KEYS {
        keys.create(&number.to_string()).unwrap();
    }
    let (app, digest) = (keys.app, ApiKeyDigest::of("only"));
    let action = CreateApiKey { app, name: None, digest, replace: true };
    assert!(keys.run.execute(action).is_ok());
    let rows: Vec<_> = keys.run.tables.api_keys.values().filter(|row| row.app == app).collect();
    assert!(rows.len() == 1 && rows[0].digest == digest, "{rows:?}");
}

#[test]
fn the_last_key_cannot_be_deleted() {
    let mut keys = Keys::new();
    assert_eq!(keys.delete(keys.app), Err(Rejection::LastApiKey));
    let second = keys.create("second").unwrap();
    assert!(keys.delete(keys.app).is_ok());
    assert_eq!(keys.delete(keys.app), Err(Rejection::NotFound));
    assert_eq!(keys.delete(second), Err(Rejection::LastApiKey));
    assert_eq!(keys.ids(), [second]);
}

#[test]
fn one_batch_keeps_the_last_of_two_keys() {
    let mut keys = Keys::new();
    let second = keys.create("second").unwrap();
    let app = keys.app;
    let actions = [app, second].map(|key| DeleteApiKey { app, key }.into());
    let answers = keys.run.execute_at_once(actions.into());
    assert_eq!(answers[1], Err(Rejection::LastApiKey));
    assert_eq!(keys.ids(), [second]);
}

#[test]
fn a_key_of_another_app_cannot_be_deleted() {
    let mut keys = Keys::new();
    keys.create("second").unwrap();
    let other = *keys.run.tables.apps.keys().nth(1).unwrap();
    assert_eq!(keys.delete(other), Err(Rejection::NotFound));
}

#[test]
fn the_last_use_is_an_hour_that_never_goes_back() {
    let mut keys = Keys::new();
    let (key, hour) = (keys.app, Duration::from_secs(3600));
    let this_hour = hour_of(at(99));
    assert_eq!(keys.record(key, at(99) - hour), Some(this_hour - hour));
    assert_eq!(keys.record(key, at(99)), Some(this_hour));
    assert_eq!(keys.record(key, at(99) - hour), Some(this_hour));
    // The clock of the replica is ahead of the database.
    assert_eq!(keys.record(key, at(99) + 2 * hour), Some(this_hour));
    let unchanged = keys.run.tables.clone();
    assert_eq!(keys.record(Id::MAX, at(99)), None);
    assert_eq!(keys.run.tables, unchanged);
}
