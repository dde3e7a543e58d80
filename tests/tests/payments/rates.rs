//! Exchange rates for live merchants: the file and its maximum age.

use std::{
    fs,
    time::{Duration, Instant},
};

use blackbox::payments::{Card, Merchant, Refusal as _, Service, minimal};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use tempfile::TempDir;
use tokio::time::sleep;

/// [`published_of`] with one rate.
fn published(directory: &TempDir, days: i64, now: Timestamp) -> String {
    published_of(&[("USD", "1.1592")], directory, days, now)
}

/// Writes a file in the format of the European Central Bank with these rates, dated `days` ago.
pub(crate) fn published_of(
    rates: &[(&str, &str)],
    directory: &TempDir,
    days: i64,
    now: Timestamp,
) -> String {
    let quoted = now.checked_sub(SignedDuration::from_hours(24 * days)).unwrap();
    let date = quoted.to_zoned(TimeZone::UTC).date();
    let rates = rates.iter().map(|(code, rate)| format!("<Cube currency='{code}' rate='{rate}'/>"));
    let rates: String = rates.collect();
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <gesmes:Envelope xmlns:gesmes=\"http://www.gesmes.org/xml/2002-08-01\" \
         xmlns=\"http://www.ecb.int/vocabulary/2002-08-01/eurofxref\">\n\
         <gesmes:subject>Reference rates</gesmes:subject>\n\
         <gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>\n\
         <Cube><Cube time='{date}'>{rates}</Cube></Cube>\n\
         </gesmes:Envelope>\n"
    );
    let path = directory.path().join("rates.xml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The time of the service's clock.
pub(crate) async fn now(service: &Service) -> Timestamp {
    let identity = service.app().await.get("/me").await.expect(200).json();
    identity["identity"]["created"].as_str().unwrap().parse().unwrap()
}

/// A live merchant that is funded in euros. There is no acquirer, so its accepted payments fail
/// with code 27.
async fn live(service: &Service) -> Merchant {
    service.app().await.merchant_with(&minimal()).await
}

async fn is_charged_in(merchant: &Merchant, currency: &str) {
    let answer = merchant.charge(&merchant.payment(Card("4000056655665556"), currency, 100)).await;
    answer.declined(27);
}

async fn is_not_charged_in(merchant: &Merchant, currency: &str) {
    let answer = merchant.charge(&merchant.payment(Card("4000056655665556"), currency, 100)).await;
    answer.names(&["currency"]);
}

#[tokio::test]
async fn without_rates_live_merchants_accept_only_their_currency() {
    let service = Service::with(&[]).await;
    let merchant = live(&service).await;
    is_charged_in(&merchant, "EUR").await;
    is_not_charged_in(&merchant, "USD").await;
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 1);
}

#[tokio::test]
async fn a_rate_for_a_live_merchant_is_at_most_seven_days_old() {
    let service = Service::with(&[]).await;
    let now = now(&service).await;
    drop(service);
    let directory = tempfile::tempdir().unwrap();
    for days in [0, 1, 6] {
        let file = published(&directory, days, now);
        let service = Service::with(&[("PAYMENTS_RATES_FILE", &file)]).await;
        let merchant = live(&service).await;
        is_charged_in(&merchant, "USD").await;
        is_not_charged_in(&merchant, "SEK").await;
    }
    for days in [9, 400] {
        let file = published(&directory, days, now);
        let service = Service::with(&[("PAYMENTS_RATES_FILE", &file)]).await;
        let merchant = live(&service).await;
        is_not_charged_in(&merchant, "USD").await;
        is_charged_in(&merchant, "EUR").await;
        // Test merchants use built-in rates.
        service.merchant().await.pay("USD", 100).await.capture(100).await;
    }
}

#[tokio::test]
async fn a_changed_rates_file_is_reloaded_while_the_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::now();
    let path = published(&directory, 30, now);
    let service = Service::with(&[("PAYMENTS_RATES_FILE", &path)]).await;
    let merchant = live(&service).await;
    is_not_charged_in(&merchant, "USD").await;
    for days in [1, 2, 0] {
        let _ = published(&directory, days, now);
    }
    let begun = Instant::now();
    let payment = merchant.payment(Card("4000056655665556"), "USD", 100);
    while merchant.charge(&payment).await.json()["code"] != 27 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the new rates were not read within 20 s"
        );
        sleep(Duration::from_millis(50)).await;
    }
    fs::write(&path, "not rates").unwrap();
    is_charged_in(&merchant, "USD").await;
    let _ = service.fetch("/health").await.expect(200);
}

/// The time of the file stays the same, so that only the signal makes the service read it.
#[tokio::test]
async fn sighup_reads_the_rates_again() {
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::now();
    let path = published(&directory, 30, now);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let kept = || fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    let service = Service::with(&[("PAYMENTS_RATES_FILE", &path)]).await;
    let merchant = live(&service).await;
    let replaced = directory.path().join("new");
    let publish = || {
        let other = tempfile::tempdir().unwrap();
        fs::copy(published(&other, 0, now), &replaced).unwrap();
        fs::File::options().append(true).open(&replaced).unwrap().set_modified(time).unwrap();
        fs::rename(&replaced, &path).unwrap();
    };
    publish();
    is_not_charged_in(&merchant, "USD").await;
    service.process().signal("HUP").await;
    service.process().logged(|line| line.contains("exchange rates read")).await;
    is_charged_in(&merchant, "USD").await;

    fs::write(&path, "not rates").unwrap();
    kept();
    service.process().signal("HUP").await;
    let names_setting =
        |line: &str| line.contains("WARN") && line.contains("PAYMENTS_RATES_FILE (--rates-file)");
    service.process().logged(names_setting).await;
    is_charged_in(&merchant, "USD").await;
    service.stop().await;
}
