//! The payment page in each language, on a phone and by keyboard.

use blackbox::{
    browser::{Page, visit},
    payments::{Card, Link},
};
use fantoccini::key::Key;
use serde_json::json;

use super::{address, comes_out, customer, made, pay, typed};

/// All languages of the contract, with their heading of a paid page.
const LANGUAGES: [(&str, &str); 27] = [
    ("bg", "Успешно плащане"),
    ("cs", "Platba proběhla úspěšně"),
    ("da", "Betalingen er gennemført"),
    ("de", "Zahlung erfolgreich"),
    ("el", "Η πληρωμή ολοκληρώθηκε"),
    ("en", "Payment successful"),
    ("es", "Pago realizado"),
    ("et", "Makse õnnestus"),
    ("fi", "Maksu onnistui"),
    ("fr", "Paiement réussi"),
    ("ga", "D’éirigh leis an íocaíocht"),
    ("hr", "Plaćanje je uspjelo"),
    ("hu", "Sikeres fizetés"),
    ("is", "Greiðsla tókst"),
    ("it", "Pagamento effettuato"),
    ("lt", "Mokėjimas atliktas sėkmingai"),
    ("lv", "Maksājums veikts"),
    ("mt", "Il-ħlas irnexxa"),
    ("nb", "Betalingen er gjennomført"),
    ("nl", "Betaling geslaagd"),
    ("pl", "Płatność zrealizowana"),
    ("pt", "Pagamento efetuado"),
    ("ro", "Plată reușită"),
    ("sk", "Platba prebehla úspešne"),
    ("sl", "Plačilo je uspelo"),
    ("sv", "Betalningen är genomförd"),
    ("uk", "Оплату здійснено"),
];

#[tokio::test]
async fn every_language_has_its_pages_and_fits_a_phone() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).with("recurring", "y").with("text", "Two mugs");
    let at = |locale| address(&service, &link.clone().with("locale", locale));
    visit(&at("en"), async |page| {
        let mut buttons = Vec::new();
        for (number, (locale, paid)) in LANGUAGES.into_iter().enumerate() {
            page.show_on(360, if number % 2 == 0 { "light" } else { "dark" }).await;
            page.go(&at(locale)).await;
            assert_eq!(page.run("return document.documentElement.lang").await, locale);
            buttons.push(page.text("button").await);
            page.click("button").await;
            page.until("!$('#errors').hidden").await;
            fits(page, locale).await;
            pay(page, Card::VISA).await;
            comes_out(page, None).await;
            assert_eq!(page.text("h2").await, paid);
            fits(page, locale).await;
        }
        buttons.sort();
        buttons.dedup();
        // Danish and Norwegian use the same words, but different marks in numbers.
        assert!(buttons.len() > 20, "{buttons:?}");
    })
    .await;
}

/// Checks that nothing is wider than the screen, and that no control is lower than 44 pixels.
async fn fits(page: &Page, locale: &str) {
    let sizes = "const { scrollWidth, clientWidth } = document.documentElement;
        const pressed = [...document.querySelectorAll('input:not([type=hidden]), button, nav a')];
        const low = pressed.filter((it) => it.offsetHeight < 44).length;
        return { overflows: scrollWidth > clientWidth, innerWidth, low }";
    let expected = json!({ "overflows": false, "innerWidth": 360, "low": 0 });
    assert_eq!(page.run(sizes).await, expected, "{locale}");
}

#[tokio::test]
async fn a_long_text_and_a_large_amount_fit_a_phone() {
    let (service, merchant) = customer().await;
    let long = Link::to(&merchant)
        .with("text", &"ab<b>".repeat(100))
        .with("value", "10000000000")
        .with("redirect", "https://shop.example/done");
    visit(&address(&service, &long), async |page| {
        let mut colours = Vec::new();
        for scheme in ["light", "dark"] {
            page.show_on(360, scheme).await;
            for card in [Card::CHALLENGED[0].0, Card::DECLINED] {
                page.go(&address(&service, &long)).await;
                fits(page, "the form").await;
                pay(page, card).await;
                page.until("$('.bank') || $('.failed')").await;
                fits(page, "what follows").await;
            }
            page.go(&address(&service, &long.clone().with("value", "x"))).await;
            fits(page, "a problem").await;
            page.go(&address(&service, &long.clone().without("value"))).await;
            fits(page, "the amount").await;
            colours.push(page.run("return getComputedStyle(document.body).backgroundColor").await);
        }
        assert_ne!(colours[0], colours[1]);
    })
    .await;
}

#[tokio::test]
async fn input_is_formatted_and_checked_before_submission() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        page.write("#number", "5100000000000000").await;
        page.write("#expiry", "848").await;
        page.write("#code", "7x39").await;
        assert_eq!(typed(page).await, json!(["5100 0000 0000 0000", "08 / 48", "739"]));
        assert_eq!(page.text("#scheme").await, "Mastercard");
        // Editing within the number does not move the cursor to the end.
        page.run("$('#number').focus(); $('#number').setSelectionRange(2, 2)").await;
        page.press(Key::Backspace.into()).await;
        page.press('2').await;
        assert_eq!(typed(page).await[0], "5200 0000 0000 0000");
        assert_eq!(page.run("return $('#number').selectionStart").await, 2);

        page.go(&address(&service, &Link::to(&merchant))).await;
        page.write("#number", "4100").await;
        page.write("#expiry", "1320").await;
        page.until("!$('#number-error').hidden").await;
        page.click("#code").await;
        page.until("$('#expiry-error').textContent.includes('month and year')").await;
        page.run("$('#expiry').value = ''").await;
        page.write("#expiry", "0220").await;
        page.click("#code").await;
        page.until("$('#expiry-error').textContent.includes('This card has expired')").await;
        page.click("button").await;
        for field in ["number", "expiry", "code"] {
            let shown = format!(
                "!$('#{field}-error').hidden && $('#{field}').getAttribute('aria-invalid')"
            );
            page.until(&shown).await;
        }
        assert_eq!(page.run("return document.activeElement.id").await, "number");
        page.write("#number", "000000000000").await;
        page.until("$('#number-error').hidden").await;
        assert_eq!(page.run("return performance.getEntriesByType('navigation').length").await, 1);
    })
    .await;
    assert_eq!(made(&merchant).await, 0);
}

#[tokio::test]
async fn the_page_works_by_keyboard_and_labels_every_field() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        let unnamed = "return [...document.querySelectorAll('input')]
            .filter((it) => !it.labels.length || !it.autocomplete).length";
        assert_eq!(page.run(unnamed).await, 0);
        for text in [Card::CHALLENGED[0].0.0, "0248", "739"] {
            page.press(Key::Tab.into()).await;
            for key in text.chars() {
                page.press(key).await;
            }
        }
        page.press(Key::Enter.into()).await;
        page.until("$('.bank')").await;
        page.press(Key::Tab.into()).await;
        page.press(Key::Enter.into()).await;
        comes_out(page, None).await;
        assert_eq!(page.run("return document.querySelectorAll('h1').length").await, 1);
        assert_eq!(page.run("return $('.paid').getAttribute('role')").await, "status");
    })
    .await;
}
