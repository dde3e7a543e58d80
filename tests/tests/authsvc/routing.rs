//! Unknown paths, wrong methods, and `HEAD`.

use blackbox::authsvc::Service;
use reqwest::Method;

const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "BREW"];

#[tokio::test]
async fn an_unknown_path_is_404_with_any_method() {
    let service = Service::any().await;
    for method in METHODS.into_iter().filter(|&method| method != "CONNECT") {
        for path in [
            "/nope",
            "/health/",
            "/docs/",
            "/metrics/",
            "//metrics",
            "//authenticate",
            "/authenticate/x",
            "/explorer",
            "/ready",
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = service.request(method.clone(), path).send_undescribed().await.expect(404);
            if method != Method::HEAD {
                assert_eq!(answer.text(), r#"{"detail":"Not Found"}"#, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_method_is_405_with_an_allow_header() {
    let service = Service::any().await;
    for (path, allowed) in [
        ("/authenticate", "POST"),
        ("/health", "GET"),
        ("/metrics", "GET"),
        ("/readme", "GET"),
        ("/", "GET, HEAD"),
        ("/docs", "GET, HEAD"),
        ("/redoc", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
    ] {
        let has = |method: &str| allowed.split(", ").any(|allowed| allowed == method);
        for method in METHODS.into_iter().filter(|&method| method != "CONNECT" && !has(method)) {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = service.request(method.clone(), path);
            let answer = request.send_undescribed().await.expect(405);
            assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
            if method != Method::HEAD {
                assert_eq!(answer.text(), r#"{"detail":"Method Not Allowed"}"#, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn pages_answer_head() {
    let service = Service::any().await;
    for path in ["/", "/docs", "/redoc", "/openapi.json"] {
        let answer = service.request(Method::HEAD, path).send_undescribed().await.expect(200);
        assert!(answer.body.is_empty());
    }
}

#[tokio::test]
async fn router_rejections_count_as_failures_but_not_as_errors() {
    let service = Service::with(&[]).await;
    let _ = service.request(Method::GET, "/a/b").send_undescribed().await.expect(404);
    let _ = service.request(Method::PUT, "/health").send_undescribed().await.expect(405);
    let brew = Method::from_bytes(b"BREW").unwrap();
    let _ = service.request(brew, "/metrics").send_undescribed().await.expect(405);
    let scrape = service.scrape().await;
    assert_eq!(scrape.count("/requests/failed"), 3);
    assert_eq!(scrape.sum("/errorsByType"), 0);
    assert_eq!(scrape.count("/failuresByFault/client"), 3);
    for route in ["GET <unmatched>", "PUT ~1health", "<other> ~1metrics"] {
        assert_eq!(scrape.count(&format!("/requestsByRoute/{route}/requests")), 1, "{route}");
    }
}
