//! Checks of requests: a request that succeeded has to match the document, too.

use serde_json::{Map, Value};

use super::{Document, escaped, essence};
use crate::http::{Answer, Sent};

const FORM: &str = "application/x-www-form-urlencoded";

const MULTIPART: &str = "multipart/form-data";

impl Document {
    /// Checks the request of an answer against its operation.
    pub(super) fn check_request(&self, answer: &Answer, operation: &str) {
        self.check_sent_body(&answer.sent, operation);
        let parameters = self.parameters(operation);
        self.check_path(answer, operation, &parameters);
        self.check_query(&answer.sent, operation, &parameters);
    }

    fn check_sent_body(&self, sent: &Sent, operation: &str) {
        let place = self.resolve(format!("{operation}/requestBody"));
        let Some(described) = self.root.pointer(&place) else { return };
        if sent.body.is_empty() {
            assert_ne!(described["required"], true, "{sent:?} needs a body");
            return;
        }
        if essence(sent.media.as_deref().unwrap_or_default()) == MULTIPART {
            let place = format!("{place}/content/{}", escaped(MULTIPART));
            assert!(self.root.pointer(&place).is_some(), "{sent:?} cannot have files");
            return;
        }
        let text = std::str::from_utf8(&sent.body).expect("accepted bodies are UTF-8");
        let content = |media| format!("{place}/content/{}/schema", escaped(media));
        if essence(sent.media.as_deref().unwrap_or_default()) == FORM {
            self.check_value(&content(FORM), &form(text));
        } else {
            self.check_text(&content("application/json"), text);
        }
    }

    fn check_path(&self, answer: &Answer, operation: &str, parameters: &[String]) {
        let template = operation.split('/').nth(2).unwrap_or_default().replace("~1", "/");
        for (part, segment) in template.split('/').zip(answer.sent.path.split('/')) {
            if let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                let schema = self.schema_of("path", name, parameters);
                let schema = schema.unwrap_or_else(|| panic!("{operation} leaves {name} out"));
                self.check_value(&schema, &segment.into());
            }
        }
    }

    fn check_query(&self, sent: &Sent, operation: &str, parameters: &[String]) {
        for (name, value) in &sent.query {
            let (object, members) = name.split_once('[').unwrap_or((name, ""));
            let schema = self.schema_of("query", object, parameters);
            let schema = schema.unwrap_or_else(|| panic!("{operation} has no parameter {name}"));
            let value = match self.root.pointer(&format!("{schema}/type")) {
                Some(Value::String(kind)) if kind == "object" => {
                    let members = members.split('[').map(|member| member.trim_end_matches(']'));
                    members.rev().fold(value.as_str().into(), |value, member| {
                        Map::from_iter([(member.to_owned(), value)]).into()
                    })
                }
                Some(Value::String(kind)) if kind != "string" => {
                    serde_json::from_str(value).unwrap_or_default()
                }
                _ => Value::from(value.as_str()),
            };
            self.check_value(&schema, &value);
        }
        for place in parameters {
            let parameter = &self.root.pointer(place).expect("a parameter");
            if parameter["in"] == "query" && parameter["required"] == true {
                let mut names = sent.query.iter().map(|(name, _)| name.split('[').next());
                let is_there = names.any(|name| parameter["name"].as_str() == name);
                assert!(is_there, "{sent:?} needs {}", parameter["name"]);
            }
        }
    }

    /// The JSON pointers of an operation's parameters, including those of its path.
    fn parameters(&self, operation: &str) -> Vec<String> {
        let (path, _) = operation.rsplit_once('/').expect("an operation has a path");
        let of = |place: &str| {
            let list = format!("{place}/parameters");
            let count = self.root.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
            (0..count).map(move |index| format!("{list}/{index}")).collect::<Vec<_>>()
        };
        let places = of(path).into_iter().chain(of(operation));
        places.map(|place| self.resolve(place)).collect()
    }

    fn schema_of(&self, location: &str, name: &str, parameters: &[String]) -> Option<String> {
        let place = parameters.iter().find(|place| {
            let parameter = self.root.pointer(place).expect("a parameter");
            parameter["in"] == location && parameter["name"] == name
        });
        place.map(|place| self.resolve(format!("{place}/schema")))
    }
}

/// The members of a form: names decoded, values as text.
fn form(body: &str) -> Value {
    let url = reqwest::Url::parse(&format!("form:?{}", body.replace('#', "%23")));
    let url = url.expect("a form can stand in a query");
    url.query_pairs().map(|(name, value)| (name.into_owned(), Value::from(&*value))).collect()
}
