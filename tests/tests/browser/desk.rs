//! The desk. Its pages have no scripts.

use blackbox::{
    authenticator::Authenticator,
    axe,
    browser::{Page, visit},
    mail::MailServer,
    payments::{Acquirer, SECRET, Service, Stopped, email, minimal},
    process,
};
use serde_json::{Value, json};

mod account;
mod pictures;
mod tasks;
mod team;

/// English, the longest texts, and two that are not Latin.
const LANGUAGES: [&str; 6] = ["en", "de", "fr", "hu", "el", "uk"];

/// A service with a desk, and the address of the desk.
async fn start(server: &MailServer) -> (Service, String) {
    start_with(server, &[]).await
}

/// [`start`], with further settings.
async fn start_with(server: &MailServer, settings: &[(&str, &str)]) -> (Service, String) {
    let place = Stopped::new(settings)
        .with("PAYMENTS_SMTP_URL", &server.url())
        .with("PAYMENTS_MAIL_FROM", "Payments <payments@service.example>")
        .with(SECRET.0, SECRET.1)
        .with("PAYMENTS_DESK_PORT", "0")
        .with("PAYMENTS_DESK_URL", "http://127.0.0.1/")
        .with("PAYMENTS_DESK_KEY", &"0f".repeat(32));
    let service = place.start().await;
    let desk = format!("http://{}", service.process().address_of("desk.address"));
    (service, desk)
}

/// The path of the link in a mail.
fn link(mail: &Value) -> Option<String> {
    let (_, rest) = mail["text"].as_str()?.split_once("http://127.0.0.1/")?;
    Some(format!("/{}", rest.split_whitespace().next()?))
}

/// A link that signs a user in.
async fn link_for(service: &Service, desk: &str, email: &str) -> String {
    let mut command = service.data().command();
    command.args(["sign-in-link", email]);
    let link = String::from_utf8(process::run(command).await.stdout).unwrap_or_default();
    link.trim().replace("http://127.0.0.1", desk)
}

async fn pay_out(place: &Stopped) {
    let mut command = place.command();
    command.args(["payout", "--test", "--csv"]).arg(place.data().join("transfers.csv"));
    assert!(process::run(command).await.status.success());
}

/// Checks a page on screens of two widths, in light and dark. Other languages only change how much
/// room a text takes, so they only have to fit the narrow screen.
async fn looks_right(page: &Page, axe: &str, label: &str) {
    let is_english = label.starts_with(LANGUAGES[0]);
    let screens = [(320, "light"), (320, "dark"), (1280, "light"), (1280, "dark")];
    let screens = if is_english { &screens[..] } else { &screens[..1] };
    for &(width, scheme) in screens {
        page.show_on(width, scheme).await;
        let label = format!("{label}, {width}, {scheme}");
        if is_english {
            axe::finds_nothing(axe, page, &label).await;
        }
        let overflow = "const { scrollWidth, clientWidth } = document.documentElement;
            return scrollWidth > clientWidth";
        assert_eq!(page.run(overflow).await, false, "{label}");
    }
}

/// Sets an authenticator up, because money needs one.
async fn set_up(page: &Page) {
    page.click("main form button").await;
    page.until("$('.qr svg')").await;
    let app = Authenticator::new(&page.text("main code").await);
    page.write("#code", &app.code(0)).await;
    page.click("main form button").await;
    page.until("$('.codes')").await;
    page.click("main a.button").await;
}

#[tokio::test]
async fn an_invited_user_signs_in_by_mail() {
    let server = MailServer::start().await;
    let (service, desk) = start(&server).await;
    let mut body = minimal();
    body["name"] = "Gesellschaft für Kaffeemaschinenentkalkungsbedarf".into();
    body["test"] = true.into();
    body["bank"] = json!({ "iban": "DK5000400440116243" });
    let merchant = service.app().await.merchant_with(&body).await;
    let payment = merchant.pay("EUR", 123_456_789).await;
    payment.capture(123_456_788).await;
    payment.refund(1).await;
    let disputed = Acquirer(&service);
    let dispute = disputed.open(&payment, 123).await;
    disputed.open(&payment, 456).await;
    disputed.end(&payment, &dispute, "lost").await;
    pay_out(service.data()).await;
    let axe = axe::script();
    for language in LANGUAGES {
        let ann = format!("fine-{}", email());
        assert!(!merchant.invite(&ann).await);
        visit(&format!("{desk}/"), async |page| {
            page.speaks(language).await;
            page.go(&format!("{desk}/")).await;
            page.until("location.pathname === '/sign-in'").await;
            assert_eq!(page.run("return document.documentElement.lang").await, language);
            looks_right(page, &axe, language).await;
            page.write("#email", "ann").await;
            page.click("button").await;
            page.until("$('[aria-invalid]')").await;
            looks_right(page, &axe, language).await;
            page.run("$('#email').value = ''").await;
            page.write("#email", &ann).await;
            page.click("button").await;
            page.until("!$('#email')").await;
            looks_right(page, &axe, language).await;
            let mail = server.received(&ann, 1).await.remove(0);
            let link = format!("{desk}{}", link(&mail).unwrap());
            page.go(&link).await;
            assert!(page.text("form").await.contains(&ann));
            looks_right(page, &axe, language).await;
            page.click("button").await;
            page.until("$('.merchants')").await;
            assert!(page.text(".merchants").await.contains("Kaffeemaschinen"));
            looks_right(page, &axe, language).await;
            page.click(".merchants a").await;
            page.until("$('.plot')").await;
            page.click("summary").await;
            looks_right(page, &axe, language).await;
            for section in ["disputes", "balance", "balance/payouts"] {
                page.go(&format!("{desk}/merchants/{}/{section}", merchant.id)).await;
                looks_right(page, &axe, language).await;
            }
            page.click(".payments a").await;
            page.until("$('.receipt')").await;
            looks_right(page, &axe, language).await;
            page.click(".sections a[href$=payments]").await;
            page.until("$('.search')").await;
            page.click("summary").await;
            looks_right(page, &axe, language).await;
            page.click(".payments a").await;
            page.until("$('.history')").await;
            looks_right(page, &axe, language).await;
            page.click(".actions a[href$=refund]").await;
            set_up(page).await;
            page.until("$('#amount')").await;
            page.run("$('#amount').value = ''").await;
            page.write("#amount", "1234567890").await;
            page.click("main form button").await;
            page.until("$('[aria-invalid]')").await;
            looks_right(page, &axe, language).await;
            page.run("$('#amount').value = ''").await;
            page.write("#amount", "1").await;
            page.click("main form button").await;
            page.until("$('[name=steps]')").await;
            looks_right(page, &axe, language).await;
            page.click("main form button").await;
            page.until("$('.done')").await;
            looks_right(page, &axe, language).await;
            page.click(".sections a[href$=disputes]").await;
            page.until("$('.payments')").await;
            page.click(".payments a").await;
            page.until("$('textarea')").await;
            looks_right(page, &axe, language).await;
            page.write("#text", "The customer has signed.").await;
            page.click("main form button").await;
            page.until("$('.actions a[href$=submit]')").await;
            looks_right(page, &axe, language).await;
            page.click(".actions a[href$=accept]").await;
            page.until("location.pathname.endsWith('accept')").await;
            looks_right(page, &axe, language).await;
            page.click(".sections a[href$=mails]").await;
            page.until("$('fieldset')").await;
            looks_right(page, &axe, language).await;
            page.go(&link).await;
            looks_right(page, &axe, language).await;
            page.go(&format!("{desk}/")).await;
            page.click(".top button").await;
            page.until("location.pathname === '/sign-in'").await;
        })
        .await;
    }
}
