//! Sign-ins with the explorer.

use blackbox::{
    authsvc::{Credentials, FIELDS, Site},
    browser::visit,
};
use demo_portal::{Behaviour, Delivery, Operation, Outcome, Script};
use serde_json::json;

use crate::{fill, member, open, reaches, send};

#[tokio::test]
async fn a_student_signs_in() {
    let site = Site::with(&[]).await;
    let known = site.student();
    visit(&format!("{}/", site.url()), async |page| {
        fill(page, &known).await;
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "body.status").await, true);
        assert_eq!(member(page, "'profile' in body").await, false);
        page.until("/^([0-9]+ ms|[0-9.]+ s)$/.test($('#elapsed').textContent)").await;
        assert!(page.text("#response-headers").await.contains("no-store"));
        let received = site.portal.received(&known.username);
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].field("password"), Some(known.password.as_str()));
    })
    .await;
}

#[tokio::test]
async fn a_profile_has_all_or_the_chosen_fields() {
    let site = Site::with(&[]).await;
    let known = site.student();
    visit(&format!("{}/", site.url()), async |page| {
        fill(page, &known).await;
        page.click("#authenticate-profile").await;
        let command = page.text("#curl").await;
        assert!(command.contains(r#""profile":true"#), "{command}");
        assert!(!command.contains("fields"), "{command}");
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "Object.keys(body.profile)").await, json!(FIELDS));

        page.click("#authenticate-fields-all").await;
        assert!(page.text("#curl").await.contains(&format!(r#""fields":{}"#, json!(FIELDS))));
        page.click("#authenticate-fields-none").await;
        assert!(!page.text("#curl").await.contains("fields"));
        for field in ["semester", "branch", "name"] {
            page.click(&format!("#authenticate-fields-{field}")).await;
        }
        let fields = json!(["name", "branch", "semester"]);
        assert!(page.text("#curl").await.contains(&format!(r#""fields":{fields}"#)));
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "Object.keys(body.profile)").await, fields);
    })
    .await;
}

#[tokio::test]
async fn errors_are_shown_with_status_and_message() {
    let site = Site::with(&[]).await;
    let wrong = Credentials { password: "wrong".to_owned(), ..site.student() };
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        assert_eq!(send(page).await, "400 Bad Request");
        let message = member(page, "body.message").await.to_string();
        assert!(message.contains("username") && message.contains("password"), "{message}");

        fill(page, &wrong).await;
        assert_eq!(send(page).await, "401 Unauthorized");
        assert_eq!(member(page, "body.status").await, false);
    })
    .await;
}

#[tokio::test]
async fn cancelling_a_request_abandons_the_sign_in() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let hang = Script::queue([Behaviour::from(Delivery::Hang)]);
    site.portal.script(&known.username, Operation::Login, hang);
    visit(&format!("{}/", site.url()), async |page| {
        fill(page, &known).await;
        page.click("#send").await;
        site.until(|portal| portal.received(&known.username).len() == 1).await;
        reaches(page, "sending").await;
        page.click("#cancel").await;
        reaches(page, "cancelled").await;
        assert_eq!(page.text("#status").await, "Cancelled");
        site.until(|portal| portal.received(&known.username)[0].outcome == Outcome::Abandoned)
            .await;
        page.until("$('#cancel').disabled").await;

        assert_eq!(send(page).await, "200 OK");
    })
    .await;
}
