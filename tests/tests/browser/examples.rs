//! The examples of the OpenAPI document in the explorer.

use blackbox::{
    authsvc::{DOCUMENT, Site},
    browser::{Page, visit},
};
use serde_json::{Value, json};

use crate::{explorer::reload_with, member, open, send};

const OPERATION: &str = "/paths/~1authenticate/post";

/// Clicks the button of an example.
async fn choose(page: &Page, label: &str) {
    let buttons = "[...document.querySelectorAll('.examples button')]";
    let found = format!("{buttons}.find((button) => button.textContent === '{label}')");
    page.until(&found).await;
    let id = page.run(&format!("return {found}.id")).await;
    page.click(&format!("#{}", id.as_str().unwrap_or_default())).await;
}

/// The body that the form describes.
async fn body(page: &Page) -> Value {
    page.click("#authenticate-body-json").await;
    let body = page.run("return JSON.parse($('#authenticate-body').value)").await;
    page.click("#authenticate-body-form").await;
    body
}

#[tokio::test]
async fn each_example_fills_the_form_and_gets_its_documented_answer() {
    let site = Site::with(&[]).await;
    let content = "content/application~1json/examples";
    let examples = DOCUMENT.at(&format!("{OPERATION}/requestBody/{content}"));
    let answers = DOCUMENT.at(&format!("{OPERATION}/responses/200/{content}"));
    let examples = examples.as_object().expect("there are examples");
    assert!(examples.len() > 2);
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        for (name, example) in examples {
            choose(page, example["summary"].as_str().expect("a summary")).await;
            let mut expected = example["value"].clone();
            let password = expected["password"].take();
            assert_eq!(page.run("return $('#authenticate-password').value").await, password);
            expected["password"] = json!("••••••••");
            assert_eq!(body(page).await, expected);
            assert!(!page.text("#code").await.contains(password.as_str().unwrap_or_default()));
            let Some(answer) = answers.get(name) else {
                assert_eq!(send(page).await, "401 Unauthorized", "{name}");
                continue;
            };
            assert_eq!(send(page).await, "200 OK", "{name}");
            let profile = &answer["value"]["profile"];
            assert_eq!(&member(page, "body.profile ?? null").await, profile, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_an_example_filled_in_can_be_changed() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        choose(page, "Some fields").await;
        assert!(page.text(".examples [role=status]").await.contains("Some fields"));
        page.write("#authenticate-password", "-no").await;
        page.click("#authenticate-fields-gender").await;
        assert_eq!(body(page).await["fields"], json!(["name", "branch", "semester", "gender"]));
        assert_eq!(send(page).await, "401 Unauthorized");
        choose(page, "Sign in").await;
        assert_eq!(send(page).await, "200 OK");
        page.click("#authenticate-body-json").await;
        choose(page, "Whole profile").await;
        assert!(page.run("return $('#authenticate-body').value.includes('profile')").await == true);
        assert_eq!(send(page).await, "200 OK");
        assert_eq!(member(page, "body.profile.firstName").await, "Asha");
    })
    .await;
}

#[tokio::test]
async fn parameters_have_examples_too() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "metrics").await;
        assert_eq!(page.run("return $('.examples')").await, json!(null));
        reload_with(
            page,
            "const [fmt] = document.paths['/metrics'].get.parameters;
            fmt.examples = { counters: { summary: 'As JSON', value: 'json' }, wrong: { value: 'xml' } };",
        )
        .await;
        choose(page, "As JSON").await;
        assert_eq!(send(page).await, "200 OK");
        assert!(page.text("#code").await.contains("fmt=json"));
        choose(page, "wrong").await;
        assert_eq!(send(page).await, "400 Bad Request");
    })
    .await;
}
