//! The console by keyboard, with axe-core, and on a phone.

use blackbox::{
    axe,
    objstore::{Key, Object},
};
use fantoccini::key::Key as Press;

use super::{board, is_live, is_marked, open, register, set, visit_console, watch};
use crate::{keyboard::tab_to, width::does_not_scroll_sideways};

#[tokio::test]
async fn the_keyboard_is_enough() {
    visit_console(async |page, other| {
        tab_to(page, "#register .primary").await;
        page.press(Press::Enter.into()).await;
        is_live(page).await;
        page.until("document.activeElement.id === 'watches-heading'").await;
        tab_to(page, "#watch .primary").await;
        page.press(Press::Enter.into()).await;
        page.until("$('#watch-list li')").await;
        tab_to(page, "#edit .primary").await;
        page.press(Press::Enter.into()).await;
        let sample = Object::new(&Key::new("note", "demo", "hello"), "");
        is_marked(page, &sample, "new").await;
        let _ = page.run("document.activeElement.blur()").await;
        tab_to(page, "#rows button").await;
        page.press(Press::Enter.into()).await;
        page.until("document.activeElement.id === 'editor-heading'").await;
        tab_to(page, "#delete").await;
        page.press(Press::Enter.into()).await;
        page.until("$('#edit-status').textContent.startsWith('Deleted')").await;
        assert_eq!(other.find(&sample.key).await, []);
        let _ = page.run("document.activeElement.blur()").await;
        tab_to(page, "#logout").await;
        page.press(Press::Enter.into()).await;
        page.until("document.activeElement.id === 'id'").await;
    })
    .await;
}

#[tokio::test]
async fn axe_finds_nothing_and_a_phone_does_not_scroll_sideways() {
    let axe = axe::script();
    visit_console(async |page, other| {
        let check = async |state: &str| {
            for scheme in ["light", "dark"] {
                for width in [1200, 360] {
                    page.show_on(width, scheme).await;
                    page.until(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches"))
                        .await;
                    axe::finds_nothing(&axe, page, &format!("{state}, {width}, {scheme}")).await;
                }
                does_not_scroll_sideways(page, state).await;
            }
        };
        check("not registered").await;
        register(page).await;
        check("empty").await;
        watch(page).await;
        let board = board();
        other.set(&board).await;
        let long = "long-".repeat(100);
        let value = format!(r#"{{"text":"{long}"}}"#);
        other.set(&Object::new(&Key::new(&long, &long, &long), value)).await;
        is_marked(page, &board, "watched").await;
        check("objects").await;
        other.set(&board.numbered(2)).await;
        is_marked(page, &board, "changed").await;
        axe::finds_nothing(&axe, page, "changed").await;
        open(page, &board).await;
        other.set(&board.numbered(3)).await;
        set(page, "{}").await;
        page.until("!$('#conflict').hidden").await;
        check("conflict").await;
        set(page, "{").await;
        check("no JSON").await;
        other.delete(&board.key).await;
        is_marked(page, &board, "deleted").await;
        axe::finds_nothing(&axe, page, "deleted").await;
    })
    .await;
}
