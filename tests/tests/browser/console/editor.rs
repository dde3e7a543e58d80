//! The editor.

use blackbox::objstore::{Key, Object};

use super::{VALUE, board, open, register, set, visit_console, watch};

#[tokio::test]
async fn an_object_is_edited_and_deleted() {
    visit_console(async |page, other| {
        let board = board();
        other.set(&board).await;
        register(page).await;
        watch(page).await;
        open(page, &board).await;
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
async fn a_conflict_is_shown_and_resolved() {
    visit_console(async |page, other| {
        let board = board();
        other.set(&board).await;
        register(page).await;
        watch(page).await;
        open(page, &board).await;
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
