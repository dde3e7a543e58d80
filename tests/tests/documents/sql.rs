//! The SQL of the documents.

use blackbox::page;

use crate::assert_none;

/// The beginnings of statements that write rows or change tables. `_` is any word.
const WRITES: [&[&str]; 7] = [
    &["update", "_", "set"],
    &["delete", "from"],
    &["insert", "into"],
    &["merge", "into"],
    &["truncate"],
    &["alter", "table"],
    &["drop", "table"],
];

/// Operators change data with commands, which keep the rules of the services.
#[test]
fn no_document_contains_sql_that_writes() {
    let mut violations = Vec::new();
    for page in page::pages().iter().filter(|page| page.path.starts_with("docs/")) {
        let texts = page.blocks.iter().map(|block| &block.text).chain(&page.code);
        let writing = texts.filter(|text| writes(text));
        violations.extend(writing.map(|text| format!("{}: {text}", page.path)));
    }
    assert_none(&violations);
}

fn writes(text: &str) -> bool {
    let text = text.to_lowercase();
    let words: Vec<_> =
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    WRITES.iter().any(|statement| {
        let is_one = |words: &[&str]| {
            words.iter().zip(*statement).all(|(word, wanted)| word == wanted || *wanted == "_")
        };
        words.windows(statement.len()).any(is_one)
    })
}

#[test]
fn sql_that_writes_is_found_among_words() {
    for text in ["psql -c 'UPDATE store\n SET epoch = NULL'", "delete from \"x\"", "TRUNCATE x"] {
        assert!(writes(text), "{text}");
    }
    for text in ["SELECT FROM store FOR UPDATE", "ALTER ROLE … PASSWORD", "set the update"] {
        assert!(!writes(text), "{text}");
    }
}
