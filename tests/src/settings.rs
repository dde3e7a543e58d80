//! Parses the settings of a program out of its `--help`.

use std::collections::BTreeMap;

use crate::process;

#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// With both hyphens. `None` for secrets.
    pub flag: Option<String>,
    /// Empty if there is none.
    pub default: String,
}

/// The settings of a program, by environment variable.
pub async fn of(program: &str) -> BTreeMap<String, Setting> {
    let help = help(program, &[]).await;
    let (flags, secrets) = help.split_once("\nSecrets").unwrap_or((&help, ""));
    let mut settings = BTreeMap::new();
    for option in flags.split("\n      --").skip(1) {
        let Some((_, variable)) = option.split_once("[env: ") else { continue };
        let (name, rest) = variable.split_once(']').expect("a variable ends");
        let flag = option.split(|c: char| c.is_whitespace()).next().expect("a flag");
        let default = rest.trim_start().strip_prefix("[default: ");
        let default = default.map_or("", |text| text.split_once("]\n").expect("a default ends").0);
        let setting = Setting {
            flag: Some(format!("--{flag}")),
            default: default.trim_matches('"').to_owned(),
        };
        settings.insert(name.to_owned(), setting);
    }
    let secrets = secrets.lines().filter_map(|line| line.strip_prefix("  "));
    let names = secrets.filter_map(|line| line.split(' ').next());
    settings.extend(
        names.map(|name| (name.to_owned(), Setting { flag: None, default: String::new() })),
    );
    settings
}

/// The `--help` of a program, or of its subcommand.
pub async fn help(program: &str, subcommand: &[&str]) -> String {
    let mut command = process::command(program, &[]);
    command.args(subcommand).arg("--help");
    let output = process::run(command).await;
    assert!(output.status.success(), "{program} {subcommand:?} prints no help");
    String::from_utf8(output.stdout).expect("text")
}
