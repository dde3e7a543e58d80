//! Commands: what can be told of them without running them. `scripts/containers` runs the examples.

use std::{collections::BTreeMap, path::Path, process::Command};

use blackbox::{
    page,
    project::{files, read, root},
    settings,
};

use crate::assert_none;

/// The programs whose subcommands and flags are known.
const PROGRAMS: [&str; 5] = ["authsvc", "objstore-svc", "payments-svc", "demo-portal", "bench"];

/// The languages of blocks that hold commands: without a prompt and with one.
const SHELL: [&str; 2] = ["sh", "shell"];

#[test]
fn every_block_of_commands_is_a_script_of_bash() {
    let mut violations = Vec::new();
    for page in page::pages() {
        for block in page.blocks_of(&SHELL) {
            let checked = Command::new("bash").args(["-n", "-c", &script(block)]).output().unwrap();
            if !checked.status.success() {
                let error = String::from_utf8_lossy(&checked.stderr);
                violations.push(format!("{}: {error}{block}", page.path));
            }
        }
    }
    assert_none(&violations);
}

/// `byexample` runs blocks with a prompt wherever they are; `shell` says which ones.
#[test]
fn only_examples_that_run_have_a_prompt() {
    let mut violations = Vec::new();
    for page in page::pages() {
        for block in &page.blocks {
            let has_prompt = block.text.lines().any(|line| line.starts_with("$ "));
            let runs = block.language == "shell" && page.path.starts_with("docs/");
            if has_prompt != runs {
                violations.push(format!("{}:\n{}", page.path, block.text));
            }
        }
    }
    assert_none(&violations);
}

#[tokio::test]
async fn every_command_exists_with_its_subcommand_and_flags() {
    let known = Known::load().await;
    let mut seen = 0;
    let mut violations = Vec::new();
    for page in page::pages() {
        let blocks = page.blocks_of(&SHELL).map(script);
        for command in blocks.chain(page.code.iter().cloned()).flat_map(|it| commands(&it)) {
            match known.check(&command) {
                Ok(true) => seen += 1,
                Ok(false) => {}
                Err(error) => {
                    violations.push(format!("{}: {error}: {}", page.path, command.join(" ")));
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} known commands found");
    assert_none(&violations);
}

/// A block without its prompts and the output after them.
fn script(block: &str) -> String {
    if !block.lines().any(|line| line.starts_with("$ ")) {
        return block.to_owned();
    }
    let lines = block.lines();
    let typed = lines.filter_map(|line| line.strip_prefix("$ ").or(line.strip_prefix("> ")));
    typed.map(|line| format!("{line}\n")).collect()
}

/// The simple commands of a script, in words. Quotes are dropped, so operators inside of them end
/// a command, too: what comes out then begins with no known program.
fn commands(script: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    let lines = script.lines().map(|line| line.split(" #").next().unwrap());
    let commands = lines.flat_map(|line| line.split(['|', '&', ';', '(', ')', '`']));
    commands
        .map(|command| {
            let words = command.split_whitespace().map(|word| word.replace(['"', '\''], ""));
            // An assignment and what runs a program as another user come before its name.
            words
                .skip_while(|word| word.contains('=') || ["sudo", "env"].contains(&word.as_str()))
                .collect()
        })
        .filter(|words: &Vec<String>| !words.is_empty())
        .collect()
}

/// What the project has that a command can name.
struct Known {
    /// The help of each program, by its subcommand; of the program itself under "".
    helps: BTreeMap<&'static str, BTreeMap<String, String>>,
    makefile: String,
    members: Vec<String>,
    /// The names of tests and of their modules.
    tests: String,
}

impl Known {
    async fn load() -> Self {
        let mut helps = BTreeMap::new();
        for program in PROGRAMS {
            helps.insert(program, helps_of(program).await);
        }
        let files = files();
        let manifests = files.iter().filter(|file| file.ends_with("Cargo.toml"));
        let tests = files.iter().filter(|file| file.ends_with(".rs"));
        let tests = tests.map(|file| {
            let source = read(file);
            let functions = source.lines().filter(|line| line.contains("fn "));
            format!("{file}\n{}\n", functions.collect::<Vec<_>>().join("\n"))
        });
        Self {
            helps,
            makefile: read("Makefile"),
            members: manifests.map(|file| read(file)).collect(),
            tests: tests.collect(),
        }
    }

    /// Whether the program of a command is known.
    fn check(&self, command: &[String]) -> Result<bool, String> {
        // docker-compose exec NAME /PROGRAM: a path behind another program names the program.
        let is_known = |word: &str| PROGRAMS.contains(&word);
        let path =
            command.iter().position(|it| it.rsplit_once('/').is_some_and(|it| is_known(it.1)));
        let at = if is_known(&command[0]) { 0 } else { path.unwrap_or(0) };
        let program = command[at].rsplit('/').next().unwrap();
        let arguments = &command[at + 1..];
        match program {
            "make" => self.check_make(arguments)?,
            "cargo" => self.check_cargo(arguments)?,
            program if self.helps.contains_key(program) => {
                self.check_program(program, arguments)?
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check_make(&self, targets: &[String]) -> Result<(), String> {
        let is_known = |it: &&String| self.makefile.contains(&format!("\n{it}:"));
        match targets.iter().find(|target| !is_known(target)) {
            Some(target) => Err(format!("no target {target}")),
            None => Ok(()),
        }
    }

    fn check_program(&self, program: &str, arguments: &[String]) -> Result<(), String> {
        let helps = &self.helps[program];
        let name =
            arguments.first().filter(|it| it.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        let name = name.filter(|it| !it.starts_with('-')).map_or("", String::as_str);
        let Some(help) = helps.get(name) else {
            return Err(format!("{program} has no subcommand {name}"));
        };
        let flags = arguments.iter().filter(|argument| argument.starts_with("--"));
        for flag in flags.map(|flag| flag.split('=').next().unwrap()) {
            if !help.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == flag) {
                return Err(format!("{program} {name} has no flag {flag}"));
            }
        }
        Ok(())
    }

    fn check_cargo(&self, arguments: &[String]) -> Result<(), String> {
        let mut arguments = arguments.iter();
        let Some(subcommand) = arguments.next() else { return Ok(()) };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().map_or("", String::as_str);
            match argument.as_str() {
                "-p" | "--package" => {
                    let name = format!("name = \"{}\"", value());
                    if !self.members.iter().any(|it| it.contains(&format!("[package]\n{name}\n"))) {
                        return Err(format!("no package with {name}"));
                    }
                }
                "--test" => {
                    let path = Path::new("tests/tests").join(value());
                    let is_known = root().join(&path).is_dir()
                        || root().join(path.with_extension("rs")).is_file();
                    if !is_known {
                        return Err(format!("no test target {}", path.display()));
                    }
                }
                "--features" | "--test-threads" | "--bin" | "--profile" => drop(value()),
                filter if subcommand == "test" && !filter.starts_with('-') => {
                    let mut parts = filter.split("::").filter(|part| !part.is_empty());
                    if let Some(part) = parts.find(|part| !self.tests.contains(part)) {
                        return Err(format!("no test or module {part}"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The help of a program and of each of its subcommands.
async fn helps_of(program: &str) -> BTreeMap<String, String> {
    let help = settings::help(program, &[]).await;
    let listed = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let listed = listed.lines().take_while(|line| line.starts_with("  "));
    let names: Vec<_> =
        listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    let mut helps = BTreeMap::new();
    for name in names.into_iter().filter(|name| name != "help") {
        let help = settings::help(program, &[&name]).await;
        helps.insert(name, help);
    }
    helps.insert(String::new(), help);
    helps
}

#[test]
fn a_command_is_found_behind_variables_and_inside_another() {
    let found =
        commands("A=1 make up && x | docker exec y /authsvc healthcheck \\\n  --port 1 # why");
    let expected = ["make up", "x", "docker exec y /authsvc healthcheck --port 1"];
    assert_eq!(found.iter().map(|it| it.join(" ")).collect::<Vec<_>>(), expected);
    assert_eq!(script("$ a \\\n> b\nc\n"), "a \\\nb\n");
}
