//! [Idempotency keys](https://docs.stripe.com/api/idempotent_requests).

use std::collections::HashMap;

use serde_json::Value;

use super::{error::Error, form::Form};

/// Nothing is forgotten: no test lasts a day.
#[derive(Default)]
pub(super) struct Keys(HashMap<String, Entry>);

struct Entry {
    path: String,
    form: Form,
    /// `None` while the first request is executed.
    answer: Option<(u16, Value)>,
}

impl Keys {
    /// Begins a request with a key. Returns the answer, if an earlier request has it already.
    pub(super) fn begin(
        &mut self,
        key: &str,
        path: &str,
        form: &Form,
    ) -> Result<Option<(u16, Value)>, Error> {
        let Some(first) = self.0.get(key) else {
            let entry = Entry { path: path.to_owned(), form: form.clone(), answer: None };
            self.0.insert(key.to_owned(), entry);
            return Ok(None);
        };
        let kind = "idempotency_error";
        if (first.path.as_str(), &first.form) != (path, form) {
            let message = "Keys for idempotent requests can only be used with the same parameters \
                           they were first used with.";
            return Err(Error::of(400, kind, "", message));
        }
        let in_use = "There is currently another in-progress request using this key.";
        let answer = first.answer.clone();
        answer.map(Some).ok_or_else(|| Error::of(409, kind, "idempotency_key_in_use", in_use))
    }

    /// Keeps an answer, which repeats get.
    pub(super) fn keep(&mut self, key: &str, answer: (u16, Value)) {
        if let Some(entry) = self.0.get_mut(key) {
            entry.answer = Some(answer);
        }
    }

    /// Forgets a request that was not executed.
    pub(super) fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_repeats_its_first_answer() {
        let mut keys = Keys::default();
        let (form, other) = (Form::parse("amount=1"), Form::parse("amount=2"));
        let begin = |keys: &mut Keys, path: &str, form: &Form| {
            keys.begin("key", path, form).map_err(|error| error.status)
        };
        assert_eq!(begin(&mut keys, "/v1/refunds", &form), Ok(None));
        assert_eq!(begin(&mut keys, "/v1/refunds", &form), Err(409));
        keys.forget("key");
        assert_eq!(begin(&mut keys, "/v1/refunds", &form), Ok(None));
        let answer = (500, json!({ "error": { "type": "api_error" } }));
        keys.keep("key", answer.clone());
        assert_eq!(begin(&mut keys, "/v1/refunds", &form), Ok(Some(answer)));
        assert_eq!(begin(&mut keys, "/v1/refunds", &other), Err(400));
        assert_eq!(begin(&mut keys, "/v1/customers", &form), Err(400));
    }
}
