//! The desk, and browsers that visit it.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;

use super::{Service, Stopped};
use crate::http::client;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// The public URL of the desk.
pub const DESK: &str = "http://desk.example/";

/// A service with a desk.
pub fn on(place: Stopped) -> Stopped {
    place
        .with("PAYMENTS_DESK_PORT", "0")
        .with("PAYMENTS_DESK_URL", DESK)
        .with("PAYMENTS_DESK_KEY", KEY)
}

/// A browser, which keeps cookies.
#[derive(Clone)]
pub struct Browser {
    http: reqwest::Client,
    /// The address of the desk.
    pub desk: String,
    pub cookies: Vec<(String, String)>,
}

/// An answer of the desk.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    /// The target of a redirect.
    pub location: Option<String>,
    pub text: String,
}

/// A text in HTML, as it is in a form.
fn encoded(html: &str) -> String {
    let text = html.replace("&#34;", "\"").replace("&#38;", "&");
    utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
}

impl Browser {
    pub fn at(service: &Service) -> Self {
        let desk = format!("http://{}", service.process().address_of("desk.address"));
        Self { http: client(), desk, cookies: Vec::new() }
    }

    pub async fn send(&mut self, method: Method, path: &str, form: &[(&str, &str)]) -> Page {
        let headers = [("sec-fetch-site", "same-origin")];
        self.send_with(method, path, form, &headers).await
    }

    /// A request with the cookies of the browser.
    pub fn request(
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
    pub async fn upload(&mut self, path: &str, (media, body): (String, Vec<u8>)) -> Page {
        let headers = [("sec-fetch-site", "same-origin"), ("content-type", &*media)];
        // A request without a form has no content type of its own.
        let request = self.request(Method::PUT, path, &[], &headers).body(body);
        let mut request = request.build().expect("a request");
        *request.method_mut() = Method::POST;
        self.page(self.http.execute(request).await.expect("an answer"), false).await
    }

    pub async fn send_with(
        &mut self,
        method: Method,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Page {
        let is_head = method == Method::HEAD;
        let answer = self.request(method, path, form, headers).send().await.expect("an answer");
        self.page(answer, is_head).await
    }

    async fn page(&mut self, answer: reqwest::Response, is_head: bool) -> Page {
        for set in answer.headers().get_all("set-cookie") {
            let set = set.to_str().expect("text");
            let (name, value) =
                set.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
            assert!(set.contains("; HttpOnly; SameSite=Lax") && set.contains("; Path=/"), "{set}");
            self.cookies.retain(|(known, _)| known != name);
            if !set.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let location = answer.headers().get("location");
        let location = location.map(|location| location.to_str().expect("text").to_owned());
        if location.is_none() && !is_head {
            assert_eq!(answer.headers()["cache-control"], "no-store");
            assert_eq!(answer.headers()["referrer-policy"], "same-origin");
        }
        let status = answer.status().as_u16();
        Page { status, location, text: answer.text().await.expect("a text") }
    }

    pub async fn get(&mut self, path: &str) -> Page {
        self.send(Method::GET, path, &[]).await
    }

    pub async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Page {
        self.send(Method::POST, path, form).await
    }

    /// Types a code into the page that a form without a fresh code gets. After a right one, sends the
    /// form again, as browsers do.
    pub async fn enter_code(&mut self, page: &Page, code: &str) -> Page {
        assert_eq!(page.status, 403, "{page:?}");
        let hidden = page.text.split("type=\"hidden\" name=\"").skip(1).map(|rest| {
            let mut parts = rest.split('"');
            let (name, value) = (parts.next(), parts.nth(1));
            (encoded(name.expect("a name")), encoded(value.expect("a value")))
        });
        let mut form: Vec<_> = hidden.collect();
        form.push(("code".to_owned(), encoded(code)));
        let form: Vec<_> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
        let page = self.post("/code", &form).await;
        match page.status {
            307 => self.post(&page.location.expect("a path"), &form).await,
            _ => page,
        }
    }

    /// The names of the merchants on the first page. `None` if the browser is not signed in.
    pub async fn merchants(&mut self) -> Option<Vec<String>> {
        let page = self.get("/").await;
        if page.location.as_deref() == Some("/sign-in") {
            return None;
        }
        assert_eq!(page.status, 200, "{page:?}");
        let names = page.text.split("<li><a").skip(1);
        let names = names.map(|rest| rest.split(['>', '<']).nth(1).expect("a name").to_owned());
        Some(names.collect())
    }

    /// Asks for a link.
    pub async fn ask(&mut self, email: &str) -> Page {
        self.post("/sign-in", &[("email", email)]).await
    }

    /// Uses a link, which must work.
    pub async fn use_link(&mut self, link: &str) {
        assert_eq!(self.get(link).await.status, 200);
        let used = self.post(link, &[]).await;
        assert_eq!((used.status, used.location.as_deref()), (303, Some("/")));
    }
}
