//! Headless Chromium, driven through chromedriver. Each visit starts both and ends both.

use std::{
    cell::Cell,
    io::ErrorKind::NotFound,
    process::Stdio,
    time::{Duration, Instant},
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{InputSource as _, KeyAction, KeyActions},
    elements::Element,
    error::CmdError,
};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, copy, sink},
    process::{Child, ChildStdout, Command},
    time::{sleep, timeout},
};

use crate::{http, process::DEADLINE};

/// Timeout of a whole visit.
const VISIT: Duration = DEADLINE.saturating_mul(5);

/// Attempts to start chromedriver: see [`driver`].
const STARTS: usize = 5;

/// Chromium without a window. It starts in a third of the time that Chromium needs.
const BROWSER: &str = "/usr/bin/chromium-headless-shell";

const INSTALL: &str =
    "install it with: sudo apt-get install chromium-headless-shell chromium-driver";

/// Errors that the console shows when a connection is lost.
const LOST: [&str; 2] = ["net::ERR_", "WebSocket connection to"];

/// Errors that it also shows when a page of another origin may not read an answer.
const BLOCKED: [&str; 3] = ["blocked by CORS policy", LOST[0], LOST[1]];

/// No background activity, and no connections to other hosts. Names below `localhost` and `test`
/// are this machine.
const ARGUMENTS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion", // Elements cannot be clicked while a page scrolls.
    "--host-resolver-rules=MAP localhost 127.0.0.1, MAP *.localhost 127.0.0.1, \
     MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe", // Chromium ends whenever chromedriver ends.
];

/// Visits a page in a new browser. Afterwards, checks in the browser's logs that every request went
/// to the origin of `url` and that the console shows no errors but HTTP statuses.
pub async fn visit(url: &str, visit: impl AsyncFnOnce(&Page)) {
    visit_and_leave(url, &[], visit).await;
}

/// [`visit`], with requests allowed to the origins of `others`, too.
pub async fn visit_and_leave(url: &str, others: &[&str], visit: impl AsyncFnOnce(&Page)) {
    let visit = async {
        let page = Page::open(url).await;
        visit(&page).await;
        let (requests, console) = (page.log("performance").await, page.log("browser").await);
        let allowed = page.allowed.get();
        page.close().await;
        check_origins(url, others, &requests);
        check_console(url, &console, allowed);
    };
    timeout(VISIT, visit).await.expect("a visit ends in time");
}

/// A page in a browser. Elements are given by CSS selectors. A failing action fails the test.
#[derive(Debug)]
pub struct Page {
    client: Client,
    /// The URL for commands of chromedriver beyond the WebDriver standard.
    session: String,
    /// Parts of the errors that the console may show.
    allowed: Cell<&'static [&'static str]>,
    driver: Child,
    _profile: TempDir,
}

impl Page {
    async fn open(url: &str) -> Self {
        let profile = tempfile::tempdir().expect("a directory can be made");
        let (driver, address) = driver(&profile).await;
        let data = format!("--user-data-dir={}", profile.path().join("profile").display());
        let arguments: Vec<&str> = ARGUMENTS.into_iter().chain([data.as_str()]).collect();
        let wanted = json!({
            "acceptInsecureCerts": true,
            "browserName": "chrome-headless-shell",
            "goog:chromeOptions": { "args": arguments, "binary": BROWSER },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let wanted = wanted.as_object().cloned().unwrap_or_else(Map::new);
        let client =
            ClientBuilder::new(HttpConnector::new()).capabilities(wanted).connect(&address).await;
        let client = client.unwrap_or_else(|error| panic!("no chromium ({INSTALL}): {error}"));
        let id = client.session_id().await.expect("chromedriver answers").expect("a session");
        let session = format!("{address}/session/{id}");
        let page = Self { client, session, allowed: Cell::new(&[]), driver, _profile: profile };
        page.go(url).await;
        page
    }

    async fn close(mut self) {
        self.client.close().await.expect("chromium ends");
        self.driver.kill().await.expect("chromedriver ends");
    }

    /// Opens an address, as typed into the address bar.
    pub async fn go(&self, url: &str) {
        self.client.goto(url).await.expect(url);
        // On a busy machine, chromedriver may return before the page is there.
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'").await;
    }

    /// Presses the browser's back button.
    pub async fn back(&self) {
        self.client.back().await.expect("a page before");
    }

    /// Disables scripts, from the next page on.
    pub async fn without_scripts(&self) {
        let off =
            json!({ "cmd": "Emulation.setScriptExecutionDisabled", "params": { "value": true } });
        let _ = self.command("goog/cdp/execute", off).await;
    }

    /// Asks for pages in this language, from the next page on.
    pub async fn speaks(&self, language: &str) {
        let params = json!({ "userAgent": "Chromium", "acceptLanguage": language });
        let speak = json!({ "cmd": "Emulation.setUserAgentOverride", "params": params });
        let _ = self.command("goog/cdp/execute", speak).await;
    }

    /// Runs a JavaScript function body and returns its result; a promise is awaited. `$` is
    /// `document.querySelector`.
    pub async fn run(&self, script: &str) -> Value {
        let script = format!("const $ = (it) => document.querySelector(it); {script}");
        let result = self.client.execute(&script, Vec::new()).await;
        result.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a JavaScript expression is true.
    pub async fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        let begun = Instant::now();
        while self.run(&script).await != true {
            if begun.elapsed() > DEADLINE {
                let url = self.run("return location.href").await;
                panic!("not {expression} at {url}:\n{}", self.text("body").await);
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The text of an element, even if it is hidden.
    pub async fn text(&self, selector: &str) -> String {
        let text = self.run(&format!("return $('{selector}').textContent")).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks an element with the mouse: it has to be visible.
    pub async fn click(&self, selector: &str) {
        self.act(selector, async |element| element.click().await).await;
    }

    /// Types into an empty field.
    pub async fn write(&self, selector: &str, text: &str) {
        self.act(selector, async |element| element.send_keys(text).await).await;
    }

    /// Acts on an element. If another page has replaced it meanwhile, finds it there.
    async fn act(&self, selector: &str, act: impl AsyncFn(Element) -> Result<(), CmdError>) {
        let begun = Instant::now();
        loop {
            let element = self.client.find(Locator::Css(selector)).await.expect(selector);
            match act(element).await {
                Err(error) if is_replaced(&error) && begun.elapsed() < DEADLINE => {}
                acted => return acted.expect(selector),
            }
        }
    }

    pub async fn press(&self, key: char) {
        let keys = KeyActions::new("keyboard".to_owned())
            .then(KeyAction::Down { value: key })
            .then(KeyAction::Up { value: key });
        self.client.perform_actions(keys).await.expect("a keyboard");
    }

    /// Allows errors of connections in the console. A busy browser reports them late.
    pub fn may_lose_connections(&self) {
        self.allowed.set(&LOST);
    }

    /// Allows errors of requests to other origins in the console.
    pub fn may_be_blocked(&self) {
        self.allowed.set(&BLOCKED);
    }

    /// The number of cookies, `HttpOnly` ones included.
    pub async fn cookies(&self) -> usize {
        self.client.get_all_cookies().await.expect("cookies are listed").len()
    }

    /// Deletes all cookies.
    pub async fn forget_cookies(&self) {
        self.client.delete_all_cookies().await.expect("cookies are deleted");
    }

    /// Sets a cookie for the origin of a URL.
    pub async fn set_cookie(&self, url: &str, name: &str, value: &str) {
        let cookie = json!({ "url": url, "name": name, "value": value });
        let command = json!({ "cmd": "Network.setCookie", "params": cookie });
        let set = self.command("goog/cdp/execute", command).await;
        assert_eq!(set["success"], true, "{url}: {set}");
    }

    /// Shows the page as it is printed.
    pub async fn print(&self) {
        let printed = json!({ "media": "print" });
        let command = json!({ "cmd": "Emulation.setEmulatedMedia", "params": printed });
        let _ = self.command("goog/cdp/execute", command).await;
    }

    /// Emulates a screen of this width in pixels and a colour scheme (`light`, `dark`).
    pub async fn show_on(&self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 740, "deviceScaleFactor": 1, "mobile": false });
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let media = json!({ "features": [feature] });
        for (name, value) in [("DeviceMetricsOverride", size), ("EmulatedMedia", media)] {
            let command = json!({ "cmd": format!("Emulation.set{name}"), "params": value });
            let _ = self.command("goog/cdp/execute", command).await;
        }
    }

    /// A picture of the whole page, as PNG in base64.
    pub async fn picture(&self) -> String {
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        let command = json!({ "cmd": "Page.captureScreenshot", "params": whole });
        let taken = self.command("goog/cdp/execute", command).await;
        taken["data"].as_str().expect("a picture").to_owned()
    }

    /// The entries of one of the browser's logs.
    async fn log(&self, name: &str) -> Vec<Value> {
        let log = self.command("se/log", json!({ "type": name })).await;
        log.as_array().expect("a log has entries").clone()
    }

    /// The result of a command of chromedriver beyond the WebDriver standard.
    async fn command(&self, command: &str, parameters: Value) -> Value {
        let request = http::client().post(format!("{}/{command}", self.session)).json(&parameters);
        let answer = request.send().await.expect("chromedriver answers");
        let answer: Value = answer.json().await.expect("chromedriver answers in JSON");
        assert!(answer["value"]["error"].is_null(), "{command}: {answer}");
        answer["value"].clone()
    }
}

/// Whether the element is no longer on the page.
fn is_replaced(error: &CmdError) -> bool {
    let text = error.to_string();
    error.is_stale_element_reference() || text.contains("does not belong to the document")
}

/// Checks that all requests went to the origins of `url` and `others`.
fn check_origins(url: &str, others: &[&str], requests: &[Value]) {
    let inside = |requested: &str| {
        let at =
            |url| requested.strip_prefix(origin(url)).is_some_and(|rest| rest.starts_with('/'));
        let own = at(url) || others.iter().any(|url| at(url));
        // Only pages of the browser itself request `chrome:` addresses.
        own || ["data:", "blob:", "chrome:"].iter().any(|scheme| requested.starts_with(scheme))
    };
    let mut requested = Vec::new();
    for entry in requests {
        let event = entry["message"].as_str().expect("an event");
        let event: Value = serde_json::from_str(event).expect("an event is JSON");
        let event = &event["message"];
        if event["method"] == "Network.requestWillBeSent" {
            requested
                .push(event["params"]["request"]["url"].as_str().expect("an address").to_owned());
        }
    }
    assert!(requested.iter().any(|one| one == url), "{url} is missing: {requested:?}");
    let outside: Vec<_> = requested.iter().filter(|one| !inside(one)).collect();
    assert!(outside.is_empty(), "{url} sends requests to other origins: {outside:?}");
}

/// Checks that the console shows no errors but HTTP statuses and those that are allowed, and no
/// Content Security Policy report.
fn check_console(url: &str, console: &[Value], allowed: &[&str]) {
    for entry in console {
        let text = entry["message"].as_str().expect("a message");
        let status = text.contains("Failed to load resource: the server responded with a status");
        let is_allowed = status || allowed.iter().any(|part| text.contains(part));
        assert!(entry["level"] != "SEVERE" || is_allowed, "{url}: {text}");
        assert!(!text.contains("Content Security Policy"), "{url}: {text}");
    }
}

/// The scheme, host and port of a URL.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or(url, |end| &url[..host + end])
}

/// Starts a chromedriver and returns its address.
///
/// It takes a free port of one IP version and needs the same port of the other. If that is in use,
/// it ends, so this function starts it again.
async fn driver(home: &TempDir) -> (Child, String) {
    for _ in 0..STARTS {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").env("HOME", home.path()).stdin(Stdio::null()).kill_on_drop(true);
        let mut driver = match command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() {
            Err(error) if error.kind() == NotFound => panic!("chromedriver is missing; {INSTALL}"),
            started => started.expect("chromedriver can be started"),
        };
        let mut output = BufReader::new(driver.stdout.take().expect("piped"));
        if let Some(port) =
            timeout(DEADLINE, port(&mut output)).await.expect("prints its port in time")
        {
            tokio::spawn(async move { copy(&mut output, &mut sink()).await });
            return (driver, format!("http://127.0.0.1:{port}"));
        }
    }
    panic!("chromedriver ended at once, {STARTS} times");
}

/// The port that chromedriver prints. `None` if it ends first.
async fn port(output: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    while output.read_line(&mut line).await.expect("text") > 0 {
        if let Some((_, port)) = line.split_once("successfully on port ") {
            return Some(port.trim().trim_end_matches('.').to_owned());
        }
        line.clear();
    }
    None
}
