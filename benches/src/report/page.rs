//! Writes the numbers, the plots, and the section "Results" of `benchmarks.md`.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result};

use crate::report::{
    Results,
    plot::{DARK, LIGHT, PLOTS, Plot},
    text::{cell, percentiles, ratio},
};

// Paths in the folder of documents.
const PAGE: &str = "benchmarks.md";
const FOLDER: &str = "benchmarks";
const NUMBERS: &str = "benchmarks/results.json";

/// The page is generated from this heading to its end.
const HEADING: &str = "\n## Results\n";
const SERVICES: [&str; 3] = ["objstore-svc", "authsvc", "payments-svc"];
/// Longest line outside of tables, in characters.
const LINE: usize = 130;

/// Writes the numbers, the page and the plots.
pub(crate) fn publish(results: &Results, documents: &Path) -> Result<()> {
    fs::create_dir_all(documents.join(FOLDER))?;
    fs::write(documents.join(NUMBERS), serde_json::to_string_pretty(results)? + "\n")?;
    render(documents)
}

/// Writes the page and the plots from the published numbers.
pub(crate) fn render(documents: &Path) -> Result<()> {
    for (name, text) in rendered(documents)? {
        fs::write(documents.join(name), text)?;
    }
    Ok(())
}

/// Returns paths and texts of the page and the plots.
fn rendered(documents: &Path) -> Result<Vec<(String, String)>> {
    let read = |name: &str| {
        let path = documents.join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let results: Results = serde_json::from_str(&read(NUMBERS)?).context(NUMBERS)?;
    let mut files = vec![(PAGE.to_owned(), page(&read(PAGE)?, &results)?)];
    for plot in &PLOTS {
        for theme in [&LIGHT, &DARK] {
            let name = format!("{FOLDER}/{}-{}.svg", plot.name, theme.name);
            files.push((name, plot.svg(&results, theme)?));
        }
    }
    Ok(files)
}

/// Replaces the results in the text of the page.
fn page(before: &str, results: &Results) -> Result<String> {
    let (written, _) = before.split_once(HEADING).context("the page has no section \"Results\"")?;
    let mut page = format!("{written}{HEADING}\n");
    head(&mut page, results)?;
    for service in SERVICES {
        write!(page, "\n### {service}\n\n")?;
        for plot in PLOTS.iter().filter(|plot| plot.service == service) {
            picture(&mut page, plot, results)?;
        }
        table(&mut page, service, results)?;
    }
    Ok(page)
}

fn head(page: &mut String, results: &Results) -> Result<()> {
    writeln!(page, "`make bench` writes this section. Do not edit it.\n")?;
    if results.quick {
        writeln!(
            page,
            "**These results are a placeholder of a smoke run. The numbers mean nothing.**\n"
        )?;
    }
    let rows = || results.tables.iter().flat_map(|table| &table.rows);
    let targets = rows().filter_map(|row| row.target.as_ref());
    let met = targets.clone().filter(|target| target.is_met()).count();
    writeln!(
        page,
        "{met} of {} targets are met. The tables and the plots mark every missed target.\n",
        targets.count()
    )?;
    let machine = &results.machine;
    writeln!(page, "| machine | |\n|---|---|")?;
    writeln!(page, "| date | {} |", results.date)?;
    writeln!(page, "| processor | {} |", machine.processor)?;
    writeln!(page, "| cores | {}, shared by servers and load |", machine.cores)?;
    writeln!(page, "| memory | {:.0} GiB |", machine.memory)?;
    writeln!(page, "| kernel | {} |", machine.kernel)?;
    writeln!(
        page,
        "| disk | {}; an append of 4 KiB and its sync take {:.2} ms |",
        machine.disk, machine.sync
    )?;
    writeln!(page, "\n| program | version |\n|---|---|")?;
    for (name, version) in &results.versions {
        writeln!(page, "| {name} | {version} |")?;
    }
    Ok(())
}

fn picture(page: &mut String, plot: &Plot, results: &Results) -> Result<()> {
    let words = plot.words(results);
    if words.is_empty() {
        return Ok(());
    }
    let file = |theme: &str| format!("{FOLDER}/{}-{theme}.svg", plot.name);
    writeln!(page, "<picture>")?;
    for theme in [DARK.name, LIGHT.name] {
        let media = format!("(prefers-color-scheme: {theme})");
        writeln!(page, "  <source media=\"{media}\" srcset=\"{}\">", file(theme))?;
    }
    let image = format!("  <img src=\"{}\" alt=\"{}\">", file(LIGHT.name), escaped(&words));
    writeln!(page, "{}\n</picture>\n", wrapped(&image))?;
    Ok(())
}

fn table(page: &mut String, service: &str, results: &Results) -> Result<()> {
    writeln!(
        page,
        "| load | contender | median | rounds | p50 | p99 | {service} ÷ peer | target | remarks |"
    )?;
    writeln!(page, "|---|---|--:|--:|--:|--:|--:|---|---|")?;
    let tables = || results.tables.iter().filter(|table| table.figure.service() == service);
    let mut last = "";
    for row in tables().flat_map(|table| &table.rows) {
        let [p50, p99] = percentiles(row);
        let cells = [
            if row.title == last { String::new() } else { escaped(&row.title) },
            row.who.clone(),
            cell(row.result.as_ref()),
            row.result.as_ref().map(|result| result.range()).unwrap_or_default(),
            p50,
            p99,
            ratio(row),
            row.target.as_ref().map(|target| target.marked()).unwrap_or_default(),
            row.notes.join("; "),
        ];
        writeln!(page, "| {} |", cells.join(" | "))?;
        last = &row.title;
    }
    for table in tables() {
        for note in &table.notes {
            writeln!(page, "\n{note}")?;
        }
        if let Some(failure) = &table.failure {
            writeln!(page, "\n**{:?} could not be measured:** {failure}", table.figure)?;
        }
    }
    Ok(())
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Wraps a text at [`LINE`].
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let characters = word.chars().count();
        if length > 0 && length + 1 + characters > LINE {
            lines.push('\n');
            length = 0;
        } else if !lines.is_empty() {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += characters;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::results;

    const BEFORE: &str = "# Benchmarks\n\nBy hand.\n\n## Results\n\nOld.\n\n### old\n";

    #[test]
    fn only_the_section_results_is_replaced() {
        let page = page(BEFORE, &results()).unwrap();
        assert!(page.starts_with("# Benchmarks\n\nBy hand.\n\n## Results\n\n"), "{page}");
        assert!(!page.contains("Old."), "{page}");
        assert_eq!(super::page(&page, &results()).unwrap(), page, "the second time");
        super::page("# Benchmarks\n", &results()).unwrap_err();
    }

    #[test]
    fn a_table_contains_numbers_and_verdicts() {
        let page = page(BEFORE, &results()).unwrap();
        for line in [
            "1 of 2 targets are met. The tables and the plots mark every missed target.",
            "| load &lt;a&gt; | objstore-svc set | 30,000/s | 29,000–31,000 | 1.00 ms | 2.50 ms |  |  |  |",
            "|  | etcd put | 10,000/s |  |  |  | 3.00 × | ≥ 2 ×: 3, met |  |",
            "|  | Redis SET | 80,000/s |  |  |  | 0.38 × | ≥ 0.5 ×: 0.38, **missed** | a remark |",
            "**Health could not be measured:** no port",
            "| etcd | 3.4.23 |",
        ] {
            assert!(page.lines().any(|other| other == line), "no {line}\nin {page}");
        }
        assert!(!page.contains("smoke"), "{page}");
        let smoke = Results { quick: true, ..results() };
        assert!(super::page(BEFORE, &smoke).unwrap().contains("placeholder of a smoke run"));
    }

    #[test]
    fn the_alternative_text_of_a_picture_contains_its_numbers() {
        let page = page(BEFORE, &results()).unwrap();
        assert!(page.contains(r#"srcset="benchmarks/objstore-writes-dark.svg""#), "{page}");
        let unwrapped = page.replace('\n', " ");
        for words in [
            "load &lt;a&gt;: objstore-svc set 30,000/s, p50 1 ms, p99 2.5 ms; etcd put 10,000/s, objstore-svc is 3.00 × this",
            "(target ≥ 0.5 ×: missed)",
        ] {
            assert!(unwrapped.contains(words), "no {words}\nin {page}");
        }
        let is_table = |line: &&str| line.starts_with('|');
        let long =
            page.lines().filter(|line| !is_table(line)).find(|line| line.chars().count() > LINE);
        assert_eq!(long, None);
    }

    #[test]
    fn publishing_writes_the_page_and_the_plots() {
        let documents = tempfile::tempdir().unwrap();
        fs::write(documents.path().join(PAGE), BEFORE).unwrap();
        publish(&results(), documents.path()).unwrap();
        let read = |name: &str| fs::read_to_string(documents.path().join(name)).unwrap();
        assert_eq!(read(PAGE), page(BEFORE, &results()).unwrap());
        let plot = &PLOTS[0];
        assert_eq!(
            read("benchmarks/objstore-writes-dark.svg"),
            plot.svg(&results(), &DARK).unwrap()
        );
        assert_eq!(
            read("benchmarks/objstore-writes-light.svg"),
            plot.svg(&results(), &LIGHT).unwrap()
        );
    }

    #[test]
    fn the_published_files_match_the_published_numbers() {
        let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        for (name, text) in rendered(&documents).unwrap() {
            let published = fs::read_to_string(documents.join(&name)).unwrap_or_default();
            assert!(published == text, "{name} differs: run `scripts/bench plot docs`");
        }
    }
}
