//! The pictures of the desk in the documentation. `make pictures` makes them again.

use std::{fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blackbox::{
    browser::visit,
    mail::MailServer,
    payments::{Acquirer, Card, Merchant, Transaction, minimal},
};
use serde_json::json;

use super::{link_for, start};

const FOLDER: &str = "../docs/desk";

#[tokio::test]
#[ignore = "make pictures runs it"]
async fn the_desk_has_its_pictures() {
    let server = MailServer::start().await;
    let (service, _) = start(&server).await;
    let app = service.app().await;
    let mut body = minimal();
    body["name"] = json!("Mug Shop");
    body["test"] = json!(true);
    let merchant = app.merchant_with(&body).await;
    let payment = payments(&merchant).await;
    Acquirer(&service).open(&payment, 2000).await;
    assert!(!merchant.invite("ann@mugs.example").await);
    // The payments of a month, and nine days to answer.
    let place = service.stop().await;
    for sql in [
        "UPDATE lines SET created = created - 86400000 * (amount / 7 % 29)",
        "UPDATE disputes SET due = (SELECT max(created) FROM transactions) + 777600000",
        "DELETE FROM day_totals",
        "UPDATE day_cursors SET through = zeroblob(12)",
    ] {
        place.change(sql);
    }
    let service = place.start().await;
    let desk = format!("http://{}", service.process().address_of("desk.address"));
    let link = link_for(&service, &desk, "ann@mugs.example").await;
    visit(&link, async |page| {
        page.click("button").await;
        page.until("$('.merchants')").await;
        for (name, path) in
            [("overview", String::new()), ("payment", format!("/payments/{}", payment.id))]
        {
            page.go(&format!("{desk}/merchants/{}{path}", merchant.id)).await;
            for scheme in ["light", "dark"] {
                page.show_on(1000, scheme).await;
                let file = Path::new(FOLDER).join(format!("{name}-{scheme}.png"));
                let picture = BASE64_STANDARD.decode(page.picture().await).unwrap();
                fs::write(file, picture).unwrap();
            }
        }
    })
    .await;
}

/// Makes payments in several states, and returns one with a history.
async fn payments(merchant: &Merchant) -> Transaction {
    for order in 4951..=5010 {
        let amount = 990 + 500 * (order * 7 % 23);
        let mut payment = merchant.payment(Card::VISA, "EUR", amount);
        payment["custom"] = json!({ "reference": order.to_string() });
        let paid = merchant.transaction(&merchant.charge(&payment).await.expect(201));
        paid.capture(amount).await;
    }
    let mut payment = merchant.payment(Card::VISA, "EUR", 5480);
    payment["custom"] = json!({ "reference": "5011" });
    let paid = merchant.transaction(&merchant.charge(&payment).await.expect(201));
    paid.capture(4480).await;
    paid.refund(1000).await;
    paid
}
