//! The house rules, asserted on the source: which room names what, and what a file looks like.

#![expect(clippy::unwrap_used, reason = "a tree that cannot be read is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms of a service (`src/<room>.rs` and `src/<room>/`), each with the paths it never names.
const ROOMS: [(&str, &str); 19] = [
    (
        "domain",
        "axum tokio rusqlite tokio_postgres reqwest tracing SystemTime Instant \
         crate::config crate::store crate::watch crate::portal crate::acquirer crate::metrics crate::app \
         crate::web crate::http crate::pos",
    ),
    ("store", "axum StatusCode crate::app crate::web crate::http crate::pos"),
    (
        "app",
        "axum rusqlite tokio_postgres StatusCode crate::http crate::pos crate::web crate::config",
    ),
    (
        "web",
        "rusqlite tokio_postgres SELECT INSERT Mutex RwLock std::env crate::store crate::acquirer \
         crate::limits crate::rates crate::http crate::pos crate::config",
    ),
    ("portal", "axum crate::http crate::config"),
    ("acquirer", "axum crate::store crate::app crate::http crate::pos crate::config"),
    ("rates", "axum rusqlite tokio_postgres crate::app crate::http crate::store"),
    ("jobs", "axum rusqlite tokio_postgres crate::web crate::http crate::pos"),
    (
        "pos",
        "rusqlite tokio_postgres SELECT INSERT Mutex RwLock std::env crate::store crate::acquirer \
         crate::limits crate::rates crate::http",
    ),
    ("mail", "axum rusqlite tokio_postgres crate::store crate::http crate::pos crate::config"),
    ("payout", "axum rusqlite tokio_postgres crate::http crate::pos"),
    ("file", "axum tokio crate::domain crate::store crate::http crate::pos crate::config"),
    ("seed", "axum rusqlite tokio_postgres crate::http crate::pos"),
    (
        "limits",
        "axum tokio rusqlite tokio_postgres reqwest crate::store crate::portal crate::acquirer crate::http \
         crate::pos",
    ),
    ("metrics", "reqwest crate::http crate::portal"),
    (
        "watch",
        "axum rusqlite tokio_postgres crate::store::sqlite crate::store::postgres crate::http",
    ),
    ("http", "rusqlite tokio_postgres SELECT INSERT Mutex RwLock std::env crate::pos"),
    ("config", "axum tokio rusqlite crate::store crate::watch crate::http"),
    ("main", "axum rusqlite domain"),
];

/// Names that say where something was put, not what it is.
const DRAWERS: [&str; 6] = ["utils", "helpers", "models", "types", "services", "prelude"];

/// Parts of paths that exist on one machine only.
const ELSEWHERE: [&str; 4] = ["/home/", "/root/", "/Users/", "shared/"];

#[test]
fn no_room_names_what_the_table_forbids() {
    let mut violations = Vec::new();
    for service in services() {
        for (room, never) in ROOMS {
            for file in room_files(&service, room) {
                let named = paths(&read(&file), file.parent() == Some(&service));
                for never in never.split(' ') {
                    if named.iter().any(|path| holds(path, never)) {
                        violations.push(format!("{} names {never}", shown(&file)));
                    }
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn the_rooms_of_a_service_are_those_of_the_table() {
    let services = services();
    for (room, _) in ROOMS {
        let stands = services.iter().any(|service| !room_files(service, room).is_empty());
        assert!(stands, "{room} stands in no service");
    }
    let strangers = services.iter().flat_map(|service| entries(service)).filter(|entry| {
        let name = entry.file_stem().unwrap();
        name != "lib" && ROOMS.iter().all(|(room, _)| name != *room)
    });
    assert_none(&strangers.map(|entry| shown(&entry)).collect::<Vec<_>>());
}

#[test]
fn the_main_of_a_service_is_at_most_40_lines() {
    let mains = services().into_iter().map(|service| service.join("main.rs"));
    assert_none(&longer_than(40, mains));
}

#[test]
fn a_source_file_is_at_most_450_lines() {
    assert_none(&longer_than(450, sources()));
}

#[test]
fn a_source_file_opens_with_what_it_is_for() {
    let silent = sources().filter(|file| !read(file).starts_with("//! "));
    assert_none(&silent.map(|file| shown(&file)).collect::<Vec<_>>());
}

#[test]
fn a_source_file_is_named_for_a_thing() {
    let drawers = sources().filter(|file| {
        let name = file.file_stem().unwrap();
        name == "mod" || DRAWERS.iter().any(|drawer| name == *drawer)
    });
    assert_none(&drawers.map(|file| shown(&file)).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_for_later() {
    let unfinished = sources().filter(|file| {
        let text = read(file);
        ["todo", "unimplemented"].iter().any(|word| text.contains(&format!("{word}!(")))
            || text.contains(concat!("#[", "ignore"))
    });
    assert_none(&unfinished.map(|file| shown(&file)).collect::<Vec<_>>());
}

#[test]
fn every_member_takes_the_lints_of_the_workspace() {
    let manifests =
        files().filter(|file| file.ends_with("Cargo.toml") && file.parent() != Some(&root()));
    let lax = manifests.filter(|file| !read(file).contains("[lints]\nworkspace = true"));
    assert_none(&lax.map(|file| shown(&file)).collect::<Vec<_>>());
}

#[test]
fn no_file_names_a_place_outside_the_project() {
    let beside = root().parent().unwrap().join("").display().to_string();
    let mut violations = Vec::new();
    for file in files().filter(|file| !file.ends_with("tests/tidy.rs")) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        let neighbours = text.match_indices(&beside).map(|(at, _)| leading_path(&text[at..]));
        let real =
            neighbours.filter(|path| beside != "/" && *path != beside && Path::new(path).exists());
        for place in ELSEWHERE.into_iter().filter(|place| text.contains(place)).chain(real) {
            violations.push(format!("{} names {place}", shown(&file)));
        }
    }
    assert_none(&violations);
}

#[test]
fn a_path_is_seen_however_it_is_imported() {
    let source = "use std::{env, sync::{Arc, Mutex}};\n// use axum;\nfn f() { crate::store::open(); super::http(); }";
    let expected = [
        "use",
        "std::env",
        "std::sync::Arc",
        "std::sync::Mutex",
        "fn",
        "f",
        "crate::store::open",
        "crate::http",
    ];
    assert_eq!(paths(source, true), expected);
    assert!(holds("std::sync::Mutex", "Mutex") && holds("crate::store::open", "crate::store"));
    assert!(!holds("std::sync::MutexGuard", "Mutex") && !holds("crate::store", "store::open"));
}

/// Every path in a source file, comments left out and groups of imports written in full. With
/// `top`, the file stands at the top of its crate, so its `super` is the crate itself.
fn paths(source: &str, top: bool) -> Vec<String> {
    let up = if top { "super::" } else { "super::super::" };
    let code: String =
        source.lines().flat_map(|line| [line.split("//").next().unwrap(), "\n"]).collect();
    let code = code.replace(up, "crate::").replace("::{", "::\0");
    let mut groups: Vec<String> = Vec::new();
    let mut path = String::new();
    let mut found = Vec::new();
    for c in code.chars() {
        if c.is_alphanumeric() || c == '_' || c == ':' {
            if path.is_empty() {
                path = groups.last().cloned().unwrap_or_default();
            }
            path.push(c);
            continue;
        }
        let ended = std::mem::take(&mut path);
        match c {
            '\0' => groups.push(ended.clone()),
            '{' => groups.push(String::new()),
            '}' => drop(groups.pop()),
            _ => {}
        }
        if c != '\0' && !ended.trim_matches(':').is_empty() {
            found.push(ended);
        }
    }
    found
}

/// Whether `part` stands in `path` as whole segments.
fn holds(path: &str, part: &str) -> bool {
    format!("::{path}::").contains(&format!("::{part}::"))
}

/// The path that `text` begins with.
fn leading_path(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && !"/._-".contains(c));
    text[..end.unwrap_or(text.len())].trim_end_matches('.')
}

/// The `src` folders of the crates that are built of rooms.
fn services() -> Vec<PathBuf> {
    let crates = entries(&root().join("crates")).into_iter().map(|member| member.join("src"));
    let services: Vec<_> = crates.filter(|src| src.join("domain.rs").exists()).collect();
    assert!(!services.is_empty(), "no service found");
    services
}

fn room_files(service: &Path, room: &str) -> Vec<PathBuf> {
    let mut files = walk(&service.join(room));
    files.extend(Some(service.join(room).with_extension("rs")).filter(|file| file.exists()));
    files
}

fn sources() -> impl Iterator<Item = PathBuf> {
    files().filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
}

/// Every file of the project, but what is hidden (`.ci` is not), built or stored in its folder.
fn files() -> impl Iterator<Item = PathBuf> {
    let inside = entries(&root()).into_iter().filter(|entry| {
        let name = entry.file_name().unwrap().to_string_lossy();
        name == ".ci" || !(name.starts_with('.') || name == "target" || name == "data")
    });
    inside.flat_map(|entry| walk(&entry))
}

/// The files under a path; itself, if it is one; none, if nothing is there.
fn walk(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    entries(path).iter().flat_map(|entry| walk(entry)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<_> = listed.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().display().to_string()
}

fn longer_than(lines: usize, files: impl Iterator<Item = PathBuf>) -> Vec<String> {
    let long = files.filter(|file| read(file).lines().count() > lines);
    long.map(|file| shown(&file)).collect()
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}
