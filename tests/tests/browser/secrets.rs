//! Passwords and tokens: shown only on request, and never stored.

use blackbox::{
    authsvc::Site,
    browser::{Page, visit},
};
use serde_json::json;

use crate::{fill, member, open, send};

const TOKEN: &str = "a-token-of-metrics";

/// Checks that the secret is in no storage of the browser and not in the address.
async fn is_kept_nowhere(page: &Page, secret: &str) {
    let kept = page.run(
        "return Promise.all([
            localStorage.length, sessionStorage.length, document.cookie, window.name, history.state,
            indexedDB.databases(), caches.keys(), navigator.serviceWorker.getRegistrations(),
        ])",
    );
    assert_eq!(kept.await, json!([0, 0, "", "", null, [], [], []]));
    assert_eq!(page.cookies().await, 0);
    let address = page.run("return location.href + document.referrer").await.to_string();
    assert!(!address.contains(secret), "{address}");
}

#[tokio::test]
async fn the_metrics_token_is_cleared_when_another_operation_opens() {
    let site = Site::with(&[("METRICS_TOKEN", TOKEN)]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "metrics").await;
        assert_eq!(send(page).await, "401 Unauthorized");
        assert!(page.text("#response-headers").await.contains("Bearer"));

        page.write("#token", TOKEN).await;
        assert_eq!(page.run("return $('#token').type").await, "password");
        page.click("#token-show").await;
        assert_eq!(page.run("return $('#token').type").await, "text");
        assert!(page.text("#code").await.contains("-H 'Authorization: Bearer "));
        assert!(!page.text("#code").await.contains(TOKEN));
        assert_eq!(send(page).await, "200 OK");
        page.click("#metrics-fmt-json").await;
        assert!(page.text("#code").await.contains("/metrics?fmt=json'"));
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "body.responsesByStatus['401']").await, 1);
        page.click("#metrics-fmt-other").await;
        assert_eq!(send(page).await, "400 Bad Request");
        is_kept_nowhere(page, TOKEN).await;

        open(page, "health").await;
        assert_eq!(page.run("return $('#token')").await, json!(null));
        assert_eq!(send(page).await, "200 OK");
        open(page, "metrics").await;
        assert_eq!(page.run("return $('#token').value").await, "");
        assert_eq!(page.run("return $('#token').type").await, "password");
        assert_eq!(send(page).await, "401 Unauthorized");
        is_kept_nowhere(page, TOKEN).await;
    })
    .await;
}

#[tokio::test]
async fn metrics_without_a_token_are_open() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "metrics").await;
        assert_eq!(send(page).await, "200 OK");
        page.write("#token", TOKEN).await;
        assert_eq!(send(page).await, "200 OK");
    })
    .await;
}

#[tokio::test]
async fn a_password_is_masked_until_revealed_and_kept_nowhere() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let revealed = format!(r#""password":"{}""#, known.password);
    visit(&format!("{}/", site.url()), async |page| {
        fill(page, &known).await;
        assert_eq!(page.run("return $('#authenticate-password').type").await, "password");
        let command = page.text("#code").await;
        assert!(command.contains(&known.username) && command.contains(r#""password":"•"#));
        assert!(!page.text("body").await.contains(&known.password));
        page.click("#reveal").await;
        assert!(page.text("#code").await.contains(&revealed));
        page.click("#reveal").await;
        assert!(!page.text("body").await.contains(&known.password));
        assert_eq!(send(page).await, "200 OK");
        is_kept_nowhere(page, &known.password).await;

        page.click("#reveal").await;
        open(page, "health").await;
        open(page, "authenticate").await;
        let fields = "return [...document.querySelectorAll('#request input')]
            .filter((input) => input.type !== 'radio' && input.type !== 'checkbox')
            .map((input) => input.value)";
        assert_eq!(page.run(fields).await, json!(["", ""]));
        assert_eq!(page.run("return $('#reveal').checked").await, false);
        is_kept_nowhere(page, &known.password).await;
    })
    .await;
}
