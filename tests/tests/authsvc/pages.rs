//! HTML pages: the files that they load, and their content security policy.

use blackbox::authsvc::{DOCUMENT, Service};
use serde_json::Value;

#[tokio::test]
async fn every_page_has_a_strict_policy_and_loads_local_files() {
    let service = Service::any().await;
    for page in ["/", "/docs", "/redoc"] {
        let answer = service.page(page).await.expect(200);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{page}");
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{page}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{page}: {policy}");
        let html = answer.text();
        let loaded = html.match_indices("src=\"").chain(html.match_indices("stylesheet\" href=\""));
        let mut files = 0;
        for (at, found) in loaded {
            let path = html[at + found.len()..].split('"').next().unwrap();
            assert!(path.starts_with('/') && !path.starts_with("//"), "{page} loads {path}");
            let file = service.page(path).await.expect(200);
            assert!(file.body.len() > 10, "{path}");
            let content_type = file.header("content-type").unwrap();
            let expected = if path.ends_with(".css") { "text/css" } else { "text/javascript" };
            assert!(content_type.starts_with(expected), "{path}: {content_type}");
            files += 1;
        }
        assert!(files >= 2, "{page}");
        assert!(
            !html.contains("<style") && !html.contains("<script>"),
            "{page} contains inline code"
        );
    }
}

#[tokio::test]
async fn the_served_document_is_the_one_used_in_tests() {
    let service = Service::any().await;
    let answer = service.page("/openapi.json").await.expect(200);
    let served: Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(served, *DOCUMENT.root());
    let paths: Vec<&String> = served["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/authenticate", "/health", "/metrics", "/readme"]);
}
