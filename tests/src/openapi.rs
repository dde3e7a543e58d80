//! Checks of answers against an OpenAPI document.

mod examples;
mod sent;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::Validator;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderName},
};
use serde_json::{Value, json, value::RawValue};

use crate::http::Answer;

/// A document, and a cache of validators by schema.
///
/// A *place* is a JSON pointer into the document, such as `/components/schemas/Object`.
pub struct Document {
    root: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Document {
    pub fn parse(yaml: &str) -> Self {
        Self {
            root: serde_norway::from_str(yaml).expect("the document is YAML"),
            validators: Mutex::default(),
        }
    }

    /// The document reduced to the paths that satisfy `serves`: those of one listener.
    #[must_use]
    pub fn part(&self, serves: impl Fn(&Value) -> bool) -> Self {
        let mut root = self.root.clone();
        if let Some(paths) = root["paths"].as_object_mut() {
            paths.retain(|_, path| serves(path));
        }
        Self { root, validators: Mutex::default() }
    }

    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Checks an answer of one of our services: [`Self::check_description`], and the headers that
    /// all our answers have.
    pub fn check(&self, answer: &Answer) {
        self.check_description(answer);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{answer:?}");
    }

    /// Checks that the document describes an answer and, if that is a success, its request.
    pub fn check_description(&self, answer: &Answer) {
        let (operation, response) = self.place(answer);
        let described =
            self.root.pointer(&response).unwrap_or_else(|| panic!("is not described: {answer:?}"));
        self.check_headers(answer, &response, described);
        self.check_body(answer, &response, described);
        if let Some(operation) = operation.filter(|_| answer.status.is_success()) {
            self.check_request(answer, &operation);
        }
    }

    /// Checks a JSON text against the schema at this place.
    pub fn check_text(&self, schema: &str, text: &str) {
        let raw: &RawValue =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        self.check_value(schema, &approximate(raw));
    }

    /// Checks a value against the schema at this place.
    pub fn check_value(&self, schema: &str, value: &Value) {
        let problems: Vec<_> = self
            .validator(schema)
            .iter_errors(value)
            .map(|problem| format!("{}: {problem}", problem.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{value} is not a {schema}:\n{}", problems.join("\n"));
    }

    /// The places of the requested operation, if the document has it, and of the response.
    fn place(&self, answer: &Answer) -> (Option<String>, String) {
        let Some(path) = self.path(answer) else {
            assert_eq!(answer.status, 404, "the path is not described: {answer:?}");
            return (None, "/components/responses/NotFound".to_owned());
        };
        let path = format!("/paths/{}", escaped(path));
        let operation = match &answer.sent.method {
            &Method::HEAD => format!("{path}/get"),
            method => format!("{path}/{}", method.as_str().to_lowercase()),
        };
        if self.root.pointer(&operation).is_none() {
            assert_eq!(answer.status, 405, "the method is not described: {answer:?}");
            return (None, "/components/responses/MethodNotAllowed".to_owned());
        }
        let response = self.resolve(format!("{operation}/responses/{}", answer.status.as_u16()));
        (Some(operation), response)
    }

    /// The documented path of the request. A service may accept an extra trailing slash.
    fn path(&self, answer: &Answer) -> Option<&str> {
        let paths = self.root["paths"].as_object()?;
        let find = |sent: &str| {
            let literal = paths.keys().find(|path| *path == sent);
            literal.or_else(|| paths.keys().find(|path| fits(path, sent)))
        };
        let sent = answer.sent.path.as_str();
        let shorter = sent.strip_suffix('/').filter(|_| answer.status != 404);
        find(sent).or_else(|| shorter.and_then(find)).map(String::as_str)
    }

    /// Checks the documented headers, and that CORS headers are sent only where the document lists
    /// them.
    fn check_headers(&self, answer: &Answer, response: &str, described: &Value) {
        let names =
            || described["headers"].as_object().into_iter().flat_map(|headers| headers.keys());
        for name in names() {
            let header = self.resolve(format!("{response}/headers/{name}"));
            let required =
                self.root.pointer(&format!("{header}/required")) == Some(&Value::Bool(true));
            match answer.header(name) {
                Some(value) => self.check_value(&format!("{header}/schema"), &value.into()),
                None => assert!(!required, "{name} is missing: {answer:?}"),
            }
        }
        let open = names().any(|name| name == "Access-Control-Allow-Origin");
        let shared = |name: &&HeaderName| name.as_str().starts_with("access-control-") && !open;
        let shared = answer.headers.keys().find(shared);
        assert_eq!(shared, None, "{answer:?}");
    }

    fn check_body(&self, answer: &Answer, response: &str, described: &Value) {
        let sent = answer.header(CONTENT_TYPE.as_str());
        let Some(content) = described["content"].as_object() else {
            assert_eq!(sent, None, "{answer:?}");
            assert!(answer.body.is_empty(), "{answer:?}");
            return;
        };
        let sent = sent.unwrap_or_else(|| panic!("has no content type: {answer:?}"));
        let Some(media) = content.keys().find(|media| essence(media) == essence(sent)) else {
            panic!("has a content type that is not described: {answer:?}");
        };
        if answer.sent.method == Method::HEAD {
            assert!(answer.body.is_empty(), "{answer:?}");
        } else if essence(media) == "application/json" {
            self.check_text(
                &format!("{response}/content/{}/schema", escaped(media)),
                answer.text(),
            );
        }
    }

    /// Follows references to their end.
    fn resolve(&self, place: String) -> String {
        match self.root.pointer(&format!("{place}/$ref")) {
            Some(Value::String(reference)) => {
                self.resolve(reference.trim_start_matches('#').to_owned())
            }
            _ => place,
        }
    }

    /// The schema of a validator is the whole document with a `$ref` at its root, so that all other
    /// references resolve.
    fn validator(&self, schema: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = validators.entry(schema.to_owned()).or_insert_with(|| {
            let mut root = self.root.clone();
            let reference = schema.replace('{', "%7B").replace('}', "%7D");
            root["$ref"] = json!(format!("#{reference}"));
            let made =
                jsonschema::draft202012::options().should_validate_formats(true).build(&root);
            Arc::new(made.unwrap_or_else(|error| panic!("{schema} is no schema: {error}")))
        });
        Arc::clone(validator)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Document({})", self.root["info"]["title"])
    }
}

/// A JSON value with 0 in place of numbers outside the range of `f64`. No schema checks such
/// numbers.
fn approximate(raw: &RawValue) -> Value {
    let text = raw.get();
    if text.starts_with('{') {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).expect("an object");
        members.into_iter().map(|(name, raw)| (name, approximate(raw))).collect()
    } else if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text).expect("an array");
        items.into_iter().map(approximate).collect()
    } else {
        serde_json::from_str(text).unwrap_or(json!(0))
    }
}

/// Whether a path matches a template such as `/things/{thing}`. Only a part within may be empty.
fn fits(template: &str, path: &str) -> bool {
    let matches_part = |(part, segment): (&str, &str)| part == segment || part.starts_with('{');
    !path.ends_with('/')
        && template.split('/').count() == path.split('/').count()
        && template.split('/').zip(path.split('/')).all(matches_part)
}

fn essence(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
