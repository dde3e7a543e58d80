//! Parses the settings of a program out of its `--help`.

use std::collections::BTreeMap;

use crate::process;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The environment variable.
    pub name: String,
    /// With both hyphens. `None` for secrets.
    pub flag: Option<String>,
    /// Empty if there is none.
    pub default: String,
    /// What it does, and which values it has, on one line.
    pub meaning: String,
}

/// The settings of a program, by environment variable.
pub async fn of(program: &str) -> BTreeMap<String, Setting> {
    let settings = listed(program).await.into_iter();
    settings.map(|setting| (setting.name.clone(), setting)).collect()
}

/// The settings of a program, in the order of its help.
pub async fn listed(program: &str) -> Vec<Setting> {
    let help = help(program, &[]).await;
    let (flags, secrets) = help.split_once("\nSecrets").unwrap_or((&help, ""));
    let flags = flags.split("\n      --").skip(1).filter_map(option);
    let secrets = secrets.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    flags
        .chain(secrets.map(|(name, meaning)| Setting {
            name: name.to_owned(),
            flag: None,
            default: String::new(),
            meaning: meaning.to_owned(),
        }))
        .collect()
}

/// Parses what follows `--` in the help. `None` if no environment variable sets the option.
fn option(text: &str) -> Option<Setting> {
    let (described, rest) = text.split_once("[env: ")?;
    let (name, rest) = rest.split_once(']').expect("a variable ends");
    let (flag, described) = described.split_once(char::is_whitespace).expect("a flag");
    let default = rest.trim_start().strip_prefix("[default: ");
    let default = default.map_or("", |text| text.split_once("]\n").expect("a default ends").0);
    // The flag's value comes first, such as <HOST>, and further lines list values with a hyphen.
    let mut lines = described.lines().skip(1).map(str::trim).filter(|line| !line.is_empty());
    let mut meaning = lines.next().expect("a meaning").to_owned();
    for value in lines.filter_map(|line| line.strip_prefix("- ")) {
        let (value, described) = value.split_once(':').expect("a value with its meaning");
        meaning += &format!(". {value}: {}", described.trim());
    }
    let values = rest.split_once("[possible values: ").map(|(_, rest)| rest);
    let values = values.and_then(|rest| rest.split(']').next());
    if let Some(values) = values.filter(|values| *values != "true, false") {
        meaning += &format!(". {}", values.replace(", ", " or "));
    }
    Some(Setting {
        name: name.to_owned(),
        flag: Some(format!("--{flag}")),
        default: default.trim_matches('"').to_owned(),
        meaning,
    })
}

/// The `--help` of a program, or of its subcommand.
pub async fn help(program: &str, subcommand: &[&str]) -> String {
    let mut command = process::command(program, &[]);
    command.args(subcommand).arg("--help");
    let output = process::run(command).await;
    assert!(output.status.success(), "{program} {subcommand:?} prints no help");
    String::from_utf8(output.stdout).expect("text")
}
