//! The answers of a portal without a script.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    call::Call,
    controller::Controller,
    script::{Answer, Operation},
};

/// The form fields with which the dispatcher returns a student's profile. It serves other requests,
/// too.
const PROFILE_FIELDS: [(&str, &str); 3] = [("action", "27"), ("mode", "1"), ("menuId", "11172")];

/// Returns the answer and its headers.
pub(crate) fn answer(controller: &Controller, call: &Call) -> (Answer, Vec<(String, String)>) {
    let answer = match call.operation {
        None => error(404, "Not Found"),
        Some(_) if !call.is_post() => error(405, "Method Not Allowed"),
        Some(_) if !call.is_mobile() => error(400, "Bad Request"),
        Some(Operation::Login) => login(controller, call),
        Some(Operation::Profile) => profile(controller, call),
    };
    let cookie =
        format!("JSESSIONID={}; Path=/MAcademy; Secure; HttpOnly", Uuid::new_v4().simple());
    let headers = [("content-type", "application/json"), ("set-cookie", &cookie)];
    (answer, headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
}

fn login(controller: &Controller, call: &Call) -> Answer {
    let field = |name| call.received.field(name);
    let (Some(username), Some(password), Some("YES"), Some(institutes)) =
        (field("userName"), field("password"), field("j_appId"), field("instId"))
    else {
        return error(400, "Bad Request");
    };
    match controller.student(username) {
        Some(student) if student.password == password => success(json!({
            "mobileJsonObject": {
                "login": "SUCCESS",
                "userType": "STUDENT",
                "instId": institutes,
                "loginId": student.info.get("LoginId"),
            },
            "accessToken": controller.issue(username),
            "tokenType": "Bearer",
            "expiresIn": 3600,
        })),
        _ => error(401, "Unauthorized"),
    }
}

fn profile(controller: &Controller, call: &Call) -> Answer {
    let student = call.holder(controller).and_then(|username| controller.student(&username));
    let Some(student) = student else { return error(401, "Unauthorized") };
    if PROFILE_FIELDS.iter().any(|(name, value)| call.received.field(name) != Some(value)) {
        return success(json!({ "status": 400, "MESSAGE": null }));
    }
    success(json!({
        "MESSAGE": "SUCCESS",
        "STUDENT_INFO": student.info,
        "STUDENT_PHOTO": student.photo,
        "ATTENDANCE": [],
    }))
}

fn success(body: Value) -> Answer {
    Answer { status: 200, body: body.into() }
}

fn error(status: u16, reason: &str) -> Answer {
    Answer { status, body: json!({ "status": status, "error": reason }).into() }
}
