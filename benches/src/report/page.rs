//! Writes the numbers, the plots, and the section "Results" of `benchmarks.md`.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result};

use crate::{
    figures::Figure,
    report::{
        Results,
        plot::{DARK, LIGHT, PLOTS, Plot},
        text::{cell, percentiles, ratio},
    },
};

// Paths in the folder of documents.
const PAGE: &str = "benchmarks.md";
const FOLDER: &str = "benchmarks";
const NUMBERS: &str = "benchmarks/results.json";

/// The page is generated from this heading to its end.
const HEADING: &str = "\n## Results\n";
/// The tables of the page: heading, service and figures. The published numbers have all figures.
const SECTIONS: [(&str, &str, &[Figure]); 6] = [
    ("Set", "objstore-svc", &[Figure::Set]),
    ("Get", "objstore-svc", &[Figure::Get]),
    ("Push and deliveries", "objstore-svc", &[Figure::PushLatency, Figure::Watch]),
    ("Capture", "payments-svc", &[Figure::Captures]),
    ("Sign-in", "authsvc", &[Figure::Authenticate]),
    ("Live payments", "payments-svc", &[Figure::LivePayments]),
];
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
    for (heading, service, figures) in SECTIONS {
        write!(page, "\n### {heading}\n\n")?;
        for plot in PLOTS.iter().filter(|plot| figures.contains(&plot.figure)) {
            picture(&mut page, plot, results)?;
        }
        table(&mut page, service, figures, results)?;
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
    let machine = &results.machine;
    let versions: Vec<_> =
        results.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let conditions = format!(
        "{}: {}, {} cores shared by servers and load, {:.0} GiB of memory, {}; {}, where an append of 4 KiB and its sync take {:.2} ms. {}.",
        results.date,
        machine.processor,
        machine.cores,
        machine.memory,
        machine.kernel,
        machine.disk,
        machine.sync,
        versions.join(", ")
    );
    writeln!(page, "{}", wrapped(&conditions))?;
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
    let words = format!("{}: the rates and latencies of the table below", escaped(&words));
    let image = format!("<img src=\"{}\" alt=\"{words}\">", file(LIGHT.name));
    writeln!(page, "{}\n</picture>\n", wrapped(&image))?;
    Ok(())
}

fn table(page: &mut String, service: &str, figures: &[Figure], results: &Results) -> Result<()> {
    writeln!(page, "| load | contender | median | rounds | p50 | p99 | {service} ÷ peer |")?;
    writeln!(page, "|---|---|--:|--:|--:|--:|--:|")?;
    let tables = || results.tables.iter().filter(|table| figures.contains(&table.figure));
    let mut last = "";
    for row in tables().flat_map(|table| &table.rows) {
        let [p50, p99] = percentiles(row);
        let cells = [
            if row.title == last { String::new() } else { escaped(&row.title) },
            format!("{}{}", row.who, if row.is_disturbed() { " (disturbed)" } else { "" }),
            cell(row.result.as_ref()),
            row.result.as_ref().map(|result| result.range()).unwrap_or_default(),
            p50,
            p99,
            ratio(row),
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
    fn a_table_contains_numbers_and_ratios() {
        let page = page(BEFORE, &results()).unwrap();
        for line in [
            "| load &lt;a&gt; | objstore-svc set | 30,000/s | 29,000–31,000 | 1.00 ms | 2.50 ms |  |",
            "|  | etcd put | 10,000/s |  |  |  | 3.00 × |",
            "|  | Redis SET (disturbed) | 80,000/s |  |  |  | 0.38 × |",
            "**Get could not be measured:** no port",
        ] {
            assert!(page.lines().any(|other| other == line), "no {line}\nin {page}");
        }
        assert!(page.replace('\n', " ").contains("its sync take 0.50 ms. etcd 3.4.23."), "{page}");
        assert!(!page.contains("smoke"), "{page}");
        let smoke = Results { quick: true, ..results() };
        assert!(super::page(BEFORE, &smoke).unwrap().contains("placeholder of a smoke run"));
    }

    #[test]
    fn a_picture_names_its_load_and_lines_are_short() {
        let page = page(BEFORE, &results()).unwrap();
        assert!(page.contains(r#"srcset="benchmarks/objstore-writes-dark.svg""#), "{page}");
        assert!(page.contains("alt=\"load &lt;a&gt;: the rates"), "{page}");
        let mut lines = page.lines().filter(|line| !line.starts_with('|'));
        assert_eq!(lines.find(|line| line.chars().count() > LINE), None);
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
