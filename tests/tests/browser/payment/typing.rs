//! Typing, pasting and filling in a card.

use blackbox::{
    browser::{Page, visit},
    payments::{Card, Link, Stripe, live_merchant, next},
    project,
};
use fantoccini::key::Key;
use serde_json::{Value, json};

use super::{address, comes_out, customer, made, pay};

/// The table of the unit test of the service: field, value, meaning.
const TABLE: &str = "crates/payments-domain/assets/typed-cards.tsv";

/// Fills each value in at once, as a password manager does, and leaves the field. Returns the text
/// that is shown then, and the error.
const FILL: &str = "const find = (id) => document.getElementById(id);
    return rows.map(([field, text]) => {
        for (const id of ['number', 'expiry', 'code']) find(id).value = '';
        const [input, other] = [find(field), find(field === 'number' ? 'code' : 'number')];
        input.value = text;
        input.dispatchEvent(new InputEvent('input', { bubbles: true }));
        input.dispatchEvent(new Event('change', { bubbles: true }));
        other.dispatchEvent(new FocusEvent('focusin', { bubbles: true }));
        return [input.value, find(`${field}-error`).textContent];
    })";

#[tokio::test]
async fn the_page_reads_what_the_service_reads() {
    let (service, merchant) = customer().await;
    let table = project::read(TABLE);
    let rows = table.lines().filter(|row| !row.starts_with('#'));
    let rows: Vec<_> = rows.map(|row| row.split('\t').collect::<Vec<_>>()).collect();
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        let found = page.run(&format!("const rows = {}; {FILL}", json!(rows))).await;
        for (row, found) in rows.iter().zip(found.as_array().unwrap()) {
            let (field, typed, expected) = (row[0], row[1], row[2]);
            let [shown, error] = [0, 1].map(|at| found[at].as_str().unwrap());
            if expected == "-" {
                assert!(typed.is_empty() || error.starts_with("Enter the"), "{row:?}: {found}");
                assert!(field != "expiry" || shown == typed, "{row:?}: {found}");
                continue;
            }
            assert!(!error.starts_with("Enter the"), "{row:?}: {found}");
            let shown = match (field, shown.split_once(" / ")) {
                ("expiry", Some((month, year))) if year.len() == 2 => format!("{month}/20{year}"),
                ("expiry", Some((month, year))) => format!("{month}/{year}"),
                _ => shown.replace(' ', ""),
            };
            assert_eq!(shown, expected, "{row:?}: {found}");
        }
    })
    .await;
}

async fn clear(page: &Page) {
    page.run("$('#number').value = $('#expiry').value = $('#code').value = ''").await;
}

/// Puts the cursor at this place of a field, and presses keys.
async fn press(page: &Page, (field, place): (&str, u32), keys: &[Key], text: &str) {
    page.run(&format!("$('{field}').focus(); $('{field}').setSelectionRange({place}, {place})"))
        .await;
    for key in keys {
        page.press(char::from(*key)).await;
    }
    for letter in text.chars() {
        page.press(letter).await;
    }
}

#[tokio::test]
async fn a_card_can_be_edited_in_any_place() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        let shown = async |field: &str| page.run(&format!("return $('{field}').value")).await;
        for (date, expected) in [("1222", "11 / 22"), ("0829", "09 / 29")] {
            clear(page).await;
            page.write("#expiry", date).await;
            let digit = &expected[1..2];
            press(page, ("#expiry", 2), &[Key::Backspace], digit).await;
            assert_eq!(shown("#expiry").await, expected);
        }
        // A date that is typed year first stays as it is until it is complete.
        for (date, expected) in [("2030-08", "08 / 30"), ("26/01", "01 / 26"), ("848", "08 / 48")] {
            clear(page).await;
            page.write("#expiry", date).await;
            page.click("#code").await;
            let expected = expected.replace("/ 30", "/ 2030");
            assert_eq!(shown("#expiry").await, expected);
        }
        clear(page).await;
        page.write("#expiry", "12").await;
        assert_eq!(shown("#expiry").await, "12 / ");
        press(page, ("#expiry", 5), &[Key::Backspace], "").await;
        assert_eq!(shown("#expiry").await, "1");

        page.write("#number", "4100123456789010").await;
        press(page, ("#number", 4), &[Key::Delete, Key::Delete], "").await;
        assert_eq!(shown("#number").await, "4100 3456 7890 10");
        press(page, ("#number", 5), &[Key::Backspace], "").await;
        assert_eq!(shown("#number").await, "4103 4567 8901 0");

        page.go(&address(&service, &Link::to(&merchant))).await;
        page.write("#number", "41001").await;
        assert_eq!(shown("#number").await, "4100 1");
        for _ in 0..5 {
            page.run("document.execCommand('undo')").await;
        }
        assert_eq!(shown("#number").await, "");
    })
    .await;
}

#[tokio::test]
async fn each_mistake_has_its_own_text() {
    let service = Stripe::start().await.service(&[]).await;
    let merchant = live_merchant(&service.app().await).await;
    visit(&address(&service, &Link::to(&merchant).without("test")), async |page| {
        assert!(page.run("return !$('#accepted').hidden").await == true);
        let texts = "return ['#number-error', '#code-error', '#code-hint']
            .map((it) => $(it).hidden ? '' : $(it).textContent)";
        for (number, code, number_error, code_error, hint) in [
            ("4000 0566 5566 5556", "1234", "", "3 digits on the back", ""),
            ("4000 0566 5566 5557", "123", "a digit is wrong", "", "3 digits on the back"),
            ("4000 0566 5566", "123", "12 to 19 digits", "", "3 digits on the back"),
            ("3782 822463 10005", "123", "", "4 digits on the front", ""),
            ("9000 0000 0000 0001", "12", "", "3 or 4 digits", ""),
        ] {
            clear(page).await;
            page.write("#number", number).await;
            page.write("#code", code).await;
            page.click("button").await;
            let texts = page.run(texts).await;
            for (at, expected) in [number_error, code_error, hint].into_iter().enumerate() {
                let found = texts[at].as_str().unwrap();
                assert!(
                    found.contains(expected) && expected.is_empty() == found.is_empty(),
                    "{number}: {texts}"
                );
            }
            assert!(page.run("return $('#accepted').hidden").await == !number.starts_with('9'));
        }
    })
    .await;
}

#[tokio::test]
async fn the_errors_link_to_their_fields() {
    let (service, merchant) = customer().await;
    let link = address(&service, &Link::to(&merchant));
    for has_scripts in [true, false] {
        visit(&link, async |page| {
            if !has_scripts {
                page.without_scripts().await;
                page.go(&link).await;
            }
            let title = page.run("return document.title").await;
            page.write("#number", Card::VISA.0).await;
            page.click("button").await;
            page.until("$('#errors li')").await;
            let linked =
                page.run("return [...$('#errors').querySelectorAll('a')].map((it) => it.hash)");
            assert_eq!(linked.await, json!(["#expiry", "#code"]));
            let wrong = format!("Please correct the marked fields. – {}", title.as_str().unwrap());
            assert_eq!(page.run("return document.title").await, Value::from(wrong));
            page.click("#errors li:last-child a").await;
            page.until("document.activeElement.id === 'code'").await;
        })
        .await;
    }
}

#[tokio::test]
async fn full_width_digits_and_blanks_are_read_without_scripts() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    let form = service.open(&link).await;
    // The first two digits are full-width.
    let body = "number=%EF%BC%94%EF%BC%9100+0000+0000+0000&expiry=2048-02&code=+739+";
    let paid = next(&service.send_form(&form, body).await);
    assert!(service.show(&paid).await.text().contains("Payment successful"));
}

#[tokio::test]
async fn the_page_works_with_large_text_on_a_small_phone() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        page.show_on(320, "light").await;
        page.run("document.documentElement.style.fontSize = '200%'").await;
        page.write("#expiry", "02/2048").await;
        let fits = "const it = $('#expiry'); const { scrollWidth, clientWidth } = document.documentElement;
            return [it.value, it.scrollWidth > it.clientWidth, scrollWidth > clientWidth]";
        assert_eq!(page.run(fits).await, json!(["02 / 2048", false, false]));
        page.run("document.documentElement.style.fontSize = ''").await;
        let low = "return [...document.querySelectorAll('footer a')].filter((it) => it.offsetHeight < 24).length";
        assert_eq!(page.run(low).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_receipt_names_the_time_zone() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        pay(page, Card::VISA).await;
        comes_out(page, None).await;
        page.until("/UTC|GMT/.test($('time').textContent)").await;
    })
    .await;
    assert_eq!(made(&merchant).await, 1);
}
