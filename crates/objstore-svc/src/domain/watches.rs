//! What one client watches, and watched before.

use std::collections::HashMap;

use super::{Key, Pattern, Revision, Shape};

/// A client's watches with their history: each pattern with the stretches of the log in which it
/// was watched. A watch made at revision `w` matches the changes after it, up to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watches {
    stretches: HashMap<Pattern, Vec<Stretch>>,
    /// Patterns known of each shape: a shape without any needs no look-up.
    shapes: [usize; 8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    since: Revision,
    until: Option<Revision>,
}

impl Stretch {
    fn covers(self, revision: Revision) -> bool {
        self.since < revision && self.until.is_none_or(|until| revision < until)
    }

    fn is_open(self) -> bool {
        self.until.is_none()
    }
}

impl Watches {
    /// Watched from `since` on, perhaps only to `until`. Telling a stretch twice changes nothing.
    pub fn begin(&mut self, pattern: &Pattern, since: Revision, until: Option<Revision>) {
        if !self.stretches.contains_key(pattern) {
            self.shapes[pattern.shape().index()] += 1;
        }
        let stretches = self.stretches.entry(pattern.clone()).or_default();
        // They come in order, from the store and from the log after it.
        if stretches.last().is_none_or(|last| last.since < since) {
            stretches.push(Stretch { since, until });
        }
    }

    /// No longer watched from `until` on.
    pub fn end(&mut self, pattern: &Pattern, until: Revision) {
        for stretch in self.stretches.get_mut(pattern).into_iter().flatten() {
            if stretch.is_open() && stretch.since < until {
                stretch.until = Some(until);
            }
        }
    }

    /// Whether a change of `key` at `revision` is one this client watches.
    pub fn match_change(&self, key: &Key, revision: Revision) -> bool {
        self.matching(key).any(|(_, stretches)| stretches.iter().any(|it| it.covers(revision)))
    }

    /// The first shape under which `key` is watched now.
    pub fn match_current(&self, key: &Key) -> Option<Shape> {
        let is_watched = |stretches: &[Stretch]| stretches.iter().any(|it| it.is_open());
        self.matching(key).find(|(_, stretches)| is_watched(stretches)).map(|(shape, _)| shape)
    }

    /// Every pattern watched now or before.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.stretches.keys()
    }

    /// The patterns watched now.
    pub fn open_patterns(&self) -> impl Iterator<Item = &Pattern> {
        let open = |stretches: &Vec<Stretch>| stretches.iter().any(|stretch| stretch.is_open());
        self.stretches
            .iter()
            .filter(move |(_, stretches)| open(stretches))
            .map(|(pattern, _)| pattern)
    }

    /// The patterns that match changes after `revision`, each with the start of that stretch.
    pub fn watched_after(&self, revision: Revision) -> impl Iterator<Item = (Pattern, Revision)> {
        self.stretches.iter().filter_map(move |(pattern, stretches)| {
            let goes_on = |it: &&Stretch| it.until.is_none_or(|until| until > revision);
            stretches.iter().find(goes_on).map(|stretch| (pattern.clone(), stretch.since))
        })
    }

    fn matching(&self, key: &Key) -> impl Iterator<Item = (Shape, &[Stretch])> {
        let mut text = String::new();
        Shape::ALL.into_iter().filter_map(move |shape| {
            if self.shapes[shape.index()] == 0 {
                return None;
            }
            key.pattern(shape, &mut text);
            Some((shape, self.stretches.get(text.as_str())?.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(kind: &str, name: &str) -> Pattern {
        Pattern::new(kind, "", name).unwrap()
    }

    #[test]
    fn a_watch_matches_exactly_the_changes_between_its_ends() {
        let key = Key::new("t", "ns", "n").unwrap();
        let mut watches = Watches::default();
        watches.begin(&pattern("t", ""), 5, None);
        watches.end(&pattern("t", ""), 8);
        watches.begin(&pattern("t", ""), 10, None);
        let matched: Vec<_> =
            (4..=12).filter(|&revision| watches.match_change(&key, revision)).collect();
        assert_eq!(matched, [6, 7, 11, 12]);
    }

    #[test]
    fn telling_a_stretch_twice_changes_nothing() {
        let mut watches = Watches::default();
        watches.begin(&pattern("t", ""), 5, Some(8));
        let once = watches.clone();
        watches.begin(&pattern("t", ""), 5, None);
        watches.end(&pattern("t", ""), 8);
        assert_eq!(watches, once);
        assert_eq!(watches.open_patterns().count(), 0);
        assert_eq!(watches.patterns().count(), 1);
    }

    #[test]
    fn an_object_is_current_under_the_first_pattern_that_is_watched_now() {
        let key = Key::new("t", "ns", "n").unwrap();
        let mut watches = Watches::default();
        watches.begin(&pattern("t", ""), 5, None);
        watches.begin(&pattern("t", "n"), 2, None);
        assert_eq!(watches.match_current(&key), Some(pattern("t", "").shape()));
        watches.end(&pattern("t", ""), 8);
        assert_eq!(watches.match_current(&key), Some(pattern("t", "n").shape()));
    }
}
