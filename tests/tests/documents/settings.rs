//! The tables of settings in docs/operations.md.

use std::collections::BTreeMap;

use blackbox::{
    page::{self, Row},
    settings::{self, Setting},
};

use crate::PROGRAMS;

const PAGE: &str = "docs/operations.md";

#[tokio::test]
async fn the_tables_show_every_setting_with_its_flag_and_default() {
    let pages = page::pages();
    let page = pages.iter().find(|page| page.path == PAGE).unwrap();
    let table = |heading: &str| -> BTreeMap<String, Setting> {
        let rows = page.rows.iter().filter(|row| row.heading == heading && row.cells.len() == 4);
        rows.filter(|row| row.cells[0] != "variable").map(setting).collect()
    };
    for program in PROGRAMS {
        let mut shown = table(program);
        if !program.starts_with("demo-") {
            shown.extend(table("All three services"));
        }
        assert_eq!(shown, settings::of(program).await, "{program}");
    }
}

/// Parses a row: variable, flag, default and meaning.
fn setting(row: &Row) -> (String, Setting) {
    let [variable, flag, default, meaning] = row.cells.as_slice() else { unreachable!() };
    assert!(!meaning.is_empty(), "{variable} has no meaning");
    let flag = Some(flag.clone()).filter(|flag| flag != "secret: no flag");
    let default = if default == "unset" { "" } else { default };
    (variable.clone(), Setting { flag, default: default.to_owned() })
}
