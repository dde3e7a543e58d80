//! The watches of one client, open and ended.

use std::collections::{HashMap, VecDeque, hash_map::Entry};

use super::{Key, Pattern, Revision, Shape};

/// The memory of a watch beside the text of its pattern: entries of the maps here and in the hub.
const WATCH_BYTES: usize = 256;

/// A client's open watches, and the ended ones that are still needed. A watch matches the changes
/// with `since < revision < until`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Watches {
    /// Each open pattern with the revision of its watch.
    open: HashMap<Pattern, Revision>,
    /// The ended watches of each pattern, oldest first. Watches of one pattern do not overlap.
    ended: HashMap<Pattern, VecDeque<Interval>>,
    /// All ended watches in the order of their ends.
    ends: VecDeque<(Revision, Pattern)>,
    /// The number of patterns of each shape in both maps. If it is 0, the shape is skipped.
    shapes: [usize; 8],
    /// See [`Watches::bytes`].
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    since: Revision,
    until: Revision,
}

impl Watches {
    /// Takes stored watches in any order: pattern, revision of the start, and revision of the end
    /// if it has ended.
    pub(crate) fn stored(
        watches: impl IntoIterator<Item = (Pattern, Revision, Option<Revision>)>,
    ) -> Self {
        let watches = watches.into_iter();
        let open = HashMap::with_capacity(watches.size_hint().0);
        let mut stored = Self { open, ..Self::default() };
        for (pattern, since, until) in watches {
            match until {
                None => stored.begin(pattern, since),
                Some(until) => stored.insert_ended(pattern, Interval { since, until }),
            }
        }
        stored.open.shrink_to_fit();
        stored.ends.make_contiguous().sort_unstable_by_key(|&(until, _)| until);
        stored
    }

    /// Begins a watch. Has no effect if the pattern is watched already.
    pub(crate) fn begin(&mut self, pattern: Pattern, since: Revision) {
        let (shape, bytes) = (pattern.shape().index(), bytes_of(&pattern));
        if let Entry::Vacant(entry) = self.open.entry(pattern) {
            entry.insert(since);
            self.shapes[shape] += 1;
            self.bytes += bytes;
        }
    }

    /// Ends the open watch of a pattern, if there is one.
    pub(crate) fn end(&mut self, pattern: &Pattern, until: Revision) {
        if let Some((pattern, since)) = self.open.remove_entry(pattern) {
            self.shapes[pattern.shape().index()] -= 1;
            self.bytes -= bytes_of(&pattern);
            self.insert_ended(pattern, Interval { since, until });
        }
    }

    /// Ends all open watches.
    pub(crate) fn end_all(&mut self, until: Revision) {
        let patterns: Vec<Pattern> = self.open.keys().cloned().collect();
        for pattern in patterns {
            self.end(&pattern, until);
        }
    }

    /// Adds the ended watches of `other` that are missing here.
    pub(crate) fn add_ended(&mut self, other: Self) {
        let before = self.ends.len();
        for (pattern, intervals) in other.ended {
            for interval in intervals {
                self.insert_ended(pattern.clone(), interval);
            }
        }
        if self.ends.len() > before {
            self.ends.make_contiguous().sort_by_key(|&(until, _)| until);
        }
    }

    /// Removes the watches that ended at or before `through`, and returns how many.
    pub(crate) fn remove_ended(&mut self, through: Revision) -> usize {
        let mut removed = 0;
        while let Some((_, pattern)) = self.ends.pop_front_if(|(until, _)| *until <= through) {
            removed += 1;
            self.bytes -= bytes_of(&pattern);
            if let Some(intervals) = self.ended.get_mut(&pattern) {
                intervals.pop_front();
                if intervals.is_empty() {
                    self.ended.remove(&pattern);
                    self.shapes[pattern.shape().index()] -= 1;
                }
            }
        }
        if removed > 0 && self.ends.is_empty() {
            // Frees the memory of the collections.
            self.ends = VecDeque::new();
            self.ended = HashMap::new();
        }
        removed
    }

    /// The number of ended watches.
    pub(crate) fn ended_count(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory that the watches take here and in the hub, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The part of [`Self::bytes`] that the ended watches take.
    pub(crate) fn ended_bytes(&self) -> usize {
        self.ends.iter().map(|(_, pattern)| bytes_of(pattern)).sum()
    }

    /// A copy with the open watches only.
    #[must_use]
    pub(crate) fn open_only(&self) -> Self {
        Self::stored(self.open().map(|(pattern, since)| (pattern.clone(), since, None)))
    }

    /// A copy with only the open watches that began after `revision`.
    #[must_use]
    pub(crate) fn open_since(&self, revision: Revision) -> Self {
        let open = self.open().filter(|&(_, since)| since > revision);
        Self::stored(open.map(|(pattern, since)| (pattern.clone(), since, None)))
    }

    /// The revision at which the newest open watch began; 0 if none is open.
    pub(crate) fn newest(&self) -> Revision {
        self.open.values().copied().max().unwrap_or(0)
    }

    /// Whether the client watched `key` at `revision`.
    pub(crate) fn match_change(&self, key: &Key, revision: Revision) -> bool {
        let mut text = String::new();
        self.find_shape(key, &mut text, |text| {
            self.open.get(text).is_some_and(|&since| since < revision)
                || self.ended.get(text).is_some_and(|intervals| {
                    let later = intervals.partition_point(|interval| interval.since < revision);
                    let last = later.checked_sub(1).and_then(|index| intervals.get(index));
                    last.is_some_and(|interval| revision < interval.until)
                })
        })
        .is_some()
    }

    /// The first shape of an open watch that matches `key`. A reset uses the shape to push an
    /// object once, although several patterns may match it.
    pub(crate) fn match_current(&self, key: &Key) -> Option<Shape> {
        let mut text = String::new();
        self.find_shape(key, &mut text, |text| self.open.contains_key(text))
    }

    /// The open watches, each with its revision.
    pub(crate) fn open(&self) -> impl Iterator<Item = (&Pattern, Revision)> {
        self.open.iter().map(|(pattern, &since)| (pattern, since))
    }

    /// Builds the pattern of `key` for each shape, and returns the first shape for which `is_match`
    /// is true. `text` is a buffer for the pattern.
    fn find_shape(
        &self,
        key: &Key,
        text: &mut String,
        mut is_match: impl FnMut(&str) -> bool,
    ) -> Option<Shape> {
        Shape::ALL.into_iter().find(|&shape| {
            self.shapes[shape.index()] > 0 && {
                key.pattern(shape, text);
                is_match(text)
            }
        })
    }

    /// Inserts an ended watch, and keeps those of its pattern in order. The caller has to sort
    /// `ends`, unless this watch ended last.
    fn insert_ended(&mut self, pattern: Pattern, interval: Interval) {
        let intervals = self.ended.entry(pattern.clone()).or_insert_with(|| {
            self.shapes[pattern.shape().index()] += 1;
            VecDeque::new()
        });
        let index = intervals.partition_point(|other| other.since < interval.since);
        if intervals.get(index).is_none_or(|other| other.since > interval.since) {
            intervals.insert(index, interval);
            self.bytes += bytes_of(&pattern);
            self.ends.push_back((interval.until, pattern));
        }
    }
}

fn bytes_of(pattern: &Pattern) -> usize {
    WATCH_BYTES + pattern.as_str().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(kind: &str, name: &str) -> Pattern {
        Pattern::new(kind, "", name).unwrap()
    }

    fn matched(watches: &Watches) -> Vec<Revision> {
        let key = Key::new("t", "ns", "n").unwrap();
        (0..=12).filter(|&revision| watches.match_change(&key, revision)).collect()
    }

    #[test]
    fn a_watch_matches_exactly_the_changes_within_it() {
        let mut watches = Watches::default();
        watches.begin(pattern("t", ""), 5);
        watches.end(&pattern("t", ""), 8);
        watches.begin(pattern("t", ""), 10);
        assert_eq!(matched(&watches), [6, 7, 11, 12]);
    }

    #[test]
    fn remove_ended_removes_watches_that_ended_up_to_a_revision() {
        let stored = [
            (pattern("t", ""), 8, Some(10)),
            (pattern("t", ""), 1, Some(4)),
            (pattern("t", "n"), 3, Some(6)),
            (pattern("t", "n"), 10, None),
        ];
        let mut watches = Watches::stored(stored.clone());
        assert_eq!(matched(&watches), [2, 3, 4, 5, 9, 11, 12]);
        assert_eq!(watches.remove_ended(5), 1);
        assert_eq!(matched(&watches), [4, 5, 9, 11, 12]);
        watches.add_ended(Watches::stored(stored));
        assert_eq!(watches.ended_count(), 3);
        assert_eq!(watches.remove_ended(9), 2);
        assert_eq!(matched(&watches), [9, 11, 12]);
        assert_eq!(watches.remove_ended(10), 1);
        assert_eq!(watches, watches.open_only());
        watches.end_all(12);
        assert_eq!((watches.open().count(), watches.remove_ended(12)), (0, 1));
        assert_eq!(watches, Watches::default());
    }

    #[test]
    fn beginning_a_watch_twice_changes_nothing() {
        let mut watches = Watches::default();
        watches.begin(pattern("t", ""), 5);
        let once = watches.clone();
        watches.begin(pattern("t", ""), 7);
        assert_eq!(watches, once);
    }

    #[test]
    fn a_key_matches_the_first_open_watch() {
        let key = Key::new("t", "ns", "n").unwrap();
        let mut watches = Watches::default();
        watches.begin(pattern("t", ""), 5);
        watches.begin(pattern("t", "n"), 2);
        assert_eq!(watches.match_current(&key), Some(pattern("t", "").shape()));
        watches.end(&pattern("t", ""), 8);
        assert_eq!(watches.match_current(&key), Some(pattern("t", "n").shape()));
    }
}
