//! Sign-ins with the explorer.

use blackbox::{
    authsvc::{Credentials, FIELDS, Site},
    browser::{Page, visit},
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
        let command = page.text("#code").await;
        assert!(command.contains(r#""profile":true"#), "{command}");
        assert!(!command.contains("fields"), "{command}");
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "Object.keys(body.profile)").await, json!(FIELDS));

        page.click("#authenticate-fields-all").await;
        assert!(page.text("#code").await.contains(&format!(r#""fields":{}"#, json!(FIELDS))));
        page.click("#authenticate-fields-none").await;
        assert!(!page.text("#code").await.contains("fields"));
        for field in ["semester", "branch", "name"] {
            page.click(&format!("#authenticate-fields-{field}")).await;
        }
        let fields = json!(["name", "branch", "semester"]);
        assert!(page.text("#code").await.contains(&format!(r#""fields":{fields}"#)));
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "Object.keys(body.profile)").await, fields);
    })
    .await;
}

#[tokio::test]
async fn fields_are_disabled_and_never_sent_while_profile_is_off() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let boxes = "[...document.querySelectorAll('#authenticate-fields :is(input, button)')]";
    visit(&format!("{}/", site.url()), async |page| {
        let _ = page.run(KEEP_SENT).await;
        fill(page, &known).await;
        page.until(&format!("{boxes}.length > 17 && {boxes}.every((it) => it.disabled)")).await;
        let reason = shown(page, "#authenticate-fields-hint").await;
        assert!(reason.ends_with("Not sent while profile is off."), "{reason}");
        let focus = "$('#authenticate-fields-name').focus(); return document.activeElement.id";
        assert_ne!(page.run(focus).await, "authenticate-fields-name");

        page.click("#authenticate-profile").await;
        page.until(&format!("{boxes}.every((it) => !it.disabled)")).await;
        assert!(!shown(page, "#authenticate-fields-hint").await.contains("Not sent"));
        page.click("#authenticate-fields-name").await;
        assert!(page.text("#code").await.contains(r#""fields":["name"]"#));
        page.click("#authenticate-profile").await;
        page.until(&format!("{boxes}.every((it) => it.disabled)")).await;
        assert!(!page.text("#code").await.contains("fields"));
        assert_eq!(send(page).await, "200 OK");
        page.click("#authenticate-body-json").await;
        assert_eq!(
            page.run("return $('#authenticate-body').value.includes('fields')").await,
            false
        );
        page.click("#authenticate-body-form").await;

        page.click("#authenticate-profile").await;
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "body.profile").await, json!({ "name": "Asha Miren Kaldev" }));
        let sent = page.run("return sent.map((body) => JSON.parse(body).fields ?? null)").await;
        assert_eq!(sent, json!([null, ["name"]]));
    })
    .await;
}

#[tokio::test]
async fn the_rules_are_folded() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        let description = shown(page, "#description").await;
        assert!(description.contains("The portal decides."), "{description}");
        assert!(!description.contains("Validation is strict"), "{description}");
        page.click("#description summary").await;
        page.until("$('#description').innerText.includes('Validation is strict')").await;
        open(page, "health").await;
        assert_eq!(page.run("return $('#description details')").await, json!(null));
    })
    .await;
}

#[tokio::test]
async fn the_list_of_fields_opens_with_profile() {
    let site = Site::with(&[]).await;
    let is_open = "return $('#authenticate-fields details').open";
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        assert_eq!(page.run(is_open).await, false);
        page.click("#authenticate-profile").await;
        assert_eq!(page.run(is_open).await, true);
        page.click("#authenticate-fields-name").await;
        let told = shown(page, "#authenticate-fields summary").await;
        assert_eq!(told, "1 of 17 chosen");

        // A list that the reader has closed stays closed.
        page.click("#authenticate-fields summary").await;
        page.write("#authenticate-username", "zoe").await;
        assert_eq!(page.run(is_open).await, false);
        page.click("#authenticate-profile").await;
        page.click("#authenticate-profile").await;
        assert_eq!(page.run(is_open).await, true);
        page.click("#authenticate-profile").await;
        assert_eq!(page.run(is_open).await, false);
    })
    .await;
}

#[tokio::test]
async fn the_openapi_document_says_which_field_needs_which() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        let change = "const { properties } = document.components.schemas.AuthenticateRequest;
            delete properties.fields['x-used-with'];
            properties.password['x-used-with'] = 'fields';";
        reload_with(page, change).await;
        let disabled = "['fields', 'fields-all', 'fields-name', 'password', 'password-show']
            .map((name) => $(`#authenticate-${name}`).disabled)";
        let disabled = format!("return {disabled}");
        assert_eq!(page.run(&disabled).await, json!([false, false, false, true, true]));
        page.click("#authenticate-fields-name").await;
        assert_eq!(page.run(&disabled).await, json!([false, false, false, false, false]));
        page.write("#authenticate-password", "a password").await;
        assert!(page.text("#code").await.contains("password"));
        page.click("#authenticate-fields-none").await;
        assert!(!page.text("#code").await.contains("password"));
    })
    .await;
}

/// Keeps the bodies of the requests of the page in `sent`.
const KEEP_SENT: &str = "window.sent = [];
    const before = fetch;
    window.fetch = (url, options) => {
        sent.push(options.body);
        return before(url, options);
    };";

/// The text of an element as a reader sees it.
async fn shown(page: &Page, selector: &str) -> String {
    let text = page.run(&format!("return $('{selector}').innerText")).await;
    text.as_str().unwrap_or_default().to_owned()
}

/// Lets the page read the OpenAPI document again, changed by a script that knows it as `document`.
pub(crate) async fn reload_with(page: &Page, change: &str) {
    let script = format!(
        "const description = await (await fetch('/openapi.json')).json();
        (function (document) {{ {change} }})(description);
        const before = window.fetch;
        window.fetch = (url, options) => url === '/openapi.json'
            ? new Response(JSON.stringify(description)) : before(url, options);
        for (const link of document.querySelectorAll('#operations a')) link.dataset.old = '';
        $('#retry').click();"
    );
    let _ = page.run(&format!("return (async () => {{ {script} }})()")).await;
    page.until("$('#operations a') && !$('#operations a[data-old]')").await;
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
