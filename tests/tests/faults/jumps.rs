//! A wall clock that jumps. Nothing is deleted or voided by time until it is right again, or until
//! an operator says that it is right.

use std::time::Duration;

use blackbox::{
    clock::Clock,
    http::Answer,
    objstore::{self, Object},
    payments,
    postgres::{Cluster, Database},
    process::{DEADLINE, Process, failure, run},
};
use tokio::{process::Command, time::sleep};

use crate::eventually::eventually;

const DAY: i64 = 24 * 3600;

/// Longer than several turns of each job that looks each second.
const TURNS: Duration = Duration::from_secs(3);

/// A clock that can be moved, for the connections that begin afterwards.
const MOVABLE: &str = "CREATE SCHEMA moved;
     CREATE TABLE moved.by AS SELECT interval '0' AS ahead;
     CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
         AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM moved.by'";

/// The clock of a store: that of the service with SQLite, and that of the database with PostgreSQL.
enum StoreClock {
    Service(Clock),
    Database(Database),
}

fn movable() -> Database {
    let database = Cluster::shared().database();
    database.run(MOVABLE);
    database.set("search_path = moved, pg_catalog, public");
    database
}

impl StoreClock {
    fn all() -> [Self; 2] {
        [Self::Service(Clock::new()), Self::Database(movable())]
    }

    fn database(&self) -> Option<Database> {
        match self {
            Self::Service(_) => None,
            Self::Database(database) => Some(database.clone()),
        }
    }

    fn apply_to(&self, command: &mut Command) {
        if let Self::Service(clock) = self {
            command.envs(clock.variables());
        }
    }

    /// Sets the clock this many seconds ahead of this machine's.
    fn set(&self, ahead: i64) {
        match self {
            Self::Service(clock) => clock.set(ahead),
            Self::Database(database) => {
                database.run(&format!("UPDATE moved.by SET ahead = interval '{ahead} seconds'"));
            }
        }
    }

    /// Runs `confirm-clock` with this clock.
    async fn confirm(&self, mut command: Command) {
        command.arg("confirm-clock");
        self.apply_to(&mut command);
        let ended = run(command).await;
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

async fn has_jumped(expected: bool, fetch: impl AsyncFn() -> Answer) {
    let line = format!("_clock_jumped {}", u8::from(expected));
    eventually(&line, DEADLINE, async || fetch().await.text().contains(&line).then_some(())).await;
}

/// Checks that each of this number of jumps was logged once.
async fn logs_jumps(process: &Process, expected: usize) {
    process.logged_times(expected, |line| line.contains("the clock jumped")).await;
    let log = process.log();
    let errors: Vec<_> = log.iter().filter(|line| line.contains(r#""level":"ERROR""#)).collect();
    let is_jump = errors.iter().all(|line| line.contains("the clock jumped"));
    assert!(errors.len() == expected && is_jump, "{errors:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_of_the_clock_deletes_no_object() {
    for clock in StoreClock::all() {
        let settings = [("OBJSTORE_LOG_RETENTION", "1d"), ("OBJSTORE_SESSION_TTL", "300d")];
        let place = objstore::Stopped::on(clock.database(), &settings);
        let mut command = place.command();
        clock.apply_to(&mut command);
        let mut service = place.start_with(command).await;
        let mut client = service.client().await;
        let (kept, object) = (Object::fresh(), Object::fresh());
        client.set_with("?ttl=1d", &kept).await;
        for _ in 0..3 {
            client.set(&object).await;
        }
        let fetch = async || client.fetch("/metrics").await;
        let records = || service.data().number("SELECT count(*) FROM log");
        has_jumped(false, fetch).await;
        let before = records();

        for ahead in [100 * DAY, -100 * DAY] {
            clock.set(ahead);
            has_jumped(true, fetch).await;
            sleep(TURNS).await;
            assert_eq!(client.get(&kept.key).await, kept);
            assert_eq!(records(), before);
            clock.set(0);
            has_jumped(false, fetch).await;
        }
        let brief = Object::fresh();
        client.set_with("?ttl=1s", &brief).await;
        let is_gone = async |object: &Object| {
            let answer = client.post("/get", object.key.body()).await;
            (answer.status == 422).then_some(())
        };
        eventually("expiry goes on", DEADLINE, async || is_gone(&brief).await).await;
        assert_eq!(client.get(&kept.key).await, kept);

        clock.set(100 * DAY);
        has_jumped(true, fetch).await;
        clock.confirm(service.data().command()).await;
        has_jumped(false, fetch).await;
        let is_trimmed = async || (records() < before).then_some(());
        eventually("the change log is trimmed", DEADLINE, is_trimmed).await;
        logs_jumps(service.process(), 3).await;
        if matches!(clock, StoreClock::Service(_)) {
            // A service on SQLite measures the time that passes, until its next start.
            assert_eq!(client.get(&kept.key).await, kept);
            let place = service.stop().await;
            let mut command = place.command();
            clock.apply_to(&mut command);
            service = place.start_with(command).await;
            client = client.at(&service);
        }
        let is_gone = async || {
            let answer = client.post("/get", kept.key.body()).await;
            (answer.status == 422).then_some(())
        };
        eventually("the object expires", DEADLINE, is_gone).await;
        service.stop().await;
    }
}

/// Each replica extends the presences of its own clients, and deletes those of all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_jump_of_the_clock_deletes_no_object_of_a_client_of_another_replica() {
    let clock = StoreClock::Database(movable());
    let settings = [("OBJSTORE_PRESENCE_GRACE", "1s")];
    let (mut replicas, mut present) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let service = objstore::Stopped::on(clock.database(), &settings).start().await;
        let (client, object) = (service.client().await, Object::fresh());
        let socket = client.socket().await;
        client.set_with("?presence=true", &object).await;
        replicas.push(service);
        present.push((client, object, socket));
    }
    // Until both have forgotten their start.
    sleep(TURNS).await;
    // Each has its turn before the other one in half of the jumps.
    for minutes in 1..=8 {
        clock.set(minutes * 60);
        sleep(Duration::from_secs(1)).await;
        for (client, object, _) in &present {
            assert_eq!(client.get(&object.key).await, *object);
        }
    }
    let (_, object, socket) = present.pop().unwrap();
    let (client, kept, _) = &present[0];
    socket.close().await;
    let is_gone = async || {
        let answer = client.post("/get", object.key.body()).await;
        (answer.status == 422).then_some(())
    };
    eventually("the object of the client that left is deleted", DEADLINE, is_gone).await;
    assert_eq!(client.get(&kept.key).await, *kept);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jump_of_the_clock_voids_no_authorization() {
    for clock in StoreClock::all() {
        let start = async |place: payments::Stopped| {
            let mut command = place.command();
            clock.apply_to(&mut command);
            place.start_with(command).await
        };
        let settings = [("PAYMENTS_AUTHORIZATION_TTL", "7d"), ("PAYMENTS_EVENT_RETENTION", "7d")];
        let service = start(payments::Stopped::on(clock.database(), &settings)).await;
        let paid = service.merchant().await.pay("EUR", 1000).await;
        let pending = async |service: &payments::Service| {
            let paid = paid.by(&paid.app.at(service)).fetch().await;
            paid["pendingAmount"].as_i64().unwrap()
        };
        let events = "SELECT count(*) FROM events";
        has_jumped(false, async || service.fetch("/metrics").await).await;
        // At a start alone, this is no jump.
        clock.set(20 * DAY);
        has_jumped(true, async || service.fetch("/metrics").await).await;
        logs_jumps(service.process(), 1).await;

        // All jobs look when they start.
        let service = start(service.stop().await).await;
        has_jumped(true, async || service.fetch("/metrics").await).await;
        sleep(TURNS).await;
        assert_eq!(pending(&service).await, 1000);
        assert!(service.data().number(events) > 0);
        clock.set(0);
        has_jumped(false, async || service.fetch("/metrics").await).await;
        assert_eq!(pending(&service).await, 1000);

        clock.set(100 * DAY);
        has_jumped(true, async || service.fetch("/metrics").await).await;
        clock.confirm(service.data().command()).await;
        has_jumped(false, async || service.fetch("/metrics").await).await;
        logs_jumps(service.process(), 2).await;
        let service = start(service.stop().await).await;
        let is_voided = async || (pending(&service).await == 0).then_some(());
        eventually("the authorization is voided", DEADLINE, is_voided).await;
        logs_jumps(service.process(), 0).await;
        service.stop().await;
    }
}

#[tokio::test]
async fn confirm_clock_needs_a_store() {
    for (url, expected) in [("", 2), ("postgres://nobody@127.0.0.1:1/nothing", 3)] {
        let objects = objstore::Stopped::on(None, &[("OBJSTORE_DATABASE_URL", url)]);
        let payments = payments::Stopped::on(None, &[("PAYMENTS_DATABASE_URL", url)]);
        for mut command in [objects.command(), payments.command()] {
            command.arg("confirm-clock");
            let (code, output) = failure(command).await;
            assert_eq!(code, expected, "{output}");
        }
    }
}
