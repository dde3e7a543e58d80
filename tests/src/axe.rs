//! axe-core, which looks for problems of accessibility in the page of a browser.

use serde_json::{Value, json};

use crate::{browser::Page, project};

const FILE: &str = "target/tools/axe.min.js";

/// The script of axe-core.
pub fn script() -> String {
    let is_there = project::root().join(FILE).exists();
    assert!(is_there, "axe-core is missing; install it with: scripts/install test");
    project::read(FILE)
}

/// Checks that axe-core finds nothing on the page.
pub async fn finds_nothing(script: &str, page: &Page, label: &str) {
    // axe-core leaves this rule of WCAG 2.2 out, unless it is asked.
    let run = "const rules = { 'target-size': { enabled: true } };
        return axe.run(document, { rules }).then(({ violations, passes }) => ({
        passed: passes.length,
        found: violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]),
    }))";
    if page.run("return typeof axe").await == "undefined" {
        let _ = page.run(script).await;
    }
    let result: Value = page.run(run).await;
    assert_eq!(result["found"], json!([]), "{label}");
    assert!(result["passed"].as_u64().is_some_and(|passed| passed > 10), "{label}: {result}");
}
