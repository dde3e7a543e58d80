//! Swagger UI and Redoc show the OpenAPI document.

use std::collections::BTreeSet;

use blackbox::{
    authsvc::{DOCUMENT, Service},
    browser::visit,
    objstore,
    openapi::Document,
    payments,
};

/// Checks that Swagger UI shows every operation of the document, and opens the first one.
async fn shows(url: &str, document: &Document) {
    let paths = document.at("/paths").as_object();
    let paths: Vec<_> = paths.into_iter().flatten().collect();
    let methods = ["get", "head", "post", "put", "delete", "options"];
    let has = |path: &serde_json::Value| methods.iter().filter(|it| path.get(it).is_some()).count();
    let operations: usize = paths.iter().map(|(_, path)| has(path)).sum();
    visit(&format!("{url}/docs"), async |page| {
        page.until(&format!("document.querySelectorAll('.opblock').length === {operations}")).await;
        let shown =
            "return [...new Set([...document.querySelectorAll('.opblock-summary [data-path]')]
            .map((path) => path.dataset.path))].sort()";
        let mut expected: Vec<_> = paths.iter().map(|(path, _)| path).collect();
        expected.sort();
        assert_eq!(page.run(shown).await, serde_json::json!(expected));
        page.click(".opblock-post .opblock-summary-control").await;
        page.until("$('.opblock-post .opblock-body')").await;
        assert!(page.text(".opblock-post").await.contains("application/json"));
    })
    .await;
}

#[tokio::test]
async fn swagger_ui_shows_the_operations_of_authsvc() {
    shows(Service::any().await.url(), &DOCUMENT).await;
}

#[tokio::test]
async fn swagger_ui_shows_the_operations_of_objstore_svc() {
    shows(objstore::Service::any().await.url(), &objstore::DOCUMENT).await;
}

#[tokio::test]
async fn swagger_ui_shows_the_operations_of_payments_svc() {
    shows(payments::Service::any().await.url(), &payments::DOCUMENT).await;
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
