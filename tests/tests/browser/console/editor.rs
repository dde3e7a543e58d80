//! The editor.

use blackbox::{
    browser::Page,
    objstore::{Client, Key, Object, revision},
};

use super::{VALUE, board, choose, open, register, row, set, visit_console, watch};

/// Presses Set, and waits until the service has stored the object.
async fn store(page: &Page, other: &Client, key: &Key) {
    let before = revision(&other.etag(key).await);
    page.click("#edit .primary").await;
    page.until("$('#edit-status').textContent.startsWith('Stored, revision ')").await;
    page.until(&format!("Number(/\\d+/.exec($('#edit-status').textContent)) > {before}")).await;
}

/// The headers that say what ends an object: `Object-Expires` and `Object-Presence`.
async fn end_of(other: &Client, key: &Key) -> [Option<String>; 2] {
    let answer = other.post("/get", key.body()).await.expect(200);
    ["object-expires", "object-presence"].map(|name| answer.header(name).map(str::to_owned))
}

/// Opens an object that the page watches.
async fn open_board(page: &Page, other: &Client) -> Object {
    let board = board();
    other.set(&board).await;
    register(page).await;
    watch(page).await;
    open(page, &board).await;
    board
}

#[tokio::test]
async fn an_object_is_edited_and_deleted() {
    visit_console(async |page, other| {
        let board = open_board(page, other).await;
        page.click("#edit .primary").await;
        page.until("$('#edit-status').textContent.startsWith('Stored')").await;
        assert_eq!(other.get(&board.key).await, board, "the large number is unchanged");
        assert!(page.text("#curl").await.contains("-H 'If-Match: "));

        set(page, r#"{"turn":2}"#).await;
        page.until("$('#edit-status').textContent.startsWith('Stored')").await;
        assert_eq!(other.get(&board.key).await.value, r#"{"turn":2}"#);
        page.click("#delete").await;
        page.until("$('#edit-status').textContent.startsWith('Deleted')").await;
        other.post("/get", board.key.body()).await.refused(422, "object_not_found");
    })
    .await;
}

#[tokio::test]
async fn a_text_that_is_not_stored_is_replaced_only_if_the_user_wants_it() {
    visit_console(async |page, other| {
        let board = open_board(page, other).await;
        let answers = async |answer: bool| {
            let script = format!("asked = 0; confirm = () => {{ asked += 1; return {answer}; }}");
            let _ = page.run(&script).await;
        };
        answers(false).await;
        page.click("#clear").await;
        open(page, &board).await;
        assert_eq!(page.run("return asked").await, 0, "nothing is lost");

        let _ = page.run("$('#value').value = '{\"turn\":2}'").await;
        let _ = page.run(&format!("{}.querySelector('button').click()", row(&board))).await;
        page.click("#clear").await;
        assert_eq!(page.run("return asked").await, 2);
        assert_eq!(page.run("return $('#value').value").await, r#"{"turn":2}"#);
        store(page, other, &board.key).await;
        open(page, &board).await;
        assert_eq!(page.run("return asked").await, 2, "it is stored");

        let _ = page.run("$('#owner').value = 'eve'").await;
        answers(true).await;
        open(page, &board).await;
        assert_eq!(page.run("return $('#owner').value").await, board.owner.as_str());
    })
    .await;
}

#[tokio::test]
async fn a_conflict_is_shown_and_resolved() {
    visit_console(async |page, other| {
        let board = open_board(page, other).await;
        other.set(&board.numbered(2)).await;
        page.until("$('#edit-status').textContent.includes('Another client changed')").await;
        set(page, r#"{"n":3}"#).await;
        page.until("$('#edit-error').textContent.includes('another client changed')").await;
        assert_eq!(other.get(&board.key).await.number(), 2);

        page.click("#load").await;
        page.until("JSON.parse($('#value').value).n === 2").await;
        other.set(&board.numbered(4)).await;
        set(page, r#"{"n":5}"#).await;
        page.until("!$('#conflict').hidden").await;
        page.click("#overwrite").await;
        page.until("$('#edit-status').textContent.startsWith('Stored')").await;
        assert_eq!(other.get(&board.key).await.number(), 5);
    })
    .await;
}

#[tokio::test]
async fn a_new_object_replaces_no_other() {
    visit_console(async |page, other| {
        register(page).await;
        let sample = Object::new(&Key::new("note", "demo", "hello"), VALUE);
        other.set(&sample).await;
        page.click("#edit .primary").await;
        page.until("$('#edit-error').textContent.includes('already')").await;
        assert_eq!(other.get(&sample.key).await, sample);
    })
    .await;
}

#[tokio::test]
async fn the_end_of_an_object_is_kept_unless_the_user_changes_it() {
    visit_console(async |page, other| {
        let board = board();
        other.set_with("?ttl=1h", &board).await;
        let hour = end_of(other, &board.key).await;
        register(page).await;
        watch(page).await;
        open(page, &board).await;
        assert!(page.text("#ends").await.starts_with("It expires at "));
        assert_eq!(page.run("return $('#end').value").await, "keep");
        store(page, other, &board.key).await;
        assert_eq!(end_of(other, &board.key).await, hour);

        choose(page, "#end", "change").await;
        page.click("#edit .primary").await;
        page.until("$('#edit-error').textContent.startsWith('Give a time to live')").await;
        page.write("#ttl", "2h").await;
        page.click("#presence").await;
        store(page, other, &board.key).await;
        page.until("$('#ends').textContent.includes('when its client has left')").await;
        let [expires, presence] = end_of(other, &board.key).await;
        assert!(expires > hour[0] && presence.as_deref() == Some("true"), "{expires:?}");

        // A new object has no end that it could keep.
        page.write("#edit-Name", "-copy").await;
        page.click("#edit .primary").await;
        page.until("$('#edit-error').textContent.includes('Choose again')").await;
        open(page, &board).await;
        choose(page, "#end", "never").await;
        store(page, other, &board.key).await;
        assert_eq!(end_of(other, &board.key).await, [None, None]);
        page.until("$('#ends').textContent === '' && $('#keep').hidden").await;
        assert_eq!(other.find(&Key::new("", "", "")).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_object_that_expired_is_not_overwritten_for_good() {
    visit_console(async |page, other| {
        let board = board();
        other.set_with("?ttl=1h", &board).await;
        register(page).await;
        watch(page).await;
        open(page, &board).await;
        other.delete(&board.key).await;
        page.until("$('#edit-status').textContent.includes('was deleted')").await;
        page.click("#edit .primary").await;
        page.until("!$('#conflict').hidden").await;
        page.click("#overwrite").await;
        page.until("$('#edit-error').textContent.includes('Choose again')").await;
        assert_eq!(other.find(&board.key).await, []);
        choose(page, "#end", "never").await;
        page.click("#edit .primary").await;
        page.until("$('#edit-status').textContent.startsWith('Stored')").await;
        assert_eq!(other.get(&board.key).await, board);
    })
    .await;
}
