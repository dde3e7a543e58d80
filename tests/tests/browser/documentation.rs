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

/// Checks that texts are dark on a light ground, or the other way round.
async fn follows_the_scheme(url: &str, texts: &[&str]) {
    visit(url, async |page| {
        for scheme in ["dark", "light", "dark"] {
            page.show_on(1280, scheme).await;
            for text in texts {
                let contrast = format!(
                    "(() => {{
                        const light = (colour) => Math.max(...colour.match(/\\d+/g).slice(0, 3));
                        const clear = 'rgba(0, 0, 0, 0)';
                        let ground = $('{text}');
                        if (!ground) return false;
                        const letters = light(getComputedStyle(ground).color);
                        while (ground && getComputedStyle(ground).backgroundColor === clear) ground = ground.parentElement;
                        const page = ground ? light(getComputedStyle(ground).backgroundColor) : 255;
                        return '{scheme}' === 'dark' ? page < 64 && letters > 160 : page > 224 && letters < 96;
                    }})()"
                );
                page.until(&contrast).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn swagger_ui_follows_the_colour_scheme() {
    let service = Service::any().await;
    let texts = [".info .title", ".info li", ".opblock-tag"];
    follows_the_scheme(&format!("{}/docs", service.url()), &texts).await;
}

#[tokio::test]
async fn redoc_follows_the_colour_scheme() {
    let service = Service::any().await;
    let texts = ["#redoc h1", "#redoc li", "#redoc td", "#redoc h5", ".react-tabs__tab--selected"];
    follows_the_scheme(&format!("{}/redoc", service.url()), &texts).await;
}
