//! The explorer on a phone.

use blackbox::{
    authsvc::Site,
    browser::{Page, visit},
};
use serde_json::json;

use crate::{fill, open, send};

async fn does_not_scroll_sideways(page: &Page, label: &str) {
    let widths = "const { scrollWidth, clientWidth } = document.documentElement;
        return { overflows: scrollWidth > clientWidth, innerWidth }";
    let expected = json!({ "overflows": false, "innerWidth": 360 });
    assert_eq!(page.run(widths).await, expected, "{label}");
}

#[tokio::test]
async fn a_narrow_screen_does_not_scroll_sideways_in_light_and_dark() {
    let site = Site::with(&[]).await;
    let known = site.student();
    visit(&format!("{}/", site.url()), async |page| {
        let mut colours = Vec::new();
        for scheme in ["light", "dark"] {
            page.show_on(360, scheme).await;
            page.until(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches")).await;
            for operation in ["health", "readme", "metrics"] {
                open(page, operation).await;
                does_not_scroll_sideways(page, operation).await;
                if operation != "readme" {
                    assert_eq!(send(page).await, "200 OK");
                    does_not_scroll_sideways(page, operation).await;
                }
            }
            fill(page, &known).await;
            page.click("#authenticate-profile").await;
            assert_eq!(send(page).await, "200 OK");
            does_not_scroll_sideways(page, scheme).await;
            colours.push(page.run("return getComputedStyle(document.body).backgroundColor").await);
        }
        assert_ne!(colours[0], colours[1]);
    })
    .await;
}
