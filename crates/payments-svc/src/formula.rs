//! Text of others in CSV, which a spreadsheet would run as a formula (CSV injection).

use std::borrow::Cow;

/// Escapes text that a spreadsheet would run. Excel also takes the full-width forms of the operators,
/// and a tab or a line end before them.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n'];
    if text.starts_with(begins) { format!("'{text}").into() } else { text.into() }
}

/// The maximum number of characters of a quoted text.
const MAX_QUOTED: usize = 80;

/// Quotes and cuts text, so that a spreadsheet runs no formula and a terminal no code.
pub(crate) fn quote(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUOTED).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("{shown:?}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_that_begins_like_a_formula_gets_an_apostrophe() {
        for text in ["=1", "+1", "-1", "@A", "＝1", "＋1", "－1", "＠A", "\t=1", "\r=1", "\n=1"]
        {
            assert_eq!(escape(text), format!("'{text}"));
        }
        for text in ["", "a=1", "1+1", "'=1", "—1", "Ann & Søn"] {
            assert_eq!(escape(text), text);
        }
    }
}
