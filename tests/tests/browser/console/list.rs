//! The list of objects.

use blackbox::objstore::Object;
use fantoccini::key::Key as Press;

use super::{NAMES, board, choose, fill, is_marked, open, register, row, visit_console, watch};

#[tokio::test]
async fn a_deleted_object_cannot_be_opened() {
    visit_console(async |page, other| {
        let board = board();
        other.set(&board).await;
        register(page).await;
        let controls =
            format!("{}?.querySelectorAll('button, input:not([hidden])').length", row(&board));
        page.until(&format!("{controls} === 2")).await;
        let _ = page.run(&format!("{}.querySelector('input').click()", row(&board))).await;
        // The list follows what this page does, also without a watch.
        open(page, &board).await;
        page.click("#delete").await;
        page.until(&format!("{controls} === 0")).await;
        page.until("$('#delete-selected').disabled").await;

        watch(page).await;
        other.set(&board).await;
        page.until(&format!("{controls} === 2")).await;
        other.delete(&board.key).await;
        page.until(&format!("{controls} === 0")).await;
        page.until(&format!("!{}", row(&board))).await;
    })
    .await;
}

#[tokio::test]
async fn the_list_is_sorted_by_key_or_by_last_change() {
    visit_console(async |page, other| {
        let named = |name: &str| Object { key: board().key.named(name), ..board() };
        for name in ["b", "a", "c"] {
            other.set(&named(name)).await;
        }
        register(page).await;
        watch(page).await;
        page.until(&format!("{NAMES} === 'a,b,c'")).await;
        choose(page, "#order", "change").await;
        page.until(&format!("{NAMES} === 'c,a,b'")).await;
        let _ = page.run(&format!("{}.querySelector('button').focus()", row(&named("b")))).await;
        other.set(&named("b").numbered(2)).await;
        page.until(&format!("{NAMES} === 'b,c,a'")).await;
        page.until("document.activeElement.ariaLabel.endsWith(' / b')").await;
        other.set(&named("aa")).await;
        page.until(&format!("{NAMES} === 'aa,b,c,a'")).await;
        choose(page, "#order", "key").await;
        page.until(&format!("{NAMES} === 'a,aa,b,c'")).await;
    })
    .await;
}

#[tokio::test]
async fn long_lists_are_shown_in_part() {
    visit_console(async |page, other| {
        let board = board();
        let numbered = |number: usize| Object {
            key: board.key.named(&format!("{number:03}")),
            ..board.numbered(number)
        };
        for number in 0..250 {
            other.set(&numbered(number)).await;
        }
        register(page).await;
        page.until("$('#rows').children.length === 100").await;
        page.click("#more").await;
        page.until("$('#rows').children.length === 200").await;
        watch(page).await;
        other.set(&numbered(249).numbered(0)).await;
        other.set(&numbered(7).numbered(0)).await;
        is_marked(page, &numbered(7), "changed").await;
        assert_eq!(page.run("return $('#rows').children.length").await, 200);

        for number in 0..250 {
            other.set(&numbered(number)).await;
        }
        page.until("$('#lines li')?.textContent.includes('249')").await;
        assert_eq!(page.run("return $('#lines').children.length").await, 200);

        page.write("#filter-Name", "042").await;
        page.press(Press::Enter.into()).await;
        page.until("$('#rows').children.length === 1").await;
    })
    .await;
}

#[tokio::test]
async fn the_page_holds_five_thousand_objects_at_most() {
    visit_console(async |page, other| {
        fill(other, 5001).await;
        register(page).await;
        for shown in [100, 200, 400, 800, 1600, 3200] {
            page.until(&format!("$('#rows').children.length === {shown}")).await;
            page.click("#more").await;
        }
        page.until("$('#object-count').textContent.startsWith('5000 objects, the most')").await;
        page.until("$('#more').hidden").await;
        watch(page).await;
        other.set(&Object { key: board().key.named("00005"), ..board() }).await;
        page.until("$('#lines').textContent.includes('00005')").await;
        let changed = Object { key: board().key.named("4000"), ..board() };
        other.set(&changed).await;
        page.until(&format!("{}?.textContent.includes('\"seed\"')", row(&changed))).await;
        assert_eq!(page.run("return $('#rows').children.length").await, 5000);
    })
    .await;
}

#[tokio::test]
async fn selected_objects_are_deleted_in_batches_after_a_question() {
    visit_console(async |page, other| {
        fill(other, 700).await;
        register(page).await;
        for shown in [100, 200, 400] {
            page.until(&format!("$('#rows').children.length === {shown}")).await;
            page.click("#more").await;
        }
        page.until("$('#rows').children.length === 700").await;
        page.click("#all").await;
        for (button, rest) in [("[value='']", 700), (".primary", 0)] {
            page.click("#delete-selected").await;
            assert_eq!(page.text("#confirm-heading").await, "Delete 700 objects?");
            assert_eq!(page.text("#confirm-keys li:last-child").await, "and 690 more");
            page.click(&format!("#confirm {button}")).await;
            page.until(&format!("$('#rows').querySelectorAll(':checked').length === {rest}")).await;
            assert_eq!(other.find(&board().key.named("")).await.len(), rest);
        }
        let command = page.text("#curl").await;
        assert_eq!(command.matches("Delete").count(), 188, "the second batch: {command}");
    })
    .await;
}

#[tokio::test]
async fn a_refused_batch_names_the_object() {
    visit_console(async |page, other| {
        fill(other, 3).await;
        register(page).await;
        page.until("$('#rows').children.length === 3").await;
        page.click("#all").await;
        page.click("#delete-selected").await;
        // The page does not watch it. It may read the list again at any time before.
        other.delete(&board().key.named("0001")).await;
        page.click("#confirm .primary").await;
        page.until("$('#list-error').textContent.includes('422 ')").await;
        let error = page.text("#list-error").await;
        assert!(error.starts_with("0 of 3 objects are deleted."), "{error}");
        assert!(error.contains("board / game-17 / 0001"), "{error}");
        // The list is read again. The others stay selected.
        page.until(&format!("{NAMES} === '0000,0002'")).await;
        page.until("$('#delete-selected').textContent === 'Delete 2'").await;
        page.click("#delete-selected").await;
        page.click("#confirm .primary").await;
        page.until("$('#list-error').textContent === '' && $('#shown').hidden").await;
        assert_eq!(other.find(&board().key.named("")).await, []);
    })
    .await;
}
