//! What the tests of the desk share: a service with a desk, its browsers and its mails.

use blackbox::{
    authenticator::Authenticator,
    http::client,
    mail::MailServer,
    payments::{Merchant, Service, Stopped, email, minimal},
    process,
};
use reqwest::Method;
use serde_json::Value;

/// A service with a desk, whose mail goes to this server.
pub(super) async fn start(server: &MailServer) -> Service {
    place(server).start().await
}

pub(super) fn place(server: &MailServer) -> Stopped {
    with_desk(server, Stopped::new(&[]))
}

pub(super) fn with_desk(server: &MailServer, place: Stopped) -> Stopped {
    place
        .with("PAYMENTS_SMTP_URL", &server.url())
        .with("PAYMENTS_MAIL_FROM", "Payments <payments@service.example>")
        .with("PAYMENTS_DESK_PORT", "0")
        .with("PAYMENTS_DESK_URL", DESK)
        .with("PAYMENTS_DESK_KEY", KEY)
}

pub(super) const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// The public URL of the desk.
pub(super) const DESK: &str = "http://desk.example/";

/// A browser, which keeps cookies.
#[derive(Clone)]
pub(super) struct Browser {
    http: reqwest::Client,
    /// The address of the desk.
    pub(super) desk: String,
    pub(super) cookies: Vec<(String, String)>,
}

/// What the desk answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) status: u16,
    /// Where it leads to.
    pub(super) location: Option<String>,
    pub(super) text: String,
}

impl Browser {
    pub(super) fn at(service: &Service) -> Self {
        let desk = format!("http://{}", service.process().address_of("desk.address"));
        Self { http: client(), desk, cookies: Vec::new() }
    }

    pub(super) async fn send(&mut self, method: Method, path: &str, form: &[(&str, &str)]) -> Page {
        let headers = [("sec-fetch-site", "same-origin")];
        self.send_with(method, path, form, &headers).await
    }

    /// A request with the cookies of the browser.
    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.desk);
        let mut request = self.http.request(method.clone(), url).header("host", "desk.example");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if method == Method::POST {
            let fields = form.iter().map(|(name, value)| format!("{name}={value}"));
            let fields = fields.collect::<Vec<_>>().join("&").replace('@', "%40");
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(fields);
        }
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        request.header("cookie", cookies)
    }

    /// Sends a form with files.
    pub(super) async fn upload(&mut self, path: &str, (media, body): (String, Vec<u8>)) -> Page {
        let headers = [("sec-fetch-site", "same-origin"), ("content-type", &*media)];
        // A request without a form has no content type of its own.
        let request = self.request(Method::PUT, path, &[], &headers).body(body);
        let mut request = request.build().unwrap();
        *request.method_mut() = Method::POST;
        self.page(self.http.execute(request).await.unwrap(), false).await
    }

    pub(super) async fn send_with(
        &mut self,
        method: Method,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Page {
        let is_head = method == Method::HEAD;
        let answer = self.request(method, path, form, headers).send().await.unwrap();
        self.page(answer, is_head).await
    }

    async fn page(&mut self, answer: reqwest::Response, is_head: bool) -> Page {
        for set in answer.headers().get_all("set-cookie") {
            let set = set.to_str().unwrap();
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            assert!(set.contains("; HttpOnly; SameSite=Lax") && set.contains("; Path=/"), "{set}");
            self.cookies.retain(|(known, _)| known != name);
            if !set.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let location = answer.headers().get("location");
        let location = location.map(|location| location.to_str().unwrap().to_owned());
        if location.is_none() && !is_head {
            assert_eq!(answer.headers()["cache-control"], "no-store");
            assert_eq!(answer.headers()["referrer-policy"], "same-origin");
        }
        let status = answer.status().as_u16();
        Page { status, location, text: answer.text().await.unwrap() }
    }

    pub(super) async fn get(&mut self, path: &str) -> Page {
        self.send(Method::GET, path, &[]).await
    }

    pub(super) async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Page {
        self.send(Method::POST, path, form).await
    }

    /// The names of the merchants on the first page. `None` if the browser is not signed in.
    pub(super) async fn merchants(&mut self) -> Option<Vec<String>> {
        let page = self.get("/").await;
        if page.location.as_deref() == Some("/sign-in") {
            return None;
        }
        assert_eq!(page.status, 200, "{page:?}");
        let names = page.text.split("<li><a").skip(1);
        let names = names.map(|rest| rest.split(['>', '<']).nth(1).unwrap().to_owned());
        Some(names.collect())
    }

    /// Asks for a link.
    pub(super) async fn ask(&mut self, email: &str) -> Page {
        self.post("/sign-in", &[("email", email)]).await
    }

    /// Uses a link, which must work.
    pub(super) async fn use_link(&mut self, link: &str) {
        assert_eq!(self.get(link).await.status, 200);
        let used = self.post(link, &[]).await;
        assert_eq!((used.status, used.location.as_deref()), (303, Some("/")));
    }
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
    let page = browser.post(&path, &[("code", &app.code(0))]).await;
    let codes = between(&page.text, "<code>", "<").into_iter().map(str::to_owned);
    let codes: Vec<_> = codes.collect();
    assert!(page.status == 200 && codes.len() == 10, "{page:?}");
    let next = if query.is_empty() { "/account" } else { "/" };
    assert!(page.text.contains(&format!("href=\"{next}\">Continue")), "{page:?}");
    (app, codes)
}
