//! Pages of other origins that use objstore-svc with the session of the user who visits them.

#![expect(clippy::unwrap_used, reason = "a store that cannot start fails the test")]

use blackbox::{
    browser::{Page, visit_and_leave},
    objstore::{Documented, Key, Object, Service},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

/// The hosts of a store and of a page that is not its own: another port of the same host, a sibling
/// name, and another site. A browser sends `Sec-Fetch-Site` only to `localhost` and names below it.
/// To a name below `test`, it sends `Origin` alone.
const SAME_SITE: [(&str, &str); 4] = [
    ("localhost", "localhost"),
    ("store.school.localhost", "page.school.localhost"),
    ("store.school.test", "store.school.test"),
    ("store.school.test", "page.school.test"),
];
const CROSS_SITE: [(&str, &str); 3] = [
    ("localhost", "127.0.0.1"),
    ("b.localhost", "a.localhost"),
    ("store.school.test", "page.other.test"),
];

/// These functions are for scripts. `store` is the URL of the service.
pub(crate) const FUNCTIONS: &str = "
    const post = (path, options) => fetch(store + path, { method: 'POST', credentials: 'include', ...options });
    const headers = { 'Content-Type': 'application/json' };
    const key = (Name) => ({ Type: 'page', Namespace: location.host, Name });
    const opens = (stream) => new Promise((resolve) => {
        stream.onopen = () => { stream.close(); resolve(true); };
        stream.onerror = () => { stream.close(); resolve(false); };
    });
    const events = () => new EventSource(`${store}/streams?live=sse&offset=-1`, { withCredentials: true });
    const socket = (query) => new WebSocket(`${store.replace('http', 'ws')}/socket?${query}`);
    const digit = () => Math.floor(16 * Math.random()).toString(16);
    const id = () => '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit);
    const register = () => post('/register', { headers, body: JSON.stringify({ ID: id() }) });
    const isRead = ({ status }) => status > 0 && status !== 421;
";

/// This script tries every route in every way that a page has. It returns the names of the requests
/// whose answer the page can read, unless the answer is only that the host is refused.
pub(crate) const ATTEMPT: &str = "
    const read = [];
    const attempt = async (name, it) => { if (await it().catch(() => false)) read.push(name); };
    const object = (Name) => JSON.stringify({ Key: key(Name), Value: {}, Owner: 'page' });
    const pattern = JSON.stringify({ Key: { Type: '', Namespace: '', Name: '' } });
    const secret = JSON.stringify({ Key: { Type: 'secret', Namespace: 'secret', Name: 'secret' } });
    const bodies = [['/set', object('set')], ['/get', secret], ['/find', pattern], ['/watch', pattern],
        ['/unwatch', secret], ['/delete', secret],
        ['/register', JSON.stringify({ ID: '67e55044-10b1-426f-9247-bb680e5fe0c8' })]];
    for (const [path, body] of bodies) {
        await attempt(`blob ${path}`, async () =>
            isRead(await post(path, { mode: 'no-cors', body: new Blob([body]) })));
        await attempt(`text ${path}`, async () => isRead(await post(path, { mode: 'no-cors', body })));
        await attempt(`json ${path}`, async () => isRead(await post(path, { headers, body })));
    }
    await attempt('watches', async () => isRead(await fetch(`${store}/watches`, { credentials: 'include' })));
    await attempt('hidden watches', async () =>
        isRead(await fetch(`${store}/watches`, { credentials: 'include', mode: 'no-cors' })));
    await attempt('events', () => opens(events()));
    await attempt('socket', () => opens(socket('')));
    await attempt('logout', async () => isRead(await post('/logout', { mode: 'no-cors' })));
    return read;
";

/// The requests of [`ATTEMPT`].
pub(crate) const READS: usize = 7 * 3 + 5;

/// This script uses the API as a page of a listed origin does. It returns what the page has read.
const USE: &str = "
    const read = { registered: (await register()).status };
    const body = JSON.stringify({ Key: key('used'), Value: { n: 1 }, Owner: 'page' });
    const set = await post('/set', { headers: { ...headers, 'If-None-Match': '*' }, body });
    read.set = set.status;
    const got = await post('/get', { headers, body: JSON.stringify({ Key: key('used') }) });
    read.get = got.status;
    if (got.status === 200) {
        read.object = await got.json();
        read.tags = [set.headers.get('ETag'), got.headers.get('ETag')].every((tag) => /^\"\\w+-\\d+\"$/.test(tag));
        const again = await post('/set', { headers: { ...headers, 'If-None-Match': '*' }, body });
        read.again = [again.status, (await again.json()).error];
    }
    read.events = await opens(events());
    read.socket = await opens(socket('events=true&initial=true'));
    return read;
";

/// Serves an empty page under every path, and returns the port.
async fn serve_page() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    port
}

pub(crate) async fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 2 {
        line.clear();
    }
    let page = "<!doctype html><title>A page</title>";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
    let length = page.len();
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{page}").as_bytes()).await
}

/// A store, and a page on another port, both with the URLs that the browser uses.
struct Place {
    service: Service,
    store: String,
    page: String,
}

impl Place {
    /// `settings` is given the origin of the page.
    async fn new(
        (store, page): (&str, &str),
        settings: impl Fn(&str) -> Vec<(&'static str, String)>,
    ) -> Self {
        let page = format!("http://{page}:{}", serve_page().await);
        let mut settings = settings(&page);
        settings.push(("ALLOWED_HOSTS", store.to_owned()));
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, &**value)).collect();
        let service = Service::with(&settings).await;
        let store = format!("http://{store}:{}", service.process().address().port());
        Self { service, store, page }
    }

    /// Runs a script in a page.
    async fn run(&self, page: &Page, script: &str) -> Value {
        let store = json!(self.store);
        page.run(&format!(
            "return (async () => {{ const store = {store}; {FUNCTIONS} {script} }})()"
        ))
        .await
    }

    /// Opens the page of the store itself, and registers the user there.
    async fn sign_in(&self, page: &Page) {
        page.go(&format!("{}/", self.store)).await;
        let status = self.run(page, "return (await register()).status").await;
        assert_eq!(status, 200, "{}", self.store);
    }

    async fn visit(&self, visit: impl AsyncFnOnce(&Page)) {
        visit_and_leave(&format!("{}/", self.page), &[&self.store], async |page| {
            page.may_be_blocked();
            visit(page).await;
        })
        .await;
    }
}

pub(crate) fn secret() -> Object {
    Object::new(&Key::new("secret", "secret", "secret"), r#"{"secret":true}"#)
}

/// Visits a page of an unlisted origin, without and with a session of the store.
async fn reads_and_writes_nothing(hosts: (&str, &str), settings: Vec<(&'static str, String)>) {
    let place = Place::new(hosts, |_| settings.clone()).await;
    let other = place.service.client().await;
    other.set(&secret()).await;
    place
        .visit(async |page| {
            for is_signed_in in [false, true] {
                if is_signed_in {
                    place.sign_in(page).await;
                    page.go(&format!("{}/", place.page)).await;
                }
                let before = place.service.data().writes();
                let read = place.run(page, ATTEMPT).await;
                assert_eq!(read, json!([]), "{hosts:?} {is_signed_in}");
                assert_eq!(place.service.data().writes(), before, "{hosts:?} {is_signed_in}");
            }
            page.go(&format!("{}/", place.store)).await;
            let watches = "const it = await fetch('/watches'); return [it.status, await it.text()]";
            assert_eq!(place.run(page, watches).await, json!([200, "[]"]), "{hosts:?}");
        })
        .await;
    assert_eq!(other.find(&Key::new("", "", "")).await, [secret()], "{hosts:?}");
}

#[tokio::test]
async fn an_unlisted_page_of_the_same_site_reads_and_writes_nothing() {
    for hosts in SAME_SITE {
        reads_and_writes_nothing(hosts, Vec::new()).await;
    }
}

#[tokio::test]
async fn an_unlisted_page_of_another_site_reads_and_writes_nothing() {
    for hosts in CROSS_SITE {
        reads_and_writes_nothing(hosts, Vec::new()).await;
    }
}

#[tokio::test]
async fn an_unlisted_page_that_sends_the_cookie_reads_and_writes_nothing() {
    reads_and_writes_nothing(CROSS_SITE[0], for_all_sites()).await;
}

#[tokio::test]
async fn a_page_of_the_service_itself_reads_every_answer() {
    for (store, page) in [SAME_SITE[0], SAME_SITE[2]] {
        let place = Place::new((store, page), |_| Vec::new()).await;
        let other = place.service.client().await;
        other.set(&secret()).await;
        place
            .visit(async |page| {
                place.sign_in(page).await;
                let read = place.run(page, ATTEMPT).await;
                let read = read.as_array().unwrap();
                assert_eq!(read.len(), READS, "{store} {read:?}");
            })
            .await;
        let found = other.find(&Key::new("", "", "")).await;
        assert!(found.len() == 1 && found[0].key.name == "set", "{store} {found:?}");
    }
}

/// This script keeps a copy in `db`. `copy()` returns its values by their keys.
const KEEP: &str = "
    globalThis.db = copies.copyOf(store, 'page');
    await db.preload();
    const own = ([name]) => name !== 'key' && name !== '_seq' && !name.startsWith('$');
    globalThis.copy = () => Object.fromEntries([...db.collections.objects.entries()].map(([key, row]) =>
        [key, Object.fromEntries(Object.entries(row).filter(own))]));
    return copy();
";

/// This script sets an object, and waits until the copy has it.
const SET: &str = "
    const body = JSON.stringify({ Key: { Type: 'page', Namespace: 'ns', Name: 'own' }, Value: { n: 4 }, Owner: 'page' });
    const set = await post('/set', { headers, body });
    await db.utils.awaitTxId(set.headers.get('ETag').replaceAll('\"', ''));
    return copy();
";

#[tokio::test]
async fn a_page_keeps_a_copy_with_the_documented_client() {
    let place = Place::new(SAME_SITE[0], |_| Vec::new()).await;
    let client = place.service.client().await;
    let object = |name: &str, value: &str| Object::new(&Key::new("page", "ns", name), value);
    let changed = object("changed", r#"{"a":1,"b":2}"#);
    let deleted = object("deleted", r#"{"a":1}"#);
    client.set(&changed).await;
    client.set(&deleted).await;
    place
        .visit(async |page| {
            place.sign_in(page).await;
            let keep = format!("{}{KEEP}", Documented::default().script());
            let copy = place.run(page, &keep).await;
            assert_eq!(copy, json!({ "ns/changed": { "a": 1, "b": 2 }, "ns/deleted": { "a": 1 } }));
            client.set(&object("changed", r#"{"a":3}"#)).await;
            client.delete(&deleted.key).await;
            let copy = place.run(page, SET).await;
            assert_eq!(copy, json!({ "ns/changed": { "a": 3 }, "ns/own": { "n": 4 } }));
            client.set(&object("later", "{}")).await;
            page.until("'ns/later' in copy()").await;
        })
        .await;
}

fn worked(page: &str) -> Value {
    let host = page.strip_prefix("http://").unwrap();
    json!({
        "registered": 200,
        "set": 204,
        "get": 200,
        "object": {
            "Key": { "Type": "page", "Namespace": host, "Name": "used" },
            "Value": { "n": 1 },
            "Owner": "page",
        },
        "tags": true,
        "again": [412, "precondition_failed"],
        "events": true,
        "socket": true,
    })
}

/// A cookie for pages of all sites. A browser accepts it over plain HTTP only from `localhost`.
fn for_all_sites() -> Vec<(&'static str, String)> {
    let cookie = [("OBJSTORE_COOKIE_SECURE", "true"), ("OBJSTORE_COOKIE_SAME_SITE", "none")];
    cookie.map(|(name, value)| (name, value.to_owned())).to_vec()
}

fn list(page: &str) -> Vec<(&'static str, String)> {
    vec![("OBJSTORE_ORIGINS", page.to_owned())]
}

#[tokio::test]
async fn a_listed_page_of_the_same_site_can_do_everything() {
    for hosts in SAME_SITE {
        let place = Place::new(hosts, list).await;
        place
            .visit(async |page| {
                let read = place.run(page, USE).await;
                assert_eq!(read, worked(&place.page), "{hosts:?}");
            })
            .await;
    }
}

#[tokio::test]
async fn a_listed_page_of_another_site_gets_no_cookie() {
    for hosts in CROSS_SITE {
        let place = Place::new(hosts, list).await;
        place
            .visit(async |page| {
                let read = place.run(page, USE).await;
                let refused = json!({
                    "registered": 200, "set": 401, "get": 401, "events": false, "socket": false,
                });
                assert_eq!(read, refused, "{hosts:?}");
            })
            .await;
    }
}

#[tokio::test]
async fn a_cookie_for_all_sites_reaches_a_listed_page_of_another_site() {
    let settings = |page: &str| [list(page), for_all_sites()].concat();
    let place = Place::new(CROSS_SITE[0], settings).await;
    place
        .visit(async |page| {
            let read = place.run(page, USE).await;
            assert_eq!(read, worked(&place.page));
        })
        .await;
}
