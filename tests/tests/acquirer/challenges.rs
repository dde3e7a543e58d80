//! 3-D Secure: the page of the customer, and the completion.

use blackbox::acquirer::{Acquirer, authorization, card, key};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{declined, done, reversal};

const RETURN_URL: &str = "https://pay.example/challenge?form=Zm9ybQ&b=%2F";

/// A challenge of a card: the key, and the path of its page.
async fn challenge(acquirer: &Acquirer, number: &str) -> (String, String) {
    let mut body = authorization(number);
    body["returnUrl"] = json!(RETURN_URL);
    let key = key();
    let outcome = acquirer.outcome("/authorizations", &key, &body).await;
    let path = format!("/challenges/{key}");
    let expected = json!({ "key": key, "status": "challenge", "url": acquirer.url(&path) });
    assert_eq!(outcome, expected);
    (key, path)
}

async fn complete(acquirer: &Acquirer, key: &str) -> Value {
    acquirer.outcome(&format!("/authorizations/{key}/complete"), key, &json!({})).await
}

/// Presses a button of the page.
async fn press(acquirer: &Acquirer, path: &str, button: &str) {
    let page = acquirer.plain(Method::GET, path).send_undescribed().await.expect(200);
    let action = format!("{path}/{button}");
    assert!(page.text().contains(&format!(r#"action="{action}""#)), "{}", page.text());
    let sent = acquirer.plain(Method::POST, &action).send_undescribed().await.expect(303);
    assert_eq!(sent.header("location"), Some(RETURN_URL));
}

#[tokio::test]
async fn the_customer_confirms_or_declines() {
    let acquirer = Acquirer::start().await;
    for (number, button, expected) in [
        (card::FULL, "confirm", Some("full")),
        (card::ATTEMPT, "confirm", Some("attempt")),
        (card::FAILS, "confirm", None),
        (card::FULL, "decline", None),
        (card::ATTEMPT, "decline", None),
    ] {
        let (key, path) = challenge(&acquirer, number).await;
        let unanswered = complete(&acquirer, &key).await;
        assert_eq!(unanswered["status"], "challenge");
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), unanswered);
        press(&acquirer, &path, button).await;
        let outcome = complete(&acquirer, &key).await;
        match expected {
            Some(use_of_3d_secure) => {
                assert_eq!(outcome["status"], "approved");
                assert_eq!(outcome["threeDSecure"], use_of_3d_secure);
            }
            None => assert_eq!(outcome, declined(&key, 31)),
        }
        assert_eq!(complete(&acquirer, &key).await, outcome);
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), outcome);
        assert_eq!(acquirer.operation(&key).await["executed"], 1);
    }
}

#[tokio::test]
async fn only_the_first_answer_of_the_customer_counts() {
    let acquirer = Acquirer::start().await;
    let (key, path) = challenge(&acquirer, card::FULL).await;
    press(&acquirer, &path, "decline").await;
    let again = acquirer.plain(Method::POST, &format!("{path}/confirm"));
    let again = again.send_undescribed().await.expect(303);
    assert_eq!(again.header("location"), Some(RETURN_URL));
    let page = acquirer.plain(Method::GET, &path).send_undescribed().await.expect(410);
    assert!(page.text().contains("https://pay.example/challenge?form=Zm9ybQ&#38;b=%2F"));
    assert_eq!(complete(&acquirer, &key).await, declined(&key, 31));
}

#[tokio::test]
async fn a_reversal_ends_a_challenge() {
    let acquirer = Acquirer::start().await;
    let (payment, path) = challenge(&acquirer, card::FULL).await;
    let key = key();
    assert_eq!(acquirer.outcome("/reversals", &key, &reversal(&payment)).await, done(&key));
    let _ = acquirer.plain(Method::GET, &path).send_undescribed().await.expect(410);
    let confirmed = acquirer.plain(Method::POST, &format!("{path}/confirm"));
    let _ = confirmed.send_undescribed().await.expect(303);
    assert_eq!(complete(&acquirer, &payment).await, declined(&payment, 12));
}

#[tokio::test]
async fn a_completion_without_a_challenge_is_the_outcome() {
    let acquirer = Acquirer::start().await;
    let key = acquirer.authorize().await;
    let outcome = acquirer.ask(&key).await.expect(200).json();
    assert_eq!(complete(&acquirer, &key).await, outcome);
}

#[tokio::test]
async fn the_page_runs_no_script_and_names_the_amount() {
    let acquirer = Acquirer::start().await;
    let (_, path) = challenge(&acquirer, card::FULL).await;
    let page = acquirer.plain(Method::GET, &path).send_undescribed().await.expect(200);
    assert!(page.text().contains("9.95 EUR"), "{}", page.text());
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("set-cookie"), None);

    let payment = acquirer.authorize().await;
    for path in
        ["/challenges/x", &format!("/challenges/{}", key()), &format!("/challenges/{payment}")]
    {
        let _ = acquirer.plain(Method::GET, path).send_undescribed().await.expect(404);
        let confirm = acquirer.plain(Method::POST, &format!("{path}/confirm"));
        let _ = confirm.send_undescribed().await.expect(404);
    }
}

#[tokio::test]
async fn the_url_of_the_page_is_a_setting() {
    let url = "https://bank.example/demo";
    let acquirer = Acquirer::with(&[("DEMO_ACQUIRER_URL", &format!("{url}/"))]).await;
    let mut body = authorization(card::FULL);
    body["returnUrl"] = json!(RETURN_URL);
    let key = key();
    let outcome = acquirer.outcome("/authorizations", &key, &body).await;
    assert_eq!(outcome["url"], format!("{url}/challenges/{key}"));
}
