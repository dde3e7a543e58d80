//! The bank's reason, which a message has in parts.

/// The maximum bytes that are kept: more than a reason can have.
const MAX: usize = 1024;

/// A code, and what the bank adds.
#[derive(Default)]
pub(super) struct ReasonText(String);

impl ReasonText {
    pub(super) fn add(&mut self, part: &str) {
        if part.is_empty() || self.0.len() > MAX {
            return;
        }
        if !self.0.is_empty() {
            self.0.push_str(if self.0.contains(": ") { " " } else { ": " });
        }
        self.0.extend(part.chars().take(MAX));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}
