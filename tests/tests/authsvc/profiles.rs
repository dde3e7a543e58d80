//! The profile call, the second call to the portal: every row of its table of outcomes, every
//! field, and every way to select fields.

use blackbox::authsvc::{FIELDS, Site};
use demo_portal::{ANYONE, Behaviour, CAMPUSES, Operation};
use serde_json::{Value, json};

/// The profile in an answer, as text, because the order of the fields matters.
fn profile(answer: &blackbox::http::Answer) -> String {
    let text = answer.text();
    let (_, profile) = text.split_once(r#""profile":"#).unwrap_or_else(|| panic!("{text}"));
    profile.strip_suffix('}').unwrap().to_owned()
}

#[tokio::test]
async fn a_profile_has_every_field_in_the_documented_order() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let expected = format!(
        concat!(
            r#"{{"name":"Asha Miren Kaldev","prn":"QLV1202300217","srn":"QLV1UG23CS217","#,
            r#""program":"B.Tech","branch":"Computer Science and Engineering","semester":"Sem-5","#,
            r#""section":"Section C","email":"asha@students.qalvora.example","mobile":"5550100217","#,
            r#""campusCode":1,"campus":"{}","firstName":"Asha","middleName":"Miren","#,
            r#""lastName":"Kaldev","branchShortCode":"CSE","gender":"Female","#,
            r#""dateOfBirth":"2005-01-01"}}"#
        ),
        CAMPUSES[0]
    );
    for rest in [json!({ "profile": true }), json!({ "profile": true, "fields": FIELDS })] {
        let answer = site.ask(&known, rest).await.expect(200);
        assert_eq!(profile(&answer), expected);
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.json()["profileFieldFiltering"], json!({ "false": 2, "true": 0 }));
    assert_eq!(scrape.json()["profileParseErrors"], json!({}));
    assert_eq!(scrape.count("/upstream/profile_fetch/responsesByStatus/200"), 2);
    assert_eq!(scrape.count("/authentication/withProfile"), 2);
}

#[tokio::test]
async fn only_requested_fields_are_returned() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for (fields, expected) in [
        (json!(["srn", "name"]), r#"{"name":"Asha Miren Kaldev","srn":"QLV1UG23CS217"}"#),
        (json!(["section", "section"]), r#"{"section":"Section C"}"#),
        (json!(["campusCode"]), r#"{"campusCode":1}"#),
    ] {
        let answer = site.ask(&known, json!({ "profile": true, "fields": fields })).await;
        assert_eq!(profile(&answer.expect(200)), expected);
    }
    // Without `profile`, the fields are validated but not used.
    let answer = site.ask(&known, json!({ "fields": ["name"] })).await.expect(200);
    assert!(!answer.text().contains("profile"));
    let scrape = site.scrape().await;
    assert_eq!(scrape.json()["profileFieldFiltering"], json!({ "false": 0, "true": 3 }));
}

#[tokio::test]
async fn blank_values_are_null_and_not_parse_errors() {
    let site = Site::with(&[]).await;
    let known = site.student_with(|student| {
        student
            .info("ClassName", Value::Null)
            .info("SectionName", "")
            .info("MiddleName", "  ")
            .info("DateOfBirth", Value::Null)
            .photo("instituteName", "")
            .photo("gender", Value::Null)
    });
    let fields = json!([
        "semester",
        "section",
        "middleName",
        "dateOfBirth",
        "campusCode",
        "campus",
        "gender"
    ]);
    let answer = site.ask(&known, json!({ "profile": true, "fields": fields })).await.expect(200);
    assert_eq!(
        profile(&answer),
        concat!(
            r#"{"semester":null,"section":null,"campusCode":null,"campus":null,"#,
            r#""middleName":null,"gender":null,"dateOfBirth":null}"#
        )
    );
    assert_eq!(site.scrape().await.json()["profileParseErrors"], json!({}));
}

#[tokio::test]
async fn text_is_trimmed_and_numbers_become_text() {
    let site = Site::with(&[]).await;
    let known = site.student_with(|student| {
        student
            .info("MiddleName", " NA ")
            .info("Mobile", 5_550_100_217_i64)
            .photo("instituteName", format!(" {} ", CAMPUSES[1]))
    });
    let fields = json!(["middleName", "mobile", "campus", "campusCode"]);
    let answer = site.ask(&known, json!({ "profile": true, "fields": fields })).await.expect(200);
    let expected = json!({
        "mobile": "5550100217", "campusCode": 2, "campus": CAMPUSES[1], "middleName": "NA"
    });
    assert_eq!(serde_json::from_str::<Value>(&profile(&answer)).unwrap(), expected);
}

#[tokio::test]
async fn parse_errors_of_unrequested_fields_are_counted_too() {
    let site = Site::with(&[]).await;
    let known = site.student_with(|student| {
        student
            .without("Email")
            .without("gender")
            .info("Branch", json!({ "name": "CSE" }))
            .info("SRN", json!(["x"]))
            .info("DateOfBirth", "2005-01-01")
            .photo("instituteName", "Elsewhere")
    });
    let answer =
        site.ask(&known, json!({ "profile": true, "fields": ["name", "srn"] })).await.expect(200);
    assert_eq!(profile(&answer), r#"{"name":"Asha Miren Kaldev","srn":null}"#);
    assert_eq!(
        site.scrape().await.json()["profileParseErrors"],
        json!({ "missing_field": 2, "unexpected_value": 3, "unknown_campus_code": 1 })
    );
}

#[tokio::test]
async fn without_a_photo_its_fields_are_null() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for photo in [json!({}), json!({ "STUDENT_PHOTO": null })] {
        let mut answer = json!({ "MESSAGE": "SUCCESS: 1", "STUDENT_INFO": { "SRN": "s" } });
        answer.as_object_mut().unwrap().extend(photo.as_object().unwrap().clone());
        site.portal.script(&known.username, Operation::Profile, Behaviour::answer(200, answer));
        let fields = json!(["srn", "campus", "campusCode", "gender"]);
        let answer =
            site.ask(&known, json!({ "profile": true, "fields": fields })).await.expect(200);
        assert_eq!(
            profile(&answer),
            r#"{"srn":"s","campusCode":null,"campus":null,"gender":null}"#
        );
    }
    // Each of the two answers lacks two keys of the photo and all keys of the record but one.
    assert_eq!(site.scrape().await.json()["profileParseErrors"], json!({ "missing_field": 30 }));
}

#[tokio::test]
async fn failures_are_502_and_malformed_profiles_422() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let info = json!({ "SRN": "s" });
    for (case, body, status, error) in [
        ("an error status", json!({ "status": 500 }), 502, "ProfileFetchError"),
        (
            "an error status and a blank message",
            json!({ "status": 401, "MESSAGE": " " }),
            502,
            "ProfileFetchError",
        ),
        (
            "a failure",
            json!({ "MESSAGE": "FAILURE", "STUDENT_INFO": info }),
            502,
            "ProfileFetchError",
        ),
        ("not an object", json!([1]), 422, "ProfileParseError"),
        ("no message", json!({ "STUDENT_INFO": info }), 422, "ProfileParseError"),
        ("a blank message", json!({ "status": 200, "MESSAGE": "" }), 422, "ProfileParseError"),
        (
            "a message that is not a string",
            json!({ "MESSAGE": 1, "STUDENT_INFO": info }),
            422,
            "ProfileParseError",
        ),
        ("no record", json!({ "MESSAGE": "SUCCESS" }), 422, "ProfileParseError"),
        (
            "a null record",
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": null }),
            422,
            "ProfileParseError",
        ),
        (
            "a list as the record",
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": [info] }),
            422,
            "ProfileParseError",
        ),
        (
            "a record without values",
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": { "SRN": " ", "Email": null } }),
            422,
            "ProfileParseError",
        ),
        (
            "a photo that is not an object",
            json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": info, "STUDENT_PHOTO": "x" }),
            422,
            "ProfileParseError",
        ),
    ] {
        let before = site.scrape().await;
        site.portal.script(&known.username, Operation::Profile, Behaviour::answer(200, body));
        let answer = site.profile(&known).await.expect(status);
        assert!(!answer.text().contains("profile\":"), "{case}: {answer:?}");
        let after = site.scrape().await;
        let grown = |pointer: &str| after.count(pointer) - before.count(pointer);
        assert_eq!(grown(&format!("/errorsByType/{error}")), 1, "{case}");
        assert_eq!(grown("/upstream/profile_fetch/success"), 1, "{case}");
        let parse_errors = u64::from(status == 422);
        assert_eq!(grown("/profileParseErrors/response_structure"), parse_errors, "{case}");
        assert_eq!(after.count("/profileParseErrors/missing_field"), 0, "{case}");
        assert_eq!(grown("/authenticationResults/failure"), 1, "{case}");
    }
}

#[tokio::test]
async fn any_other_status_is_502() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for (status, behaviour) in [
        (204, Behaviour::answer(204, "")),
        (302, Behaviour::redirect(Operation::Profile)),
        (401, Behaviour::answer(401, "")),
        (500, Behaviour::answer(500, "{}")),
    ] {
        site.portal.script(&known.username, Operation::Profile, behaviour);
        let _ = site.profile(&known).await.expect(502);
        let scrape = site.scrape().await;
        let pointer = format!("/upstream/profile_fetch/responsesByStatus/{status}");
        assert_eq!(scrape.count(&pointer), 1);
    }
    let scrape = site.scrape().await;
    assert_eq!(scrape.count("/errorsByType/ProfileFetchError"), 4);
    assert_eq!(scrape.json()["profileParseErrors"], json!({}));
}

#[tokio::test]
async fn profiles_that_are_not_json_are_422() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for body in ["", "SUCCESS", "{\"MESSAGE\":\"SUCCESS\""] {
        site.portal.script(&known.username, Operation::Profile, Behaviour::answer(200, body));
        let _ = site.profile(&known).await.expect(422);
    }
    assert_eq!(site.scrape().await.count("/profileParseErrors/response_structure"), 3);
}

/// An answer with a profile and further members.
fn with(more: &str) -> Behaviour {
    let text = format!(
        r#"{{{more}"MESSAGE":"SUCCESS","STUDENT_INFO":{{{more}"SRN":"s"}},"STUDENT_PHOTO":{{{more}"gender":"F"}}}}"#
    );
    Behaviour::answer(200, text)
}

#[tokio::test]
async fn members_that_are_not_read_may_have_any_value() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let fields = json!({ "profile": true, "fields": ["srn", "gender"] });
    // The portal has not issued the token below, and does not know its user on a new connection.
    let script = |answer| site.portal.script(ANYONE, Operation::Profile, answer);
    for value in [
        r#""\ud83d""#.to_owned(),
        "1e999".to_owned(),
        nested(130),
        nested(990),
        format!("\"{}\"", "p".repeat(1_500_000)),
    ] {
        let odd = format!("\"photo\":{value},");
        script(with(&odd));
        let answer = site.ask(&known, fields.clone()).await.expect(200);
        assert_eq!(
            profile(&answer),
            r#"{"srn":"s","gender":"F"}"#,
            "{}",
            &value[..20.min(value.len())]
        );
        let login =
            format!(r#"{{{odd}"mobileJsonObject":{{{odd}"login":"SUCCESS"}},"accessToken":"t"}}"#);
        site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, login));
        let _ = site.ask(&known, fields.clone()).await.expect(200);
    }
    let too_deep = format!("\"photo\":{},", nested(1_001));
    script(with(&too_deep));
    let _ = site.profile(&known).await.expect(422);
}

#[tokio::test]
async fn an_impossible_value_of_a_read_member_is_null_and_leaves_the_others() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for (number, (key, value)) in [
        ("Email", &br#""\ud83d""#[..]),
        ("Email", b"\"a\tb\""),
        ("Email", b"\"a\r\nb\""),
        ("NameAsInSSLC", b"\"Jos\xc9\""),
        ("ClassName", b"\"\\q\""),
        ("Mobile", b"1e999"),
        ("Mobile", b"0123"),
        ("Branch", b"\xc9"),
        ("Branch", b"[\"\t\xc9\"]"),
        ("SectionName", b"undefined"),
    ]
    .into_iter()
    .enumerate()
    {
        let head = br#"{"MESSAGE":"SUCCESS","STUDENT_INFO":{"SRN":"s",""#;
        let tail = br#","MiddleName":"m"},"STUDENT_PHOTO":{"gender":"F"}}"#;
        let answer = [&head[..], key.as_bytes(), b"\":", value, tail].concat();
        site.portal.script(&known.username, Operation::Profile, Behaviour::answer(200, answer));
        let fields = ["name", "branch", "semester", "section", "email", "mobile"];
        let known_fields = [&fields[..], &["srn", "middleName", "gender"]].concat();
        let rest = json!({ "profile": true, "fields": known_fields });
        let answer = site.ask(&known, rest).await.expect(200);
        let read: Value = serde_json::from_str(&profile(&answer)).unwrap();
        for field in fields {
            assert_eq!(read[field], Value::Null, "{key}={}", value.escape_ascii());
        }
        assert_eq!([&read["srn"], &read["middleName"], &read["gender"]], ["s", "m", "F"]);
        let unexpected = site.scrape().await.count("/profileParseErrors/unexpected_value");
        assert_eq!(unexpected, number as u64 + 1);
        let is_named = |line: &str| line.contains("unexpected_value") && line.contains(key);
        site.process().logged(is_named).await;
    }
}

#[tokio::test]
async fn a_byte_order_mark_before_an_answer_is_ignored() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let login = "\u{feff}{\"mobileJsonObject\":{\"login\":\"SUCCESS\"},\"accessToken\":\"t\"}";
    site.portal.script(&known.username, Operation::Login, Behaviour::answer(200, login));
    let answer = "\u{feff}{\"MESSAGE\":\"SUCCESS\",\"STUDENT_INFO\":{\"SRN\":\"s\"}}";
    // The portal has not issued the token, and does not know its user on a new connection.
    site.portal.script(ANYONE, Operation::Profile, Behaviour::answer(200, answer));
    let answer = site.ask(&known, json!({ "profile": true, "fields": ["srn"] })).await.expect(200);
    assert_eq!(profile(&answer), r#"{"srn":"s"}"#);
}

#[tokio::test]
async fn a_whole_number_becomes_its_digits() {
    let site = Site::with(&[]).await;
    let known = site.student();
    for (sent, expected) in [
        ("9.87654321E9", "9876543210"),
        ("9876543210.0", "9876543210"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("-0", "0"),
        ("8.4", "8.4"),
    ] {
        let odd = format!("\"Mobile\":{sent},");
        site.portal.script(&known.username, Operation::Profile, with(&odd));
        let rest = json!({ "profile": true, "fields": ["mobile"] });
        let answer = site.ask(&known, rest).await.expect(200);
        assert_eq!(profile(&answer), format!(r#"{{"mobile":"{expected}"}}"#), "{sent}");
    }
    assert_eq!(site.scrape().await.count("/profileParseErrors/unexpected_value"), 0);
}

#[tokio::test]
async fn an_impossible_date_of_birth_is_null() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let mut impossible = 0;
    for (millis, expected) in [
        ("1.1045178E12", r#""2005-01-01""#),
        ("1104517800", "null"),
        ("0", "null"),
        ("4102425000000", "null"),
    ] {
        let odd = format!("\"DateOfBirth\":{millis},");
        site.portal.script(&known.username, Operation::Profile, with(&odd));
        let rest = json!({ "profile": true, "fields": ["dateOfBirth"] });
        let answer = site.ask(&known, rest).await.expect(200);
        assert_eq!(profile(&answer), format!(r#"{{"dateOfBirth":{expected}}}"#), "{millis}");
        impossible += u64::from(expected == "null");
        let scrape = site.scrape().await;
        assert_eq!(scrape.count("/profileParseErrors/unexpected_value"), impossible);
    }
}

#[tokio::test]
async fn an_answer_above_the_limit_is_logged_as_too_long() {
    for (settings, length, is_read) in [
        (&[][..], 8 * 1024 * 1024 - 300, true),
        (&[], 8 * 1024 * 1024, false),
        (&[("PORTAL_MAX_RESPONSE", "2KiB")], 1_700, true),
        (&[("PORTAL_MAX_RESPONSE", "2KiB")], 2_048, false),
    ] {
        let site = Site::with(settings).await;
        let known = site.student();
        let photo = format!("\"photo\":\"{}\",", "p".repeat(length));
        let answer = format!(r#"{{{photo}"MESSAGE":"SUCCESS","STUDENT_INFO":{{"SRN":"s"}}}}"#);
        let answer = Behaviour::answer(200, answer);
        site.portal.script(&known.username, Operation::Profile, answer);
        let _ = site.profile(&known).await.expect(if is_read { 200 } else { 422 });
        let is_named = |line: &str| line.contains("longer than PORTAL_MAX_RESPONSE");
        if is_read {
            assert!(!site.process().log().iter().any(|line| is_named(line)));
        } else {
            let differs = |line: &str| is_named(line) && line.contains("the portal's profile");
            site.process().logged(differs).await;
            let login = format!(r#"{{{photo}"mobileJsonObject":{{"login":"SUCCESS"}}}}"#);
            let login = Behaviour::answer(200, login);
            site.portal.script(&known.username, Operation::Login, login);
            let _ = site.sign_in(&known).await.expect(502);
            site.process().logged(|line| is_named(line) && !differs(line)).await;
        }
    }
}

#[tokio::test]
async fn the_log_names_each_member_that_differs_once_a_minute() {
    let site = Site::with(&[]).await;
    let known = site.student_with(|student| {
        student.without("Email").without("gender").info("SRN", json!(["secret-1"]))
    });
    let elsewhere = site.student_with(|student| {
        student.without("Email").photo("instituteName", "Elsewhere").info("SRN", json!({}))
    });
    for _ in 0..3 {
        let _ = site.profile(&known).await.expect(200);
    }
    let _ = site.profile(&elsewhere).await.expect(200);
    for answer in [json!({ "MESSAGE": "" }), json!({ "MESSAGE": "SUCCESS", "STUDENT_INFO": 5 })] {
        let answer = Behaviour::answer(200, answer);
        site.portal.script(&known.username, Operation::Profile, answer);
        let _ = site.profile(&known).await.expect(422);
    }
    let is_drift = |line: &str| line.contains("the portal's profile differs from the known ones");
    site.process().logged(|line| is_drift(line) && line.contains("STUDENT_INFO")).await;
    let log = site.process().log();
    let lines: Vec<_> = log.iter().filter(|line| is_drift(line)).collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    for (line, expected) in lines.iter().zip([
        ["missing_field", "Email, gender"],
        ["unexpected_value", "SRN"],
        ["unknown_campus_code", "instituteName"],
        ["response_structure", "MESSAGE"],
        ["response_structure", "STUDENT_INFO"],
    ]) {
        assert!(expected.iter().all(|text| line.contains(text)), "{line}");
        assert!(line.contains("WARN"), "{line}");
    }
    assert!(!log.join("").contains("secret-1") && !log.join("").contains("Elsewhere"));
}

#[tokio::test]
async fn the_profile_call_sends_the_token_and_no_password() {
    let site = Site::with(&[]).await;
    let known = site.student();
    let _ = site.profile(&known).await.expect(200);
    let received = site.portal.received(&known.username);
    let [login, dispatch] = &received[..] else { panic!("{received:?}") };
    assert_eq!(login.connection, dispatch.connection, "one connection serves both calls");
    assert_eq!(
        (dispatch.method.as_str(), dispatch.path.as_str()),
        ("POST", Operation::Profile.path())
    );
    assert_eq!(dispatch.header("x-client-type"), Some("MOBILE"));
    assert!(dispatch.header("authorization").unwrap().starts_with("Bearer "));
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        dispatch.fields,
        [field("action", "27"), field("mode", "1"), field("menuId", "11172")]
    );
    let sent = format!("{dispatch:?}");
    assert!(!sent.contains(&known.password) && !sent.contains(&known.username), "{sent}");
}
