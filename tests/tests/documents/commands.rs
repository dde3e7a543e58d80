//! Static checks of the commands in the documents. `scripts/containers` runs the examples.

use std::{collections::BTreeMap, path::Path, process::Command};

use blackbox::{
    page,
    project::{files, read, root},
    settings,
};

use crate::assert_none;

/// The programs whose subcommands and flags are known.
const PROGRAMS: [&str; 6] =
    ["authsvc", "objstore-svc", "payments-svc", "demo-portal", "demo-acquirer", "bench"];

/// The languages of blocks that hold commands: without a prompt and with one.
const SHELL: [&str; 2] = ["sh", "shell"];

#[test]
fn every_shell_block_is_valid_bash() {
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

/// `byexample` runs every block with a prompt. These blocks must be marked `shell` and be in docs/.
#[test]
fn only_executed_examples_have_a_prompt() {
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
        for command in blocks.chain(page.code.iter().cloned()).flat_map(|script| commands(&script))
        {
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

/// The commands of a block, without its prompts and the output.
fn script(block: &str) -> String {
    if !block.lines().any(|line| line.starts_with("$ ")) {
        return block.to_owned();
    }
    let lines = block.lines();
    let typed = lines.filter_map(|line| line.strip_prefix("$ ").or(line.strip_prefix("> ")));
    typed.map(|line| format!("{line}\n")).collect()
}

/// Splits a script into simple commands, and each command into words. Quotes are dropped, so an
/// operator in quotes also ends a command. The rest begins with no known program and is ignored.
fn commands(script: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    let lines = script.lines().map(|line| line.split(" #").next().unwrap());
    let commands = lines.flat_map(|line| line.split(['|', '&', ';', '(', ')', '`']));
    commands
        .map(|command| {
            let words = command.split_whitespace().map(|word| word.replace(['"', '\''], ""));
            // Assignments, `sudo` and `env` come before the name of the program.
            words
                .skip_while(|word| word.contains('=') || ["sudo", "env"].contains(&word.as_str()))
                .collect()
        })
        .filter(|words: &Vec<String>| !words.is_empty())
        .collect()
}

/// The programs, targets, packages and tests of the project.
struct Known {
    /// The help of each program by subcommand. The key "" has the help of the program itself.
    helps: BTreeMap<&'static str, BTreeMap<String, String>>,
    makefile: String,
    members: Vec<String>,
    /// The paths and function signatures of all Rust files, to find tests and their modules.
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

    /// `Ok(false)` if the program is unknown, an error if its arguments are wrong.
    fn check(&self, command: &[String]) -> Result<bool, String> {
        // In `docker-compose exec NAME /PROGRAM`, the path names the program.
        let is_known = |word: &str| PROGRAMS.contains(&word);
        let path = command
            .iter()
            .position(|word| word.rsplit_once('/').is_some_and(|(_, name)| is_known(name)));
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
        let is_known = |target: &&String| self.makefile.contains(&format!("\n{target}:"));
        match targets.iter().find(|target| !is_known(target)) {
            Some(target) => Err(format!("no target {target}")),
            None => Ok(()),
        }
    }

    fn check_program(&self, program: &str, arguments: &[String]) -> Result<(), String> {
        let helps = &self.helps[program];
        let name = arguments
            .first()
            .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        let name = name.filter(|name| !name.starts_with('-')).map_or("", String::as_str);
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
                    if !self
                        .members
                        .iter()
                        .any(|member| member.contains(&format!("[package]\n{name}\n")))
                    {
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
fn commands_are_found_after_variables_and_inside_other_commands() {
    let found =
        commands("A=1 make up && x | docker exec y /authsvc healthcheck \\\n  --port 1 # why");
    let expected = ["make up", "x", "docker exec y /authsvc healthcheck --port 1"];
    assert_eq!(found.iter().map(|words| words.join(" ")).collect::<Vec<_>>(), expected);
    assert_eq!(script("$ a \\\n> b\nc\n"), "a \\\nb\n");
}
