//! The code that the explorer shows, run as a user who copied it runs it.

#![expect(clippy::unwrap_used, reason = "a program that cannot run fails the test")]

use blackbox::{
    authsvc::{Credentials, Site},
    browser::{Page, visit},
    project::root,
};
use demo_portal::Student;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{fill, member, open, reaches, send};

const LANGUAGES: [&str; 3] = ["curl", "python", "javascript"];

/// Characters with a meaning in a shell, in Python, in JavaScript, in HTML or in URLs.
const HOSTILE: &str =
    "'\"\\n\\$(id)`id`$HOME${x}!!</script><!--{}%0a%s&+#\u{2028}\u{fc}\u{20ac}\u{1f600}";

/// Replaces the value of a control. The driver cannot type all characters.
async fn set(page: &Page, selector: &str, text: &str) {
    let script = format!(
        "const control = $('{selector}');
        control.value = {};
        control.dispatchEvent(new Event('input', {{ bubbles: true }}));",
        json!(text)
    );
    let _ = page.run(&script).await;
}

/// Chooses a language, and returns the shown code.
async fn code(page: &Page, language: &str) -> String {
    page.click(&format!("#language-{language}")).await;
    page.text("#code").await
}

/// Runs the code, and returns the status and the body that it prints.
async fn run(language: &str, code: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snippet.mjs");
    std::fs::write(&file, code).unwrap();
    let mut command = match language {
        "curl" => Command::new("sh"),
        "python" => Command::new(root().join("target/tools/python/bin/python")),
        _ => Command::new("node"),
    };
    let ran = command.arg(&file).kill_on_drop(true).output().await.unwrap();
    let output = String::from_utf8(ran.stdout).unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}\n{code}");
    let (status, body) = match language {
        "curl" => {
            let (head, body) = output.split_once("\r\n\r\n").unwrap_or((&output, ""));
            (head.split(' ').nth(1).unwrap_or_default(), body)
        }
        _ => output.trim_end().split_once(' ').unwrap_or((output.trim_end(), "")),
    };
    (status.to_owned(), body.to_owned())
}

/// Sends the form, and checks that the code of every language gets the same answer.
async fn all_agree(page: &Page, status: &str) {
    assert_eq!(send(page).await, status);
    let without_time = "delete body.timestamp; return body";
    let expected = page
        .run(&format!("const body = JSON.parse($('#response-body').textContent); {without_time}"))
        .await;
    for language in LANGUAGES {
        let code = code(page, language).await;
        let (printed, body) = run(language, &code).await;
        assert!(status.starts_with(&printed) && printed.len() == 3, "{printed}: {code}");
        let mut body: Value =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {code}"));
        body.as_object_mut().and_then(|body| body.remove("timestamp"));
        assert_eq!(body, expected, "{code}");
    }
}

#[tokio::test]
async fn each_snippet_gets_the_answer_of_the_page() {
    let site = Site::with(&[]).await;
    let known =
        Credentials { username: format!("user {HOSTILE}"), password: format!(" {HOSTILE} pass ") };
    site.portal.enrol(Student::new(&known.username, &known.password));
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        set(page, "#authenticate-username", &known.username).await;
        set(page, "#authenticate-password", &known.password).await;
        page.click("#reveal").await;
        all_agree(page, "200 OK").await;
        page.click("#authenticate-profile").await;
        all_agree(page, "200 OK").await;
        assert_eq!(member(page, "body.profile.name").await, "Asha Miren Kaldev");
        page.click("#authenticate-fields-semester").await;
        page.click("#authenticate-fields-gender").await;
        all_agree(page, "200 OK").await;
        assert_eq!(member(page, "Object.keys(body.profile).length").await, 2);
        set(page, "#authenticate-password", HOSTILE).await;
        all_agree(page, "401 Unauthorized").await;
        set(page, "#authenticate-password", "").await;
        all_agree(page, "400 Bad Request").await;
    })
    .await;
}

#[tokio::test]
async fn each_snippet_sends_a_typed_body_as_it_stands() {
    let site = Site::with(&[]).await;
    let password = format!("a line\nanother\r\t{HOSTILE}");
    let known = Credentials { username: HOSTILE.to_owned(), password };
    site.portal.enrol(Student::new(&known.username, &known.password));
    let (username, password) = (json!(known.username), json!(known.password));
    let credentials = format!("\"username\": {username},\n  \"password\": {password}");
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "authenticate").await;
        page.click("#authenticate-body-json").await;
        page.click("#reveal").await;
        for (body, status) in [
            (format!("{{\n  {credentials}\n}}"), "200 OK"),
            (format!("{{\"password\":\"x\",{credentials} , \"profile\":true}}"), "200 OK"),
            (format!("{{\"__proto__\":{{}},\"username\":{username}}}"), "400 Bad Request"),
            (r#"{"profile":1e999,"fields":[{"a":null}]}"#.to_owned(), "400 Bad Request"),
            (format!("{{\"{{}}\":{{\"{HOSTILE}"), "400 Bad Request"),
            (json!([HOSTILE, null, true, {}]).to_string(), "400 Bad Request"),
            ("null".to_owned(), "400 Bad Request"),
            (String::new(), "400 Bad Request"),
        ] {
            set(page, "#authenticate-body", &body).await;
            all_agree(page, status).await;
        }
        let received = site.portal.received(&known.username);
        assert!(received.len() >= 8, "{received:?}");
        let passwords = received.iter().filter_map(|call| call.field("password"));
        assert!(passwords.clone().all(|sent| sent == known.password), "{received:?}");
    })
    .await;
}

#[tokio::test]
async fn each_snippet_sends_the_token_and_the_query() {
    let token = r#"to'k"e\n$(id)`id`$HOME</script>%s"#;
    let site = Site::with(&[("METRICS_TOKEN", token)]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "metrics").await;
        page.click("#reveal").await;
        set(page, "#metrics-fmt-other-value", HOSTILE).await;
        all_agree(page, "401 Unauthorized").await;
        set(page, "#token", token).await;
        all_agree(page, "400 Bad Request").await;
        page.click("#metrics-fmt-prometheus").await;
        for language in LANGUAGES {
            let (status, body) = run(language, &code(page, language).await).await;
            assert_eq!(status, "200", "{language}");
            assert!(body.contains("# TYPE authsvc_requests_total counter"), "{language}");
        }
    })
    .await;
}

#[tokio::test]
async fn no_snippet_follows_a_redirect() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "readme").await;
        for language in LANGUAGES {
            let (status, body) = run(language, &code(page, language).await).await;
            assert_eq!((status.as_str(), body.as_str()), ("308", ""), "{language}");
        }
        page.click("#send").await;
        reaches(page, "redirect").await;
    })
    .await;
}

#[tokio::test]
async fn each_snippet_masks_secrets_until_they_are_revealed() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let token = "a-token-of-metrics";
    visit(&format!("{}/", site.url()), async |page| {
        let check = async |secret: &str| {
            for language in LANGUAGES {
                let masked = code(page, language).await;
                assert!(!masked.contains(secret) && masked.contains("••••••••"), "{masked}");
                page.click("#reveal").await;
                let revealed = page.text("#code").await;
                assert_eq!(masked.replace("••••••••", secret), revealed);
                page.click("#reveal").await;
            }
        };
        fill(page, &known).await;
        check(&known.password).await;
        page.click("#authenticate-body-json").await;
        check(&known.password).await;
        open(page, "metrics").await;
        page.write("#token", token).await;
        check(token).await;
    })
    .await;
}

#[tokio::test]
async fn the_language_is_kept_until_the_page_is_loaded_again() {
    let site = Site::with(&[]).await;
    let kept = "return [localStorage.length, sessionStorage.length, document.cookie, $(':checked[name=language]').value]";
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "health").await;
        assert!(page.text("#code").await.starts_with("curl "));
        assert!(code(page, "python").await.starts_with("import requests\n"));
        open(page, "metrics").await;
        assert!(page.text("#code").await.starts_with("import requests\n"));
        assert_eq!(page.run(kept).await, json!([0, 0, "", "python"]));
        page.go(&format!("{}/#health", site.url())).await;
        let _ = page.run("location.reload()").await;
        page.until("$('#code') && $('#code').textContent.startsWith('curl ')").await;
        assert_eq!(page.run(kept).await, json!([0, 0, "", "curl"]));
    })
    .await;
}

#[tokio::test]
async fn copy_copies_the_shown_snippet() {
    let site = Site::with(&[]).await;
    visit(&format!("{}/", site.url()), async |page| {
        open(page, "health").await;
        let keep = "navigator.clipboard.writeText = async (text) => { window.copied = text; }";
        let _ = page.run(keep).await;
        for language in LANGUAGES {
            let code = code(page, language).await;
            page.click("#copy").await;
            page.until("$('#copied').textContent === 'Copied.'").await;
            assert_eq!(page.run("return copied").await, code.as_str());
        }
    })
    .await;
}
