//! Passwords, tokens, usernames and profiles never appear in logs, metrics or error answers.

use std::time::Duration;

use blackbox::authsvc::{Credentials, Site};
use demo_portal::{Behaviour, Delivery, Operation};
use serde_json::json;
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn no_secret_is_logged_or_counted() {
    let site = Site::with(&[
        ("RUST_LOG", "trace"),
        ("LOG_FORMAT", "json"),
        ("PORTAL_TIMEOUT", "1s"),
        ("METRICS_TOKEN", "metrics-token-8c1f"),
    ])
    .await;
    let known = site
        .student_with(|student| student.info("SRN", "srn-4b7d").info("BloodGroup", "blood-91ae"));
    let mut answers = Vec::new();
    answers.push(site.profile(&known).await.expect(200));
    let wrong = Credentials { password: format!("{}-wrong", known.password), ..known.clone() };
    answers.push(site.profile(&wrong).await.expect(401));
    for (operation, behaviour) in [
        (Operation::Login, Behaviour::from(Delivery::NotHttp)),
        (Operation::Login, Behaviour::from(Delivery::ResetMidway)),
        (Operation::Login, Behaviour::answer(200, json!({ "accessToken": known.username }))),
        (Operation::Login, Behaviour::from(Delivery::Hang)),
        (Operation::Login, Behaviour::honest()),
        (Operation::Profile, Behaviour::from(Delivery::ResetMidway)),
        (Operation::Profile, Behaviour::answer(200, json!({ "MESSAGE": "srn-4b7d" }))),
        (
            Operation::Profile,
            Behaviour::answer(200, json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": "srn-4b7d" })),
        ),
    ] {
        site.portal.script(&known.username, operation, behaviour);
        answers.push(site.profile(&known).await);
    }
    let invalid = json!({ "username": known.username, "password": known.password, "profile": known.password });
    answers.push(site.authenticate(invalid.to_string()).await.expect(400));
    let scrape = site.request(reqwest::Method::GET, "/metrics");
    let scrape =
        scrape.header("authorization", "Bearer metrics-token-8c1f").send().await.expect(200);

    let token = site.portal.received(&known.username).iter().find_map(|call| {
        call.header("authorization").map(|value| value.trim_start_matches("Bearer ").to_owned())
    });
    let token = token.unwrap();
    let secrets =
        [&known.username, &known.password, &token, "srn-4b7d", "blood-91ae", "metrics-token-8c1f"];
    // Another thread writes the log: wait for the line of the last request.
    let begun = Instant::now();
    while !site
        .process()
        .log()
        .iter()
        .any(|line| line.contains("/metrics") && line.contains("request answered"))
    {
        assert!(begun.elapsed() < Duration::from_secs(10));
        sleep(Duration::from_millis(10)).await;
    }
    let log = site.process().log();
    assert!(log.len() > 20, "the log has only {} lines; is its level `trace`?", log.len());
    for secret in secrets {
        if let Some(line) = log.iter().find(|line| line.contains(secret)) {
            panic!("{secret} is logged: {line}");
        }
        assert!(!scrape.text().contains(secret), "{secret} is in the metrics");
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert!(!answer.text().contains(secret), "{secret} is in {answer:?}");
        }
    }
    assert!(answers[0].text().contains("srn-4b7d") && !answers[0].text().contains("blood-91ae"));
}
