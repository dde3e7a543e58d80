//! Reports of deliveries, changes of endpoints, and replays.

use super::*;
use crate::{
    Delivery, DeliveryAttempt, DeliveryOutcome, DeliveryReport, DisableReason, Failures,
    MAX_RECORDED_ATTEMPTS, Progress, Retry, WebhookUpdate,
    actions::{DeleteWebhook, RecordDeliveries, ReplayWebhook, UpdateWebhook},
};

/// An endpoint that is at the event 20.
struct Endpoint {
    run: BatchTester,
    app: Id,
    webhook: Id,
}

impl Endpoint {
    fn new() -> Self {
        let run = BatchTester::new();
        let (&webhook, row) = run.tables.webhooks.first_key_value().unwrap();
        let app = row.app;
        let mut endpoint = Self { run, app, webhook };
        endpoint.write(record(endpoint.results(20))).unwrap();
        endpoint
    }

    fn write(&mut self, action: impl Into<Box<dyn AnyAction>>) -> WriteResult {
        self.run.execute(action)
    }

    /// Writes these actions in one batch, and expects that none is rejected.
    fn write_at_once(&mut self, actions: Vec<Box<dyn AnyAction>>) {
        let answers = self.run.execute_at_once(actions);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }

    fn results(&self, position: u64) -> DeliveryReport {
        let Progress { generation, epoch, .. } = self.progress();
        DeliveryReport {
            app: self.app,
            webhook: self.webhook,
            generation,
            epoch,
            position: id(position),
            paused_until: None,
            retries: Vec::new(),
            finished: Vec::new(),
            attempts: Vec::new(),
            disables: None,
        }
    }

    /// A report that the delivery of these events has failed.
    fn failed(&self, events: &[u64]) -> DeliveryReport {
        let failures = Some(Failures { attempts: 3, first: at(1), due: at(200) });
        let retry = |event: &u64| Retry { event: id(*event), transaction: None, failures };
        DeliveryReport { retries: events.iter().map(retry).collect(), ..self.results(20) }
    }

    /// A report of deliveries of these events, one after the other.
    fn attempted(&self, events: std::ops::Range<u64>) -> DeliveryReport {
        let delivery =
            Delivery { outcome: DeliveryOutcome::TimedOut, duration: Duration::from_secs(10) };
        let attempt = |event| DeliveryAttempt {
            event: id(event),
            created: at(u32::try_from(event).unwrap()),
            delivery,
            next: None,
        };
        DeliveryReport { attempts: events.map(attempt).collect(), ..self.results(20) }
    }

    fn update(&self, enabled: Option<bool>) -> Box<dyn AnyAction> {
        let update = WebhookUpdate { url: None, types: None, description: None, enabled };
        UpdateWebhook { app: self.app, webhook: self.webhook, update: Box::new(update) }.into()
    }

    fn replay(&self, after: u64) -> Box<dyn AnyAction> {
        ReplayWebhook { app: self.app, webhook: self.webhook, after: id(after) }.into()
    }

    fn delete(&self) -> Box<dyn AnyAction> {
        DeleteWebhook { app: self.app, webhook: self.webhook }.into()
    }

    fn progress(&self) -> Progress {
        self.run.tables.webhook_progress[&self.webhook].progress
    }

    /// The recorded retries: the events, and whether they have failed.
    fn retries(&self) -> Vec<(Id, bool)> {
        let rows = self.run.tables.webhook_retries.values();
        let own = rows.filter(|row| row.webhook == self.webhook);
        own.map(|row| (row.event, row.failures.is_some())).collect()
    }

    /// The events of the recorded attempts, in order.
    fn attempts(&self) -> Vec<Id> {
        let rows = self.run.tables.webhook_attempts.values();
        let own = rows.filter(|row| row.webhook == self.webhook);
        let mut events: Vec<Id> = own.map(|row| row.attempt.event).collect();
        events.sort();
        events
    }

    fn disabled(&self) -> Option<DisableReason> {
        self.run.tables.webhooks[&self.webhook].disabled
    }
}

fn record(report: DeliveryReport) -> Box<dyn AnyAction> {
    RecordDeliveries(Box::new(report)).into()
}

/// The report after another one.
fn second(report: DeliveryReport) -> Box<dyn AnyAction> {
    record(DeliveryReport { epoch: report.epoch + 1, ..report })
}

#[test]
fn a_new_endpoint_receives_the_events_after_its_creation() {
    let run = BatchTester::new();
    for (webhook, ProgressRow { progress, .. }) in &run.tables.webhook_progress {
        assert_eq!((progress.position, progress.next_attempt), (*webhook, 0));
    }
    assert_eq!(run.tables.webhook_progress.len(), run.tables.webhooks.len());
}

#[test]
fn a_report_replaces_and_removes_retries() {
    let mut endpoint = Endpoint::new();
    endpoint.write(record(endpoint.failed(&[3, 4, 5]))).unwrap();
    let waits = Retry { event: id(5), transaction: None, failures: None };
    let report = DeliveryReport {
        retries: vec![waits],
        finished: vec![id(3), id(19)],
        ..endpoint.results(30)
    };
    endpoint.write(record(report)).unwrap();
    assert_eq!(endpoint.retries(), [(id(4), true), (id(5), false)]);
    assert_eq!(endpoint.progress().position, id(30));
}

#[test]
fn a_report_from_before_a_replay_changes_nothing() {
    let mut endpoint = Endpoint::new();
    let late = DeliveryReport {
        finished: vec![id(3)],
        disables: Some(DisableReason::Failures),
        ..endpoint.failed(&[4])
    };
    endpoint.write(record(endpoint.failed(&[3]))).unwrap();
    endpoint.write(endpoint.replay(7)).unwrap();
    let unchanged = endpoint.run.tables.clone();
    assert_eq!(endpoint.write(record(late)), Err(Rejection::NotFound));
    assert_eq!(endpoint.run.tables, unchanged);
}

#[test]
fn a_report_continues_the_last_one() {
    let mut endpoint = Endpoint::new();
    let (lost, next) = (endpoint.failed(&[3]), endpoint.results(30));
    // The database has failed over, and does not have the first of two reports.
    let unchanged = endpoint.run.tables.clone();
    assert_eq!(endpoint.write(second(next.clone())), Err(Rejection::NotFound));
    assert_eq!(endpoint.run.tables, unchanged);
    endpoint.write(record(lost.clone())).unwrap();
    assert_eq!(endpoint.write(record(lost)), Err(Rejection::NotFound));
    endpoint.write(second(next)).unwrap();
}

#[test]
fn a_report_about_the_endpoint_of_another_app_is_rejected() {
    let mut endpoint = Endpoint::new();
    let other = *endpoint.run.tables.apps.keys().find(|app| **app != endpoint.app).unwrap();
    let unchanged = endpoint.run.tables.clone();
    let report = DeliveryReport { app: other, ..endpoint.results(30) };
    assert_eq!(endpoint.write(record(report)), Err(Rejection::NotFound));
    assert_eq!(endpoint.run.tables, unchanged);
}

#[test]
fn a_change_of_the_endpoint_starts_its_retries_again() {
    let mut endpoint = Endpoint::new();
    endpoint.write(record(endpoint.failed(&[3]))).unwrap();
    let before = endpoint.progress();
    endpoint.write(endpoint.update(None)).unwrap();
    assert_eq!(endpoint.retries(), [(id(3), false)]);
    let changed = Progress { generation: before.generation + 1, ..before };
    assert_eq!(endpoint.progress(), changed);

    // Also those that the same batch records, before or after the change.
    let (early, late) = (endpoint.failed(&[3, 4]), endpoint.failed(&[5]));
    endpoint.write_at_once(vec![record(early), endpoint.update(None), second(late)]);
    assert_eq!(endpoint.retries(), [3, 4, 5].map(|event| (id(event), false)));
}

#[test]
fn failures_before_a_change_of_the_endpoint_do_not_count() {
    let mut endpoint = Endpoint::new();
    let late = DeliveryReport {
        position: id(30),
        disables: Some(DisableReason::Failures),
        ..endpoint.failed(&[3])
    };
    endpoint.write(endpoint.update(None)).unwrap();
    endpoint.write(record(late)).unwrap();
    assert_eq!((endpoint.retries(), endpoint.disabled()), (vec![(id(3), false)], None));
    // The deliveries that succeeded are not repeated.
    assert_eq!(endpoint.progress().position, id(30));
}

#[test]
fn a_pause_lasts_until_the_endpoint_changes() {
    let mut endpoint = Endpoint::new();
    let pause = Some(at(200));
    let paused = |endpoint: &Endpoint| {
        record(DeliveryReport { paused_until: pause, ..endpoint.results(30) })
    };
    for change in [endpoint.update(None), endpoint.replay(7)] {
        endpoint.write(paused(&endpoint)).unwrap();
        assert_eq!(endpoint.progress().paused_until, pause);
        endpoint.write(change).unwrap();
        assert_eq!(endpoint.progress().paused_until, None);
    }
    let late = paused(&endpoint);
    endpoint.write(endpoint.update(None)).unwrap();
    endpoint.write(late).unwrap();
    assert_eq!(endpoint.progress().paused_until, None, "it was before the change");
}

#[test]
fn a_replay_goes_back_and_never_forward() {
    let mut endpoint = Endpoint::new();
    let before = endpoint.progress();
    for (after, position) in [(25, 20), (7, 7), (9, 7)] {
        endpoint.write(endpoint.replay(after)).unwrap();
        assert_eq!(endpoint.progress().position, id(position));
    }
    let Progress { generation, epoch, .. } = endpoint.progress();
    assert_eq!((generation, epoch), (before.generation + 3, before.epoch + 3));
}

#[test]
fn the_last_hundred_attempts_are_kept() {
    let mut endpoint = Endpoint::new();
    for (events, next) in [(0..60, 60), (60..120, 20), (120..130, 30)] {
        endpoint.write(record(endpoint.attempted(events))).unwrap();
        assert_eq!(endpoint.progress().next_attempt, next);
    }
    assert_eq!(endpoint.attempts(), (30..130).map(id).collect::<Vec<_>>());
    // In one batch, a row is written once.
    let twice = vec![record(endpoint.attempted(130..210)), second(endpoint.attempted(210..290))];
    endpoint.write_at_once(twice);
    assert_eq!(endpoint.attempts(), (190..290).map(id).collect::<Vec<_>>());
    assert_eq!(MAX_RECORDED_ATTEMPTS, 100);
}

#[test]
fn an_endpoint_that_fails_for_too_long_or_is_gone_is_disabled() {
    let mut endpoint = Endpoint::new();
    let give_up = |endpoint: &Endpoint| {
        record(DeliveryReport { disables: Some(DisableReason::Failures), ..endpoint.failed(&[3]) })
    };
    endpoint.write(give_up(&endpoint)).unwrap();
    assert_eq!(endpoint.disabled(), Some(DisableReason::Failures));
    assert_eq!(endpoint.retries(), [(id(3), true)], "the event is kept");
    endpoint.write(endpoint.update(Some(true))).unwrap();
    assert_eq!((endpoint.disabled(), endpoint.retries()), (None, vec![(id(3), false)]));

    let gone = Some(DisableReason::Gone);
    endpoint.write(record(DeliveryReport { disables: gone, ..endpoint.failed(&[3]) })).unwrap();
    assert_eq!((endpoint.disabled(), endpoint.retries()), (gone, vec![(id(3), true)]));
    endpoint.write(endpoint.update(Some(true))).unwrap();
    assert_eq!((endpoint.disabled(), endpoint.retries()), (None, vec![(id(3), false)]));

    // The first reason stays.
    let late = give_up(&endpoint);
    endpoint.write_at_once(vec![endpoint.update(Some(false)), late]);
    assert_eq!(endpoint.disabled(), Some(DisableReason::Request));
    endpoint.write(give_up(&endpoint)).unwrap();
    assert_eq!(endpoint.disabled(), Some(DisableReason::Request));
}

#[test]
fn an_endpoint_is_deleted_with_all_that_belongs_to_it() {
    for at_once in [false, true] {
        let mut endpoint = Endpoint::new();
        let before = endpoint.run.tables.webhook_progress.len();
        endpoint.write(record(endpoint.failed(&[1]))).unwrap();
        let late = record(endpoint.results(30));
        let actions = [
            record(endpoint.failed(&[3])),
            second(endpoint.attempted(0..9)),
            endpoint.update(None),
            endpoint.delete(),
        ];
        if at_once {
            endpoint.write_at_once(actions.into());
        } else {
            actions.into_iter().for_each(|action| drop(endpoint.write(action).unwrap()));
        }
        assert_eq!((endpoint.retries(), endpoint.attempts()), (vec![], vec![]));
        let tables = &endpoint.run.tables;
        assert!(!tables.webhooks.contains_key(&endpoint.webhook));
        assert_eq!(tables.webhook_progress.len(), before - 1);
        assert_eq!(endpoint.write(late), Err(Rejection::NotFound));
    }
}
