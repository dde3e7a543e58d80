//! A parser of Markdown files, for the tests of the documents.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::project::{files, read};

#[derive(Debug, Default)]
pub struct Page {
    /// Relative to the project's folder.
    pub path: String,
    /// Anchors of the headings, as GitHub generates them.
    pub anchors: BTreeSet<String>,
    /// Links and pictures, in the order of the text.
    pub links: Vec<Link>,
    /// The texts between single backticks.
    pub code: Vec<String>,
    pub blocks: Vec<Block>,
    pub rows: Vec<Row>,
}

#[derive(Debug)]
pub struct Link {
    /// The address as written.
    pub target: String,
    /// Its text, if all of it is code.
    pub code: Option<String>,
}

#[derive(Debug)]
pub struct Block {
    /// The word behind the fence, or empty.
    pub language: String,
    pub text: String,
}

/// A row of a table. The header is a row, too.
#[derive(Debug)]
pub struct Row {
    /// The heading of the section with the table.
    pub heading: String,
    pub cells: Vec<String>,
}

/// All Markdown files of the project.
pub fn pages() -> Vec<Page> {
    let documents = files().into_iter().filter(|file| file.ends_with(".md"));
    let pages: Vec<_> = documents.map(|path| Page::parse(&read(&path), path)).collect();
    assert!(pages.len() > 10, "only {} documents found", pages.len());
    pages
}

impl Page {
    pub fn parse(source: &str, path: String) -> Self {
        let mut page = Self { path, ..Self::default() };
        let mut reading = Reading::default();
        for event in Parser::new_ext(source, Options::ENABLE_TABLES) {
            page.take(event, &mut reading);
        }
        page
    }

    fn take(&mut self, event: Event<'_>, reading: &mut Reading) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::TableCell) => reading.text.clear(),
            Event::End(TagEnd::Heading(_)) => {
                self.anchors.insert(reading.anchor());
                reading.heading.clone_from(&reading.text);
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => reading.cells.clear(),
            Event::End(TagEnd::TableCell) => reading.cells.push(reading.text.trim().to_owned()),
            Event::End(TagEnd::TableHead | TagEnd::TableRow) => self.rows.push(Row {
                heading: reading.heading.clone(),
                cells: std::mem::take(&mut reading.cells),
            }),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.links.push(Link { target: dest_url.into_string(), code: None });
                reading.links += 1;
            }
            Event::End(TagEnd::Link | TagEnd::Image) => reading.links -= 1,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                self.blocks.push(Block { language: language.into_string(), text: String::new() });
                reading.in_block = true;
            }
            Event::End(TagEnd::CodeBlock) => reading.in_block = false,
            Event::Text(text) if reading.in_block => {
                self.blocks.last_mut().expect("a block has begun").text.push_str(&text);
            }
            Event::Text(text) => reading.text.push_str(&text),
            Event::Code(code) => {
                reading.text.push_str(&code);
                if reading.links > 0 {
                    self.links.last_mut().expect("a link has begun").code = Some(code.to_string());
                }
                self.code.push(code.into_string());
            }
            Event::SoftBreak => reading.text.push(' '),
            Event::Html(html) | Event::InlineHtml(html) => self.take_html(&html),
            _ => {}
        }
    }

    /// Collects links and pictures written in HTML.
    fn take_html(&mut self, html: &str) {
        for attribute in ["src=\"", "srcset=\"", "href=\""] {
            let values = html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
            self.links.extend(values.map(|target| Link { target: target.to_owned(), code: None }));
        }
    }

    /// The texts of the blocks in these languages.
    pub fn blocks_of<'a>(&'a self, languages: &'a [&str]) -> impl Iterator<Item = &'a str> + 'a {
        let blocks =
            self.blocks.iter().filter(|block| languages.contains(&block.language.as_str()));
        blocks.map(|block| block.text.as_str())
    }
}

#[derive(Default)]
struct Reading {
    text: String,
    heading: String,
    cells: Vec<String>,
    /// Nesting depth of links and pictures.
    links: usize,
    in_block: bool,
    /// Occurrences of each anchor so far.
    anchors: BTreeMap<String, usize>,
}

impl Reading {
    /// The anchor of the last heading. Repeated anchors get a number.
    fn anchor(&mut self) -> String {
        let kept = self.text.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let earlier = self.anchors.entry(anchor.clone()).or_default();
        *earlier += 1;
        if *earlier == 1 { anchor } else { format!("{anchor}-{}", *earlier - 1) }
    }
}

#[test]
fn a_page_has_anchors_links_code_and_tables() {
    let source = "# The `check` — fails\n## A\n## A\n\
        [`run`](a.rs) <img src=\"b.svg\">\n\n| x | `y` |\n|---|---|\n| 1 | 2 |\n\n```sh\nls\n```\n";
    let page = Page::parse(source, "a.md".to_owned());
    let anchors: Vec<_> = page.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["a", "a-1", "the-check--fails"]);
    let links: Vec<_> =
        page.links.iter().map(|link| (link.target.as_str(), link.code.as_deref())).collect();
    assert_eq!(links, [("a.rs", Some("run")), ("b.svg", None)]);
    assert_eq!(page.code, ["check", "run", "y"]);
    let rows: Vec<_> = page.rows.iter().map(|row| row.cells.join(" ")).collect();
    assert_eq!(rows, ["x y", "1 2"]);
    assert_eq!(page.rows[0].heading, "A");
    assert_eq!(page.blocks_of(&["sh"]).collect::<Vec<_>>(), ["ls\n"]);
}
