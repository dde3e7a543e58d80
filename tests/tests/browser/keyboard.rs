//! The explorer, used with the keyboard only.

use blackbox::{
    authsvc::Site,
    browser::{Page, visit},
};
use fantoccini::key::Key;

use crate::{CURRENT, answered, open, reaches};

/// Presses Tab until the element has the focus.
pub(crate) async fn tab_to(page: &Page, selector: &str) {
    page.until(&format!("$('{selector}')")).await;
    for _ in 0..60 {
        if page.run(&format!("return document.activeElement.matches('{selector}')")).await == true {
            return;
        }
        page.press(Key::Tab.into()).await;
    }
    panic!("Tab does not lead to {selector}");
}

#[tokio::test]
async fn operations_are_opened_and_sent_with_tab_and_enter() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        for (operation, state) in [("health", "done"), ("readme", "redirect"), ("metrics", "done")]
        {
            tab_to(page, &format!("#operation-{operation}")).await;
            page.press(Key::Enter.into()).await;
            page.until(&format!("{CURRENT} === 'operation-{operation}'")).await;
            page.until("document.activeElement.id === 'operation'").await;
            tab_to(page, "#send").await;
            page.press(Key::Enter.into()).await;
            reaches(page, state).await;
        }
        assert_eq!(page.text("#status").await, "200 OK");
        assert!(
            page.text("#response-body").await.contains("# TYPE authsvc_requests_total counter")
        );
    })
    .await;
}

#[tokio::test]
async fn enter_in_a_field_sends_the_form() {
    let site = Site::with(&[]).await;
    let known = site.student();
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        page.write("#authenticate-username", &known.username).await;
        tab_to(page, "#authenticate-password").await;
        page.write("#authenticate-password", &known.password).await;
        page.press(Key::Enter.into()).await;
        assert_eq!(answered(page).await, "200 OK");
    })
    .await;
}
