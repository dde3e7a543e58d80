//! Lists: pages, cursors, filters and line breaks.

use blackbox::{
    payments::{App, Card, Merchant, Refusal as _, Service, ids, minimal},
    process::DEADLINE,
    soak::{rounds, seed},
};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::time::timeout;

/// The paths of all lists, without a query.
fn lists(merchant: &Merchant) -> [String; 6] {
    [
        "/apps/me/keys".to_owned(),
        merchant.app.merchants(""),
        merchant.path("/users"),
        merchant.path("/apps"),
        merchant.path("/lines"),
        merchant.path("/transactions"),
    ]
}

/// The ids on a page of a list. The path includes the query.
async fn ids_at(app: &App, path: &str) -> Vec<String> {
    ids(&app.list(path).await)
}

/// Creates a merchant with `count` transactions. Returns their ids, too, newest first.
async fn filled(service: &Service, count: usize) -> (Merchant, Vec<String>) {
    let merchant = service.merchant().await;
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.insert(0, merchant.pay("EUR", 100).await.id);
    }
    (merchant, ids)
}

/// Adds `by` to an id.
fn shifted(id: &str, by: i128) -> String {
    let value = i128::from_str_radix(id, 16).unwrap();
    format!("{:024x}", value + by)
}

/// The expected page. `ids` are newest first.
fn page(ids: &[String], before: Option<&str>, after: Option<&str>, limit: usize) -> Vec<String> {
    let older = |id: &&String| before.is_none_or(|before| id.as_str() < before);
    let newer = |id: &&String| after.is_none_or(|after| id.as_str() > after);
    let mut window: Vec<_> = ids.iter().filter(older).filter(newer).cloned().collect();
    if before.is_none() && after.is_some() {
        window.reverse();
    }
    window.truncate(limit);
    window
}

#[tokio::test]
async fn every_limit_and_cursor_returns_the_expected_page() {
    let service = Service::any().await;
    let (merchant, ids) = filled(&service, 4).await;
    let mut cursors = vec![None, Some("0".repeat(24)), Some("f".repeat(24))];
    for id in &ids {
        cursors.extend([-1, 0, 1].map(|by| Some(shifted(id, by))));
    }
    for limit in [1, 2, 4, 1000] {
        for before in &cursors {
            for after in &cursors {
                let mut query = format!("/transactions?limit={limit}");
                for (name, cursor) in [("before", before), ("after", after)] {
                    if let Some(cursor) = cursor {
                        query = format!("{query}&{name}={cursor}");
                    }
                }
                let expected = page(&ids, before.as_deref(), after.as_deref(), limit);
                assert_eq!(merchant.ids(&query).await, expected, "{query}");
            }
        }
    }
}

#[tokio::test]
async fn every_list_is_newest_first_and_pages_both_ways() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    for number in 0..3 {
        merchant.app.further_key("till").await;
        merchant.app.merchant("EUR").await;
        merchant.invite(&format!("user-{number}@shop.example")).await;
        merchant.add(&service.app().await).await;
        merchant.pay("EUR", 100).await;
        transaction.capture(10).await;
    }
    for list in lists(&merchant) {
        println!("{list}");
        let all = ids_at(&merchant.app, &format!("{list}?limit=10")).await;
        assert!(all.len() >= 3 && all.is_sorted_by(|left, right| left > right), "{all:?}");
        let (first, last) = (&all[0], &all[all.len() - 1]);
        let older = ids_at(&merchant.app, &format!("{list}?limit=10&before={first}")).await;
        assert_eq!(older, all[1..]);
        merchant.app.settle(&format!("{list}?")).await;
        let newer = ids_at(&merchant.app, &format!("{list}?limit=10&after={last}")).await;
        assert!(newer.iter().rev().eq(&all[..all.len() - 1]), "{newer:?}");
        let next = ids_at(&merchant.app, &format!("{list}?limit=1&after={last}")).await;
        assert_eq!(next, all[all.len() - 2..all.len() - 1]);
    }
}

#[tokio::test]
async fn limit_is_required_and_from_1_to_1000() {
    let service = Service::any().await;
    let (merchant, _) = filled(&service, 1).await;
    for list in lists(&merchant) {
        let _ = merchant.app.get(&format!("{list}?limit=1")).await.expect(200);
        let _ = merchant.app.get(&format!("{list}?limit=1000")).await.expect(200);
        merchant.app.get(&list).await.names(&["limit"]);
        for limit in ["", "0", "1001", "-1", "ten", "1.0", "1e2", "%2B1", "99999999999999999999"] {
            merchant.app.get(&format!("{list}?limit={limit}")).await.names(&["limit"]);
        }
    }
}

#[tokio::test]
async fn a_cursor_is_24_hexadecimal_digits_in_either_case() {
    let service = Service::any().await;
    let (merchant, all) = filled(&service, 2).await;
    let middle = shifted(&all[1], 1);
    merchant.app.settle(&merchant.path("/transactions?")).await;
    for cursor in [middle.clone(), middle.to_uppercase()] {
        let query = format!("/transactions?limit=10&before={cursor}");
        assert_eq!(merchant.ids(&query).await, all[1..]);
        let query = format!("/transactions?limit=10&after={cursor}");
        assert_eq!(merchant.ids(&query).await, all[..1]);
    }
    for list in lists(&merchant) {
        for name in ["before", "after"] {
            for cursor in ["x", "0", &middle[1..], &format!("{middle}0"), &"g".repeat(24)] {
                let path = format!("{list}?limit=1&{name}={cursor}");
                merchant.app.get(&path).await.names(&[name]);
            }
        }
    }
    let path = merchant.path("/transactions?limit=0&before=x&after=y");
    merchant.app.get(&path).await.names(&["limit", "before", "after"]);
}

#[tokio::test]
async fn a_list_has_one_item_per_line() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let empty = merchant.get("/lines?limit=10").await.expect(200);
    assert_eq!(empty.text(), "[\n]");
    merchant.pay("EUR", 100).await;
    let one = merchant.get("/transactions?limit=10").await.expect(200);
    let mut lines = one.text().split('\n');
    assert_eq!(lines.next(), Some("["));
    assert!(lines.next().unwrap().ends_with('}'));
    assert_eq!(lines.next(), Some("]"));
    assert_eq!(lines.next(), None);
    merchant.pay("EUR", 100).await;
    let two = merchant.get("/transactions?limit=10").await.expect(200);
    let lines: Vec<_> = two.text().split('\n').collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[1].ends_with("},") && lines[2].ends_with('}'));
    assert!(one.text().contains(lines[2]), "an item differs in a longer list");
}

#[tokio::test]
async fn listed_items_equal_fetched_items() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(10).await;
    assert_eq!(merchant.list("/transactions?limit=1").await, [transaction.fetch().await]);
    let merchants = merchant.app.list(&merchant.app.merchants("?limit=1")).await;
    assert_eq!(merchants, [merchant.fetch().await]);
}

#[tokio::test]
async fn merchants_can_be_filtered_by_test() {
    let service = Service::any().await;
    let app = service.app().await;
    let test = app.merchant("EUR").await.id;
    let live = app.merchant_with(&minimal()).await.id;
    let listed = async |query: &str| ids_at(&app, &app.merchants(query)).await;
    for yes in ["yes", "y", "1", "true"] {
        assert_eq!(listed(&format!("?limit=10&filter[test]={yes}")).await, [test.as_str()]);
    }
    for no in ["no", "n", "0", "false"] {
        assert_eq!(listed(&format!("?limit=10&filter%5Btest%5D={no}")).await, [live.as_str()]);
    }
}

#[tokio::test]
async fn transactions_can_be_filtered_by_successful() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let good = merchant.pay("EUR", 100).await.id;
    let failed = merchant.fail(100).await.id;
    let later = merchant.pay("EUR", 100).await.id;
    let listed = async |query: &str| merchant.ids(&format!("/transactions?{query}")).await;
    let successful = [later.as_str(), good.as_str()];
    assert_eq!(listed("limit=10&filter[successful]=yes").await, successful);
    assert_eq!(listed("limit=1&filter[successful]=true").await, successful[..1]);
    assert_eq!(listed("limit=10&filter[successful]=no").await, [failed.as_str()]);
    let query = format!("limit=1&filter%5bsuccessful%5d=1&before={later}");
    assert_eq!(listed(&query).await, successful[1..]);
}

const REFERENCES: [&str; 6] = ["5011", "5011 ", "a", "A", "é&=+%", ""];

/// Makes payments that share their values.
async fn various(merchant: &Merchant, count: usize, rng: &mut StdRng) {
    let cards = [Card::VISA, Card::LATER_EMPTY, Card::DECLINED];
    for _ in 0..count {
        let card = *cards.choose(rng).unwrap();
        let currency = ["EUR", "USD"].choose(rng).unwrap();
        let mut body = merchant.payment(card, currency, rng.random_range(100..103));
        match rng.random_range(0..10) {
            0 => {}
            1 => body["custom"] = json!({ "reference": 5011 }),
            2 => body["custom"] = json!({ "order": { "reference": "5011" } }),
            _ => body["custom"] = json!({ "reference": REFERENCES.choose(rng).unwrap() }),
        }
        let _ = merchant.charge(&body).await;
    }
}

/// A filter that some of these transactions satisfy, if it has a value of one of them.
fn filter(all: &[Value], rng: &mut StdRng) -> Vec<(&'static str, String)> {
    let some = &all[rng.random_range(0..all.len())];
    let made: Timestamp = some["created"].as_str().unwrap().parse().unwrap();
    let mut time = || match rng.random_range(0..4) {
        0 => made.to_string()[..10].to_owned(),
        by => (made + SignedDuration::from_millis(by - 2)).to_string(),
    };
    let text = |value: &Value| value.as_str().unwrap_or("5011").to_owned();
    let all = [
        ("filter[successful]", if some["successful"] == true { "yes" } else { "no" }.to_owned()),
        ("filter[reference]", text(&some["custom"]["reference"])),
        ("filter[last4]", text(&some["card"]["last4"])),
        ("filter[amount]", some["amount"].to_string()),
        ("filter[currency]", text(&some["currency"])),
        ("filter[created][from]", time()),
        ("filter[created][to]", time()),
    ];
    all.into_iter().filter(|_| rng.random_bool(0.3)).collect()
}

fn satisfies(transaction: &Value, (name, value): &(&str, String)) -> bool {
    let time = |text: &str| -> Timestamp {
        let midnight = if text.len() == 10 { "T00:00:00Z" } else { "" };
        format!("{text}{midnight}").parse().unwrap()
    };
    let created = time(transaction["created"].as_str().unwrap());
    match *name {
        "filter[successful]" => transaction["successful"] == (value == "yes"),
        "filter[reference]" => transaction["custom"]["reference"] == **value,
        "filter[last4]" => transaction["card"]["last4"] == **value,
        "filter[amount]" => transaction["amount"].as_i64() == value.parse().ok(),
        "filter[currency]" => transaction["currency"] == **value,
        "filter[created][from]" => created >= time(value),
        "filter[created][to]" => created < time(value),
        other => panic!("{other} is no filter"),
    }
}

#[tokio::test]
async fn a_filtered_list_has_the_transactions_that_satisfy_all_filters() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let service = Service::any().await;
    let merchant = service.merchant().await;
    various(&merchant, 40, &mut rng).await;
    let all = merchant.list("/transactions?limit=1000").await;
    merchant.app.settle(&merchant.path("/transactions?")).await;
    for _ in 0..rounds(150, 5000) {
        let filters = filter(&all, &mut rng);
        let matching = all.iter().filter(|it| filters.iter().all(|filter| satisfies(it, filter)));
        let matching: Vec<String> = ids(&matching.cloned().collect::<Vec<_>>());
        let mut cursor = || all.choose(&mut rng).unwrap()["id"].as_str().unwrap().to_owned();
        let (before, after) = (cursor(), cursor());
        let (before, after) = match rng.random_range(0..4) {
            0 => (Some(before), None),
            1 => (None, Some(after)),
            2 => (Some(before), Some(after)),
            _ => (None, None),
        };
        let limit = *[1, 3, 1000].choose(&mut rng).unwrap();
        let cursors = [("before", before.clone()), ("after", after.clone())];
        let cursors = cursors.into_iter().filter_map(|(name, id)| Some((name, id?)));
        let parameters = filters.into_iter().chain(cursors).chain([("limit", limit.to_string())]);
        let url = Url::parse_with_params("http://localhost/", parameters).unwrap();
        let query = url.query().unwrap();
        let expected = page(&matching, before.as_deref(), after.as_deref(), limit);
        let listed = merchant.ids(&format!("/transactions?{query}")).await;
        assert_eq!(listed, expected, "{query}");
    }
}

#[tokio::test]
async fn wrong_values_of_filters_are_400() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    for (wrong, field) in [
        ("[last4]=123", "filter.last4"),
        ("[last4]=12x4", "filter.last4"),
        ("[amount]=0", "filter.amount"),
        ("[amount]=", "filter.amount"),
        ("[amount]=1.5", "filter.amount"),
        ("[currency]=eur", "filter.currency"),
        ("[currency]=", "filter.currency"),
        ("[reference][]=x", "filter.reference"),
        ("[created]=2026-11-21", "filter.created"),
        ("[created][from]=yesterday", "filter.created.from"),
        ("[created][to]=2026-11-21T10:14:42", "filter.created.to"),
        ("[created][gte]=2026-11-21", "filter.created.gte"),
    ] {
        merchant.get(&format!("/transactions?limit=1&filter{wrong}")).await.names(&[field]);
    }
}

#[tokio::test]
async fn unknown_parameters_and_filters_are_400() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let of_merchant = format!("?filter[merchantId]={}&", merchant.id);
    let lists = lists(&merchant).map(|path| format!("{path}?")).into_iter().chain([
        format!("/disputes{of_merchant}"),
        format!("/frauds{of_merchant}"),
        format!("/events{of_merchant}"),
        format!("/payouts{of_merchant}"),
        "/webhooks?".to_owned(),
    ]);
    for list in lists {
        for (unknown, field) in [
            ("order=asc", "order"),
            ("offset[]=1&offset[]=2", "offset"),
            ("filter[status]=a", "filter.status"),
            ("filter%5Bstatus%5D%5B%5D=a", "filter.status"),
            ("filter[status][0][x]=a&filter[status]=b", "filter.status"),
        ] {
            merchant.app.get(&format!("{list}limit=10&{unknown}")).await.names(&[field]);
        }
    }
    for wrong in ["filter[successful][]=yes", "filter[successful]=yes&filter[successful]=yes"] {
        let answer = merchant.get(&format!("/transactions?limit=10&{wrong}")).await;
        answer.names(&["filter.successful"]);
    }
}

#[tokio::test]
async fn a_filter_that_is_not_a_boolean_is_400() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let test = merchant.app.merchants("?limit=10&filter[test]=maybe");
    let answer = merchant.app.get(&test).await.expect(400);
    assert_eq!(answer.json().as_array().unwrap().len(), 1, "{answer:?}");
    let answer = merchant.get("/transactions?limit=10&filter[successful]=maybe").await.expect(400);
    assert_eq!(answer.json().as_array().unwrap().len(), 1, "{answer:?}");
}

#[tokio::test]
async fn pages_are_stable_while_items_are_inserted() {
    let service = Service::any().await;
    let (merchant, all) = filled(&service, 5).await;
    let mut seen = merchant.ids("/transactions?limit=2").await;
    let mut inserted = Vec::new();
    while let Some(last) = seen.last().cloned() {
        inserted.push(merchant.pay("EUR", 100).await.id);
        let next = merchant.ids(&format!("/transactions?limit=2&before={last}")).await;
        assert!(next.iter().all(|id| *id < last), "{next:?} is not older than {last}");
        if next.is_empty() {
            break;
        }
        seen.extend(next);
    }
    assert_eq!(seen, all);
    merchant.app.settle(&merchant.path("/transactions?")).await;
    let newer = merchant.ids(&format!("/transactions?limit=100&after={}", all[0])).await;
    assert_eq!(newer, inserted);
}

#[tokio::test]
async fn polling_with_after_misses_nothing() {
    const COUNT: usize = 100;
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let paying = async {
        for _ in 0..COUNT / 10 {
            join_all((0..10).map(|_| merchant.pay("EUR", 100))).await;
        }
    };
    let polling = async {
        let (mut seen, mut last) = (Vec::new(), "0".repeat(24));
        while seen.len() < COUNT {
            let page = merchant.ids(&format!("/transactions?limit=7&after={last}")).await;
            assert!(page.is_sorted(), "{page:?}");
            last = page.last().cloned().unwrap_or(last);
            seen.extend(page);
        }
        seen
    };
    let both = async { tokio::join!(polling, paying) };
    let (seen, ()) = timeout(DEADLINE, both).await.unwrap();
    let mut all = merchant.ids("/transactions?limit=1000").await;
    all.reverse();
    assert_eq!((seen.len(), seen), (COUNT, all));
}
