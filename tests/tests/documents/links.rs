//! Links lead to existing files, headings and items of source files.

use std::collections::{BTreeMap, BTreeSet};

use blackbox::{
    page,
    project::{files, read},
};

use crate::assert_none;

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let pages = page::pages();
    let anchors: BTreeMap<_, _> =
        pages.iter().map(|page| (page.path.as_str(), &page.anchors)).collect();
    let files = files();
    let places: BTreeSet<_> = files.iter().flat_map(|file| ancestors(file)).collect();
    let mut violations = Vec::new();
    let mut seen = 0;
    for page in &pages {
        for link in page.links.iter().filter(|link| !link.target.contains("://")) {
            seen += 1;
            let (file, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let file = if file.is_empty() { page.path.clone() } else { join(&page.path, file) };
            let heading =
                || anchors.get(file.as_str()).is_some_and(|anchors| anchors.contains(anchor));
            if !places.contains(file.as_str()) || !anchor.is_empty() && !heading() {
                violations.push(format!("{}: {}", page.path, link.target));
            }
        }
    }
    assert!(seen > 50, "only {seen} relative links found");
    assert_none(&violations);
}

/// Guarantees in the documents link to the test that proves them.
#[test]
fn a_link_named_after_an_item_leads_to_its_file() {
    let mut seen = 0;
    let mut violations = Vec::new();
    for page in page::pages() {
        for link in &page.links {
            let Some(item) = link.code.as_deref().filter(|code| is_identifier(code)) else {
                continue;
            };
            if link.target.ends_with(".rs") {
                seen += 1;
                let words = read(&join(&page.path, &link.target));
                let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_');
                if !words.any(|word| word == item) {
                    violations.push(format!("{}: no {item} in {}", page.path, link.target));
                }
            }
        }
    }
    assert!(seen > 5, "only {seen} links to items found");
    assert_none(&violations);
}

fn is_identifier(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// A path and all its folders.
fn ancestors(file: &str) -> impl Iterator<Item = &str> {
    file.match_indices('/').map(|(at, _)| &file[..at]).chain([file])
}

/// Resolves a link of a page to a path relative to the root of the project.
fn join(page: &str, target: &str) -> String {
    let mut path: Vec<_> = page.split('/').collect();
    path.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path.join("/")
}
