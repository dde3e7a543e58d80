//! Draws the diagrams with Mermaid in a browser.

use std::fs;

use blackbox::{browser::visit, page, project::root};

/// The file of the published package that scripts/install unpacks.
const MERMAID: &str = "target/tools/mermaid.min.js";

#[tokio::test]
async fn mermaid_draws_every_diagram() {
    let mermaid = root().join(MERMAID);
    assert!(mermaid.exists(), "mermaid is missing; install it with: scripts/install test");
    let folder = tempfile::tempdir().unwrap();
    fs::copy(mermaid, folder.path().join("mermaid.min.js")).unwrap();
    let html = "<!doctype html><meta charset=utf-8><script src=mermaid.min.js></script><body>";
    fs::write(folder.path().join("index.html"), html).unwrap();

    let pages = page::pages();
    let diagrams = pages
        .iter()
        .flat_map(|page| page.blocks_of(&["mermaid"]).map(|diagram| (&page.path, diagram)));
    let diagrams: Vec<_> = diagrams.collect();
    assert!(diagrams.len() > 5, "only {} diagrams found", diagrams.len());
    let url = format!("file://{}/index.html", folder.path().display());
    visit(&url, async |browser| {
        let _ = browser.run("mermaid.initialize({ startOnLoad: false })").await;
        for (path, diagram) in diagrams {
            let text = serde_json::to_string(diagram).unwrap();
            let drawn = format!(
                "return mermaid.render('diagram', {text})
                     .then((drawn) => drawn.svg, (error) => String(error))"
            );
            let drawn = browser.run(&drawn).await;
            let drawn = drawn.as_str().unwrap();
            assert!(drawn.starts_with("<svg"), "{path}: {drawn}\n{diagram}");
        }
    })
    .await;
}
