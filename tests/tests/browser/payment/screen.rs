//! The payment page in each language, on a phone and by keyboard.

use blackbox::{
    axe,
    browser::{Page, visit},
    payments::{BROWSER, Card, Link, Service, Stripe, live_merchant, minimal},
    soak::rounds,
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

/// The width of the smallest phones, in pixels.
const WIDTH: u32 = 320;

#[tokio::test]
async fn every_language_has_its_pages_and_fits_a_phone() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant).with("recurring", "y").with("text", "Two mugs");
    let at = |locale| address(&service, &link.clone().with("locale", locale));
    let axe = axe::script();
    let mut buttons = Vec::new();
    // The languages differ in texts only, which axe seldom looks at.
    let looked_at: Vec<_> = LANGUAGES.iter().step_by(rounds(9, 1)).collect();
    // Visits with all languages take too long on a busy machine.
    for (number, languages) in LANGUAGES.chunks(5).enumerate() {
        visit(&at("en"), async |page| {
            page.show_on(WIDTH, if number % 2 == 0 { "light" } else { "dark" }).await;
            for language in languages {
                let (locale, paid) = language;
                let is_looked_at = looked_at.contains(&language);
                page.go(&at(locale)).await;
                assert_eq!(page.run("return document.documentElement.lang").await, *locale);
                buttons.push(page.text("button").await);
                page.click("button").await;
                page.until("$('#errors').textContent").await;
                fits(page, locale).await;
                is_laid_out(page, locale).await;
                if is_looked_at {
                    axe::finds_nothing(&axe, page, locale).await;
                }
                pay(page, Card::VISA).await;
                comes_out(page, None).await;
                assert_eq!(page.text("h1").await, *paid);
                fits(page, locale).await;
                is_laid_out(page, locale).await;
                // A browser that does not know the language would write its own.
                let dates = "const { lang } = document.documentElement;
                    const isKnown = Intl.DateTimeFormat.supportedLocalesOf(lang).length > 0;
                    return isKnown !== /^\\d{4}-/.test($('time').textContent)";
                assert_eq!(page.run(dates).await, true, "{locale}");
                if is_looked_at {
                    axe::finds_nothing(&axe, page, locale).await;
                }
            }
        })
        .await;
    }
    buttons.sort();
    buttons.dedup();
    // Danish and Norwegian use the same words, but different marks in numbers.
    assert!(buttons.len() > 20, "{buttons:?}");
}

/// Checks that nothing is wider than the screen, and that no control is lower than 44 pixels.
async fn fits(page: &Page, locale: &str) {
    let sizes = "const { scrollWidth, clientWidth } = document.documentElement;
        const pressed = [...document.querySelectorAll('input:not([type=hidden]), button, nav a')];
        const low = pressed.filter((it) => it.offsetHeight < 44).length;
        return { overflows: scrollWidth > clientWidth, innerWidth, low }";
    let expected = json!({ "overflows": false, "innerWidth": WIDTH, "low": 0 });
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
            page.show_on(WIDTH, scheme).await;
            for card in [Card::CHALLENGED[0].0, Card::DECLINED] {
                page.go(&address(&service, &long)).await;
                fits(page, "the form").await;
                is_laid_out(page, "the form").await;
                pay(page, card).await;
                page.until("$('.bank') || $('.failed')").await;
                fits(page, "what follows").await;
                is_in_one_line(page, ".amount").await;
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
async fn a_printed_receipt_has_nothing_that_is_for_the_screen() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        pay(page, Card::VISA).await;
        comes_out(page, None).await;
        let shown = "return $('.paid').innerText.includes('You can close this page.')";
        assert_eq!(page.run(shown).await, true);
        page.print().await;
        assert_eq!(page.run(shown).await, false);
        assert!(page.text(".paid").await.contains("Payment successful"));
    })
    .await;
}

/// Checks that nothing sticks out or lies upon a text, and that each target has 24 pixels: in text of
/// 100 % and 200 %.
pub(super) async fn is_laid_out(page: &Page, label: &str) {
    let script = "const wrong = [];
        const all = [...$('body').querySelectorAll('*:not(svg *)')].filter((it) => it.offsetWidth);
        for (const it of [document.documentElement, ...all]) {
            const name = `${it.tagName} ${it.id} ${it.className}`;
            const isCut = it.scrollWidth > it.clientWidth + 1 && !it.matches('input');
            if (isCut && getComputedStyle(it).display !== 'inline')
                wrong.push([name, it.scrollWidth, it.clientWidth]);
            if (it.matches('a, button, input') && it.offsetHeight < 24) wrong.push([name, 'low']);
        }
        const boxOf = (it) => {
            const range = document.createRange();
            range.selectNodeContents(it);
            return range.getBoundingClientRect();
        };
        const label = $('label[for=number]') && boxOf($('label[for=number]'));
        for (const it of label ? document.querySelectorAll('.scheme') : []) {
            const box = boxOf(it);
            const isBeside = box.left >= label.right || box.top >= label.bottom;
            if (box.width && !isBeside) wrong.push([it.id, 'lies upon the label']);
        }
        return wrong";
    for text in ["100%", "200%"] {
        page.run(&format!("document.documentElement.style.fontSize = '{text}'")).await;
        assert_eq!(page.run(script).await, json!([]), "{label}, {text}");
    }
    page.run("document.documentElement.style.fontSize = ''").await;
}

/// Checks that an element is not broken into lines, and not cut off.
async fn is_in_one_line(page: &Page, selector: &str) {
    let script = format!(
        "const it = $('{selector}'); const range = document.createRange();
         range.selectNodeContents(it);
         return [range.getClientRects().length, it.scrollWidth > it.clientWidth]"
    );
    assert_eq!(page.run(&script).await, json!([1, false]), "{selector}");
}

#[tokio::test]
async fn a_name_from_right_to_left_begins_where_the_page_does() {
    let service = Service::any().await;
    let mut details = minimal();
    details["test"] = json!(true);
    details["name"] = json!("متجر الأكواب");
    let merchant = service.app().await.merchant_with(&details).await;
    let link = Link::to(&merchant).with("text", "كوبان من السيراميك");
    visit(&address(&service, &link), async |page| {
        let starts = "return ['.shop', '.amount', '.text'].map((it) => {
            const range = document.createRange();
            range.selectNodeContents($(it));
            return Math.round(range.getBoundingClientRect().left - $(it).getBoundingClientRect().left);
        })";
        assert_eq!(page.run(starts).await, json!([0, 0, 0]));
    })
    .await;
}

#[tokio::test]
async fn an_amount_never_breaks_inside_its_number() {
    let (service, merchant) = customer().await;
    let link = Link::to(&merchant);
    visit(&address(&service, &link), async |page| {
        page.show_on(WIDTH, "light").await;
        for (value, currency, locale) in [
            ("1234567.89", "EUR", "en"),
            ("1234567.89", "DKK", "da"),
            ("10000000000", "HUF", "hu"),
            ("10000000000", "EUR", "fr"),
        ] {
            let link = link.clone().with("value", value).with("currency", currency);
            page.go(&address(&service, &link.with("locale", locale))).await;
            is_in_one_line(page, ".amount").await;
        }
    })
    .await;
}

/// Widths in pixels and colour schemes.
pub(super) const SCREENS: [(u32, &str); 4] =
    [(320, "light"), (390, "dark"), (1280, "light"), (1280, "dark")];

#[tokio::test]
async fn axe_finds_nothing_while_a_payment_is_processed() {
    let unanswered =
        |timeout| [("PAYMENTS_SANDBOX_DELAY", "1h"), ("PAYMENTS_ACQUIRER_TIMEOUT", timeout)];
    let axe = axe::script();
    let check = async |page: &Page, label: &str| {
        for (width, scheme) in SCREENS {
            page.show_on(width, scheme).await;
            axe::finds_nothing(&axe, page, &format!("{label}, {width}, {scheme}")).await;
        }
    };

    let service = Service::with(&unanswered("5m")).await;
    let form = service.open(&Link::to(&service.merchant().await)).await;
    let address_of_form = format!("{}{form}", service.pos_url());
    let watched = visit(&address_of_form, async |page| {
        page.set_cookie(&address_of_form, "browser", BROWSER).await;
        page.go(&address_of_form).await;
        page.until("$('.pending')").await;
        check(page, "with cookies").await;
    });
    tokio::select! {
        () = watched => (),
        answer = service.send_card(&form, Card::VISA) => panic!("{answer:?}"),
    }

    // The page appears after this time. After twice this time, the payment fails.
    let service = Service::with(&unanswered("5s")).await;
    let link = Link::to(&service.merchant().await);
    visit(&address(&service, &link), async |page| {
        page.forget_cookies().await;
        pay(page, Card::VISA).await;
        page.until("$('main button') && $('.pending')").await;
        check(page, "without cookies").await;
    })
    .await;
}

#[tokio::test]
async fn axe_finds_nothing_in_any_state() {
    let (service, merchant) = customer().await;
    let axe = axe::script();
    let link = Link::to(&merchant).with("reference", "5011").with("text", "Two mugs");
    let form = address(&service, &link);
    let open = link.clone().without("value").without("currency");
    let wrong = open.clone().with("typed[value]", "x").with("typed[currency]", "xxx");
    visit(&form, async |page| {
        for (width, scheme) in SCREENS {
            page.show_on(width, scheme).await;
            let check = async |state: &str| {
                let label = format!("{state}, {width}, {scheme}");
                is_laid_out(page, &label).await;
                axe::finds_nothing(&axe, page, &label).await;
            };
            page.go(&address(&service, &open)).await;
            check("amount").await;
            page.go(&address(&service, &wrong)).await;
            check("wrong amount").await;
            page.go(&address(&service, &link.clone().with("value", "x"))).await;
            check("broken link").await;
            // Names of parameters are in the source of the page only.
            assert_eq!(page.run("return document.body.innerText.includes('value')").await, false);
            page.go(&address(&service, &link.clone().with("redirect", "https://shop.example")))
                .await;
            page.until("$('form + nav a')").await;
            check("card with a way back").await;
            let old = link.clone().with("form", "0192f2a0-0000-7000-8000-000000000000");
            page.go(&address(&service, &old)).await;
            check("old form").await;
            page.go(&form).await;
            check("card").await;
            page.click("button").await;
            page.until("$('#errors').textContent").await;
            check("wrong card").await;
            pay(page, Card::CHALLENGED[0].0).await;
            page.until("$('.bank')").await;
            check("challenge").await;
            page.click("button[value=confirm]").await;
            comes_out(page, None).await;
            check("paid").await;
            page.go(&form).await;
            pay(page, Card::DECLINED).await;
            comes_out(page, Some(8)).await;
            check("failed").await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_whole_number_is_visible_on_a_small_phone() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        page.show_on(WIDTH, "light").await;
        for font in ["system-ui", "sans-serif", "DejaVu Sans", "Liberation Sans", "monospace"] {
            page.run("$('#number').value = ''").await;
            page.run(&format!("$('#number').style.fontFamily = '{font}'")).await;
            page.write("#number", "6200000000000000000").await;
            let script =
                "const it = $('#number'); return [it.value, it.scrollWidth > it.clientWidth]";
            let expected = json!(["6200 0000 0000 0000 000", false]);
            assert_eq!(page.run(script).await, expected, "{font}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_scheme_gives_groups_and_lengths() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        for (typed, brand, shown, hint) in [
            ("4", "Visa", "4", "3 digits"),
            ("378282246310005", "American Express", "3782 822463 10005", "4 digits"),
            ("30569309025904", "Diners Club", "3056 930902 5904", "3 digits"),
            ("5555-5555-5555-4444", "Mastercard", "5555 5555 5555 4444", "3 digits"),
            ("2720990000000000", "Mastercard", "2720 9900 0000 0000", "3 digits"),
            ("3530111333300000", "JCB", "3530 1113 3330 0000", "3 digits"),
            ("6011111111111117", "Discover", "6011 1111 1111 1117", "3 digits"),
            ("6200000000000005", "UnionPay", "6200 0000 0000 0005", "3 digits"),
            ("6759649826438453", "Maestro", "6759 6498 2643 8453", "3 digits"),
            ("6", "", "6", "3 or 4"),
            ("9000000000000000", "", "9000 0000 0000 0000", "3 or 4"),
        ] {
            page.run("$('#number').value = ''").await;
            page.write("#number", typed).await;
            let found = page.run("return [$('#scheme').textContent, $('#number').value]");
            assert_eq!(found.await, json!([brand, shown]));
            assert!(page.text("#code-hint").await.contains(hint), "{brand}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_check_digit_of_a_live_number_is_checked() {
    // Without an acquirer, the page of a live merchant has no card form.
    let service = Stripe::start().await.service(&[]).await;
    let merchant = live_merchant(&service.app().await).await;
    let link = Link::to(&merchant).without("test");
    visit(&address(&service, &link), async |page| {
        page.write("#number", "4000056655665557").await;
        page.click("#expiry").await;
        page.until("!$('#number-error').hidden").await;
        page.run("$('#number').value = ''").await;
        page.write("#number", Card::LIVE.0).await;
        page.until("$('#number-error').hidden").await;
    })
    .await;
}

#[tokio::test]
async fn the_focus_and_the_texts_follow_each_step() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        let focused = "return document.activeElement.matches('h1') || document.activeElement.id";
        assert_eq!(page.run(focused).await, true);
        let attached = "return [...document.querySelectorAll('#card input')]
            .map((it) => it.getAttribute('aria-describedby'))";
        assert_eq!(page.run(attached).await, json!([null, null, "code-hint"]));
        page.write("#number", Card::VISA.0).await;
        page.click("button").await;
        assert_eq!(page.run(focused).await, "expiry");
        assert_eq!(page.run(attached).await, json!([null, "expiry-error", "code-error"]));
        page.write("#expiry", "0248").await;
        assert_eq!(page.run(attached).await, json!([null, null, "code-error"]));
        page.write("#code", "739").await;
        page.click("button").await;
        comes_out(page, None).await;
        assert_eq!(page.run(focused).await, true);
        assert_eq!(
            page.run("return document.title").await,
            "Payment successful – https://shop.example"
        );
    })
    .await;
}

#[tokio::test]
async fn a_pressed_button_shows_that_the_payment_is_in_progress() {
    let (service, merchant) = customer().await;
    visit(&address(&service, &Link::to(&merchant)), async |page| {
        // Keeps the browser on the page.
        page.run("$('#card').addEventListener('submit', (event) => event.preventDefault())").await;
        pay(page, Card::VISA).await;
        page.until("$('button').disabled && $('button').ariaBusy === 'true'").await;
        assert_eq!(page.text("#errors").await, "Your payment is being processed");
        let spinner = "return getComputedStyle($('button'), '::after').animationName";
        assert_eq!(page.run(spinner).await, "turn");
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
        assert_eq!(page.run("return document.activeElement.tagName").await, "H1");
    })
    .await;
}
