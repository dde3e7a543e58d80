//! Checks of the document alone: examples match their schemas, and references resolve.

use serde_json::Value;

use super::{Document, escaped};

impl Document {
    /// A text that a request can do without has no example: Swagger UI would fill it in.
    pub fn check_parameters(&self) {
        for place in self.places_with("in") {
            let parameter = self.at(&place);
            let has_example = ["example", "examples"].iter().any(|it| parameter.get(it).is_some());
            let is_text = parameter["schema"]["type"] == "string";
            assert!(!(is_text && has_example) || parameter["required"] == true, "{place}");
        }
    }

    /// Checks every example against its schema, and returns the number of examples.
    pub fn check_examples(&self) -> usize {
        let mut checked = 0;
        for place in self.places_with("examples") {
            match (self.at(&format!("{place}/examples")), self.at(&place).get("schema")) {
                (Value::Object(examples), Some(_)) => {
                    for example in examples.values() {
                        let example = match example["$ref"].as_str() {
                            Some(reference) => self.at(reference.trim_start_matches('#')),
                            None => example,
                        };
                        self.check_value(&format!("{place}/schema"), &example["value"]);
                        checked += 1;
                    }
                }
                (Value::Array(examples), None) => {
                    for example in examples {
                        self.check_value(&place, example);
                        checked += 1;
                    }
                }
                _ => {}
            }
        }
        checked
    }

    /// Checks that every `$ref` resolves within the document.
    pub fn check_references(&self) {
        for place in self.places_with("$ref") {
            let reference = self.at(&format!("{place}/$ref")).as_str().expect("a reference");
            self.at(reference.strip_prefix('#').expect("a place in the document"));
        }
    }

    /// The value at a JSON pointer, which has to exist.
    pub fn at(&self, place: &str) -> &Value {
        self.root.pointer(place).unwrap_or_else(|| panic!("{place} is missing"))
    }

    /// The JSON pointers of all objects with this member.
    fn places_with(&self, member: &str) -> Vec<String> {
        let mut found = Vec::new();
        visit(&self.root, "", member, &mut found);
        found
    }
}

fn visit(value: &Value, place: &str, member: &str, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (escaped(name), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => return,
    };
    if value.get(member).is_some() {
        found.push(place.to_owned());
    }
    for (name, value) in below {
        visit(value, &format!("{place}/{name}"), member, found);
    }
}
