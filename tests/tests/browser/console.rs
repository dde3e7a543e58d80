//! The console of objstore-svc.

use std::fs;

use blackbox::{
    browser::{Page, visit},
    objstore::{Client, Key, Object, Service, Stopped},
};
use sha2::{Digest as _, Sha256};

mod editor;
mod list;
mod people;

/// A large number, which JavaScript would round.
const VALUE: &str = r#"{"turn":1,"seed":12345678901234567890}"#;

/// Visits the console of a service, with another client of it.
async fn visit_console(check: impl AsyncFnOnce(&Page, &Client)) {
    let service = Service::with(&[]).await;
    let other = service.client().await;
    visit(&format!("{}/", service.url()), async |page| check(page, &other).await).await;
}

async fn register(page: &Page) {
    page.until("$('#id').value.length === 36").await;
    page.click("#register .primary").await;
    is_live(page).await;
}

async fn is_live(page: &Page) {
    page.until("$('#connection').dataset.state === 'live'").await;
}

/// Watches every object.
async fn watch(page: &Page) {
    page.click("#watch .primary").await;
    page.until("$('#watch-list li')").await;
}

fn board() -> Object {
    Object::new(&Key::new("board", "game-17", "state"), VALUE)
}

/// An expression for the row of an object.
fn row(object: &Object) -> String {
    let Key { r#type, namespace, name } = &object.key;
    format!(
        "[...document.querySelectorAll('#rows tr')].find((row) => \
         row.textContent.includes('{type} / {namespace} / {name}'))"
    )
}

/// Waits until the row of an object shows this state.
async fn is_marked(page: &Page, object: &Object, state: &str) {
    page.until(&format!("{}?.children[2].textContent === '{state}'", row(object))).await;
}

async fn open(page: &Page, object: &Object) {
    let _ = page.run(&format!("{}.querySelector('button').click()", row(object))).await;
    page.until("$('#edit-status').textContent.startsWith('Opened')").await;
}

/// Chooses an option of a list.
async fn choose(page: &Page, list: &str, option: &str) {
    let change = "dispatchEvent(new Event('change'))";
    let _ = page.run(&format!("$('{list}').value = '{option}'; $('{list}').{change}")).await;
}

/// Stores this many numbered objects.
async fn fill(other: &Client, count: usize) {
    let numbers: Vec<_> = (0..count).collect();
    for numbers in numbers.chunks(512) {
        let sets = numbers.iter().map(|number| {
            let key = board().key.named(&format!("{number:04}"));
            Object { key, ..board() }.numbered(*number).operation("")
        });
        let _ = other.batch(&sets.collect::<Vec<_>>()).await;
    }
}

/// An expression for the names of the shown objects.
const NAMES: &str = "[...document.querySelectorAll('#rows .part:last-child')].map((part) => part.textContent).join()";

/// Puts a text into the editor, and sets the object.
async fn set(page: &Page, value: &str) {
    let _ = page.run(&format!("$('#value').value = '{value}'")).await;
    page.click("#edit .primary").await;
}

#[tokio::test]
async fn a_change_of_another_client_appears_without_a_reload() {
    visit_console(async |page, other| {
        register(page).await;
        watch(page).await;
        let board = board();
        other.set(&board).await;
        is_marked(page, &board, "new").await;
        page.until("$('#lines li .badge')?.textContent === 'set'").await;
        is_marked(page, &board, "watched").await;

        other.set(&board.numbered(2)).await;
        is_marked(page, &board, "changed").await;
        page.until(&format!("{}.textContent.includes('{{\"n\":2}}')", row(&board))).await;

        other.delete(&board.key).await;
        is_marked(page, &board, "deleted").await;
        page.until(&format!("!{}", row(&board))).await;
        page.until("$('#lines').children.length === 3").await;
        page.until("$('#announcement').textContent.startsWith('Changes: ')").await;
    })
    .await;
}

#[tokio::test]
async fn an_error_is_shown_beside_its_form() {
    visit_console(async |page, other| {
        page.until("$('#id').value.length === 36").await;
        let _ = page.run("$('#id').value = 'me'").await;
        page.click("#register .primary").await;
        page.until("$('#register-error').textContent.startsWith('400 Bad Request')").await;
        page.click("#new-id").await;
        register(page).await;
        for (value, error) in [("{", "The value is not JSON"), ("1", "400 Bad Request")] {
            set(page, value).await;
            page.until(&format!("$('#edit-error').textContent.startsWith('{error}')")).await;
        }
        page.click("#delete").await;
        page.until("$('#edit-error').textContent.startsWith('422 ')").await;
        assert_eq!(other.find(&Key::new("", "", "")).await, []);
    })
    .await;
}

#[tokio::test]
async fn current_values_are_no_changes() {
    visit_console(async |page, other| {
        let board = board();
        other.set(&board).await;
        register(page).await;
        is_marked(page, &board, "").await;
        watch(page).await;
        is_marked(page, &board, "watched").await;
        other.set(&board.numbered(2)).await;
        is_marked(page, &board, "changed").await;
        page.until("$('#lines').textContent.includes('{\"n\":2}')").await;
        let _ = page.run("location.reload()").await;
        is_live(page).await;
        is_marked(page, &board, "watched").await;
        assert_eq!(page.run("return $('#lines').children.length").await, 0);
    })
    .await;
}

/// Stops the service while a page watches two objects, changes the store, and starts the service
/// again.
async fn restart(change: impl Fn(&Stopped), check: impl AsyncFnOnce(&Page, &Client, [Object; 2])) {
    let service = Service::with(&[]).await;
    let port = service.url().rsplit(':').next().unwrap_or_default().to_owned();
    let objects = [board(), Object { key: board().key.named("other"), ..board() }];
    visit(&format!("{}/", service.url()), async |page| {
        register(page).await;
        watch(page).await;
        let other = service.client().await;
        for object in &objects {
            other.set(object).await;
            is_marked(page, object, "new").await;
        }
        page.may_lose_connections();
        let stopped = service.stop().await;
        page.until("$('#connection').dataset.state === 'broken'").await;
        change(&stopped);
        let service = stopped.with("PORT", &port).start().await;
        check(page, &other.at(&service), objects).await;
    })
    .await;
}

#[tokio::test]
async fn changes_during_a_broken_connection_are_shown_afterwards() {
    let change = |_: &Stopped| {};
    restart(change, async |page, other, [changed, deleted]| {
        other.set(&changed.numbered(2)).await;
        other.delete(&deleted.key).await;
        is_live(page).await;
        page.until(&format!("!{}", row(&deleted))).await;
        page.until("$('#lines').children.length === 4").await;
        assert_eq!(page.text("#lines li .badge").await, "delete");
    })
    .await;
}

#[tokio::test]
async fn a_restored_store_replaces_the_list() {
    // A store without an epoch is a restored one.
    let restore = |store: &Stopped| {
        store.change("DELETE FROM objects WHERE name = 'other'");
        store.change("UPDATE store SET epoch = NULL");
    };
    restart(restore, async |page, _, [kept, lost]| {
        is_live(page).await;
        page.until(&format!("!{}", row(&lost))).await;
        is_marked(page, &kept, "watched").await;
        assert_eq!(page.run("return $('#lines').children.length").await, 2);
    })
    .await;
}

#[tokio::test]
async fn an_id_with_a_secret_is_registered_with_it() {
    let (id, secret) = ("67e55044-10b1-426f-9247-bb680e5fe0c8", "open sesame");
    let directory = tempfile::tempdir().unwrap();
    let clients = directory.path().join("clients");
    fs::write(&clients, format!("{id} sha256:{}\n", hex::encode(Sha256::digest(secret)))).unwrap();
    let service = Service::with(&[("OBJSTORE_CLIENTS_FILE", clients.to_str().unwrap())]).await;
    visit(&format!("{}/", service.url()), async |page| {
        page.until("$('#id').value.length === 36 && $('#secret-field').hidden").await;
        let _ = page.run(&format!("$('#id').value = '{id}'")).await;
        page.click("#register .primary").await;
        page.until("$('#register-error').textContent.includes('needs its secret')").await;
        page.until("!$('#secret-field').hidden").await;
        let _ = page.run(&format!("$('#secret').value = '{secret}'")).await;
        page.click("#register .primary").await;
        is_live(page).await;
        page.until("$('#secret').value === ''").await;
        page.may_lose_connections();
    })
    .await;
}

#[tokio::test]
async fn an_object_that_has_expired_says_so() {
    visit_console(async |page, other| {
        register(page).await;
        watch(page).await;
        let _ = other.post("/set?ttl=1s", board().body()).await.expect(204);
        page.until("$('#lines li .hint')?.textContent.startsWith('expired · ')").await;
        page.until(&format!("!{}", row(&board()))).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_stays_registered_until_the_session_ends() {
    visit_console(async |page, _| {
        register(page).await;
        watch(page).await;
        let id = page.text("#registered-id").await;
        let _ = page.run("location.reload()").await;
        is_live(page).await;
        assert_eq!(page.text("#registered-id").await, id);
        page.until("$('#watch-list li')").await;
        page.click("#watching summary").await;
        page.click("#watch-list button").await;
        page.until("!$('#watch-list li')").await;

        // The console does not know about this request. It finds out by itself.
        let _ = page.run("return fetch('/logout', { method: 'POST' }).then(() => true)").await;
        page.until("$('#register-error').textContent.includes('session has ended')").await;
        register(page).await;
        assert_eq!(page.text("#registered-id").await, id);
        page.click("#logout").await;
        page.until("$('#session').hidden && !$('#register').hidden").await;
        assert_eq!(page.cookies().await, 0);
    })
    .await;
}

#[tokio::test]
async fn texts_of_strangers_are_not_interpreted() {
    visit_console(async |page, other| {
        register(page).await;
        watch(page).await;
        let markup = "<img src=x onerror=alert(1)>";
        let hostile =
            Object::new(&Key::new(markup, markup, markup), format!(r#"{{"<b>":"{markup}"}}"#));
        other.set(&hostile).await;
        page.until("$('#lines li')").await;
        is_marked(page, &hostile, "new").await;
        open(page, &hostile).await;
        assert_eq!(page.run("return document.querySelectorAll('img, b').length").await, 0);
        assert_eq!(page.run("return $('#edit-Type').value").await, markup);
    })
    .await;
}
