//! Writes the numbers, the plots, and the section "Results" of `benchmarks.md`.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::{
    figures::Figure,
    report::{
        Results, count,
        plot::{DARK, LIGHT, PLOTS, Plot},
    },
};

// Paths in the folder of documents.
const PAGE: &str = "benchmarks.md";
const FOLDER: &str = "benchmarks";
const NUMBERS: &str = "benchmarks/results.json";

/// The page is generated from this heading to its end.
const HEADING: &str = "\n## Results\n";
/// The tables of the page: heading, service and figures.
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
            files.push((plot.file(theme), plot.svg(&results, theme)?));
        }
    }
    Ok(files)
}

/// Replaces the results in the text of the page.
fn page(before: &str, results: &Results) -> Result<String> {
    let (written, _) = before.split_once(HEADING).context("the page has no section \"Results\"")?;
    let note = "`make bench` writes this section. Do not edit it.";
    let text = text_with(results, |plot| picture(plot, results));
    Ok(format!("{written}{HEADING}\n{note}\n\n{text}"))
}

/// The results without plots.
pub(crate) fn text(results: &Results) -> String {
    text_with(results, |_| String::new())
}

/// The conditions and the tables of what was measured, with a picture before each table that has
/// one.
fn text_with(results: &Results, picture: impl Fn(&Plot) -> String) -> String {
    let mut text = wrapped(&conditions(results)) + "\n";
    for (heading, service, figures) in SECTIONS {
        if results.tables.iter().any(|table| figures.contains(&table.figure)) {
            let plots = PLOTS.iter().filter(|plot| figures.contains(&plot.figure));
            let pictures: String = plots.map(&picture).collect();
            let table = table(service, figures, results);
            text += &format!("\n### {heading}\n\n{pictures}{table}");
        }
    }
    text
}

fn conditions(results: &Results) -> String {
    let machine = &results.machine;
    let versions: Vec<_> =
        results.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    format!(
        "{}: {}, {} cores shared by servers and load, {:.0} GiB of memory, {}; {}, where an append of 4 KiB and its sync take {:.2} ms. {}.",
        results.date,
        machine.processor,
        machine.cores,
        machine.memory,
        machine.kernel,
        machine.disk,
        machine.sync,
        versions.join(", ")
    )
}

fn picture(plot: &Plot, results: &Results) -> String {
    let titles: Vec<_> =
        plot.panels(results).iter().map(|panel| escaped(panel[0].title.as_str())).collect();
    if titles.is_empty() {
        return String::new();
    }
    let sources = [&DARK, &LIGHT].map(|theme| {
        let media = format!("(prefers-color-scheme: {})", theme.name);
        format!("  <source media=\"{media}\" srcset=\"{}\">\n", plot.file(theme))
    });
    let words = format!("{}: the rates and latencies of the table below", titles.join("; "));
    let image = wrapped(&format!("<img src=\"{}\" alt=\"{words}\">", plot.file(&LIGHT)));
    format!("<picture>\n{}{image}\n</picture>\n\n", sources.concat())
}

fn table(service: &str, figures: &[Figure], results: &Results) -> String {
    let mut text =
        format!("| load | contender | median | rounds | p50 | p99 | {service} ÷ peer |\n");
    text += "|---|---|--:|--:|--:|--:|--:|\n";
    let tables = || results.tables.iter().filter(|table| figures.contains(&table.figure));
    let mut last = "";
    for row in tables().flat_map(|table| &table.rows) {
        let rate = row.rate.as_ref();
        let range = rate.filter(|rate| rate.least < rate.most);
        let ms = |number: f64| format!("{number:.2} ms");
        let cells = [
            Some(escaped(&row.title)).filter(|_| row.title != last),
            Some(format!("{}{}", row.who, if row.disturbed { " (disturbed)" } else { "" })),
            rate.map(|rate| format!("{}/s", count(rate.median))),
            range.map(|rate| format!("{}–{}", count(rate.least), count(rate.most))),
            row.latency.map(|latency| ms(latency.p50)),
            row.latency.map(|latency| ms(latency.p99)),
            row.ratio.map(|ratio| format!("{ratio:.2} ×")),
        ];
        text += &format!("| {} |\n", cells.map(Option::unwrap_or_default).join(" | "));
        last = &row.title;
    }
    for table in tables() {
        for note in &table.notes {
            text += &format!("\n{note}\n");
        }
        if let Some(failure) = &table.failure {
            text += &format!("\n**{:?} could not be measured:** {failure}\n", table.figure);
        }
    }
    text
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Wraps a text at [`LINE`].
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
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
        for theme in [&LIGHT, &DARK] {
            let svg = PLOTS[0].svg(&results(), theme).unwrap();
            assert_eq!(read(&PLOTS[0].file(theme)), svg);
        }
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
