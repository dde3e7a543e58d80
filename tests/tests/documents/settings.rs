//! docs/settings.md: its tables are generated from `--help` of each program, by `make settings`.

use std::{env, fmt::Write as _, fs};

use blackbox::{
    project::{read, root},
    settings::{self, Setting},
};

use crate::PROGRAMS;

const PAGE: &str = "docs/settings.md";

/// People write what is above this line.
const MARK: &str = "<!-- `make settings` generates the rest from --help. -->\n";

/// What flags do not repeat of the names of their variables.
const PREFIXES: [&str; 4] = ["objstore-", "payments-", "demo-portal-", "demo-acquirer-"];

/// Sections of settings that several programs share: those of [`PROGRAMS`] up to a number.
const SHARED: [(&str, usize); 2] = [("Every program", 5), ("The three services", 3)];

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a variable of the tests")]
async fn the_page_shows_every_setting_of_help() {
    let page = read(PAGE);
    let (written, _) = page.split_once(MARK).unwrap();
    let expected = format!("{written}{MARK}{}", tables().await);
    if env::var_os("WRITE_SETTINGS").is_some() {
        fs::write(root().join(PAGE), expected).unwrap();
    } else {
        assert!(page == expected, "run `make settings`: {PAGE} should be\n{expected}");
    }
}

/// The sections of the shared settings, then those of the programs.
async fn tables() -> String {
    let mut settings = Vec::new();
    for program in PROGRAMS {
        settings.push(settings::listed(program).await);
    }
    let mut text = String::new();
    for (heading, programs) in SHARED {
        let (first, others) = settings[..programs].split_first().unwrap();
        let is_shared = |setting: &&Setting| others.iter().all(|other| other.contains(setting));
        let shared: Vec<_> = first.iter().filter(is_shared).cloned().collect();
        settings.iter_mut().for_each(|own| own.retain(|setting| !shared.contains(setting)));
        text += &table(heading, &shared);
    }
    for (program, own) in PROGRAMS.iter().zip(&settings) {
        text += &table(program, own);
    }
    text
}

fn table(heading: &str, settings: &[Setting]) -> String {
    let mut text = format!("\n## {heading}\n\n| setting | default | meaning |\n|---|---|---|\n");
    for Setting { name, flag, default, meaning } in settings {
        let default = match flag {
            None => "secret".to_owned(),
            Some(flag) => {
                let long = name.to_lowercase().replace('_', "-");
                let short = PREFIXES.iter().find_map(|prefix| long.strip_prefix(prefix));
                assert_eq!(*flag, format!("--{}", short.unwrap_or(&long)), "the page has no flags");
                if default.is_empty() { String::new() } else { format!("`{default}`") }
            }
        };
        let meaning = meaning.replace('<', "&lt;");
        writeln!(text, "| `{name}` | {default} | {meaning}. |").unwrap();
    }
    text
}
