//! Profiles: their fields, and how they are read from the answer of the portal.

use std::{collections::BTreeMap, fmt, ops::Index};

use jiff::{civil::Date, tz::Offset};

use super::value::{birth, text};

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

/// The values of an object by their keys, as sent. They need not be valid.
pub(crate) type Record<'a> = BTreeMap<&'static str, &'a [u8]>;

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
    /// Reads a profile from the student's record and from the data of the photo, on the day
    /// `today`. Also returns what differs from a known answer. No value is derived from another
    /// field.
    pub(crate) fn read(
        info: &Record<'_>,
        photo: &Record<'_>,
        campuses: &Campuses,
        today: Date,
    ) -> Result<(Self, Vec<Deviation>), NoProfile> {
        let mut profile = Self([const { None }; Field::ALL.len()]);
        let mut deviations = Vec::new();
        let info = INFO.into_iter().map(|(field, key)| (field, key, info.get(key)));
        let photo = PHOTO.into_iter().map(|(field, key)| (field, key, photo.get(key)));
        for (field, member, sent) in info.chain(photo) {
            let sent = match sent {
                None => Err(Anomaly::MissingField),
                Some(sent) if field == Field::DateOfBirth => birth(sent, today),
                Some(sent) => text(sent),
            };
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

/// The offset of the dates of the portal, and of the timestamps of the service: +05:30.
pub(crate) fn local_offset() -> Offset {
    Offset::from_seconds((5 * 60 + 30) * 60).unwrap_or(Offset::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_two_campuses_have_codes() {
        assert!(Campuses::parse("").is_ok());
        assert_eq!(Campuses::parse(" a ; b").unwrap().code("b"), Some(2));
        assert_eq!(Campuses::parse(";b").unwrap().code("b"), Some(2));
        assert_eq!(Campuses::parse("a;b;c").unwrap_err(), InvalidCampuses);
    }
}
