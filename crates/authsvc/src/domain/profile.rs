//! Profiles: their fields, and how they are read from the answer of the portal.

use std::{collections::BTreeMap, fmt, ops::Index};

use jiff::{Timestamp, tz::Offset};
use serde_json::{Number, Value, value::RawValue};

/// The fields of a profile, in the order in which they are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Name,
    /// The number of a student at this institution.
    Prn,
    /// The number of a student in a program.
    Srn,
    Program,
    /// Full name of the branch.
    Branch,
    Semester,
    Section,
    Email,
    Mobile,
    /// 1 or 2, by the position of the campus in `PORTAL_CAMPUSES`.
    CampusCode,
    /// Name of the institute of the campus.
    Campus,
    FirstName,
    MiddleName,
    LastName,
    /// Abbreviation of the branch.
    BranchShortCode,
    /// Gender as recorded.
    Gender,
    /// Date of birth, `YYYY-MM-DD`.
    DateOfBirth,
}

impl Field {
    pub(crate) const ALL: [Self; 17] = [
        Self::Name,
        Self::Prn,
        Self::Srn,
        Self::Program,
        Self::Branch,
        Self::Semester,
        Self::Section,
        Self::Email,
        Self::Mobile,
        Self::CampusCode,
        Self::Campus,
        Self::FirstName,
        Self::MiddleName,
        Self::LastName,
        Self::BranchShortCode,
        Self::Gender,
        Self::DateOfBirth,
    ];

    /// The name in requests and responses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Prn => "prn",
            Self::Srn => "srn",
            Self::Program => "program",
            Self::Branch => "branch",
            Self::Semester => "semester",
            Self::Section => "section",
            Self::Email => "email",
            Self::Mobile => "mobile",
            Self::CampusCode => "campusCode",
            Self::Campus => "campus",
            Self::FirstName => "firstName",
            Self::MiddleName => "middleName",
            Self::LastName => "lastName",
            Self::BranchShortCode => "branchShortCode",
            Self::Gender => "gender",
            Self::DateOfBirth => "dateOfBirth",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// A set of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields([bool; Field::ALL.len()]);

impl Fields {
    pub(crate) const ALL: Self = Self([true; Field::ALL.len()]);

    pub(crate) fn of(fields: impl IntoIterator<Item = Field>) -> Self {
        let mut set = Self([false; Field::ALL.len()]);
        for field in fields {
            set.0[field as usize] = true;
        }
        set
    }

    pub(crate) fn is_all(self) -> bool {
        self == Self::ALL
    }

    /// The fields of the set in their fixed order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |&field| self.0[field as usize])
    }
}

/// The campuses that have a code, by the names of their institutes. The code of the first is 1, of
/// the second 2.
#[derive(Debug, Clone, Default)]
pub(crate) struct Campuses(Vec<String>);

/// More than two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("names more than two campuses")]
pub(crate) struct InvalidCampuses;

impl Campuses {
    /// Parses at most two names, separated by a semicolon. An empty name leaves its code unused.
    pub(crate) fn parse(names: &str) -> Result<Self, InvalidCampuses> {
        let names: Vec<String> = names.split(';').map(|name| name.trim().to_owned()).collect();
        if names.len() > 2 { Err(InvalidCampuses) } else { Ok(Self(names)) }
    }

    fn code(&self, campus: &str) -> Option<u8> {
        self.0.iter().position(|name| name == campus).and_then(|place| u8::try_from(place + 1).ok())
    }
}

/// A value that is present.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum FieldValue {
    /// Text of the portal, without white space around it.
    Text(String),
    /// The code of a campus.
    Code(u8),
}

/// A student's profile. Debug output hides its values, so that no log shows them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Profile([Option<FieldValue>; Field::ALL.len()]);

impl Index<Field> for Profile {
    type Output = Option<FieldValue>;

    fn index(&self, field: Field) -> &Self::Output {
        &self.0[field as usize]
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Profile")
    }
}

/// The label `reason` of `profile_parse_errors_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Anomaly {
    /// The answer is not a profile.
    ResponseStructure,
    /// The campus has no code.
    UnknownCampusCode,
    /// The portal did not send a field.
    MissingField,
    /// A field has an unexpected type.
    UnexpectedValue,
}

impl Anomaly {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ResponseStructure => "response_structure",
            Self::UnknownCampusCode => "unknown_campus_code",
            Self::MissingField => "missing_field",
            Self::UnexpectedValue => "unexpected_value",
        }
    }
}

/// A difference between an answer of the portal and the known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deviation {
    pub(crate) anomaly: Anomaly,
    /// The key in the answer of the portal.
    pub(crate) member: &'static str,
}

/// No field of the student's record has a usable value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoProfile;

/// The members of an object, as sent.
pub(crate) type Members<'a> = BTreeMap<&'a str, &'a RawValue>;

/// Fields of the student's record, and their keys in it.
const INFO: [(Field, &str); 14] = [
    (Field::Name, "NameAsInSSLC"),
    (Field::Prn, "LoginId"),
    (Field::Srn, "SRN"),
    (Field::Program, "ProgramAbbreviation"),
    (Field::Branch, "Branch"),
    (Field::Semester, "ClassName"),
    (Field::Section, "SectionName"),
    (Field::Email, "Email"),
    (Field::Mobile, "Mobile"),
    (Field::FirstName, "FirstName"),
    (Field::MiddleName, "MiddleName"),
    (Field::LastName, "LastName"),
    (Field::BranchShortCode, "BranchAbbreviation"),
    (Field::DateOfBirth, "DateOfBirth"),
];

/// Fields that come with the student's photo, and their keys.
const PHOTO: [(Field, &str); 2] = [(Field::Campus, INSTITUTE), (Field::Gender, "gender")];

const INSTITUTE: &str = "instituteName";

/// The keys that are read of the student's record.
pub(crate) fn info_keys() -> impl Iterator<Item = &'static str> {
    INFO.into_iter().map(|(_, key)| key)
}

/// The keys that are read of the data of the photo.
pub(crate) fn photo_keys() -> impl Iterator<Item = &'static str> {
    PHOTO.into_iter().map(|(_, key)| key)
}

impl Profile {
    /// Reads a profile from the student's record and from the data of the photo. Also returns what
    /// differs from a known answer. No value is derived from another field.
    pub(crate) fn read(
        info: &Members<'_>,
        photo: &Members<'_>,
        campuses: &Campuses,
    ) -> Result<(Self, Vec<Deviation>), NoProfile> {
        let mut profile = Self([const { None }; Field::ALL.len()]);
        let mut deviations = Vec::new();
        let info = INFO.into_iter().map(|(field, key)| (field, key, info.get(key)));
        let photo = PHOTO.into_iter().map(|(field, key)| (field, key, photo.get(key)));
        for (field, member, sent) in info.chain(photo) {
            let sent = sent.map_or(Err(Anomaly::MissingField), |sent| value(field, sent));
            let text = sent.unwrap_or_else(|anomaly| {
                deviations.push(Deviation { anomaly, member });
                None
            });
            profile.0[field as usize] = text.map(FieldValue::Text);
        }
        if INFO.iter().all(|&(field, _)| profile[field].is_none()) {
            return Err(NoProfile);
        }
        if let Some(FieldValue::Text(campus)) = &profile[Field::Campus] {
            match campuses.code(campus) {
                Some(code) => {
                    profile.0[Field::CampusCode as usize] = Some(FieldValue::Code(code));
                }
                None => deviations
                    .push(Deviation { anomaly: Anomaly::UnknownCampusCode, member: INSTITUTE }),
            }
        }
        Ok((profile, deviations))
    }
}

/// A sent value: its text, `None` without a value, or an anomaly.
type Sent = Result<Option<String>, Anomaly>;

fn value(field: Field, sent: &RawValue) -> Sent {
    let value = serde_json::from_str(sent.get()).map_err(|_| Anomaly::UnexpectedValue)?;
    if field == Field::DateOfBirth { date(&value) } else { text(&value) }
}

/// A number becomes its text. Null and empty text are no value.
fn text(value: &Value) -> Sent {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(Anomaly::UnexpectedValue),
    }
}

/// Reads milliseconds since the epoch, at midnight +05:30.
fn date(value: &Value) -> Sent {
    match value {
        Value::Number(millis) => {
            let at = whole(millis).and_then(|millis| Timestamp::from_millisecond(millis).ok());
            let date = at.map(|at| local_offset().to_datetime(at).date());
            let date = date.filter(|date| date.year() > 0).ok_or(Anomaly::UnexpectedValue)?;
            Ok(Some(date.to_string()))
        }
        value => match text(value)? {
            None => Ok(None),
            Some(_) => Err(Anomaly::UnexpectedValue),
        },
    }
}

/// A number without a fraction, also if it is written as `1.0`.
fn whole(number: &Number) -> Option<i64> {
    let text = number.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

/// The offset of the dates of the portal, and of the timestamps of the service: +05:30.
pub(crate) fn local_offset() -> Offset {
    Offset::from_seconds((5 * 60 + 30) * 60).unwrap_or(Offset::UTC)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(info: &Value, photo: &Value) -> Result<(Profile, Vec<Anomaly>), NoProfile> {
        let (info, photo) = (info.to_string(), photo.to_string());
        read_text(&info, &photo)
    }

    fn read_text(info: &str, photo: &str) -> Result<(Profile, Vec<Anomaly>), NoProfile> {
        let campuses = Campuses::parse("North Institute;South Institute").unwrap();
        let members = |text| serde_json::from_str(text).unwrap();
        let (profile, deviations) = Profile::read(&members(info), &members(photo), &campuses)?;
        Ok((profile, deviations.iter().map(|deviation| deviation.anomaly).collect()))
    }

    fn texts(profile: &Profile) -> Vec<(&'static str, String)> {
        let fields = Field::ALL.into_iter().filter_map(|field| {
            let text = match profile[field].as_ref()? {
                FieldValue::Text(text) => text.clone(),
                FieldValue::Code(code) => code.to_string(),
            };
            Some((field.name(), text))
        });
        fields.collect()
    }

    fn full() -> Value {
        let mut info: Value = info_keys().map(|key| (key.to_owned(), json!(key))).collect();
        info["DateOfBirth"] = json!(1_104_517_800_000_i64);
        info
    }

    #[test]
    fn every_field_is_read_from_its_place() {
        let photo = json!({ "instituteName": " South Institute ", "gender": "NA" });
        let (profile, anomalies) = read(&full(), &photo).unwrap();
        assert_eq!(anomalies, []);
        let expected = [
            ("name", "NameAsInSSLC"),
            ("prn", "LoginId"),
            ("srn", "SRN"),
            ("program", "ProgramAbbreviation"),
            ("branch", "Branch"),
            ("semester", "ClassName"),
            ("section", "SectionName"),
            ("email", "Email"),
            ("mobile", "Mobile"),
            ("campusCode", "2"),
            ("campus", "South Institute"),
            ("firstName", "FirstName"),
            ("middleName", "MiddleName"),
            ("lastName", "LastName"),
            ("branchShortCode", "BranchAbbreviation"),
            ("gender", "NA"),
            ("dateOfBirth", "2005-01-01"),
        ];
        assert_eq!(texts(&profile), expected.map(|(name, text)| (name, text.to_owned())));
    }

    #[test]
    fn null_and_empty_values_are_no_anomalies() {
        let mut info = full();
        for (key, none) in
            [("ClassName", json!(null)), ("MiddleName", json!("  ")), ("DateOfBirth", json!(""))]
        {
            info[key] = none;
        }
        let photo = json!({ "instituteName": null, "gender": "" });
        let (profile, anomalies) = read(&info, &photo).unwrap();
        assert_eq!(anomalies, []);
        for field in [Field::Semester, Field::MiddleName, Field::DateOfBirth, Field::CampusCode] {
            assert!(profile[field].is_none(), "{}", field.name());
        }
    }

    #[test]
    fn a_number_becomes_its_text_and_other_shapes_are_null() {
        let mut info = full();
        info["Mobile"] = json!(9_876_543_210_i64);
        for key in ["Email", "Branch", "SRN"] {
            info[key] = json!({ "invalid": true });
        }
        info["DateOfBirth"] = json!("2005-01-01");
        let (profile, anomalies) = read(&info, &json!({})).unwrap();
        assert!(texts(&profile).contains(&("mobile", "9876543210".to_owned())));
        assert!(profile[Field::Email].is_none() && profile[Field::DateOfBirth].is_none());
        let count = |anomaly| anomalies.iter().filter(|&&found| found == anomaly).count();
        assert_eq!(count(Anomaly::UnexpectedValue), 4);
        assert_eq!(count(Anomaly::MissingField), 2);
    }

    #[test]
    fn dates_out_of_range_are_unexpected() {
        for invalid in [
            json!(i64::MAX),
            json!(-99_999_999_999_999_i64),
            json!(1.5),
            json!(true),
            json!("soon"),
        ] {
            assert_eq!(date(&invalid), Err(Anomaly::UnexpectedValue), "{invalid}");
        }
        assert_eq!(date(&json!(-1)), Ok(Some("1970-01-01".to_owned())));
        assert_eq!(date(&json!(1_104_517_800_000.0)), Ok(Some("2005-01-01".to_owned())));
    }

    #[test]
    fn an_unknown_campus_is_one_anomaly() {
        let photo = json!({ "instituteName": "East", "gender": "F" });
        let (profile, anomalies) = read(&full(), &photo).unwrap();
        assert_eq!(anomalies, [Anomaly::UnknownCampusCode]);
        assert!(profile[Field::CampusCode].is_none());
    }

    #[test]
    fn a_profile_needs_one_usable_value() {
        assert_eq!(read(&json!({}), &json!({ "gender": "F" })), Err(NoProfile));
        assert_eq!(read(&json!({ "SRN": "", "Email": [] }), &json!({})), Err(NoProfile));
    }

    #[test]
    fn a_value_that_cannot_be_read_is_unexpected() {
        let info = r#"{"SRN":"s","Email":"\ud83d","Branch":1e999,"Mobile":["\ud83d"]}"#;
        let (profile, anomalies) = read_text(info, "{}").unwrap();
        assert_eq!(texts(&profile), [("srn", "s".to_owned())]);
        let unexpected = anomalies.iter().filter(|&&found| found == Anomaly::UnexpectedValue);
        assert_eq!(unexpected.count(), 3);
    }

    #[test]
    fn at_most_two_campuses_have_codes() {
        assert!(Campuses::parse("").is_ok());
        assert_eq!(Campuses::parse(" a ; b").unwrap().code("b"), Some(2));
        assert_eq!(Campuses::parse(";b").unwrap().code("b"), Some(2));
        assert_eq!(Campuses::parse("a;b;c").unwrap_err(), InvalidCampuses);
    }
}
