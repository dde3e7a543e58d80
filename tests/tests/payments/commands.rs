//! Subcommands that may take long: they show their progress, and stop where nothing is half done.

use std::{fs, time::Duration};

use blackbox::{
    payments::{PROGRAM, Service, Stopped, minimal},
    postgres::Database,
    process::{self, DEADLINE},
    soak::{rounds, seed},
    stopping::{INTERRUPTED, MOST_RUNS, hang_up_import, is_stopped, stop_backup, stop_often},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::{sleep, timeout},
};

use crate::{
    books::book,
    import::{command as import, is_empty, migrated},
};

/// Enough rows for a command of about a second.
const MANY: u32 = 200_000;

/// Adds postings of nothing to a line, which change no sum.
fn enlarge(place: &Stopped) {
    let added = place.change(&format!(
        "WITH RECURSIVE numbers (number) AS (
             SELECT 1000 UNION ALL SELECT number + 1 FROM numbers WHERE number < 999 + {MANY}
         ) INSERT INTO postings (line, number, account, currency, amount)
         SELECT line, numbers.number, account, currency, 0
         FROM numbers, (SELECT line, account, currency FROM postings
             WHERE account = 'merchant' LIMIT 1) AS posting"
    ));
    assert_eq!(added, MANY as usize);
}

/// A stopped service with a large ledger that is correct.
async fn large(place: Stopped) -> Stopped {
    let service = place.start().await;
    service.merchant().await.pay("EUR", 1000).await.capture(900).await;
    let place = service.stop().await;
    enlarge(&place);
    place
}

fn subcommand(place: &Stopped, name: &str) -> Command {
    let mut command = place.command();
    command.arg(name);
    command
}

#[tokio::test]
async fn a_backup_that_is_stopped_leaves_no_file() {
    let place = large(Stopped::on(None, &[])).await;
    let backup = || subcommand(&place, "backup");
    stop_backup(backup, |copy| {
        let count = "SELECT count(*) FROM postings";
        let count: u32 = copy.query_row(count, [], |row| row.get(0)).unwrap();
        assert!(count > MANY);
    })
    .await;
}

#[tokio::test]
async fn a_check_that_is_stopped_says_so() {
    let place = large(Stopped::new(&[])).await;
    let check = || subcommand(&place, "check");
    stop_often(check, "interrupted: not every rule was checked", async |_| {}).await;
    let line = "0".repeat(24);
    let since = || {
        let mut command = check();
        command.args(["--since", &line]);
        command
    };
    stop_often(since, "interrupted: not every rule was checked", async |_| {}).await;
}

#[tokio::test]
async fn a_payout_that_is_stopped_continues_in_the_next_run() {
    const MERCHANTS: usize = 10;
    let service = Service::with(&[]).await;
    let app = service.app().await;
    let mut body = minimal();
    body["test"] = true.into();
    body["bank"] = json!({ "iban": "DK5000400440116243", "holder": "Ann" });
    let mut transactions = Vec::new();
    for _ in 0..MERCHANTS {
        let merchant = app.merchant_with(&body).await;
        transactions.push(merchant.pay("EUR", 1_000_000).await);
    }
    let place = service.data();
    let file = place.data().join("transfers.csv");
    let payout = || {
        let mut command = subcommand(place, "payout");
        command.arg("--test").arg("--csv").arg(&file);
        command
    };
    // Each round has a day of its own, because a run that is complete books nothing.
    let (seed, begin) = (seed(), jiff::civil::date(2020, 1, 1));
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut days, mut stopped) = (0, 0);
    while days < rounds(6, 100) || stopped == 0 && days < MOST_RUNS {
        days += 1;
        for transaction in &transactions {
            transaction.capture(100).await;
        }
        let day =
            begin.saturating_add(jiff::Span::new().days(i64::try_from(days).unwrap())).to_string();
        let run = || {
            let mut command = payout();
            command.args(["--day", &day]);
            command
        };
        let moment = Duration::from_millis(rng.random_range(0..200));
        let signal = if rng.random() { "INT" } else { "TERM" };
        let message = format!(
            "the payouts are not complete: interrupted; run the same command again with --day {day}"
        );
        if is_stopped(run(), signal, moment, &message).await {
            stopped += 1;
            assert!(!file.exists(), "a stopped run left its file");
            assert!(!is_stopped(run(), signal, DEADLINE, "").await);
        }
        place.agrees().await;
        let written = fs::read_to_string(&file).unwrap();
        assert_eq!(written.lines().count(), 1 + MERCHANTS, "{written}");
        fs::remove_file(&file).unwrap();
    }
    assert!(stopped > 0, "each command was faster than the signal: the test shows nothing");
    for transaction in transactions {
        let lines = transaction.app.list(&transaction.app.merchants("?limit=100")).await;
        assert!(lines.iter().all(|merchant| merchant["balance"] == 0), "{lines:?}");
    }
}

/// Lets a database take this many milliseconds for each row of these tables.
fn slow_down(database: &Database, tables: &[&str], millis: i64) {
    database.run(&format!(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN PERFORM pg_sleep({millis} / 1000.0); RETURN NEW; END $$"
    ));
    for table in tables {
        database.run(&format!(
            "CREATE TRIGGER wait BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION wait()"
        ));
    }
}

/// A store to import, and a migrated database without data.
async fn source_and_target() -> (Stopped, Database) {
    let service = Stopped::on(None, &[blackbox::payments::SECRET]).start().await;
    book(&service).await;
    let place = service.stop().await;
    (place, migrated().await)
}

/// Waits until no session uses the database.
async fn is_left(database: &Database) {
    let sessions = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let left = async {
        while database.run(sessions) != "0" {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, left).await.unwrap();
}

#[tokio::test]
async fn an_import_that_is_stopped_leaves_nothing() {
    let (place, database) = source_and_target().await;
    slow_down(&database, &["transactions", "postings", "trail", "lines"], 1);
    let empty = "DO $$ DECLARE name text; BEGIN
                     FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
                         AND tablename NOT IN ('clock', 'refinery_schema_history')
                     LOOP EXECUTE format('TRUNCATE %I', name); END LOOP;
                     INSERT INTO expiry VALUES (true, decode(repeat('00', 12), 'hex'), 0);
                 END $$";
    let run = || import(&place, &database);
    stop_often(run, "interrupted: nothing was imported", async |stopped| {
        is_left(&database).await;
        if !stopped {
            assert!(!is_empty(&database));
            Stopped::on(Some(database.clone()), &[]).agrees().await;
            database.run(empty);
        }
        assert!(is_empty(&database));
    })
    .await;
    fs::remove_file(place.data().join("imported")).unwrap();
    place.agrees().await;
}

#[tokio::test]
async fn a_stopped_import_cancels_the_statement_of_the_server() {
    let (place, database) = source_and_target().await;
    // Far longer than a test waits.
    slow_down(&database, &["apps"], 3_600_000);
    let second = Duration::from_secs(1);
    let message = "interrupted: nothing was imported";
    assert!(is_stopped(import(&place, &database), "INT", second, message).await);
    is_left(&database).await;
    assert!(is_empty(&database));
}

#[tokio::test]
async fn sighup_stops_an_import_but_not_under_nohup() {
    let (place, database) = source_and_target().await;
    hang_up_import(import(&place, &database), &database, PROGRAM).await;
    assert!(!is_empty(&database));
}

#[tokio::test]
async fn a_command_prints_a_line_every_ten_seconds() {
    let (place, database) = source_and_target().await;
    // With these two tables, the import takes between eleven and twenty seconds.
    let rows = "SELECT (SELECT count(*) FROM trail) + (SELECT count(*) FROM lines)";
    let rows = place.number(rows);
    assert!((100..1000).contains(&rows), "{rows}");
    slow_down(&database, &["trail", "lines"], 12_000 / rows);
    let ended = process::run(import(&place, &database)).await;
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{stderr}");
    let words: Vec<_> = stderr.lines().next().unwrap().split_whitespace().collect();
    let ["import:", done, "of", total, "rows,", .., "left"] = *words else {
        panic!("{stderr}");
    };
    let [done, total] = [done, total].map(|number| number.parse::<u32>().unwrap());
    assert!(0 < done && done < total, "{stderr}");
}

#[tokio::test]
async fn a_terminal_shows_the_line_and_sends_interrupts() {
    let (place, database) = source_and_target().await;
    slow_down(&database, &["merchants"], 3_600_000);
    let command = import(&place, &database);
    let line = command.as_std();
    let words = [line.get_program()].into_iter().chain(line.get_args());
    let words: Vec<_> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    // A terminal, and the exit code of the command.
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"]);
    terminal
        .env_clear()
        .env("TERM", "xterm")
        .envs(line.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut terminal = terminal.kill_on_drop(true).spawn().unwrap();
    let (mut keys, mut screen) = (terminal.stdin.take().unwrap(), terminal.stdout.take().unwrap());
    let mut shown = String::new();
    let mut read = async |text: &str| {
        let mut bytes = [0; 4096];
        while !shown.contains(text) {
            let length = timeout(DEADLINE, screen.read(&mut bytes)).await.unwrap().unwrap();
            assert!(length > 0, "ended: {shown}");
            shown += &String::from_utf8_lossy(&bytes[..length]);
        }
    };
    read(" rows").await;
    keys.write_all(b"\x03").await.unwrap();
    read("error: interrupted: nothing was imported").await;
    let status = timeout(DEADLINE, terminal.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(INTERRUPTED));
    assert!(is_empty(&database));
}
