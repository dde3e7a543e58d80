//! axe-core, which looks for problems of accessibility in the page of a browser.

use std::fs;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{browser::Page, process, project};

/// The script of axe-core. npm installs the version of `tests/axe/package-lock.json`.
pub async fn script() -> String {
    let place = tempfile::tempdir().expect("a directory can be made");
    for file in ["package.json", "package-lock.json"] {
        let from = project::root().join("tests/axe").join(file);
        fs::copy(from, place.path().join(file)).expect("can be copied");
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(place.path());
    let installed = process::run(npm).await;
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let script = place.path().join("node_modules/axe-core/axe.min.js");
    fs::read_to_string(script).expect("the package has a script")
}

/// Checks that axe-core finds nothing on the page.
pub async fn finds_nothing(script: &str, page: &Page, label: &str) {
    let run = "return axe.run(document).then(({ violations, passes }) => ({
        passed: passes.length,
        found: violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]),
    }))";
    let result: Value = page.run(&format!("{script};{run}")).await;
    assert_eq!(result["found"], json!([]), "{label}");
    assert!(result["passed"].as_u64().is_some_and(|passed| passed > 10), "{label}: {result}");
}
