//! Parsers of the metrics, which check the rules that hold for every scrape.

use std::collections::BTreeMap;

use serde_json::Value;

/// A scrape in the JSON format.
#[derive(Debug)]
pub struct Scrape(Value);

impl Scrape {
    /// Parses a scrape and checks that its sums agree.
    pub fn parse(json: &str) -> Self {
        let scrape = Self(serde_json::from_str(json).expect("metrics are JSON"));
        let at = |pointer: &str| scrape.count(pointer);
        let (total, in_flight) = (at("/requests/total"), at("/requestsInFlight"));
        let (success, failed) = (at("/requests/success"), at("/requests/failed"));
        assert!(in_flight >= 1, "a scrape sees itself: {json}");
        assert!(success + failed + in_flight <= total, "{json}");
        assert_eq!(scrape.sum("/responsesByStatus"), success + failed, "{json}");
        assert_eq!(scrape.sum("/failuresByFault"), failed, "{json}");
        assert_eq!(at("/latency/count"), success + failed, "{json}");
        let routes = scrape.0["requestsByRoute"].as_object().expect("routes");
        let requests = routes.values().map(|route| route["requests"].as_u64().expect("a count"));
        assert_eq!(requests.sum::<u64>(), total, "{json}");
        let attempts = at("/authentication/withProfile") + at("/authentication/withoutProfile");
        assert_eq!(at("/authentication/total"), attempts, "{json}");
        assert!(scrape.sum("/authenticationResults") <= attempts, "{json}");
        assert!(scrape.sum("/errorsByType") <= failed, "{json}");
        assert!(at("/httpClients/closed") <= at("/httpClients/created"), "{json}");
        scrape
    }

    /// Abandoned requests: counted in total, but without an outcome and not in flight.
    pub fn abandoned(&self) -> u64 {
        self.count("/requests/total")
            - self.count("/requests/success")
            - self.count("/requests/failed")
            - self.count("/requestsInFlight")
    }

    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The number at a JSON pointer, or 0 if it is missing.
    pub fn count(&self, pointer: &str) -> u64 {
        let value = self.0.pointer(pointer);
        value.map_or(0, |value| value.as_u64().unwrap_or_else(|| panic!("{pointer} is {value}")))
    }

    /// The sum of the numbers in the object at a JSON pointer.
    pub fn sum(&self, pointer: &str) -> u64 {
        let object = self.0.pointer(pointer).and_then(Value::as_object).expect(pointer);
        object.values().map(|value| value.as_u64().expect(pointer)).sum()
    }
}

/// A metric family of the text format.
#[derive(Debug, Default)]
pub struct Family {
    /// The type in the TYPE line.
    pub kind: String,
    pub has_help: bool,
    /// Values by series: the name and labels in front of the value.
    pub samples: BTreeMap<String, f64>,
}

/// Parses the text format strictly: each family is contiguous, and each series appears once.
pub fn families(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split(' ').next().unwrap_or_default();
            let family = Family { has_help: true, ..Family::default() };
            assert!(families.insert(name.to_owned(), family).is_none(), "{name} is split");
            name.clone_into(&mut current);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(name, current, "{line}");
            kind.clone_into(&mut families.get_mut(name).expect("HELP is first").kind);
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a sample");
            let name = series.split('{').next().unwrap_or_default();
            let family = families.get_mut(&current).expect("a family");
            let suffix = name.strip_prefix(&current).unwrap_or_else(|| panic!("{line}"));
            let expected: &[_] = if family.kind == "summary" { &["_sum", "_count"] } else { &[""] };
            assert!(expected.contains(&suffix), "{line}");
            let value = value.parse().expect("a number");
            assert!(family.samples.insert(series.to_owned(), value).is_none(), "{line} again");
        }
    }
    families
}
