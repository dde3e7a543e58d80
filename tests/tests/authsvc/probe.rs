//! `authsvc probe`: signs in once and says which answers the portal gives.

use blackbox::{
    authsvc::PROGRAM,
    process::{self, output},
};
use demo_portal::{Behaviour, CAMPUSES, Delivery, Operation, Options, Portal, Student};
use serde_json::json;
use tempfile::TempDir;

struct Prober {
    portal: Portal,
    directory: TempDir,
}

impl Prober {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ca_file = Some(directory.path().join("ca.pem"));
        let portal = Portal::start(Options { ca_file, ..Options::default() }).unwrap();
        portal.enrol(Student::new("zoe", "open sesame "));
        Self { portal, directory }
    }

    async fn probe(&self, input: &str) -> (i32, String) {
        let (url, campuses) = (self.portal.url(), CAMPUSES.join(";"));
        let ca_file = self.directory.path().join("ca.pem");
        let settings = [
            ("PORTAL_URL", url.as_str()),
            ("PORTAL_CA_FILE", ca_file.to_str().unwrap()),
            ("PORTAL_CAMPUSES", &campuses),
            ("PORTAL_TIMEOUT", "1s"),
        ];
        run(&settings, input).await
    }
}

/// The exit code, and standard output and error together.
async fn run(settings: &[(&str, &str)], input: &str) -> (i32, String) {
    let mut command = process::command(PROGRAM, settings);
    command.arg("probe");
    let ended = process::run_with(&mut command, input).await;
    (ended.status.code().unwrap(), output(&ended))
}

const SIGNED_IN: &str = "login: 200 and SUCCESS: signed in\n";

#[tokio::test]
async fn a_known_profile_is_a_success() {
    let prober = Prober::new();
    let expected = format!("{SIGNED_IN}profile_fetch: 200 and SUCCESS: a profile\n");
    for input in ["zoe\nopen sesame \n", "zoe\r\nopen sesame \r\n", "zoe\nopen sesame "] {
        assert_eq!(prober.probe(input).await, (0, expected.clone()));
    }
}

#[tokio::test]
async fn members_that_differ_are_named_without_their_values() {
    let prober = Prober::new();
    let student = Student::new("zoe", "open sesame ").without("Email").without("gender");
    let student = student.info("SRN", json!({ "x": 1 })).photo("instituteName", "Elsewhere");
    prober.portal.enrol(student);
    let (code, output) = prober.probe("zoe\nopen sesame \n").await;
    let expected = "missing: Email, gender\nunexpected type or value: SRN\n\
                    not in PORTAL_CAMPUSES: instituteName\n";
    assert!(code == 1 && output.ends_with(expected), "{output}");
    assert!(!output.contains("Elsewhere"), "{output}");
}

#[tokio::test]
async fn each_answer_has_a_line() {
    let prober = Prober::new();
    let (code, output) = prober.probe("zoe\nwrong\n").await;
    assert_eq!((code, &*output), (1, "login: 401: the portal rejected the credentials\n"));
    let success = json!({ "mobileJsonObject": { "login": "SUCCESS" } });
    for (answer, line) in [
        (Behaviour::answer(401, "<html>"), "401, but not the portal's answer: not a JSON object"),
        (Behaviour::from(Delivery::Hang), "no connection, TLS failure or time-out: no answer"),
        (Behaviour::answer(503, "later"), "another status: status 503"),
        (Behaviour::answer(200, "later"), "200, but no SUCCESS: unexpected answer: not a JSON"),
        (Behaviour::answer(200, success), "200 and SUCCESS, but no usable accessToken: "),
    ] {
        prober.portal.script("zoe", Operation::Login, answer);
        let (code, output) = prober.probe("zoe\nopen sesame \n").await;
        assert_eq!((code, output.lines().count()), (1, 1), "{output}");
        assert!(output.starts_with(&format!("login: {line}")), "{line}: {output}");
    }
    prober.portal.script("zoe", Operation::Login, Behaviour::honest());
    for (answer, line) in [
        (Behaviour::from(Delivery::Hang), "no connection, TLS failure or time-out: no answer"),
        (Behaviour::answer(401, ""), "another status: status 401"),
        (Behaviour::answer(200, json!({ "status": 500 })), "200, but a failure: "),
        (Behaviour::answer(200, json!({ "MESSAGE": "hidden" })), "200, but a failure: "),
        (Behaviour::answer(200, "hidden"), "200, but not a known answer: not a JSON object"),
        (Behaviour::answer(200, json!({})), "200, but not a known answer: MESSAGE is missing"),
        (
            Behaviour::answer(200, json!({ "MESSAGE": "SUCCESS" })),
            "200 and SUCCESS, but no profile: STUDENT_INFO is missing",
        ),
    ] {
        prober.portal.script("zoe", Operation::Profile, answer);
        let (code, output) = prober.probe("zoe\nopen sesame \n").await;
        assert_eq!(code, 1, "{output}");
        let second = output.strip_prefix(SIGNED_IN).unwrap_or_else(|| panic!("{output}"));
        assert!(second.starts_with(&format!("profile_fetch: {line}")), "{line}: {output}");
        assert!(!output.contains("hidden"), "{output}");
    }
}

#[tokio::test]
async fn without_a_portal_or_credentials_nothing_is_sent() {
    let (code, output) = run(&[], "zoe\nopen sesame\n").await;
    assert_eq!((code, &*output), (2, "error: PORTAL_URL is not set\n"));
    let prober = Prober::new();
    for input in ["", "zoe\n", "\nopen sesame\n"] {
        let (code, output) = prober.probe(input).await;
        assert_eq!(code, 2, "{output}");
        assert!(output.contains("must not be empty"), "{output}");
    }
    assert_eq!(prober.portal.counters().connections, 0);
}
