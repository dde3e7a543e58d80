//! Conditions that fail every visit, so that the other tests need not check them.

use blackbox::{authsvc::Service, browser::visit};

/// Runs the script on the page of the explorer, then waits until the expression `until` is true.
async fn run(script: &str, until: &str) {
    let service = Service::any().await;
    visit(&format!("{}/", service.url()), async |page| {
        let _ = page.run(script).await;
        page.until(until).await;
    })
    .await;
}

#[tokio::test]
#[should_panic(expected = "sends requests to other origins: [\"http://another.example/\"]")]
async fn a_request_to_another_origin_fails_the_visit() {
    run("location = 'http://another.example/'", "location.protocol === 'chrome-error:'").await;
}

#[tokio::test]
#[should_panic(expected = "an error of the page")]
async fn an_error_in_the_console_fails_the_visit() {
    run(
        "setTimeout(() => { window.thrown = true; throw 'an error of the page' })",
        "window.thrown",
    )
    .await;
}

#[tokio::test]
#[should_panic(expected = "Content Security Policy")]
async fn a_policy_violation_fails_the_visit() {
    run("document.body.append(document.createElement('style')); $('style').append('p {}')", "true")
        .await;
}
