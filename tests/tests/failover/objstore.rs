//! objstore-svc: writes, watchers, entity tags and sessions.

use std::time::{Duration, Instant};

use blackbox::{
    http::Answer,
    objstore::{Client, Key, Object, Service, Stopped, Writers, unique},
    process::{DEADLINE, until},
};
use futures_util::future::join_all;
use reqwest::Method;
use tokio::time::sleep;

use crate::{
    chain::Chain,
    pair::{Pair, Route},
    watcher::{Watcher, Watching},
};

/// The pause before a request is repeated that an outage refused.
const PAUSE: Duration = Duration::from_millis(20);

/// The number of objects of a test that sets them one by one.
const OBJECTS: usize = 10;

/// Starts two replicas.
async fn two(url: &str) -> [Service; 2] {
    let start = |_| Stopped::on(None, &[]).with("OBJSTORE_DATABASE_URL", url).start();
    join_all((0..2).map(start)).await.try_into().unwrap()
}

/// Objects of a new type.
pub(crate) fn objects() -> Vec<Object> {
    let kind = unique("kind");
    let key = |index: usize| Key::new(&kind, "set", &index.to_string());
    (0..OBJECTS).map(|index| Object::new(&key(index), "{}")).collect()
}

/// Repeats a request while the answer is 503.
async fn answered<A: Future<Output = Answer>>(send: impl Fn() -> A) -> Answer {
    let begun = Instant::now();
    loop {
        let answer = send().await;
        if answer.status != 503 {
            return answer;
        }
        assert!(begun.elapsed() < DEADLINE, "the database stays unavailable");
        sleep(PAUSE).await;
    }
}

/// Sets an object, as soon as the database is available. Returns its entity tag.
pub(crate) async fn put(client: &Client, object: &Object) -> String {
    let answer = answered(|| client.post("/set", object.body())).await.expect(204);
    answer.header("etag").expect("an entity tag").to_owned()
}

/// Sets all objects with this number, and returns their entity tags.
pub(crate) async fn put_all(
    client: &Client,
    objects: &[Object],
    number: usize,
) -> Vec<(Object, String)> {
    let mut tags = Vec::new();
    for object in objects {
        let object = object.numbered(number);
        let tag = put(client, &object).await;
        tags.push((object, tag));
    }
    tags
}

/// Checks that no request with one of these tags changes its object.
pub(crate) async fn match_nothing(client: &Client, tags: &[(Object, String)]) {
    for (object, tag) in tags {
        for path in ["/set", "/delete"] {
            let send = || {
                let request = client.request(Method::POST, path).header("if-match", tag);
                request.body(object.body()).send()
            };
            answered(send).await.refused(412, "precondition_failed");
        }
    }
}

/// Two watchers at each replica: one of pushes, one of events.
async fn watch(services: &[Service; 2], kind: &str) -> Vec<Watching> {
    let mut watchers = Vec::new();
    for service in services {
        watchers.push(Watcher::of_pushes(service, kind).await.start(service));
        watchers.push(Watcher::of_events(service, kind).await.start(service));
    }
    watchers
}

/// Checks that watchers hold the current values.
async fn caught_up(watchers: Vec<Watching>, client: &Client, kind: &str) -> Vec<Watcher> {
    let finished = join_all(watchers.into_iter().map(|watcher| watcher.finish(client))).await;
    let current = client.find(&Key::new(kind, "", "")).await;
    finished.iter().for_each(|watcher| watcher.holds(&current));
    finished
}

/// Checks that watchers hold the current values, and that the service closed their sockets.
async fn noticed(watchers: Vec<Watching>, client: &Client, kind: &str) {
    caught_up(watchers, client, kind).await.iter().for_each(Watcher::was_closed);
}

async fn a_synchronous_failover_loses_nothing(route: Route) {
    let pair = Pair::synchronous().await;
    let services = two(&pair.url(route)).await;
    let writers = Writers::new(&services[0]).await;
    let (client, kind) = (services[0].client().await, writers.kind.clone());
    let watchers = watch(&services, &kind).await;
    let shift = writers.start(&[&services[0], &services[1]]);
    shift.wrote(200).await;
    pair.fail_over();
    shift.wrote(200).await;
    shift.stop().await.check_sets(&pair.survivor());
    caught_up(watchers, &client, &kind).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_failover_at_one_address_loses_nothing() {
    a_synchronous_failover_loses_nothing(Route::Address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_failover_between_hosts_loses_nothing() {
    a_synchronous_failover_loses_nothing(Route::Hosts).await;
}

/// Writers write until the primary crashes, and others from then on. The standby lacks the last
/// writes of the first ones.
async fn only_what_the_standby_lacked_is_lost(route: Route) {
    let pair = Pair::new().await;
    let services = two(&pair.url(route)).await;
    let both = [&services[0], &services[1]];
    let (client, survivor) = (services[0].client().await, pair.survivor());
    let (doomed, lasting) = (Writers::new(both[0]).await, Writers::new(both[1]).await);
    let kinds = [doomed.kind.clone(), lasting.kind.clone()];
    let watchers = [watch(&services, &kinds[0]).await, watch(&services, &kinds[1]).await];
    let [shift, other] = [doomed, lasting].map(|writers| writers.start(&both));
    shift.wrote(100).await;
    other.wrote(100).await;
    let (doomed, lasting) = (shift.stop().await, other.stop().await);
    pair.cut();
    let kept = doomed.check_sets(&survivor).len();

    let shift = doomed.start(&both);
    shift.wrote(100).await;
    pair.crash();
    shift.stop().await;
    let shift = lasting.start(&both);
    pair.promote();
    pair.lead_to_standby();
    shift.wrote(200).await;
    shift.stop().await.check_sets(&survivor);
    let [of_doomed, of_lasting] = watchers;
    noticed(of_doomed, &client, &kinds[0]).await;
    noticed(of_lasting, &client, &kinds[1]).await;
    let sets = "SELECT count(*) FROM log WHERE event = 1 AND namespace = 'writer' AND type";
    let sets = survivor.run(&format!("{sets} = '{}'", kinds[0]));
    assert_eq!(sets, kept.to_string(), "the standby had what it should lack");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_at_one_address_loses_only_what_the_standby_lacked() {
    only_what_the_standby_lacked_is_lost(Route::Address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_between_hosts_loses_only_what_the_standby_lacked() {
    only_what_the_standby_lacked_is_lost(Route::Hosts).await;
}

/// One replica is frozen while the other writes past the lost revisions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_comes_back_late_pushes_current_values() {
    let pair = Pair::new().await;
    let services = two(&pair.url(Route::Address)).await;
    let (client, objects) = (services[0].client().await, objects());
    let kind = &objects[0].key.r#type;
    let late = &services[1];
    let watchers = watch(&services, kind).await;
    let absent = [Watcher::of_pushes(late, kind).await, Watcher::of_events(late, kind).await];
    put_all(&client, &objects, 1).await;
    pair.cut();
    put_all(&client, &objects, 2).await;
    let absent = absent.map(|watcher| watcher.start(late).finish(&client));
    let absent = join_all(absent).await;

    late.process().signal("STOP").await;
    pair.fail_over();
    // The first five objects keep the value that the standby had.
    for number in 3..6 {
        put_all(&client, &objects[OBJECTS / 2..], number).await;
    }
    late.process().signal("CONT").await;
    noticed(watchers, &client, kind).await;
    let absent = absent.into_iter().map(|watcher| watcher.start(late)).collect();
    caught_up(absent, &client, kind).await;
}

/// The new primary would assign the lost revisions again, in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_entity_tag_from_before_a_failover_matches() {
    let pair = Pair::new().await;
    let services = two(&pair.url(Route::Address)).await;
    let (client, objects) = (services[0].client().await, objects());
    let late = &services[1];
    let mut tags = put_all(&client, &objects, 1).await;
    pair.cut();
    tags.extend(put_all(&client, &objects, 2).await);
    late.process().signal("STOP").await;
    pair.fail_over();
    match_nothing(&client, &tags).await;
    put_all(&client, &objects, 3).await;
    late.process().signal("CONT").await;
    match_nothing(&client.at(late), &tags).await;
    match_nothing(&client, &tags).await;
}

/// The services connect to the standby before it is promoted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_from_before_the_promotion_notice_it() {
    let pair = Pair::new().await;
    let services = two(&pair.url(Route::Address)).await;
    let (client, objects) = (services[0].client().await, objects());
    let kind = &objects[0].key.r#type;
    let watchers = watch(&services, kind).await;
    let mut tags = put_all(&client, &objects, 1).await;
    pair.cut();
    tags.extend(put_all(&client, &objects, 2).await);
    pair.crash();
    pair.lead_to_standby();
    for client in services.each_ref().map(|service| client.at(service)) {
        for _ in 0..OBJECTS {
            // A standby may be read or not.
            let read = client.post("/get", objects[0].key.body()).await.status.as_u16();
            assert!([200, 503].contains(&read), "{read}");
            client.post("/set", objects[0].body()).await.refused(503, "storage_unavailable");
        }
    }
    pair.promote();
    put_all(&client.at(&services[1]), &objects, 3).await;
    for service in &services {
        match_nothing(&client.at(service), &tags).await;
    }
    noticed(watchers, &client, kind).await;
}

/// The last two primaries take over from the same one, so their timelines have the same number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failovers_in_a_row_are_noticed() {
    let chain = Chain::new().await;
    let services = two(&chain.url()).await;
    let (client, objects) = (services[0].client().await, objects());
    let kind = &objects[0].key.r#type;
    let watchers = watch(&services, kind).await;
    let mut tags = put_all(&client, &objects, 1).await;
    chain.second_takes_over();
    tags.extend(put_all(&client, &objects, 2).await);
    chain.cut_fourth();
    tags.extend(put_all(&client, &objects, 3).await);
    chain.third_takes_over();
    for service in &services {
        tags.extend(put_all(&client.at(service), &objects, 4).await);
    }
    chain.fourth_takes_over();
    put_all(&client, &objects[OBJECTS / 2..], 5).await;
    for service in &services {
        match_nothing(&client.at(service), &tags).await;
    }
    noticed(watchers, &client, kind).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_the_standby_lacked_ends_on_all_replicas() {
    let pair = Pair::new().await;
    let services = two(&pair.url(Route::Hosts)).await;
    let object = Object::fresh();
    pair.cut();
    let client = services[0].client().await;
    for service in &services {
        client.at(service).set(&object).await;
    }
    pair.fail_over();
    for service in &services {
        let (client, begun) = (client.at(service), Instant::now());
        while answered(|| client.post("/get", object.key.body())).await.status != 401 {
            assert!(begun.elapsed() < DEADLINE, "a lost session is still valid");
            sleep(PAUSE).await;
        }
        client.post("/set", object.body()).await.refused(401, "unauthenticated");
    }
}

/// Nothing fences the old primary: it starts again while the new one is down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_primary_that_returns_gets_no_writes() {
    let pair = Pair::new().await;
    let services = two(&pair.url(Route::Hosts)).await;
    let (client, objects) = (services[0].client().await, objects());
    put_all(&client, &objects, 1).await;
    pair.catch_up();
    pair.fail_over();
    for service in &services {
        put_all(&client.at(service), &objects, 2).await;
    }
    pair.crash_survivor();
    let old = pair.lost();
    let before = old.run("SELECT revision FROM store");
    for (service, object) in services.iter().cycle().zip(&objects) {
        let answer = client.at(service).post("/set", object.numbered(3).body()).await;
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    assert_eq!(old.run("SELECT revision FROM store"), before, "the old primary got writes");
    for service in &services {
        until(async || client.at(service).fetch("/ready").await.status == 503).await;
    }
    pair.resume_survivor();
    for service in &services {
        put_all(&client.at(service), &objects, 4).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_is_replaced_by_the_next_host() {
    let pair = Pair::synchronous().await;
    let services = two(&pair.url(Route::Hosts)).await;
    let (client, objects) = (services[0].client().await, objects());
    put_all(&client, &objects, 1).await;
    pair.hang();
    pair.promote();
    for service in &services {
        put_all(&client.at(service), &objects, 2).await;
    }
}
