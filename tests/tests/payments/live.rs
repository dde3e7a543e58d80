//! Live merchants, with demo-acquirer as their acquirer.

use blackbox::{
    acquirer::{Acquirer, card},
    http::Answer,
    payments::{Link, Merchant, Refusal as _, Service, Stopped, Transaction, minimal, next},
    process::DEADLINE,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

mod capabilities;
mod facts;
mod faults;
pub(crate) mod reconcile;
mod refusals;
pub(crate) mod standing;
mod traces;

/// A live merchant, its service and its acquirer.
struct Live {
    acquirer: Acquirer,
    service: Service,
    merchant: Merchant,
}

impl Live {
    async fn start() -> Self {
        Self::with(&[]).await
    }

    /// A service with these settings besides those of the acquirer.
    async fn with(settings: &[(&str, &str)]) -> Self {
        Self::beside(Acquirer::start().await, settings).await
    }

    /// As [`Self::with`], with this acquirer.
    async fn beside(acquirer: Acquirer, settings: &[(&str, &str)]) -> Self {
        let own = acquirer.of_payments();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let timeout = ("PAYMENTS_ACQUIRER_TIMEOUT", "1s");
        let settings: Vec<_> = own.chain([timeout]).chain(settings.iter().copied()).collect();
        let service = Service::with(&settings).await;
        let merchant = service.app().await.merchant_with(&minimal()).await;
        Self { acquirer, service, merchant }
    }

    /// The body of a customer's payment with this card.
    fn payment(&self, number: &str, amount: i64) -> Value {
        let expiry = json!({ "month": 2, "year": 2048 });
        let card = json!({ "number": number, "expiry": expiry, "code": "739" });
        json!({ "key": self.merchant.key, "currency": "EUR", "amount": amount, "card": card })
    }

    async fn charge(&self, number: &str, amount: i64) -> Answer {
        self.merchant.charge(&self.payment(number, amount)).await
    }

    /// A successful payment.
    async fn pay(&self, amount: i64) -> Transaction {
        let answer = self.charge(card::VISA, amount).await.expect(201);
        self.merchant.transaction(&answer)
    }

    /// A payment with the card of another transaction, and an idempotency key.
    async fn repeat(&self, key: &str, original: &Transaction, amount: i64) -> Answer {
        let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": amount });
        self.merchant.app.post_once(key, &self.merchant.path("/transactions"), &body).await
    }

    /// Waits until the acquirer has confirmed or refused everything.
    async fn settled(&self) {
        self.service.settled().await;
    }

    /// Stops the service. The books must agree with each other and with those of the acquirer.
    async fn agrees(self) {
        let stopped = self.service.stop().await;
        stopped.agrees().await;
        stopped.equals(&self.acquirer.operations().await);
    }
}

#[tokio::test]
async fn captures_refunds_and_voids_reach_the_acquirer() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    let made = paid.fetch().await;
    assert_eq!((&made["test"], &made["successful"]), (&json!(false), &json!(true)));
    assert_eq!((&made["card"]["last4"], &made["tds"]), (&json!("0001"), &json!("none")));
    paid.capture(600).await;
    paid.refund(250).await;
    paid.void(400).await;
    live.settled().await;
    let operations = live.acquirer.operations().await;
    let kinds: Vec<_> = operations.iter().map(|known| known["kind"].as_str().unwrap()).collect();
    for kind in ["authorization", "capture", "refund", "void"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    for operation in operations.iter().filter(|known| known["kind"] != "authorization") {
        assert_eq!(operation["transactionId"], json!(paid.id), "{operation}");
    }
    live.agrees().await;
}

/// A control: the comparison of the books finds what is missing on our side.
#[tokio::test]
#[should_panic(expected = "only here: [], only there: [")]
async fn an_operation_that_is_missing_in_the_books_is_found() {
    let live = Live::start().await;
    live.pay(1000).await.capture(600).await;
    live.settled().await;
    let stopped = live.service.stop().await;
    assert_eq!(stopped.change("DELETE FROM trail"), 1);
    stopped.equals(&live.acquirer.operations().await);
}

#[tokio::test]
async fn declines_have_the_code_of_the_acquirer() {
    let live = Live::start().await;
    for (number, code) in
        [("4100000000000076", 7), ("4100000000000258", 25), (card::UNKNOWN, 29), (card::FULL, 30)]
    {
        live.charge(number, 500).await.declined(code);
    }
    assert!(live.merchant.list("/transactions?limit=10&filter[successful]=yes").await.is_empty());
    live.agrees().await;
}

#[tokio::test]
async fn a_card_of_an_earlier_payment_pays_again() {
    let live = Live::start().await;
    let original = live.pay(1000).await;
    let again = live.repeat("again", &original, 300).await.expect(201);
    let again = live.merchant.transaction(&again).fetch().await;
    assert_eq!((&again["recurring"], &again["amount"]), (&json!(true), &json!(300)));
    let empty = live.charge(card::LATER_EMPTY, 1000).await.expect(201);
    let empty = live.merchant.transaction(&empty);
    live.repeat("empty", &empty, 300).await.declined(7);
    live.agrees().await;
}

#[tokio::test]
async fn a_typed_card_is_checked_before_it_is_saved() {
    let live = Live::start().await;
    let mut body = live.payment(card::MASTERCARD, 0);
    let saved = json!({ "key": body["key"].take(), "card": body["card"].take() });
    let saved = live.service.pay("/cards", &saved).await.expect(201).json();
    let card = json!({ "cardId": saved["card"]["id"], "currency": "EUR", "amount": 700 });
    let paid = live.merchant.post("/transactions", &card).await.expect(201);
    assert_eq!(live.merchant.transaction(&paid).fetch().await["card"]["scheme"], "mastercard");
    let checks = live.acquirer.operations().await;
    assert!(checks.iter().any(|check| check["amount"] == 0), "{checks:?}");
    live.agrees().await;
}

/// Follows the challenge of a form to the acquirer, presses a button there, and comes back. Returns
/// the address that the browser is sent to.
async fn answer_challenge(live: &Live, page: &Answer, button: &str) -> String {
    let text = page.text();
    let url = text.split("class=\"button\" href=\"").nth(1).unwrap();
    let url = url.split('"').next().unwrap().replace("&amp;", "&");
    let path = url.strip_prefix(&live.acquirer.url("")).unwrap().to_owned();
    let shown = live.acquirer.plain(Method::GET, &path).send_undescribed().await.expect(200);
    assert!(shown.text().contains("<form"), "{shown:?}");
    let answer = live.acquirer.plain(Method::POST, &format!("{path}/{button}"));
    let back = answer.send_undescribed().await;
    assert_eq!(back.status, 303, "{back:?}");
    let back = back.header("location").unwrap().to_owned();
    back.strip_prefix(live.service.pos_url()).unwrap().to_owned()
}

/// Pays with this card at a link, up to the challenge. Returns the path of the form, and the page.
async fn challenged(live: &Live, number: &'static str) -> (String, Answer) {
    let link = Link::to(&live.merchant).without("test");
    let (form, page) = live.service.pay_at(&link, blackbox::payments::Card(number)).await;
    (form, page.expect(200))
}

#[tokio::test]
async fn a_customer_confirms_at_the_acquirer_and_comes_back() {
    let live = Live::start().await;
    for (number, tds, successful) in
        [(card::FULL, "full", true), (card::ATTEMPT, "attempt", true), (card::FAILS, "none", false)]
    {
        let (form, page) = challenged(&live, number).await;
        assert!(page.text().contains("http-equiv=\"refresh\" content=\"0;url=https://"));
        let back = answer_challenge(&live, &page, "confirm").await;
        assert!(back.starts_with("/returned?"), "{back}");
        let shown = next(&live.service.show(&back).await);
        assert_eq!(shown.trim_end_matches("&continue=y"), form);
        let newest = &live.merchant.list("/transactions?limit=1").await[0];
        assert_eq!((&newest["successful"], &newest["tds"]), (&json!(successful), &json!(tds)));
        // Coming back again changes nothing.
        assert_eq!(next(&live.service.show(&back).await), shown);
    }
    live.agrees().await;
}

#[tokio::test]
async fn a_customer_who_declines_or_returns_early_has_not_paid() {
    let live = Live::start().await;
    let (form, page) = challenged(&live, card::FULL).await;
    // Before an answer, the page leads to the acquirer again.
    let early = form.replace("/?", "/returned?");
    let _ = next(&live.service.show(&early).await);
    assert!(live.service.show(&form).await.text().contains("http-equiv=\"refresh\""));
    let back = answer_challenge(&live, &page, "decline").await;
    let _ = next(&live.service.show(&back).await);
    let made = live.merchant.list("/transactions?limit=10").await;
    assert_eq!((made.len(), &made[0]["error"]["code"]), (1, &json!(31)), "{made:?}");
    live.agrees().await;
}

#[tokio::test]
async fn a_browser_without_cookies_comes_back_to_its_result() {
    let live = Live::start().await;
    let browser = live.service.in_browser("");
    let link = Link::to(&live.merchant).without("test");
    let form = browser.open(&link).await;
    let page = browser.show(&form).await;
    let secret = page.text().split("name=\"browser\" value=\"").nth(1).unwrap();
    let secret = secret.split('"').next().unwrap().to_owned();
    let card = format!("number={}&expiry=02+%2F+48&code=739&browser={secret}", card::FULL);
    let page = browser.send_form(&form, &card).await.expect(200);
    let back = answer_challenge(&live, &page, "confirm").await;
    let result = browser.show(&back).await.expect(200);
    let made = live.merchant.ids("/transactions?limit=1").await.remove(0);
    assert!(result.text().contains(&made), "{result:?}");
    // Some banks come back in another browser. It sees the result, and nothing else.
    let elsewhere = live.service.show(back.split("&browser").next().unwrap()).await.expect(200);
    assert!(elsewhere.text().contains("Payment successful"), "{elsewhere:?}");
    assert!(!elsewhere.text().contains(&made) && !elsewhere.text().contains("0308"));
    // A stranger who knows only the form sees nothing.
    let stranger = live.service.in_browser("").show(&form).await;
    assert!(!stranger.text().contains(&made), "{stranger:?}");
    live.agrees().await;
}

#[tokio::test]
async fn without_an_acquirer_the_page_asks_for_no_card() {
    let service = Service::with(&[]).await;
    let merchant = service.app().await.merchant_with(&minimal()).await;
    let link = Link::to(&merchant).without("test");
    let page = service.show(&link.path()).await.expect(503);
    assert!(!page.text().contains("<form"), "{page:?}");
    let mut body = merchant.payment(blackbox::payments::Card::LIVE, "EUR", 100);
    merchant.charge(&body).await.declined(27);
    let saved = json!({ "key": body["key"].take(), "card": body["card"].take() });
    let _ = service.pay("/cards", &saved).await.expect(400);
    for code in ["\"code\":27", "\"code\":28"] {
        let cause = "no acquirer is configured";
        service.process().logged(|line| line.contains(code) && line.contains(cause)).await;
    }
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_payment_keeps_its_acquirer_when_the_setting_changes() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    let stopped = live.service.stop().await.with("PAYMENTS_ACQUIRER", "");
    let service = stopped.start().await;
    let merchant = live.merchant.by(&live.merchant.app.at(&service));
    merchant.charge(&live_body(&merchant)).await.declined(27);
    paid.by(&merchant.app).capture(1000).await;
    let live = Live { service, merchant, ..live };
    live.settled().await;
    assert_eq!(live.acquirer.operations().await.len(), 2);
    live.agrees().await;
}

fn live_body(merchant: &Merchant) -> Value {
    merchant.payment(blackbox::payments::Card::LIVE, "EUR", 100)
}

#[tokio::test]
async fn the_settings_of_the_acquirer_belong_together() {
    for (settings, named) in [
        (&[("PAYMENTS_ACQUIRER", "http")][..], "PAYMENTS_ACQUIRER_URL"),
        (&[("PAYMENTS_ACQUIRER_URL", "https://acquirer.example")], "PAYMENTS_ACQUIRER_SECRET"),
        (&[("PAYMENTS_ACQUIRER_URL", "http://acquirer.example")], "--acquirer-url"),
        (&[("PAYMENTS_ACQUIRER", "other")], "--acquirer"),
    ] {
        let output = Stopped::new(settings).command().output().await.unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(named), "{settings:?}: {error}");
    }
}

#[tokio::test]
async fn the_sandbox_clock_does_not_affect_live_merchants() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    let test = live.merchant.app.merchant("EUR").await.pay("EUR", 1000).await;
    let advance = json!({ "advance": "366d" });
    let _ = live.merchant.app.post("/sandbox/clock", &advance).await.expect(201);
    let voided = async {
        while test.fetch().await["voidedAmount"] == 0 {
            sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, voided).await.unwrap();
    live.settled().await;
    assert_eq!(paid.fetch().await["voidedAmount"], 0);
    live.agrees().await;
}
