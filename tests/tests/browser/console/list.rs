//! The list of objects.

use blackbox::objstore::Object;
use fantoccini::key::Key as Press;

use super::{board, is_marked, register, visit_console, watch};

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
        page.until("$('#lines li').textContent.includes('249')").await;
        assert_eq!(page.run("return $('#lines').children.length").await, 200);

        page.write("#filter-Name", "042").await;
        page.press(Press::Enter.into()).await;
        page.until("$('#rows').children.length === 1").await;
    })
    .await;
}
