//! The console by keyboard, with axe-core, and on a phone.

use blackbox::{
    axe,
    objstore::{Key, Object},
};
use fantoccini::key::Key as Press;

use super::{
    NAMES, board, choose, fill, is_live, is_marked, open, register, set, visit_console, watch,
};
use crate::{keyboard::tab_to, width::does_not_scroll_sideways};

#[tokio::test]
async fn the_keyboard_is_enough() {
    visit_console(async |page, other| {
        tab_to(page, "#register .primary").await;
        page.press(Press::Enter.into()).await;
        is_live(page).await;
        page.until("document.activeElement.matches('#watching summary')").await;
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
async fn arrow_keys_lead_through_the_list() {
    visit_console(async |page, other| {
        fill(other, 3).await;
        register(page).await;
        watch(page).await;
        tab_to(page, "#rows input").await;
        page.press(Press::Down.into()).await;
        page.press(' ').await;
        page.press(Press::Down.into()).await;
        page.press(' ').await;
        page.until("$('#delete-selected').textContent === 'Delete 2'").await;
        page.press(Press::Tab.into()).await;
        page.until("document.activeElement.ariaLabel === 'Open board / game-17 / 0002'").await;
        page.press(Press::Up.into()).await;
        page.press(Press::Enter.into()).await;
        page.until("document.activeElement.id === 'editor-heading'").await;
        page.until("$('#edit-Name').value === '0001'").await;

        tab_to(page, "#delete-selected").await;
        page.press(Press::Enter.into()).await;
        page.until("document.activeElement.textContent === 'Cancel'").await;
        page.press(Press::Escape.into()).await;
        page.until("!$('#confirm').open && document.activeElement.id === 'delete-selected'").await;
        page.press(Press::Enter.into()).await;
        tab_to(page, "#confirm .primary").await;
        page.press(Press::Enter.into()).await;
        page.until(&format!("{NAMES} === '0000'")).await;
        assert_eq!(other.find(&board().key.named("")).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_list_scrolls_beside_the_editor_and_before_it_on_a_phone() {
    visit_console(async |page, other| {
        fill(other, 100).await;
        register(page).await;
        watch(page).await;
        page.until("$('#rows').children.length === 100").await;
        // A row that moves under the pointer is not clicked.
        let opens =
            "[...document.querySelectorAll('#rows button')].map(({ dataset }) => dataset.open)";
        page.until(&format!("{opens}.every((it, at, all) => !at || all[at - 1] < it)")).await;
        page.show_on(1280, "light").await;
        let place = "const place = (id) => $(id).getBoundingClientRect();";
        page.until("$('#list').scrollHeight > 2 * $('#list').clientHeight").await;
        let beside = "place('#editor').left >= place('#list').right
            && place('#editor').top === place('#objects').top
            && $('#list').clientHeight < innerHeight";
        assert_eq!(page.run(&format!("{place} return {beside}")).await, true);
        let before = page.run("return scrollY").await;
        page.click("#rows tr:nth-child(3)").await;
        page.until("document.activeElement.id === 'editor-heading'").await;
        assert_eq!(page.run("return scrollY").await, before, "the editor was visible");

        page.show_on(390, "light").await;
        let order = "place('#changes').bottom <= place('#objects').top
            && place('#objects').bottom <= place('#editor').top";
        assert_eq!(page.run(&format!("{place} return {order}")).await, true);
        page.click("#rows tr:nth-child(1)").await;
        page.until("$('#edit-Name').value === '0000'").await;
        let visible = "(() => {
            const { top } = $('#editor-heading').getBoundingClientRect();
            return top >= 0 && $('#value').getBoundingClientRect().top < innerHeight;
        })()";
        page.until(visible).await;
        page.click("#editor .heading a").await;
        page.until("document.activeElement.id === 'objects-heading'").await;

        // Later visits begin with the changes.
        let _ = page.run("location.reload()").await;
        is_live(page).await;
        page.until(
            "!$('#watching').open && $('#changes').getBoundingClientRect().top < innerHeight / 2",
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn axe_finds_nothing_and_a_phone_does_not_scroll_sideways() {
    let axe = axe::script();
    visit_console(async |page, other| {
        let check = async |state: &str| {
            for scheme in ["light", "dark"] {
                for width in [1280, 390] {
                    page.show_on(width, scheme).await;
                    page.until(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches"))
                        .await;
                    axe::finds_nothing(&axe, page, &format!("{state}, {width}, {scheme}")).await;
                }
                page.show_on(360, scheme).await;
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
        page.click("#all").await;
        check("selected").await;
        page.click("#delete-selected").await;
        check("question").await;
        page.click("#confirm [value='']").await;
        other.set_with("?ttl=1h", &board.numbered(2)).await;
        is_marked(page, &board, "changed").await;
        axe::finds_nothing(&axe, page, "changed").await;
        open(page, &board).await;
        check("opened").await;
        choose(page, "#end", "change").await;
        check("end").await;
        set(page, "{}").await;
        page.until("$('#edit-error').textContent !== ''").await;
        check("no end").await;
        choose(page, "#end", "keep").await;
        other.set(&board.numbered(3)).await;
        set(page, "{}").await;
        page.until("!$('#conflict').hidden").await;
        check("conflict").await;
        set(page, "{").await;
        check("no JSON").await;
        for scheme in ["light", "dark"] {
            for width in [1280, 390] {
                other.set(&board).await;
                is_marked(page, &board, "changed").await;
                page.show_on(width, scheme).await;
                other.delete(&board.key).await;
                is_marked(page, &board, "deleted").await;
                axe::finds_nothing(&axe, page, &format!("deleted, {width}, {scheme}")).await;
            }
        }
    })
    .await;
}
