//! What an operation costs: instructions in user mode, system calls, and bytes written to files. Unlike
//! seconds, they hardly depend on other load. Each service has one worker, and one client asks.
//!
//! `tests/cost.tsv` has the stored costs. `make test` compares system calls and bytes. `make cost` has
//! optimised programs, in the folder `COST_PROGRAMS`, and compares all. With `WRITE_COST=1` it stores
//! what it measured. `COST_FILE` names another file.

#![expect(clippy::unwrap_used, reason = "a failed step fails its test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::PathBuf,
};

use blackbox::{project::root, service::variable};

mod meter;
mod operations;

use meter::{Figures, Meter, Tool};

/// By how much each figure may differ: as a part of the stored one, and at least.
const FIGURES: [(&str, f64, f64); 3] =
    [("instructions", 0.02, 0.0), ("system calls", 0.02, 0.5), ("bytes", 0.03, 0.0)];

/// How many times as much some figures may differ. On a slow machine, the jobs of each second do more
/// during one operation. In how many parts the answers of PostgreSQL and the deliveries go is chance.
const LOOSE: [(&str, Figures); 4] = [
    ("batch of 50 sets", [1.0, 5.0, 5.0]),
    ("capture, PostgreSQL", [5.0, 10.0, 5.0]),
    ("capture, SQLite", [1.0, 10.0, 5.0]),
    ("set with 10 deliveries", [1.0, 10.0, 2.0]),
];

type Costs = BTreeMap<String, Figures>;

#[tokio::test]
async fn each_operation_costs_what_it_did() {
    let mut costs = Costs::new();
    let all = [Tool::Callgrind, Tool::Strace, Tool::Kernel];
    for tool in if optimised().is_some() { &all[..] } else { &all[1..] } {
        operations::measure(&mut Meter::new(*tool, &mut costs)).await;
    }
    let (file, measured) = (file(), written(&costs));
    println!("{measured}");
    if variable("WRITE_COST").is_some() {
        return fs::write(file, measured).unwrap();
    }
    let (stored_features, stored) = parsed(&fs::read_to_string(&file).unwrap());
    let is_comparable = optimised().is_none() || stored_features == features();
    assert!(is_comparable, "stored by another processor: compare with a commit by scripts/cost");
    assert_eq!(differences(&stored, &costs), [] as [String; 0]);
}

/// The folder of the optimised programs.
fn optimised() -> Option<String> {
    variable("COST_PROGRAMS")
}

fn file() -> PathBuf {
    variable("COST_FILE").map_or_else(|| root().join("tests/cost.tsv"), PathBuf::from)
}

/// One line for each figure that differs, or is missing.
fn differences(stored: &Costs, measured: &Costs) -> Vec<String> {
    let mut lines = Vec::new();
    for name in stored.keys().chain(measured.keys()).collect::<BTreeSet<_>>() {
        let [Some(before), Some(now)] = [stored, measured].map(|costs| costs.get(name)) else {
            lines.push(format!("{name}: is only stored, or only measured"));
            continue;
        };
        let loose = LOOSE.iter().find(|(loose, _)| loose == name);
        let times = loose.map_or([1.0; 3], |(_, times)| *times);
        let compared = FIGURES.iter().zip(times).zip(before.iter().zip(now));
        for (((figure, part, least), times), (before, now)) in compared {
            let most = least.max(before * part) * times;
            if *now > 0.0 && (now - before).abs() > most {
                let change = (now / before - 1.0) * 100.0;
                lines.push(format!("{name}: {figure} {before} -> {now} ({change:+.1} %)"));
            }
        }
    }
    lines
}

fn written(costs: &Costs) -> String {
    let mut text =
        format!("# {}\noperation\t{}\n", features(), FIGURES.map(|(name, ..)| name).join("\t"));
    for (name, [instructions, calls, bytes]) in costs {
        writeln!(text, "{name}\t{instructions:.0}\t{calls:.1}\t{bytes:.0}").unwrap();
    }
    text
}

fn parsed(text: &str) -> (String, Costs) {
    let mut lines = text.lines();
    let features = lines.next().unwrap().trim_start_matches("# ").to_owned();
    let costs = lines.skip(1).map(|line| {
        let mut columns = line.split('\t');
        let name = columns.next().unwrap().to_owned();
        (name, [(); 3].map(|()| columns.next().unwrap().parse().unwrap()))
    });
    (features, costs.collect())
}

/// The features of the processor for which libraries have code, as far as Valgrind knows them.
fn features() -> String {
    let known =
        ["aes", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "pclmulqdq", "rdrand", "sse4_2"];
    let described = fs::read_to_string("/proc/cpuinfo").unwrap();
    let flags = described.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |name: &&&str| flags.split_whitespace().any(|flag| flag == **name);
    known.iter().filter(has).copied().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_difference_names_its_operation() {
    let costs = |figures| Costs::from([("set".to_owned(), figures)]);
    let stored = costs([1000.0, 4.0, 500.0]);
    for same in [[1000.0, 4.0, 500.0], [1020.0, 4.4, 514.0], [981.0, 3.6, 486.0]] {
        assert_eq!(differences(&stored, &costs(same)), [] as [String; 0]);
    }
    for (other, line) in [
        ([1021.0, 4.0, 500.0], "set: instructions 1000 -> 1021 (+2.1 %)"),
        ([1000.0, 5.0, 500.0], "set: system calls 4 -> 5 (+25.0 %)"),
        ([1000.0, 4.0, 700.0], "set: bytes 500 -> 700 (+40.0 %)"),
        ([0.0, 2.0, 500.0], "set: system calls 4 -> 2 (-50.0 %)"),
        ([900.0, 4.0, 500.0], "set: instructions 1000 -> 900 (-10.0 %)"),
    ] {
        assert_eq!(differences(&stored, &costs(other)), [line]);
    }
    assert_eq!(differences(&stored, &Costs::new()), ["set: is only stored, or only measured"]);
}
