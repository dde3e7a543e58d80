//! Finds the selectors of a PromQL expression: `metric{label="value"}`.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    /// As written in the expression.
    pub(crate) text: String,
    pub(crate) name: String,
    labels: Vec<String>,
}

impl Selector {
    /// A selector of all series that have these labels, with any values.
    pub(crate) fn of_names(&self) -> String {
        let matchers: Vec<_> = self.labels.iter().map(|label| format!("{label}!=\"\"")).collect();
        format!("{}{{{}}}", self.name, matchers.join(", "))
    }
}

/// The selectors of the services' metrics, and of `up`, in an expression.
pub(crate) fn selectors(expression: &str) -> Vec<Selector> {
    let mut selectors = Vec::new();
    let mut rest = expression;
    while let Some(start) = rest.find(|letter: char| is_of_name(letter) || letter == '"') {
        rest = &rest[start..];
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = &quoted[quoted.find('"').unwrap() + 1..];
            continue;
        }
        let length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        rest = after;
        if name != "up" && !is_metric(name) {
            continue;
        }
        let matchers = if after.starts_with('{') { &after[..=end_of_matchers(after)] } else { "" };
        selectors.push(Selector {
            text: format!("{name}{matchers}"),
            name: name.to_owned(),
            labels: label_names(matchers),
        });
        rest = &after[matchers.len()..];
    }
    selectors
}

/// Whether a name is one of the services' metrics, by its prefix.
pub(crate) fn is_metric(name: &str) -> bool {
    let prefixes = ["authsvc_", "objstore_", "payments_", "process_"];
    prefixes.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
}

/// Whether the name of a metric may contain this character.
pub(crate) fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The index of the brace that closes the first brace. Braces in quotes do not count.
fn end_of_matchers(text: &str) -> usize {
    let mut quoted = false;
    let end = text.find(|letter| {
        quoted ^= letter == '"';
        letter == '}' && !quoted
    });
    end.unwrap_or_else(|| panic!("no closing brace: {text}"))
}

/// The names of the labels in matchers, such as `{name="value"}`.
fn label_names(matchers: &str) -> Vec<String> {
    let outside_quotes = matchers.split('"').step_by(2);
    let names = outside_quotes.map(|part| part.trim_matches(|letter| !is_of_name(letter)));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn selectors_are_found_with_their_labels() {
    let found = selectors(
        r#"sum by (job) (rate(payments_a_total{route=~"/{id}|up", b!="1"}[5m])) > up or (objstore_b)"#,
    );
    let texts: Vec<_> = found.iter().map(|selector| &*selector.text).collect();
    assert_eq!(texts, [r#"payments_a_total{route=~"/{id}|up", b!="1"}"#, "up", "objstore_b"]);
    assert_eq!(found[0].of_names(), r#"payments_a_total{route!="", b!=""}"#);
}
