//! Reads the answers of the portal, which are undocumented and may change without notice. Only the
//! members that are read must be valid.

use std::sync::LazyLock;

use reqwest::header::HeaderValue;
use serde_json::value::RawValue;

use super::skim::{Needed, Skimmer, Unreadable};
use crate::domain::{
    Anomaly, Campuses, Deviation, Members, NoProfile, Profile, info_keys, photo_keys,
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

/// Why a body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFault {
    #[error("the answer is longer than PORTAL_MAX_RESPONSE")]
    TooLarge,
    #[error("the answer was cut off")]
    CutOff,
    #[error("{0}")]
    Unreadable(#[from] Unreadable),
}

/// The needed members of an answer, as JSON text.
pub(super) type Body = Result<Vec<u8>, BodyFault>;

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
    let body = body?;
    let answer = members(&body).ok_or(Unreadable::NotAnObject).map_err(BodyFault::from)?;
    let login = answer.get(LOGIN).and_then(object);
    match login.and_then(|login| text(login.get("login").copied())) {
        Some(login) if login.trim() == "SUCCESS" => {
            Ok(SignedIn { token: text(answer.get(TOKEN).copied()) })
        }
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

/// Reads the answer to the request for a profile.
pub(super) fn profile(
    body: Body,
    campuses: &Campuses,
) -> Result<(Profile, Vec<Deviation>), Unusable> {
    let body = body.map_err(ProfileFault::from)?;
    let not_an_object = ProfileFault::Body(Unreadable::NotAnObject.into());
    let answer = members(&body).ok_or(not_an_object)?;
    let message = text(answer.get(MESSAGE).copied());
    match message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        None if answer.get(STATUS).is_some_and(|status| is_failure(status)) => {
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
    let read = Profile::read(&info, &photo, campuses);
    read.map_err(|NoProfile| ProfileFault::NoValue.into())
}

/// The member `status` is a number other than 200.
fn is_failure(status: &RawValue) -> bool {
    serde_json::from_str::<f64>(status.get()).is_ok_and(|status| status != 200.0)
}

/// An object of the answer; `None` if it is missing or null.
fn part<'a>(answer: &Members<'a>, key: &'static str) -> Result<Option<Members<'a>>, ProfileFault> {
    match answer.get(key) {
        None => Ok(None),
        Some(part) if part.get() == "null" => Ok(None),
        Some(part) => object(part).map(Some).ok_or(ProfileFault::NotAnObject(key)),
    }
}

fn members(json: &[u8]) -> Option<Members<'_>> {
    serde_json::from_slice(json).ok()
}

fn object<'a>(json: &&'a RawValue) -> Option<Members<'a>> {
    serde_json::from_str(json.get()).ok()
}

fn text(json: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(json?.get()).ok()
}
