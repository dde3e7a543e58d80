//! The console at `/`. The target `browser` tests it in a browser.

use blackbox::{http::Answer, objstore::Service};
use reqwest::Method;

/// The page and the files that it loads, with their content types.
const FILES: [(&str, &str); 8] = [
    ("/", "text/html; charset=utf-8"),
    ("/page.css", "text/css; charset=utf-8"),
    ("/page.js", "text/javascript; charset=utf-8"),
    ("/console/console.css", "text/css; charset=utf-8"),
    ("/console/console.js", "text/javascript; charset=utf-8"),
    ("/console/api.js", "text/javascript; charset=utf-8"),
    ("/console/changes.js", "text/javascript; charset=utf-8"),
    ("/console/objects.js", "text/javascript; charset=utf-8"),
];

async fn request(service: &Service, method: Method, path: &str) -> Answer {
    service.stranger().request(method, path).send_undescribed().await
}

#[tokio::test]
async fn everybody_gets_the_console_and_its_files() {
    let service = Service::any().await;
    for (path, content_type) in FILES {
        let answer = request(&service, Method::GET, path).await.expect(200);
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(answer.header("etag").is_some(), "{path}");
        assert!(answer.header("set-cookie").is_none(), "{path}");
        let head = request(&service, Method::HEAD, path).await.expect(200);
        assert!(head.body.is_empty(), "{path}");
    }
    let posted = request(&service, Method::POST, "/").await;
    posted.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn the_console_has_a_strict_policy_and_no_inline_code() {
    let service = Service::any().await;
    let answer = request(&service, Method::GET, "/").await.expect(200);
    let policy = answer.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for inline in ["<style", "<script>", " style=", " onclick="] {
        assert!(!answer.text().contains(inline), "{inline}");
    }
}

#[tokio::test]
async fn a_setting_turns_the_console_off() {
    let service = Service::with(&[("OBJSTORE_CONSOLE", "false")]).await;
    for (path, _) in FILES {
        request(&service, Method::GET, path).await.refused(404, "not_found");
    }
    let _ = request(&service, Method::GET, "/docs").await.expect(200);
}
