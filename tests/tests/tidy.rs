//! The layers of the services: what each module may import.

#![expect(clippy::unwrap_used, reason = "a source file that cannot be read fails the test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    iter::Peekable,
    path::Path,
    process::Command,
};

use proc_macro2::{TokenStream, TokenTree};

/// For each module of a service: the other modules, and the crates and modules of [`GUARDED`], that
/// it may import. Paths in tests count, too.
const LAYERS: [(&str, &[(&str, &str)]); 3] = [
    (
        "authsvc",
        &[
            ("domain", ""),
            ("portal", "domain metrics reqwest std::sync::Mutex std::time::Instant tokio tracing"),
            ("limits", "config"),
            ("metrics", "domain axum prometheus std::sync::Mutex std::time::Instant"),
            ("http", "domain limits metrics portal axum prometheus tokio"),
            ("config", "domain clap"),
            (
                "service",
                "config http limits metrics portal common::process common::serve \
                 std::net tokio tracing",
            ),
            ("probe", "config domain metrics portal service std::process tokio"),
            ("main", "config service common::process std::process"),
        ],
    ),
    (
        "objstore-svc",
        &[
            ("domain", ""),
            (
                "store",
                "domain common::batch common::control common::import common::postgres common::progress \
                 common::sql common::sqlite deadpool_postgres rand refinery rusqlite std::sync::Mutex std::thread \
                 std::time::Instant std::time::SystemTime tokio tokio_postgres tracing",
            ),
            ("lock", "std::sync::Mutex"),
            ("watch", "domain lock store rand tempfile tokio tracing"),
            ("http", "domain store watch axum common::serve prometheus rand tokio tracing"),
            ("config", "domain store clap common::postgres"),
            ("clients", "domain std::fs"),
            ("end_sessions", "config domain store common::control tokio"),
            ("expiry", "domain store watch tokio"),
            ("rules", "domain store watch prometheus std::fs tokio tracing"),
            (
                "service",
                "clients config domain end_sessions expiry http rules store watch common::control \
                 common::process common::serve \
                 prometheus std::net tokio tracing",
            ),
            (
                "main",
                "config end_sessions service store common::control common::process \
                 common::progress std::process",
            ),
        ],
    ),
    (
        "payments-svc",
        &[
            ("fields", ""),
            ("acquirer", "fields rand reqwest tokio tracing"),
            ("language", "axum"),
            ("mail", "language receipt_links lettre tokio"),
            ("webhook", "reqwest std::net std::sync::Mutex tokio"),
            ("rates", "std::fs std::sync::RwLock std::time::SystemTime tracing"),
            ("file", "std::fs tempfile"),
            (
                "store",
                "common::batch common::control common::import common::postgres common::progress \
                 common::sql common::sqlite refinery rusqlite std::sync::Mutex std::thread tempfile \
                 tokio tokio_postgres",
            ),
            ("formula", ""),
            ("csv_file", "std::fs tempfile"),
            ("limits", "config std::net"),
            ("metrics", "store common::batch prometheus"),
            ("authenticator", ""),
            ("receipt_links", ""),
            (
                "app",
                "acquirer authenticator limits rates store webhook prometheus rand tokio tracing",
            ),
            ("web", "app fields askama axum tokio"),
            ("http", "app web axum rand tokio tracing"),
            ("pos", "app language receipt_links web askama axum tower_http"),
            ("desk", "app authenticator formula language web askama axum rand tracing"),
            ("jobs", "acquirer app mail rates store webhook prometheus rand tokio tracing"),
            (
                "payout",
                "config file formula store askama common::control common::progress std::process \
                 tokio",
            ),
            ("new_key", "app config store common::control tokio"),
            ("reconcile", "config csv_file formula store common::progress std::process"),
            (
                "returns",
                "config csv_file file formula store common::control common::progress std::fs \
                 std::process tempfile tokio",
            ),
            ("seed", "app config file store common::control common::sqlite tokio"),
            ("standing", "config store common::control tokio"),
            ("sign_in_link", "config store common::control rand tokio"),
            ("orders", "new_key payout returns seed sign_in_link standing store common::control"),
            ("config", "store clap common::postgres lettre std::net"),
            (
                "service",
                "acquirer app authenticator config desk http jobs limits mail metrics orders pos rates receipt_links \
                 store webhook common::process common::serve prometheus std::net tokio tracing",
            ),
            (
                "main",
                "config new_key payout reconcile returns seed service sign_in_link standing store common::control \
                 common::process common::progress std::process",
            ),
        ],
    ),
];

/// Crates and modules that talk to the outside, or keep state that others share. Rules use none.
const GUARDED: [&str; 33] = [
    "askama",
    "axum",
    "clap",
    "common::batch",
    "common::control",
    "common::import",
    "common::postgres",
    "common::process",
    "common::progress",
    "common::serve",
    "common::sql",
    "common::sqlite",
    "deadpool_postgres",
    "lettre",
    "prometheus",
    "rand",
    "refinery",
    "reqwest",
    "rusqlite",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::sync::Mutex",
    "std::sync::RwLock",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tempfile",
    "tokio",
    "tokio_postgres",
    "tower_http",
    "tracing",
];

#[test]
fn each_module_imports_only_what_its_layer_allows() {
    let mut differences = Vec::new();
    for (service, layers) in LAYERS {
        let allowed: BTreeMap<&str, BTreeSet<String>> = layers
            .iter()
            .map(|(module, imports)| {
                (*module, imports.split_whitespace().map(str::to_owned).collect())
            })
            .collect();
        let imported = imports(service);
        for (module, imported) in &imported {
            let allowed = allowed.get(&**module);
            let is_allowed = |path: &&String| allowed.is_some_and(|paths| paths.contains(*path));
            let others = imported.iter().filter(|path| !is_allowed(path));
            differences.extend(others.map(|path| format!("{service}: {module} imports {path}")));
        }
        for (module, allowed) in allowed {
            let imported = imported.get(module);
            let is_used = |path: &&String| imported.is_some_and(|paths| paths.contains(*path));
            let unused = allowed.iter().filter(|path| !is_used(path));
            differences.extend(
                unused.map(|path| format!("{service}: {module} may import {path}, but does not")),
            );
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn the_rules_of_payments_have_no_effects() {
    for file in git(&["ls-files", "crates/payments-domain/src/"]).lines() {
        let paths = paths(&fs::read_to_string(root().join(file)).unwrap(), &[]);
        assert_eq!(paths.iter().find_map(|path| guarded(path)), None, "{file}");
    }
}

/// The newest action: its names, its route and its table.
const NEWEST: [&str; 4] = ["SetLinkSecret", "set_link_secret", "link-secret", "link_secrets"];

#[test]
fn an_endpoint_with_a_new_row_needs_eight_source_files() {
    let mut search = vec!["grep", "--name-only", "--fixed-strings"];
    NEWEST.iter().for_each(|name| search.extend(["-e", name]));
    // A page of the desk is another use of it.
    search.extend(["--", "crates/*.rs", "crates/*.sql", ":!crates/payments-svc/src/desk/"]);
    let files = git(&search);
    assert!(files.contains("migrations/sqlite/") && files.contains("migrations/postgres/"));
    assert!((6..=8).contains(&files.lines().count()), "{files}");
}

#[test]
fn each_mutant_has_its_line() {
    let mutants = fs::read_to_string(root().join("tests/mutants.tsv")).unwrap();
    for mutant in mutants.lines() {
        let [file, line, ..] = mutant.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{mutant}")
        };
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert_eq!(text.matches(line).count(), 1, "{file}: {line}");
    }
}

#[test]
fn only_the_vfs_has_unsafe_code() {
    let found = git(&["grep", "-lE", r"unsafe (\{|fn|extern|impl|trait)", "--", "*.rs"]);
    let expected = ["crates/coalescing-vfs/src/lib.rs", "crates/coalescing-vfs/src/tests.rs"];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn imports_are_found_however_they_are_written() {
    let source = r#"
        use std::{fmt, sync::{Arc, Mutex}};
        use super::super::store::Store;
        // use axum;
        fn f() -> crate::domain::Id {
            println!("{}", ::tokio::time::sleep as usize, r"axum::Router");
            self::g()
        }
        mod tests {
            use super::super::output;
            use super::super::super::metrics;
        }
    "#;
    let paths = paths(source, &["http", "list"]);
    for path in [
        "std::sync::Mutex",
        "crate::store::Store",
        "crate::domain::Id",
        "tokio::time::sleep",
        "crate::http::output",
        "crate::metrics",
    ] {
        assert!(paths.contains(path), "{path}: {paths:?}");
    }
    assert!(!paths.iter().any(|path| path.contains("axum")), "{paths:?}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The output of git in the root of the repository.
fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(root()).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The other modules and the guarded paths that each module of a service imports.
fn imports(service: &str) -> BTreeMap<String, BTreeSet<String>> {
    let source = format!("crates/{service}/src/");
    let listed = git(&["ls-files", &source]);
    let files = listed.lines().filter(|file| file.ends_with(".rs"));
    let files: Vec<(&str, Vec<&str>)> = files
        .map(|file| (file, file[source.len()..].trim_end_matches(".rs").split('/').collect()))
        .collect();
    assert!(!files.is_empty(), "{source} has no tracked files");
    let modules: BTreeSet<&str> = files.iter().map(|(_, place)| place[0]).collect();
    let mut imports = BTreeMap::<String, BTreeSet<String>>::new();
    for (file, place) in &files {
        let own = imports.entry(place[0].to_owned()).or_default();
        for path in paths(&fs::read_to_string(root().join(file)).unwrap(), place) {
            let module = path.strip_prefix("crate::").map(|rest| rest.split("::").next().unwrap());
            match module {
                Some(module) if module == place[0] => {}
                Some(module) => {
                    assert!(modules.contains(module), "{file}: {path} is in no module");
                    own.insert(module.to_owned());
                }
                None => own.extend(guarded(&path).map(str::to_owned)),
            }
        }
    }
    imports
}

/// The entry of [`GUARDED`] that contains this path.
fn guarded(path: &str) -> Option<&'static str> {
    let is_under = |guarded: &&str| format!("{path}::").starts_with(&format!("{guarded}::"));
    GUARDED.into_iter().find(is_under)
}

/// The paths in the source of the module at `place`. Groups of imports are written out, and `super`
/// is resolved.
fn paths(source: &str, place: &[&str]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    collect(source.parse().unwrap(), "", place, &mut paths);
    paths
}

fn collect(tokens: TokenStream, prefix: &str, place: &[&str], paths: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let mut path = match token {
            TokenTree::Ident(word) if word == "mod" => {
                let Some(TokenTree::Ident(name)) = tokens.next() else { continue };
                if let Some(TokenTree::Group(group)) = tokens.peek() {
                    let name = name.to_string();
                    collect(group.stream(), "", &[place, &[&name]].concat(), paths);
                    tokens.next();
                }
                continue;
            }
            TokenTree::Ident(name) => format!("{prefix}{name}"),
            TokenTree::Group(group) => {
                collect(group.stream(), "", place, paths);
                continue;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => continue,
        };
        while skip_colon(&mut tokens) && skip_colon(&mut tokens) {
            match tokens.next() {
                Some(TokenTree::Ident(name)) => path = format!("{path}::{name}"),
                Some(TokenTree::Group(group)) => {
                    collect(group.stream(), &format!("{path}::"), place, paths);
                }
                _ => break,
            }
        }
        paths.insert(resolved(&path, place));
    }
}

fn skip_colon(tokens: &mut Peekable<impl Iterator<Item = TokenTree>>) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ':');
    tokens.next_if(is_colon).is_some()
}

/// A path from the root of its crate, if it begins with `super`.
fn resolved(path: &str, place: &[&str]) -> String {
    let ups = path.split("::").take_while(|segment| *segment == "super").count();
    if ups == 0 {
        return path.to_owned();
    }
    let parents = place[..place.len().saturating_sub(ups)].iter().copied();
    let rest = path.split("::").skip(ups);
    ["crate"].into_iter().chain(parents).chain(rest).collect::<Vec<_>>().join("::")
}
