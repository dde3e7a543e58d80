//! Headless Chromium, driven through chromedriver: one of each per visit, gone at its end.

use std::{
    io::ErrorKind::NotFound,
    process::Stdio,
    time::{Duration, Instant},
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{InputSource as _, KeyAction, KeyActions},
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

/// How long a whole visit may take.
const VISIT: Duration = Duration::from_secs(180);

/// How often a chromedriver is started before a test gives up.
const STARTS: usize = 5;

/// What to do about a machine without a browser.
const INSTALL: &str = "install it with: sudo apt-get install chromium chromium-driver";

/// Nothing of its own accord, and no way to any host but this one.
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
    "--force-prefers-reduced-motion", // What scrolls smoothly cannot be clicked meanwhile.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe", // It ends with chromedriver, however that ends.
];

/// Visits a page in a browser of its own, and then asks that browser: every request went to the
/// origin of `url`, and its console holds nothing but the statuses of answers.
///
/// # Panics
///
/// When there is no browser, when it asks elsewhere or complains, or when the visit takes too long.
pub async fn visit(url: &str, visit: impl AsyncFnOnce(&Page)) {
    visit_and_leave(url, &[], visit).await;
}

/// The same, where requests may also go to the origins of these addresses.
///
/// # Panics
///
/// As [`visit`].
pub async fn visit_and_leave(url: &str, others: &[&str], visit: impl AsyncFnOnce(&Page)) {
    let visit = async {
        let page = Page::open(url).await;
        visit(&page).await;
        let (requests, console) = (page.log("performance").await, page.log("browser").await);
        page.close().await;
        stayed_at(url, others, &requests);
        is_quiet(url, &console);
    };
    timeout(VISIT, visit).await.expect("a visit ends in time");
}

/// A page in a browser. Elements are named by CSS selectors; what cannot be done fails the test.
#[derive(Debug)]
pub struct Page {
    client: Client,
    /// Where chromedriver takes what is beyond the WebDriver standard.
    session: String,
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
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let wanted = wanted.as_object().cloned().unwrap_or_else(Map::new);
        let client =
            ClientBuilder::new(HttpConnector::new()).capabilities(wanted).connect(&address).await;
        let client = client.unwrap_or_else(|error| panic!("no chromium ({INSTALL}): {error}"));
        let id = client.session_id().await.expect("chromedriver answers").expect("a session");
        client.goto(url).await.expect("the page loads");
        Self { client, session: format!("{address}/session/{id}"), driver, _profile: profile }
    }

    async fn close(mut self) {
        self.client.close().await.expect("chromium ends");
        self.driver.kill().await.expect("chromedriver ends");
    }

    /// Goes to an address, as whoever types it in does.
    pub async fn go(&self, url: &str) {
        self.client.goto(url).await.expect(url);
    }

    /// Goes back, as the browser's button does.
    pub async fn back(&self) {
        self.client.back().await.expect("a page before");
    }

    /// Has the pages from the next on run no script of theirs.
    pub async fn without_scripts(&self) {
        let off =
            json!({ "cmd": "Emulation.setScriptExecutionDisabled", "params": { "value": true } });
        let _ = self.ask("goog/cdp/execute", off).await;
    }

    /// What a function body of JavaScript returns; a promise is waited for. `$` finds an element.
    pub async fn run(&self, script: &str) -> Value {
        let script = format!("const $ = (it) => document.querySelector(it); {script}");
        let result = self.client.execute(&script, Vec::new()).await;
        result.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until an expression of JavaScript is true.
    pub async fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        let begun = Instant::now();
        while self.run(&script).await != true {
            if begun.elapsed() > DEADLINE {
                panic!("not {expression}:\n{}", self.text("body").await);
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The text of an element, hidden or not.
    pub async fn text(&self, selector: &str) -> String {
        let text = self.run(&format!("return $('{selector}').textContent")).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks on an element, as a mouse does: it has to be there to be seen.
    pub async fn click(&self, selector: &str) {
        let element = self.client.find(Locator::Css(selector)).await.expect(selector);
        element.click().await.expect(selector);
    }

    /// Writes into a field that is empty.
    pub async fn write(&self, selector: &str, text: &str) {
        let element = self.client.find(Locator::Css(selector)).await.expect(selector);
        element.send_keys(text).await.expect(selector);
    }

    /// Presses a key.
    pub async fn press(&self, key: char) {
        let keys = KeyActions::new("keyboard".to_owned())
            .then(KeyAction::Down { value: key })
            .then(KeyAction::Up { value: key });
        self.client.perform_actions(keys).await.expect("a keyboard");
    }

    /// How many cookies there are, those included that no script sees.
    pub async fn cookies(&self) -> usize {
        self.client.get_all_cookies().await.expect("cookies are listed").len()
    }

    /// Has the page shown on a screen of this width, in a scheme of colours (`light`, `dark`).
    pub async fn show_on(&self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 740, "deviceScaleFactor": 1, "mobile": false });
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let media = json!({ "features": [feature] });
        for (name, value) in [("DeviceMetricsOverride", size), ("EmulatedMedia", media)] {
            let command = json!({ "cmd": format!("Emulation.set{name}"), "params": value });
            let _ = self.ask("goog/cdp/execute", command).await;
        }
    }

    /// What stands in one of the browser's logs.
    async fn log(&self, name: &str) -> Vec<Value> {
        let log = self.ask("se/log", json!({ "type": name })).await;
        log.as_array().expect("a log has entries").clone()
    }

    /// What chromedriver answers to a command that is its own.
    async fn ask(&self, command: &str, parameters: Value) -> Value {
        let request = http::client().post(format!("{}/{command}", self.session)).json(&parameters);
        let answer = request.send().await.expect("chromedriver answers");
        let answer: Value = answer.json().await.expect("chromedriver answers in JSON");
        assert!(answer["value"]["error"].is_null(), "{command}: {answer}");
        answer["value"].clone()
    }
}

/// Nothing was asked of another origin than those of `url` and `others`.
fn stayed_at(url: &str, others: &[&str], requests: &[Value]) {
    let inside = |asked: &str| {
        let at = |url| asked.strip_prefix(origin(url)).is_some_and(|rest| rest.starts_with('/'));
        let own = at(url) || others.iter().any(|url| at(url));
        // No page can ask for `chrome:`; the browser's own do.
        own || ["data:", "blob:", "chrome:"].iter().any(|scheme| asked.starts_with(scheme))
    };
    let mut asked = Vec::new();
    for entry in requests {
        let event = entry["message"].as_str().expect("an event");
        let event: Value = serde_json::from_str(event).expect("an event is JSON");
        let event = &event["message"];
        if event["method"] == "Network.requestWillBeSent" {
            asked.push(event["params"]["request"]["url"].as_str().expect("an address").to_owned());
        }
    }
    assert!(asked.iter().any(|asked| asked == url), "{url} is missing: {asked:?}");
    let outside: Vec<_> = asked.iter().filter(|asked| !inside(asked)).collect();
    assert!(outside.is_empty(), "{url} asks elsewhere: {outside:?}");
}

/// The console holds no errors but the statuses of answers, and nothing about the policy.
fn is_quiet(url: &str, console: &[Value]) {
    for entry in console {
        let text = entry["message"].as_str().expect("a message");
        let status = text.contains("Failed to load resource: the server responded with a status");
        assert!(entry["level"] != "SEVERE" || status, "{url}: {text}");
        assert!(!text.contains("Content Security Policy"), "{url}: {text}");
    }
}

/// The scheme, host and port of an address.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or(url, |end| &url[..host + end])
}

/// A chromedriver, and its address.
///
/// It takes a free port of one IP version and wants the same one of the other, which may be in use:
/// then it ends, and is started again.
async fn driver(home: &TempDir) -> (Child, String) {
    for _ in 0..STARTS {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").env("HOME", home.path()).stdin(Stdio::null()).kill_on_drop(true);
        let mut driver = match command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() {
            Err(error) if error.kind() == NotFound => panic!("chromedriver is missing; {INSTALL}"),
            started => started.expect("chromedriver can be started"),
        };
        let mut output = BufReader::new(driver.stdout.take().expect("piped"));
        if let Some(port) = timeout(DEADLINE, port(&mut output)).await.expect("it says its port") {
            tokio::spawn(async move { copy(&mut output, &mut sink()).await });
            return (driver, format!("http://127.0.0.1:{port}"));
        }
    }
    panic!("chromedriver ended at once, {STARTS} times");
}

/// The port a chromedriver says it listens on. None, if it ends before.
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
