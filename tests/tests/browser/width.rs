//! The explorer on a phone.

use blackbox::{
    authsvc::Site,
    axe,
    browser::{Page, visit},
};
use serde_json::json;

use crate::{fill, member, open, send};

pub(crate) async fn does_not_scroll_sideways(page: &Page, label: &str) {
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

#[tokio::test]
async fn on_a_phone_the_body_follows_the_status_and_the_headers_are_closed() {
    let site = Site::with(&[]).await;
    let known = site.student();
    visit(&format!("{}/", site.url()), async |page| {
        page.show_on(360, "light").await;
        fill(page, &known).await;
        page.click("#authenticate-profile").await;
        assert_eq!(send(page).await, "200 OK");
        let lines_of_body = "(() => {
            const { top } = $('#response-body').getBoundingClientRect();
            return $('#status').getBoundingClientRect().top >= 0 && top + 140 < innerHeight;
        })()";
        page.until(lines_of_body).await;
        let order = "return Boolean($('#response-body').compareDocumentPosition(
            $('#response-headers')) & Node.DOCUMENT_POSITION_FOLLOWING)";
        assert_eq!(page.run(order).await, true);
        assert_eq!(page.run("return $('#response details').open").await, false);
        let counted = "`Headers (${$('#response-headers').querySelectorAll('dt').length})`";
        let title = page.text("#response summary").await;
        assert_eq!(page.run(&format!("return {counted}")).await, title.as_str());

        let text = page.run("return $('#response').innerText").await;
        let lines: Vec<_> = text.as_str().into_iter().flat_map(str::lines).collect();
        assert!(lines.iter().any(|line| line.starts_with("200 OK ")), "{lines:?}");
        assert_eq!(lines.last(), Some(&title.as_str()));
        assert_eq!(member(page, "body.status").await, true);
        page.click("#response summary").await;
        page.until("$('#response-headers').getBoundingClientRect().height > 100").await;
        does_not_scroll_sideways(page, "headers").await;
    })
    .await;
}

#[tokio::test]
async fn axe_finds_nothing_in_the_explorer() {
    let axe = axe::script();
    let site = Site::with(&[]).await;
    let known = site.student();
    visit(&format!("{}/", site.url()), async |page| {
        let check = async |state: &str| {
            for scheme in ["light", "dark"] {
                for width in [1280, 360] {
                    page.show_on(width, scheme).await;
                    page.until(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches"))
                        .await;
                    axe::finds_nothing(&axe, page, &format!("{state}, {width}, {scheme}")).await;
                }
            }
        };
        fill(page, &known).await;
        check("idle").await;
        page.click("#authenticate-profile").await;
        page.click("#language-python").await;
        assert_eq!(send(page).await, "200 OK");
        page.click("#response summary").await;
        check("answered").await;
        page.click("#authenticate-body-json").await;
        check("JSON").await;
        open(page, "metrics").await;
        check("metrics").await;
    })
    .await;
}
