//! What the tests of the desk share: a service with a desk, its mails and its users.

use blackbox::{
    authenticator::Authenticator,
    mail::MailServer,
    payments::{
        Merchant, Service, Stopped,
        desk::{self, Browser, DESK},
        email, minimal,
    },
    process,
};
use serde_json::Value;

/// A service with a desk, whose mail goes to this server.
pub(super) async fn start(server: &MailServer) -> Service {
    place(server).start().await
}

pub(super) fn place(server: &MailServer) -> Stopped {
    with_desk(server, Stopped::new(&[]))
}

pub(super) fn with_desk(server: &MailServer, place: Stopped) -> Stopped {
    desk::on(place)
        .with("PAYMENTS_SMTP_URL", &server.url())
        .with("PAYMENTS_MAIL_FROM", "Payments <payments@service.example>")
}

/// The path of the link in a mail.
pub(super) fn link_of(mail: &Value) -> String {
    let text = mail["text"].as_str().unwrap();
    let mut links = text.lines().filter_map(|line| line.trim().strip_prefix(DESK));
    let link = format!("/{}", links.next().unwrap_or_else(|| panic!("no link: {text}")));
    assert_eq!(link.len(), "/link/".len() + 64);
    link
}

/// Invites a user, and returns the path of the link.
pub(super) async fn invited(server: &MailServer, merchant: &Merchant, email: &str) -> String {
    let before = server.mail_to(email).len();
    assert!(!merchant.invite(email).await);
    link_of(&server.received(email, before + 1).await[before])
}

pub(super) async fn named(service: &Service, name: &str) -> Merchant {
    let mut body = minimal();
    body["name"] = name.into();
    body["test"] = true.into();
    service.app().await.merchant_with(&body).await
}

/// A new address, to which the mail server accepts mail.
pub(super) fn address() -> String {
    format!("fine-{}", email())
}

/// Signs a new user of the merchant in, who has just typed a code.
pub(super) async fn signed_in(
    server: &MailServer,
    service: &Service,
    merchant: &Merchant,
) -> Browser {
    let mut browser = Browser::at(service);
    browser.use_link(&invited(server, merchant, &address()).await).await;
    let _ = set_up(&mut browser, "").await;
    browser
}

/// Runs a command with the address, and returns what it prints.
pub(super) async fn command(place: &Stopped, name: &str, email: &str) -> (bool, String) {
    let mut command = place.command();
    command.args([name, email]);
    let ended = process::run(command).await;
    let text = if ended.status.success() { ended.stdout } else { ended.stderr };
    (ended.status.success(), String::from_utf8(text).unwrap().trim().to_owned())
}

/// The texts between two marks.
pub(super) fn between<'t>(text: &'t str, start: &str, end: &str) -> Vec<&'t str> {
    text.split(start).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

/// Sets an authenticator up. Returns it with the recovery codes.
pub(super) async fn set_up(browser: &mut Browser, query: &str) -> (Authenticator, Vec<String>) {
    let page = browser.post(&format!("/account/authenticator{query}"), &[]).await;
    assert_eq!(page.location.unwrap(), format!("/account/authenticator{query}"));
    let page = browser.get(&format!("/account/authenticator{query}")).await;
    assert!(page.text.contains("<svg") && !page.text.contains("style="), "{page:?}");
    let app = Authenticator::new(between(&page.text, "<code class=\"secret\">", "<")[0]);
    let path = format!("/account/authenticator/code{query}");
    let wrong = browser.post(&path, &[("code", "1234567")]).await;
    assert_eq!(wrong.status, 400);
    // A double click: the browser never sees the first answer.
    let (code, unseen) =
        (app.code(0), browser.clone().post(&path, &[("code", &app.code(0))]).await);
    let page = browser.post(&path, &[("code", &code)]).await;
    assert_eq!(page, unseen);
    let codes = between(&page.text, "<code>", "<").into_iter().map(str::to_owned);
    let codes: Vec<_> = codes.collect();
    assert!(page.status == 200 && codes.len() == 10, "{page:?}");
    let next = if query.is_empty() { "/account" } else { "/" };
    assert!(page.text.contains(&format!("href=\"{next}\">Continue")), "{page:?}");
    (app, codes)
}
