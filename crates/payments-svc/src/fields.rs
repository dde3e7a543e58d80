//! Reads the members of a body or a query by name and type. This is the parser of all handlers.
//!
//! A response lists every wrong field, not only the first. This has consequences:
//!
//! 1. A closure reads all members first and uses `?` only when it builds its result. A `?` after
//!    each member would hide the errors of the members below it. The exception is a member that
//!    decides how the next ones are read, such as the `type` of a notification.
//! 2. Errors are collected in the order in which the closure reads the members.
//! 3. A method that fails records the error and returns [`Reported`]. `Reported` can only be made
//!    by recording an error, so a closure cannot fail without a reason that the caller reads.
//! 4. [`read`] returns `Ok` only if no error was recorded. So a closure may ignore a `Reported`:
//!    the request is rejected nevertheless.
//! 5. If `company` is not an object, this is one error. Its members return `Reported` and record
//!    nothing more.
//!
//! `null` always counts as absent. For a text, the method decides what else counts as absent:
//!
//! | method | absent |
//! |---|---|
//! | [`Fields::required`], [`Fields::optional`] | an empty text |
//! | [`Fields::optional_or_blank`] | an empty or blank text |
//! | [`Fields::optional_or_false`] | an empty text, `false` in JSON |
//! | [`Fields::given`] | nothing else |
//!
//! A name that stands twice in one object of JSON is an error, whether a closure reads it or not. In
//! a form, only if a closure reads it.
//!
//! Members that the closure does not read are ignored, unless [`Fields::reject_rest`] rejects them.

use std::{borrow::Cow, fmt::Display};

use common::json;
use payments_domain::{CustomData, FieldError};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

mod form;
mod members;

pub(crate) use members::Encoding;
use members::{Members, Message};

/// Parses `bytes` and reads the members with a closure. It should read all members before its first
/// `?`, so that all errors are recorded.
///
/// ```text
/// let invitation = fields::read(bytes, encoding, |fields| {
///     let name = fields.optional("name", Name::new);
///     let email = fields.required("email", Email::new);
///     Ok(Invitation { name: name?, email: email? })
/// })?;
/// ```
pub(crate) fn read<T>(
    bytes: &[u8],
    encoding: Encoding,
    read: impl FnOnce(&mut Fields<'_>) -> Result<T, Reported>,
) -> Result<T, Vec<FieldError>> {
    let form: Zeroizing<Vec<u8>>;
    let text = match encoding {
        Encoding::Json => bytes,
        Encoding::Form => {
            form = form::to_json(bytes).map_err(|invalid| vec![invalid])?;
            &form
        }
    };
    let members = Members::parse(text).map_err(|message| vec![FieldError::new("", message)])?;
    if encoding == Encoding::Json
        && let Some(path) = json::repeated_name(text)
    {
        return Err(vec![FieldError::new(path, members::REPEATED)]);
    }
    let mut errors = Vec::new();
    let path = Cow::Borrowed("");
    let value = read(&mut Fields::new(Ok(members), encoding, path, &mut errors));
    match value {
        Ok(value) if errors.is_empty() => Ok(value),
        _ => Err(errors),
    }
}

/// Like [`read`], for the query of a request. No query is an empty object.
pub(crate) fn read_query<T>(
    query: Option<&str>,
    read: impl FnOnce(&mut Fields<'_>) -> Result<T, Reported>,
) -> Result<T, Vec<FieldError>> {
    self::read(query.unwrap_or_default().as_bytes(), Encoding::Form, read)
}

/// Proof that an error was recorded, in place of a value that is missing or breaks a rule. Only
/// [`Fields::report`] makes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported(());

/// The members of one object. `null` is absent.
pub(crate) struct Fields<'a> {
    /// `Err` if the value was not an object: the error is already recorded.
    members: Result<Members<'a>, Reported>,
    encoding: Encoding,
    /// The path of the object in the body, with dots. Empty for the body itself.
    path: Cow<'static, str>,
    errors: &'a mut Vec<FieldError>,
    /// The members that were read.
    read: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn new(
        members: Result<Members<'a>, Reported>,
        encoding: Encoding,
        path: Cow<'static, str>,
        errors: &'a mut Vec<FieldError>,
    ) -> Self {
        Self { members, encoding, path, errors, read: Vec::new() }
    }

    /// Reads a required text. An empty text counts as absent.
    pub(crate) fn required<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Reported> {
        let value = self.optional(name, parse)?;
        value.ok_or_else(|| self.report(name, "is required"))
    }

    /// Reads an optional text. An empty text counts as absent.
    pub(crate) fn optional<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Reported> {
        let value = self.value(name, |value| match members::text(value)?.as_str() {
            "" => Ok(None),
            text => parse(text).map(Some).map_err(message),
        });
        value.map(Option::flatten)
    }

    /// Reads an optional text. An empty or blank text counts as absent.
    pub(crate) fn optional_or_blank<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Reported> {
        self.optional(name, |text| match text.trim() {
            "" => Ok(None),
            _ => parse(text).map(Some),
        })
        .map(Option::flatten)
    }

    /// Reads an optional text. An empty text, or `false` in JSON, counts as absent, because
    /// published clients send `false` for members that they do not use. In a form, `false` is a
    /// text like any other.
    pub(crate) fn optional_or_false<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Reported> {
        match self.value(name, |value| Ok(value.get() == "false")) {
            Ok(Some(true)) => Ok(None),
            Ok(_) => self.optional(name, parse),
            Err(reported) => Err(reported),
        }
    }

    /// Reads an optional text. An empty text is parsed like any other, and usually rejected.
    pub(crate) fn given<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Reported> {
        self.value(name, |value| parse(&members::text(value)?).map_err(message))
    }

    /// Reads a required whole number.
    pub(crate) fn required_number<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(i64) -> Result<T, E>,
    ) -> Result<T, Reported> {
        let value = self.optional_number(name, parse)?;
        value.ok_or_else(|| self.report(name, "is required"))
    }

    /// Reads an optional whole number.
    pub(crate) fn optional_number<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(i64) -> Result<T, E>,
    ) -> Result<Option<T>, Reported> {
        let encoding = self.encoding;
        self.value(name, |value| parse(members::number(value, encoding)?).map_err(message))
    }

    /// Reads an optional flag: `true` or `false`; in a form, yes or no.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Reported> {
        let encoding = self.encoding;
        self.value(name, |value| members::flag(value, encoding))
    }

    /// Reads an optional list of texts. Empty texts in it count as absent, so that a form can send
    /// an empty list: `a[]=`.
    pub(crate) fn texts<T, C: FromIterator<T>, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<C>, Reported> {
        self.value(name, |value| {
            let items: Vec<&RawValue> =
                serde_json::from_str(value.get()).map_err(|_| "must be a list of texts")?;
            let texts: Vec<_> = items.into_iter().map(members::text).collect::<Result<_, _>>()?;
            let texts = texts.iter().filter(|text| !text.is_empty());
            texts.map(|text| parse(text).map_err(message)).collect()
        })
    }

    /// The number of items of an optional list.
    pub(crate) fn length(&mut self, name: &'static str) -> Result<usize, Reported> {
        let items = self.value(name, |value| {
            serde_json::from_str::<Vec<&RawValue>>(value.get()).map_err(|_| "must be a list".into())
        });
        Ok(items?.map_or(0, |items| items.len()))
    }

    /// Reads optional custom data. JSON keeps its order and its numbers; white space between tokens
    /// is removed.
    pub(crate) fn custom(&mut self, name: &'static str) -> Result<Option<CustomData>, Reported> {
        self.value(name, |value| CustomData::parse(value).map_err(message))
    }

    /// The members of a nested object. If it is absent, all its members are absent.
    pub(crate) fn object(&mut self, name: &'static str) -> Fields<'_> {
        let members = self.value(name, Members::nested).map(Option::unwrap_or_default);
        Fields::new(members, self.encoding, at(&self.path, name), self.errors)
    }

    /// Records the error `rule` for each of these members that is present.
    pub(crate) fn reject(
        &mut self,
        names: impl IntoIterator<Item = &'static str>,
        rule: &'static str,
    ) {
        for name in names {
            let _: Result<Option<()>, Reported> = self.value(name, |_| Err(rule.into()));
        }
    }

    /// Records the error `rule` for each member that was not read.
    pub(crate) fn reject_rest(&mut self, rule: &'static str) {
        let Ok(members) = &self.members else { return };
        let rest = members.names().filter(|name| !self.read.contains(name));
        self.errors.extend(rest.map(|name| FieldError::new(at(&self.path, name.to_owned()), rule)));
    }

    /// Records an error that parsing one member cannot find, such as two members that exclude each
    /// other.
    pub(crate) fn report(
        &mut self,
        name: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Reported {
        self.errors.push(FieldError::new(at(&self.path, name), message));
        Reported(())
    }

    fn value<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'a RawValue) -> Result<T, Message>,
    ) -> Result<Option<T>, Reported> {
        self.read.push(name);
        let members = self.members.as_ref().map_err(|&reported| reported)?;
        let value = members.get(name).and_then(|value| value.map(read).transpose());
        value.map_err(|message| self.report(name, message))
    }
}

/// The path of a member of the object at `path`.
fn at(path: &str, name: impl Into<Cow<'static, str>>) -> Cow<'static, str> {
    match path {
        "" => name.into(),
        path => format!("{path}.{}", name.into()).into(),
    }
}

fn message(error: impl Display) -> Message {
    error.to_string().into()
}

#[cfg(test)]
mod tests {
    use payments_domain::{Country, Email, Iban, Name};
    use proptest::prelude::*;

    use super::*;

    /// Has a member of each type: text, number, flag and object, required and optional.
    #[derive(Debug, PartialEq)]
    struct Everything {
        name: Option<Name>,
        email: Email,
        amount: i64,
        test: Option<bool>,
        custom: Option<CustomData>,
        country: Country,
        iban: Option<Iban>,
    }

    fn everything(bytes: &[u8], encoding: Encoding) -> Result<Everything, Vec<FieldError>> {
        read(bytes, encoding, |fields| {
            let name = fields.optional("name", Name::new);
            let email = fields.required("email", Email::new);
            let amount = fields.required_number("amount", Ok::<_, String>);
            let test = fields.flag("test");
            let custom = fields.custom("custom");
            let country = fields.object("company").required("country", Country::new);
            let iban = fields.object("bank").optional("iban", Iban::new);
            fields.reject(["key", "website"], "cannot be changed");
            let (name, email, amount) = (name?, email?, amount?);
            let (test, custom, country, iban) = (test?, custom?, country?, iban?);
            Ok(Everything { name, email, amount, test, custom, country, iban })
        })
    }

    /// The errors of `json`, which must be the same as those of `form`.
    fn errors(json: &str, form: &str) -> Vec<(String, String)> {
        let errors = everything(json.as_bytes(), Encoding::Json).unwrap_err();
        assert_eq!(everything(form.as_bytes(), Encoding::Form).unwrap_err(), errors, "{form}");
        let text = |error: FieldError| (error.field.into_owned(), error.message.into_owned());
        errors.into_iter().map(text).collect()
    }

    /// A valid request as JSON and as a form, with additional members.
    fn with(json: &str, form: &str) -> [String; 2] {
        let good = r#""email":"a@b.co","amount":100,"company":{"country":"DK"}"#;
        let json = format!("{{{good}{json}}}");
        [json, format!("email=a@b.co&amount=100&company[country]=DK{form}")]
    }

    #[test]
    fn optional_members_may_be_absent_null_or_empty() {
        let [least, least_form] = with("", "");
        let read = everything(least.as_bytes(), Encoding::Json).unwrap();
        assert_eq!(everything(least_form.as_bytes(), Encoding::Form), Ok(read));
        for (more, more_of_form) in [
            (r#","name":"""#, "&name="),
            (r#","bank":{}"#, "&unknown[deep][er]=x"),
            (r#","bank":{"iban":""},"cardId":false"#, "&bank[iban]=&cardId=false"),
            (r#","name":null,"test":null,"custom":null,"bank":null,"key":null"#, ""),
            (r#","bank":{"iban":null},"unknown":1"#, "&unknown=1&unknown=2"),
            (r#","bank":{"unknown":["x"]}"#, "&bank[unknown][]=x&bank[unknown][]=y"),
            (r#","unknown":["x"]"#, "&unknown[]=x&unknown[a]=y"),
        ] {
            let [json, form] = with(more, more_of_form);
            let read = everything(least.as_bytes(), Encoding::Json);
            assert_eq!(everything(json.as_bytes(), Encoding::Json), read, "{json}");
            assert_eq!(everything(form.as_bytes(), Encoding::Form), read, "{form}");
        }
    }

    #[test]
    fn optional_or_blank_treats_blank_text_as_absent() {
        for (text, expected) in
            [("", None), ("   ", None), ("\t", None), (" x", Some(" x".to_owned()))]
        {
            let json = serde_json::json!({ "name": text }).to_string();
            let name = |text: &str| Ok::<_, String>(text.to_owned());
            let read = read(json.as_bytes(), Encoding::Json, |fields| {
                fields.optional_or_blank("name", name)
            });
            assert_eq!(read, Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn custom_data_keeps_its_order_and_numbers() {
        let [json, form] = with(
            r#", "custom": { "b": {"c": "v"}, "a": 1.0 }"#,
            "&custom[007]=%22&custom[a]=1.0&custom[b][c]=v&custom[d][]=x&custom[d][]=y",
        );
        let custom = |bytes: String, encoding| {
            everything(bytes.as_bytes(), encoding).unwrap().custom.unwrap().as_str().to_owned()
        };
        assert_eq!(custom(json, Encoding::Json), r#"{"b":{"c":"v"},"a":1.0}"#);
        assert_eq!(
            custom(form, Encoding::Form),
            r#"{"007":"\"","a":"1.0","b":{"c":"v"},"d":["x","y"]}"#
        );
    }

    #[test]
    fn all_errors_are_listed_in_reading_order() {
        let all = [
            (
                "name",
                "must be text of at most 255 characters, without control characters or \
                 bidirectional controls",
            ),
            ("email", "must be one e-mail address of at most 254 characters"),
            ("amount", "must be a whole number"),
            ("custom", "must be an object"),
            ("company.country", "must be an ISO 3166-1 country code of two capital letters"),
            ("bank", "must be an object"),
            ("key", "cannot be changed"),
            ("website", "cannot be changed"),
        ];
        let required = ["email", "amount", "company.country"];
        let required = required.map(|field| (field, "is required"));
        for (json, form, expected) in [
            (
                r#"{"website":"","key":[],"bank":"","company":{"country":"dk"},"custom":"{}",
                    "amount":1.5,"email":"a","name":"\n"}"#,
                "website=&key=1&bank=&company[country]=dk&custom={}&amount=1.5&email=a&name=%0A",
                &all[..],
            ),
            ("{}", "", &required),
            (r#"{"email":"","company":{"country":""}}"#, "email=&company[country]=", &required),
            (r#"{"email":null,"company":{}}"#, "email&company[number]=1", &required),
        ] {
            let expected = expected.iter().map(|&(field, rule)| (field.into(), rule.into()));
            assert_eq!(errors(json, form), expected.collect::<Vec<_>>(), "{json}");
        }
    }

    #[test]
    fn a_wrong_type_is_reported_once() {
        for (json, form, field, message) in [
            (r#","name":1"#, "", "name", "must be a string"),
            (r#","name":["x"]"#, "&name[0]=x", "name", "must be a string"),
            (r#","custom":[]"#, "", "custom", "must be an object"),
            (r#","custom":"x""#, "&custom=x", "custom", "must be an object"),
            (r#","bank":[{}]"#, "&bank=x", "bank", "must be an object"),
            (r#","bank":{"iban":{}}"#, "&bank[iban][x]=1", "bank.iban", "must be a string"),
            (r#","test":"yes""#, "", "test", "must be true or false"),
            ("", "&test=maybe", "test", "must be yes or no"),
            ("", "&test[a]=yes", "test", "must be yes or no"),
            (r#","amount":100"#, "&amount=100", "amount", "must not be repeated"),
            (r#","name":["x","y"]"#, "&name[]=x&name[]=y", "name", "must be a string"),
            (r#","bank":["x"]"#, "&bank[]=x", "bank", "must be an object"),
            (r#","bank":[{"iban":""}]"#, "&bank[][iban]=", "bank", "must be an object"),
            (r#","bank":{"iban":["x"]}"#, "&bank[iban][]=x", "bank.iban", "must be a string"),
            ("", "&test[]=yes", "test", "must be yes or no"),
            ("", "&custom[]=x", "custom", "must be an object"),
            (r#","custom":{"a":1,"a":1}"#, "", "custom.a", "must not be repeated"),
            (r#","custom":{"a":[{"b":1,"b":2}]}"#, "", "custom.a.b", "must not be repeated"),
            (r#","unknown":1,"unknown":1"#, "", "unknown", "must not be repeated"),
            ("", "&custom[a]=1&custom[a]=2", "custom", "must not repeat a name"),
            ("", "&custom[a][b]=1&custom[a][b][]=2", "custom", "must not repeat a name"),
            (r#","company":{"country":"DK"}"#, "&company=x", "company", "must not be repeated"),
            (
                r#","bank":{"iban":"","iban":null}"#,
                "&bank[iban]=&bank[iban]=",
                "bank.iban",
                "must not be repeated",
            ),
            (r#","a":"\u0000""#, "&a=%00", "", "contains U+0000"),
        ] {
            let [good_json, good_form] = with("", "");
            let [bad_json, bad_form] = with(json, form);
            let expected = Err(vec![FieldError::new(field, message)]);
            if bad_json != good_json {
                assert_eq!(everything(bad_json.as_bytes(), Encoding::Json), expected, "{json}");
            }
            if bad_form != good_form {
                assert_eq!(everything(bad_form.as_bytes(), Encoding::Form), expected, "{form}");
            }
        }
    }

    #[test]
    fn an_ignored_error_still_rejects_the_request() {
        let read = read(b"{}", Encoding::Json, |fields| {
            fields.report("amount", "is more than is left");
            Ok(())
        });
        assert_eq!(read, Err(vec![FieldError::new("amount", "is more than is left")]));
    }

    proptest! {
        #[test]
        fn json_and_forms_give_the_same_result(
            name in "\\PC{0,9}",
            email in "[a-z]{1,5}@b.co",
            amount in 0..i64::MAX,
            test in any::<bool>(),
            country in prop::sample::select(&["DK", "SE", "dk"][..]),
            custom in prop::collection::btree_map("[^\u{0}\\[\\]]{1,5}", "[^\u{0}]{0,9}", 1..4),
        ) {
            let json = serde_json::json!({
                "name": name, "email": email, "amount": amount, "test": test,
                "company": { "country": country }, "custom": custom,
            });
            let form = form_urlencoded::Serializer::new(String::new())
                .extend_pairs([("name", &*name), ("email", &*email), ("amount", &*amount.to_string())])
                .extend_pairs([("test", if test { "yes" } else { "no" }), ("company[country]", country)])
                .extend_pairs(custom.iter().map(|(key, text)| (format!("custom[{key}]"), text)))
                .finish();
            prop_assert_eq!(
                everything(form.as_bytes(), Encoding::Form),
                everything(json.to_string().as_bytes(), Encoding::Json)
            );
        }
    }
}
