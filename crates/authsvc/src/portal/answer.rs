//! Reads the answers of the portal, which are undocumented and may change without notice. Only the
//! members that are read must be valid.

use std::sync::LazyLock;

use jiff::civil::Date;
use reqwest::header::HeaderValue;

use super::{
    body::{Body, BodyFault},
    skim::{Member, Members, Needed, Skimmer},
};
use crate::domain::{
    Anomaly, Campuses, Deviation, NoProfile, Profile, Record, info_keys, photo_keys,
};

const MESSAGE: &str = "MESSAGE";
const STATUS: &str = "status";
const INFO: &str = "STUDENT_INFO";
const PHOTO: &str = "STUDENT_PHOTO";
const LOGIN: &str = "mobileJsonObject";
const TOKEN: &str = "accessToken";

/// The whole answer, in place of the key of a member.
const ANSWER: &str = "(the whole answer)";

static OF_LOGIN: LazyLock<[Needed; 2]> =
    LazyLock::new(|| [Needed::object(LOGIN, ["login"]), Needed::value(TOKEN)]);

static OF_PROFILE: LazyLock<[Needed; 4]> = LazyLock::new(|| {
    [
        Needed::value(MESSAGE),
        Needed::value(STATUS),
        Needed::object(INFO, info_keys()),
        Needed::object(PHOTO, photo_keys()),
    ]
});

/// Reads the body of an answer to a login.
pub(super) fn login_skimmer() -> Skimmer<'static> {
    Skimmer::new(&*OF_LOGIN)
}

/// Reads the body of an answer to the request for a profile.
pub(super) fn profile_skimmer() -> Skimmer<'static> {
    Skimmer::new(&*OF_PROFILE)
}

/// The answer to a successful login.
pub(super) struct SignedIn {
    token: Option<String>,
}

/// Why a login did not succeed, or has no token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LoginFault {
    #[error(transparent)]
    Body(#[from] BodyFault),
    #[error("the portal did not report a successful login")]
    NoSuccess,
    #[error("no access token")]
    NoToken,
    #[error("the access token has characters that a header cannot contain")]
    Token,
}

/// Reads the answer to a login.
pub(super) fn signed_in(body: Body) -> Result<SignedIn, LoginFault> {
    let answer = body?;
    let login = match answer.get(LOGIN) {
        Some(Member::Object(login)) => text(login.get("login")),
        _ => None,
    };
    match login {
        Some(login) if login.trim() == "SUCCESS" => Ok(SignedIn { token: text(answer.get(TOKEN)) }),
        _ => Err(LoginFault::NoSuccess),
    }
}

impl SignedIn {
    /// The `Authorization` header of further calls.
    pub(super) fn bearer(&self) -> Result<HeaderValue, LoginFault> {
        let token = self.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        let bearer = format!("Bearer {}", token.ok_or(LoginFault::NoToken)?);
        let mut bearer = HeaderValue::try_from(bearer).map_err(|_| LoginFault::Token)?;
        bearer.set_sensitive(true);
        Ok(bearer)
    }
}

/// Why an answer holds no profile.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The answer reports a failure.
    Failed(ReportedFailure),
    /// The answer is not a profile, or the profile has no usable value.
    NoProfile(ProfileFault),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReportedFailure {
    #[error("the body has an error status")]
    Status,
    #[error("MESSAGE does not start with SUCCESS")]
    Message,
}

/// Why an answer is not a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProfileFault {
    #[error(transparent)]
    Body(#[from] BodyFault),
    #[error("MESSAGE is missing, blank or not a string")]
    NoMessage,
    #[error("{0} is not an object")]
    NotAnObject(&'static str),
    #[error("STUDENT_INFO is missing or null, or has no usable value")]
    NoValue,
}

impl ProfileFault {
    /// As a member of the answer that differs.
    pub(super) fn deviation(self) -> Deviation {
        let member = match self {
            Self::Body(_) => ANSWER,
            Self::NoMessage => MESSAGE,
            Self::NotAnObject(member) => member,
            Self::NoValue => INFO,
        };
        Deviation { anomaly: Anomaly::ResponseStructure, member }
    }
}

impl From<ProfileFault> for Unusable {
    fn from(fault: ProfileFault) -> Self {
        Self::NoProfile(fault)
    }
}

/// Reads the answer to the request for a profile, received on the day `today`.
pub(super) fn profile(
    body: Body,
    campuses: &Campuses,
    today: Date,
) -> Result<(Profile, Vec<Deviation>), Unusable> {
    let answer = body.map_err(ProfileFault::from)?;
    let message = text(answer.get(MESSAGE));
    match message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        None if is_failure(answer.get(STATUS)) => {
            return Err(Unusable::Failed(ReportedFailure::Status));
        }
        None => return Err(ProfileFault::NoMessage.into()),
        Some(message) if !message.starts_with("SUCCESS") => {
            return Err(Unusable::Failed(ReportedFailure::Message));
        }
        Some(_) => {}
    }
    let info = part(&answer, INFO)?.ok_or(ProfileFault::NoValue)?;
    let photo = part(&answer, PHOTO)?.unwrap_or_default();
    let read = Profile::read(&info, &photo, campuses, today);
    read.map_err(|NoProfile| ProfileFault::NoValue.into())
}

/// The member `status` is a number other than 200.
fn is_failure(status: Option<&Member>) -> bool {
    value(status)
        .and_then(|status| serde_json::from_slice::<f64>(status).ok())
        .is_some_and(|status| status != 200.0)
}

/// An object of the answer; `None` if it is missing or null.
fn part<'a>(answer: &'a Members, key: &'static str) -> Result<Option<Record<'a>>, ProfileFault> {
    match answer.get(key) {
        None => Ok(None),
        Some(Member::Value(value)) if value == b"null" => Ok(None),
        Some(Member::Value(_)) => Err(ProfileFault::NotAnObject(key)),
        Some(Member::Object(members)) => {
            let values = members.iter().filter_map(|(name, it)| Some((*name, value(Some(it))?)));
            Ok(Some(values.collect()))
        }
    }
}

fn value(member: Option<&Member>) -> Option<&[u8]> {
    match member? {
        Member::Value(value) => Some(value),
        Member::Object(_) => None,
    }
}

fn text(member: Option<&Member>) -> Option<String> {
    serde_json::from_slice(value(member)?).ok()
}
