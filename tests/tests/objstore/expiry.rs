//! `POST /set?ttl=`.

use std::time::Duration;

use blackbox::{
    clock::Clock,
    objstore::{Client, Event, Key, Object, Service, Socket, Stopped, revision, unique},
    postgres::Cluster,
    process::{DEADLINE, shift_clock},
    soak::rounds,
};
use futures_util::{StreamExt as _, stream};
use rand::RngExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::fence::no_more_events;

/// Sets that run at the same time.
const WRITERS: usize = 16;

#[tokio::test]
async fn an_object_expires_once_and_not_early() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    let begun = Instant::now();
    client.set_with("?ttl=1s", &object).await;
    let Event::Set(set, _) = socket.next_event().await else { panic!("no set") };
    let Event::Ended(_, ended, cause) = socket.next_event().await else { panic!("no expiry") };
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!((ended, &*cause), (object.clone(), "expired"));
    client.post("/get", object.key.body()).await.refused(422, "object_not_found");
    no_more_events(&client, &mut socket).await;
    // The change log has the cause, too.
    let mut later = client.socket_with(&format!("?events=true&since={set}")).await;
    loop {
        if let Event::Ended(_, ended, cause) = later.next_event().await {
            assert_eq!((ended, &*cause), (object, "expired"));
            break;
        }
    }
}

/// Waits until an object that is set now has expired. Deadlines before that have passed, too.
async fn a_second_passes(client: &Client) {
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.set_with("?ttl=1s", &object).await;
    while !matches!(&socket.next_event().await, Event::Ended(_, ended, _) if *ended == object) {}
}

#[tokio::test]
async fn another_set_replaces_the_time_to_live() {
    let service = Service::any().await;
    let client = service.client().await;
    let [cleared, extended, shortened] = [Object::fresh(), Object::fresh(), Object::fresh()];
    for object in [&cleared, &extended] {
        client.set_with("?ttl=1s", object).await;
    }
    client.set(&cleared).await;
    client.set_with("?ttl=30d", &extended).await;
    client.set_with("?ttl=1h", &shortened).await;
    client.set_with("?ttl=1s", &shortened).await;
    a_second_passes(&client).await;
    assert_eq!(client.get(&cleared.key).await, cleared);
    assert_eq!(client.get(&extended.key).await, extended);
    client.post("/get", shortened.key.body()).await.refused(422, "object_not_found");
}

#[tokio::test]
async fn events_say_what_ends_an_object() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = Object::fresh().key.named("");
    client.watch(&pattern).await;
    let mut live = client.socket_with("?events=true").await;
    let object = |name: &str| Object::new(&pattern.named(name), "{}");
    for (query, name) in [
        ("?ttl=1h", "timed"),
        ("?presence=true", "tied"),
        ("?ttl=2h&presence=true", "both"),
        ("", "plain"),
    ] {
        client.set_with(query, &object(name)).await;
        let read = async |socket: &mut Socket| {
            let mut event: Value = serde_json::from_str(&socket.next_text().await).unwrap();
            assert_eq!(event.as_object_mut().unwrap().remove("Event"), Some(json!("set")));
            event
        };
        let find = client.post("/find?metadata=true", object(name).key.body()).await.expect(200);
        let row = serde_json::from_slice::<[Value; 1]>(&find.body).unwrap()[0].clone();
        assert_eq!(read(&mut live).await, row);
        // One socket sends the current objects. The other one reads the change log.
        let before = row["Revision"].as_u64().unwrap() - 1;
        let all = client.socket_with("?events=true&initial=true").await;
        let later = client.socket_with(&format!("?events=true&since={before}")).await;
        for mut socket in [all, later] {
            assert_eq!(read(&mut socket).await, row);
        }
        let kept = client.set_with("?ttl=keep", &object(name)).await;
        let mut again = read(&mut live).await;
        assert_eq!(again["Revision"].take(), revision(&kept));
        again["Revision"] = row["Revision"].clone();
        assert_eq!(again, row);
        client.delete(&object(name).key).await;
        assert!(matches!(live.next_event().await, Event::Delete(..)));
    }
}

#[tokio::test]
async fn a_set_can_keep_what_ends_the_object() {
    let service = Service::any().await;
    let client = service.client().await;
    let pattern = Object::fresh().key;
    let object = |name: &str| Object::new(&pattern.named(name), "{}");
    let [timed, tied, both, plain] = ["timed", "tied", "both", "plain"].map(object);
    let ends = async |object: &Object| {
        let answer = client.post("/get", object.key.body()).await.expect(200);
        ["object-expires", "object-presence"].map(|name| answer.header(name).map(str::to_owned))
    };
    client.set_with("?ttl=1h", &timed).await;
    client.set_with("?presence=true", &tied).await;
    client.set_with("?ttl=2h&presence=true", &both).await;
    client.set_with("?ttl=keep", &plain).await;
    let mut kept = Vec::new();
    for object in [&timed, &tied, &both, &plain] {
        let before = ends(object).await;
        client.set_with("?ttl=keep", object).await;
        assert_eq!(ends(object).await, before, "{object:?}");
        kept.push(before);
    }
    let expected = [(true, false), (false, true), (true, true), (false, false)];
    let found: Vec<_> = kept.iter().map(|[time, tie]| (time.is_some(), tie.is_some())).collect();
    assert_eq!(found, expected);
    let hour = kept[0][0].as_ref().unwrap().parse::<jiff::Timestamp>().unwrap();
    let left = hour.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((3000..=3600).contains(&left), "{left}");
    client.set_with("?ttl=keep&presence=true", &timed).await;
    assert_eq!(ends(&timed).await, [kept[0][0].clone(), Some("true".to_owned())]);

    let path = "/find?metadata=true&limit=3";
    let answer = client.post(path, pattern.named("").body()).await.expect(200);
    assert!(answer.header("next-cursor").is_some());
    let rows: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let members = rows.iter().map(|row| [&row["Object"]["Key"]["Name"], &row["Presence"]]);
    let expected = [json!(["both", true]), json!(["plain", null]), json!(["tied", true])];
    assert_eq!(members.map(|row| json!(row)).collect::<Vec<_>>(), expected);
    assert_eq!(rows[0]["Expires"].as_str(), kept[2][0].as_deref());
    assert_eq!(rows[1].get("Expires"), None);
    let tag = revision(&client.etag(&both.key).await);
    assert_eq!(rows[0]["Revision"], tag);

    client.set(&timed).await;
    client.set(&tied).await;
    for object in [&timed, &tied] {
        assert_eq!(ends(object).await, [None, None]);
    }
}

#[tokio::test]
async fn a_rejected_set_keeps_the_time_to_live() {
    let service = Service::any().await;
    let client = service.client().await;
    let [ending, staying] = [Object::fresh(), Object::fresh()];
    client.set_with("?ttl=1s", &ending).await;
    client.set(&staying).await;
    for (path, object) in [("/set", &ending), ("/set?ttl=1s", &staying)] {
        let request = client.request(Method::POST, path).header("if-none-match", "*");
        request.body(object.body()).send().await.refused(412, "precondition_failed");
    }
    a_second_passes(&client).await;
    client.post("/get", ending.key.body()).await.refused(422, "object_not_found");
    assert_eq!(client.get(&staying.key).await, staying);
}

#[tokio::test]
async fn a_deleted_object_does_not_expire_again() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    let mut socket = client.socket_with("?events=true").await;
    client.set_with("?ttl=1s", &object).await;
    client.delete(&object.key).await;
    client.set(&object).await;
    a_second_passes(&client).await;
    for _ in 0..3 {
        let event = socket.next_event().await;
        assert!(matches!(event, Event::Set(..) | Event::Delete(..)), "{event:?}");
    }
    assert_eq!(client.get(&object.key).await, object);
}

#[tokio::test]
async fn an_invalid_time_to_live_is_rejected() {
    let service = Service::any().await;
    let client = service.client().await;
    let object = Object::fresh();
    for ttl in ["", "1", "0s", "999ms", "-5s", "soon", "30d1ms", "31d", "9999999y", "1s&ttl=1s"] {
        let answer = client.post(&format!("/set?ttl={ttl}"), object.body()).await;
        answer.refused(400, "invalid_query");
    }
    client.post("/get", object.key.body()).await.refused(422, "object_not_found");
}

/// Objects whose type is their time to live in milliseconds, so that SQL can compare it with the
/// times of the change log.
struct Crowd {
    namespace: String,
}

impl Crowd {
    fn new() -> Self {
        Self { namespace: unique("crowd") }
    }

    /// Sets `count` objects with random times to live, through all clients in turn. A set may fail:
    /// then it is not repeated.
    async fn set(&self, clients: &[Client], count: usize, millis: std::ops::Range<u32>) {
        let numbers = stream::iter(0..count);
        let set = async |number: usize| {
            let ttl = rand::rng().random_range(millis.clone());
            let key = Key::new(&ttl.to_string(), &self.namespace, &number.to_string());
            let client = &clients[number % clients.len()];
            let request = client.request(Method::POST, &format!("/set?ttl={ttl}ms"));
            let _ = request.body(Object::new(&key, "{}").body()).attempt().await;
        };
        numbers.for_each_concurrent(WRITERS, set).await;
    }

    /// Waits until all objects are gone.
    async fn ends(&self, place: &Stopped, within: Duration) {
        let left = format!("SELECT count(*) FROM objects WHERE namespace = '{}'", self.namespace);
        let gone = async {
            while place.number(&left) > 0 {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(within, gone).await.unwrap();
    }

    fn count(&self, place: &Stopped, event: &str) -> i64 {
        let namespace = &self.namespace;
        let count = format!("SELECT count(*) FROM log WHERE {event} AND namespace = '{namespace}'");
        place.number(&count)
    }

    /// The number of deletions that came more than `late` milliseconds after their time.
    fn later_than(&self, place: &Stopped, late: i64) -> i64 {
        place.number(&format!(
            "SELECT count(*) FROM log AS ended JOIN log AS was USING (namespace, type, name)
             WHERE namespace = '{}' AND was.event = 1 AND ended.cause = 1
                 AND ended.at - was.at - CAST(type AS bigint) > {late}",
            self.namespace
        ))
    }

    /// Checks that every object was deleted once, and not before its time. Returns their number.
    fn check(&self, place: &Stopped) -> i64 {
        let set = self.count(place, "event = 1");
        assert_eq!(self.count(place, "event = 2 AND cause = 1"), set);
        assert_eq!(self.later_than(place, i64::MIN / 2), set, "an object was deleted twice");
        assert_eq!(self.later_than(place, 0), set, "an object was deleted early");
        set
    }
}

#[tokio::test]
async fn a_clock_that_steps_moves_no_expiry_on_sqlite() {
    let clock = Clock::new();
    // Sessions end by the wall clock.
    let place = Stopped::on(None, &[("OBJSTORE_SESSION_TTL", "300d")]);
    let mut command = place.command();
    command.envs(clock.variables());
    let service = place.start_with(command).await;
    let client = service.client().await;
    for ahead in [3600, -2 * 3600, 2 * 24 * 3600, 40 * 24 * 3600, 0] {
        let [long, short] = [Object::fresh(), Object::fresh()];
        client.set_with("?ttl=60s", &long).await;
        client.set_with("?ttl=3s", &short).await;
        let set = Instant::now();
        clock.set(ahead);
        let going = async {
            while client.post("/get", short.key.body()).await.status == 200 {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(DEADLINE, going).await.unwrap();
        assert!(set.elapsed() > Duration::from_millis(2900), "{ahead}: {:?}", set.elapsed());
        assert_eq!(client.get(&long.key).await, long, "{ahead}");
        // The clock has another time than at the last set now.
        client.set_with("?ttl=1s", &short).await;
        let going = async { while client.post("/get", short.key.body()).await.status == 200 {} };
        timeout(DEADLINE, going).await.unwrap();
    }
}

/// The service, and on PostgreSQL a second replica whose clock is an hour ahead.
async fn replicas(settings: &[(&str, &str)]) -> Vec<Service> {
    let mut services = vec![Service::with(settings).await];
    if let Some(database) = services[0].data().database() {
        let ahead = Stopped::on(Some(database.clone()), settings);
        let mut command = ahead.command();
        shift_clock(&mut command, "+1h");
        services.push(ahead.start_with(command).await);
    }
    services
}

/// The same client at each replica.
async fn client_of(services: &[Service]) -> Vec<Client> {
    let client = services[0].client().await;
    services.iter().map(|service| client.at(service)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_due_at_random_times_expire_on_time() {
    let count = rounds(1_500, 100_000);
    let longest = u32::try_from(rounds(6_000, 90_000)).unwrap();
    let services = replicas(&[]).await;
    let crowd = Crowd::new();
    crowd.set(&client_of(&services).await, count, longest / 3..longest).await;
    let place = services[0].data();
    crowd.ends(place, Duration::from_millis(longest.into()) + DEADLINE).await;
    let count = i64::try_from(count).unwrap();
    assert_eq!(crowd.check(place), count);
    // The short run shares the machine with other tests.
    let late = crowd.later_than(place, i64::try_from(rounds(5_000, 1_000)).unwrap());
    assert!(late <= count / 100, "{late} of {count} objects expired late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_let_nothing_expire_early_or_twice() {
    let mut services = replicas(&[]).await;
    for _ in 0..rounds(3, 50) {
        let crowd = Crowd::new();
        let clients = client_of(&services).await;
        let killed = async {
            sleep(Duration::from_millis(rand::rng().random_range(300..2_500))).await;
            services.remove(0).kill().await.start().await
        };
        let (_, restarted) = tokio::join!(crowd.set(&clients, 2_000, 1_000..3_000), killed);
        services.push(restarted);
        crowd.ends(services[0].data(), DEADLINE).await;
        assert!(crowd.check(services[0].data()) > 0);
    }
}

#[tokio::test]
async fn overdue_objects_are_deleted_soon_after_a_start() {
    let count = rounds(1_000, 100_000);
    let service = Service::with(&[]).await;
    let crowd = Crowd::new();
    let client = service.client().await;
    crowd.set(&[client], count, 30_000_000..30_000_001).await;
    let place = service.stop().await;
    assert_eq!(place.change("UPDATE objects SET expires = 1 WHERE expires IS NOT NULL"), count);
    let service = place.start().await;
    // The short run shares the machine with other tests.
    crowd.ends(service.data(), Duration::from_secs(rounds(20, 5) as u64)).await;
    assert_eq!(crowd.count(service.data(), "cause = 1"), i64::try_from(count).unwrap());
}

#[tokio::test]
async fn large_objects_expire_in_several_batches() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let kind = unique("large");
    for number in 0..12 {
        let value = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_000_000));
        let object = Object::new(&Key::new(&kind, "large", &number.to_string()), &value);
        client.set_with("?ttl=1h", &object).await;
    }
    let place = service.stop().await;
    place.change("UPDATE objects SET expires = 1");
    let service = place.start().await;
    let left = format!("SELECT count(*) FROM objects WHERE type = '{kind}'");
    let begun = Instant::now();
    while service.data().number(&left) > 0 {
        assert!(begun.elapsed() < DEADLINE, "large objects stay");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(service.data().number("SELECT count(*) FROM log WHERE cause = 1"), 12);
}

#[tokio::test]
async fn replicas_expire_what_another_has_set() {
    let database = Cluster::shared().database();
    let [one, other] = [Stopped::on(Some(database.clone()), &[]), Stopped::on(Some(database), &[])];
    let (one, other) = (one.start().await, other.start().await);
    let client = one.client().await;
    let object = Object::fresh();
    client.watch(&object.key).await;
    client.set_with("?ttl=1s", &object).await;
    one.kill().await;
    let mut socket = client.at(&other).socket_with("?events=true").await;
    while !matches!(socket.next_event().await, Event::Ended(..)) {}
}
