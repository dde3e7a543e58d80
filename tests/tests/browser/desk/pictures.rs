//! The pictures of the desk in the documentation. `make pictures` makes them again.

use std::{fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blackbox::{
    browser::visit,
    mail::MailServer,
    payments::{Card, Merchant, minimal},
};
use serde_json::json;

use super::{link_for, start};

const FOLDER: &str = "../docs/desk";

/// The names of the pictures, and the pages below that of the merchant.
const PICTURES: [(&str, &str); 1] = [("payments", "/payments")];

#[tokio::test]
#[ignore = "make pictures runs it"]
async fn the_desk_has_its_pictures() {
    let server = MailServer::start().await;
    let (service, desk) = start(&server).await;
    let app = service.app().await;
    let mut body = minimal();
    body["name"] = json!("Mug Shop");
    body["test"] = json!(true);
    let merchant = app.merchant_with(&body).await;
    let payment = payments(&merchant).await;
    assert!(!merchant.invite("ann@mugs.example").await);
    let link = link_for(&service, &desk, "ann@mugs.example").await;
    visit(&link, async |page| {
        page.click("button").await;
        page.until("$('.merchants')").await;
        let pages = PICTURES.map(|(name, path)| (name, path.to_owned()));
        let payment = ("payment", format!("/payments/{payment}"));
        for (name, path) in pages.into_iter().chain([payment]) {
            page.go(&format!("{desk}/merchants/{}{path}", merchant.id)).await;
            for (width, scheme) in [(1000, "light"), (1000, "dark"), (360, "light")] {
                page.show_on(width, scheme).await;
                let size = if width == 360 { "phone" } else { scheme };
                let file = Path::new(FOLDER).join(format!("{name}-{size}.png"));
                let picture = BASE64_STANDARD.decode(page.picture().await).unwrap();
                fs::write(file, picture).unwrap();
            }
        }
    })
    .await;
}

/// Makes payments in several states, and returns the ID of one with a history.
async fn payments(merchant: &Merchant) -> String {
    for (order, amount) in (5001..).zip([1990, 4500, 1290, 8999, 2590, 3480, 1990, 12_900, 4500]) {
        let mut payment = merchant.payment(Card::VISA, "EUR", amount);
        payment["custom"] = json!({ "reference": order.to_string() });
        let paid = merchant.transaction(&merchant.charge(&payment).await.expect(201));
        if order % 4 != 0 {
            paid.capture(amount).await;
        }
        if order % 3 == 1 && order % 4 != 0 {
            paid.refund(1000).await;
        }
    }
    let mut payment = merchant.payment(Card::VISA, "EUR", 5480);
    payment["custom"] = json!({ "reference": "5011" });
    let paid = merchant.transaction(&merchant.charge(&payment).await.expect(201));
    paid.capture(4480).await;
    paid.refund(1000).await;
    paid.id.clone()
}
