//! Students: their credentials and their profiles.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The names of the two campuses that have a code, in the order of their codes. Joined with `;`,
/// they are the value for `PORTAL_CAMPUSES` of authsvc.
pub const CAMPUSES: [&str; 2] =
    ["Qalvora University, Lakeside Campus", "Qalvora University, Hill Road Campus"];

/// A PNG image of one pixel, in base64.
const PHOTO: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A student who can sign in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Student {
    /// The usernames that the portal accepts: SRN, PRN, e-mail address, phone number.
    #[serde(default)]
    pub usernames: Vec<String>,
    /// Compared byte by byte, without trimming.
    pub password: String,
    /// `STUDENT_INFO` of the profile. If absent from JSON, that of the default student.
    #[serde(default = "default_info")]
    pub info: Map<String, Value>,
    /// `STUDENT_PHOTO` of the profile. If absent from JSON, that of the default student.
    #[serde(default = "default_photo")]
    pub photo: Map<String, Value>,
}

impl Student {
    /// Returns a student of the first campus with the default profile and these credentials.
    pub fn new(username: &str, password: &str) -> Self {
        Self {
            usernames: vec![username.to_owned()],
            password: password.to_owned(),
            info: default_info(),
            photo: default_photo(),
        }
    }

    /// Adds another username.
    #[must_use]
    pub fn or(mut self, username: &str) -> Self {
        self.usernames.push(username.to_owned());
        self
    }

    /// Sets a member of `STUDENT_INFO` to any JSON value, valid or not.
    #[must_use]
    pub fn info(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.info.insert(key.to_owned(), value.into());
        self
    }

    /// Sets a member of `STUDENT_PHOTO` to any JSON value, valid or not.
    #[must_use]
    pub fn photo(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.photo.insert(key.to_owned(), value.into());
        self
    }

    /// Removes a member from `STUDENT_INFO` and `STUDENT_PHOTO`.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.info.remove(key);
        self.photo.remove(key);
        self
    }

    fn named(mut self, first: &str, middle: &str, last: &str) -> Self {
        let whole = [first, middle, last].join(" ").replace("  ", " ");
        self = self.info("NameAsInSSLC", whole).info("FirstName", first);
        self.info("MiddleName", middle).info("LastName", last)
    }

    /// Sets the members for PRN, SRN, e-mail address and phone number, in this order.
    fn known_as(self, [prn, srn, email, mobile]: [&str; 4]) -> Self {
        self.info("LoginId", prn).info("SRN", srn).info("Email", email).info("Mobile", mobile)
    }
}

/// Returns the students that every portal knows. Together, their profiles contain the special cases
/// that authsvc must handle: null, empty, padded and `NA` values, and an unknown campus.
/// Institution, people and numbers are invented.
pub fn demo_students() -> Vec<Student> {
    let asha = ["QLV1202300217", "QLV1UG23CS217", "asha@students.qalvora.example", "5550100217"];
    let bela = ["QLV2201900041", "QLV2PG19VD041", "bela@students.qalvora.example", "5550100041"];
    let chiru = ["QLV1202400302", "QLV1UG24EC302", "chiru@students.qalvora.example", "5550100302"];
    let devi = ["QLV9202200155", "QLV9UG22DS155", "devi@students.qalvora.example", "5550100155"];
    let esha = ["QLV1201400009", "QLV1201400009", "esha@students.qalvora.example", "5550100009"];
    let firoz =
        ["QLV2202300077", "QLV2UG23ME077", "  firoz@students.qalvora.example ", "5550100077"];
    vec![
        Student::new(asha[1], "demo-asha").or(asha[0]).or(asha[2]).or(asha[3]).known_as(asha),
        Student::new(bela[1], "demo-bela")
            .known_as(bela)
            .named("Bela", "Sorin", "Vantrik")
            .info("ProgramAbbreviation", "M.Tech")
            .info("Branch", "VLSI Design")
            .info("BranchAbbreviation", "VD")
            .info("ClassName", Value::Null)
            .info("SectionName", Value::Null)
            .photo("instituteName", CAMPUSES[1]),
        Student::new(chiru[1], "demo-chiru")
            .known_as(chiru)
            .named("Chiru", "", "Ondamar")
            .info("Branch", "Electronics and Communication Engineering")
            .info("BranchAbbreviation", "ECE")
            .photo("gender", "Male"),
        Student::new(devi[1], "demo-devi")
            .known_as(devi)
            .named("Devi", "Lumen", "Tarsk")
            .photo("instituteName", "Qalvora School of Design"),
        Student::new(esha[0], "demo-esha").known_as(esha).named("Esha", "Ruma", "Pellin"),
        Student::new(firoz[1], "demo-firoz")
            .known_as(firoz)
            .named(" Firoz", "NA", "Quillam ")
            .info("SectionName", " NA ")
            .photo("instituteName", format!(" {} ", CAMPUSES[1]))
            .photo("gender", "NA"),
    ]
}

fn default_info() -> Map<String, Value> {
    object(json!({
        "NameAsInSSLC": "Asha Miren Kaldev",
        "LoginId": "QLV1202300217",
        "SRN": "QLV1UG23CS217",
        "ProgramAbbreviation": "B.Tech",
        "Branch": "Computer Science and Engineering",
        "BranchAbbreviation": "CSE",
        "ClassName": "Sem-5",
        "SectionName": "Section C",
        "Email": "asha@students.qalvora.example",
        "Mobile": "5550100217",
        "FirstName": "Asha",
        "MiddleName": "Miren",
        "LastName": "Kaldev",
        "DateOfBirth": 1_104_517_800_000_i64,
        "BloodGroup": "O+",
        "FatherName": "Miren Kaldev",
        "MotherName": "Ila Kaldev",
        "ParentMobile": "5550199217",
        "PermanentAddress": "12 Tamarind Lane, Orrin",
        "PresentAddress": "Room 4, Lakeside Hostel",
        "AdmissionNumber": 4217,
        "Cgpa": 8.4,
    }))
}

fn default_photo() -> Map<String, Value> {
    object(json!({ "instituteName": CAMPUSES[0], "gender": "Female", "photo": PHOTO }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
