//! Swagger UI and Redoc show the OpenAPI document.

use std::collections::BTreeSet;

use blackbox::{
    authsvc::{DOCUMENT, Service},
    browser::visit,
};
use serde_json::json;

#[tokio::test]
async fn swagger_ui_shows_the_four_operations() {
    let service = Service::any().await;
    visit(&format!("{}/docs", service.url()), async |page| {
        page.until("document.querySelectorAll('.opblock').length === 4").await;
        let paths = "return [...document.querySelectorAll('.opblock-summary-path')]
            .map((path) => path.dataset.path).sort()";
        let expected = json!(["/authenticate", "/health", "/metrics", "/readme"]);
        assert_eq!(page.run(paths).await, expected);
        page.click(".opblock-post .opblock-summary-control").await;
        page.until("$('.opblock-post .opblock-body')").await;
        assert!(page.text(".opblock-post").await.contains("The portal decides."));
    })
    .await;
}

#[tokio::test]
async fn redoc_shows_every_title() {
    let service = Service::any().await;
    let root = DOCUMENT.root();
    let operations = root["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let operations = operations.flat_map(|path| path.as_object().into_iter().flatten());
    let mut titles: BTreeSet<_> =
        operations.filter_map(|(_, operation)| operation["summary"].as_str()).collect();
    titles.extend(root["info"]["title"].as_str());
    assert_eq!(titles.len(), 5);
    visit(&format!("{}/redoc", service.url()), async |page| {
        page.until("document.querySelectorAll('#redoc h1, #redoc h2').length >= 5").await;
        let shown = page.run(
            "return [...document.querySelectorAll('#redoc h1, #redoc h2')]
                .map((title) => title.textContent).join('\\n')",
        );
        let shown = shown.await.to_string();
        for title in titles {
            assert!(shown.contains(title), "{title} is missing in {shown}");
        }
    })
    .await;
}
