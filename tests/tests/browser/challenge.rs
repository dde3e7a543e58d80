//! The page of demo-acquirer for 3-D Secure.

use blackbox::{
    acquirer::{Acquirer, authorization, card, key},
    axe,
    browser::visit_and_leave,
};
use fantoccini::key::Key;
use serde_json::json;

#[tokio::test]
async fn the_challenge_is_answered_with_the_keyboard_without_scripts() {
    let acquirer = Acquirer::start().await;
    let axe = axe::script();
    let shop = format!("http://{}/book", acquirer.process().address_of("control.address"));
    for (tabs, outcome) in [(1, "approved"), (2, "declined")] {
        let mut body = authorization(card::FULL);
        body["returnUrl"] = json!(shop);
        let key = key();
        let _ = acquirer.outcome("/authorizations", &key, &body).await;
        let url = format!("https://127.0.0.1:{}/challenges/{key}", acquirer.port());
        visit_and_leave(&url, &[&shop], async |page| {
            for scheme in ["light", "dark"] {
                page.show_on(320, scheme).await;
                axe::finds_nothing(&axe, page, scheme).await;
                let widths = "const { scrollWidth, clientWidth } = document.documentElement;
                    return scrollWidth <= clientWidth";
                assert_eq!(page.run(widths).await, true, "{scheme}");
            }
            page.without_scripts().await;
            page.go(&url).await;
            for _ in 0..tabs {
                page.press(Key::Tab.into()).await;
            }
            page.press(Key::Enter.into()).await;
            page.until(&format!("location.href === '{shop}'")).await;
        })
        .await;
        visit_and_leave(&url, &[&shop], async |page| {
            page.until("document.title.startsWith('You have answered')").await;
            axe::finds_nothing(&axe, page, "answered").await;
            page.click("a").await;
            page.until(&format!("location.href === '{shop}'")).await;
        })
        .await;
        let path = format!("/authorizations/{key}/complete");
        assert_eq!(acquirer.outcome(&path, &key, &json!({})).await["status"], outcome);
    }
}
