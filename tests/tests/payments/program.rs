//! The program: settings, help and subcommands.

use std::{fs, os::unix::fs::PermissionsExt as _};

use blackbox::{
    payments::{Card, PROGRAM, Service, Stopped, int, next},
    process::{self, DEADLINE, output},
};
use reqwest::Method;
use serde_json::json;
use tokio::{net::TcpListener, time::timeout};

#[tokio::test]
async fn a_wrong_setting_ends_the_process_and_is_named() {
    for (name, value) in [
        ("HOST", "nowhere"),
        ("PORT", "65536"),
        ("ALLOWED_HOSTS", "a.example,https://b.example"),
        ("RUST_LOG", "a=b=c"),
        ("DRAIN_TIMEOUT", "soon"),
        ("METRICS_TOKEN_FILE", "/no/such/file"),
        ("PAYMENTS_POS_PORT", "many"),
        ("PAYMENTS_CACHE", "much"),
        ("PAYMENTS_POS_URL", "shop.example"),
        ("PAYMENTS_POS_URL", "ftp://shop.example"),
        ("PAYMENTS_POS_URL", "https://shop.example/#page"),
        ("PAYMENTS_RATES_FILE", "/no/such/file"),
        ("PAYMENTS_DATABASE_URL_FILE", "/no/such/file"),
        ("PAYMENTS_DATABASE_CONNECTIONS", "0"),
        ("PAYMENTS_DESK_KEY", "00"),
        ("PAYMENTS_DESK_KEY_FILE", "/no/such/file"),
        ("PAYMENTS_DESK_URL", "http://desk.example/"),
        ("PAYMENTS_SMTP_URL", "smtp://mail.example"),
        ("PAYMENTS_SMTP_URL_FILE", "/no/such/file"),
        ("PAYMENTS_MAIL_FROM", "nobody"),
        ("PAYMENTS_MAIL_HELLO", "no host"),
        ("PAYMENTS_PAYOUT_DELAY", "7"),
        ("PAYMENTS_PAYOUT_NAME", "..."),
        ("PAYMENTS_PAYOUT_IBAN", "DE00"),
        ("PAYMENTS_PAYOUT_BIC", "COBA"),
        ("PAYMENTS_FX_SPREAD", "-0.02"),
        ("PAYMENTS_FEE_RATE", "much"),
        ("PAYMENTS_FEE_RATE", "-0.01"),
        ("PAYMENTS_FEE_FLAT", "25"),
        ("PAYMENTS_FEE_FLAT", "XXX:25"),
        ("PAYMENTS_FEE_FLAT", "EUR:0.25"),
        ("PAYMENTS_FEE_DISPUTE", "EUR"),
        ("PAYMENTS_AUTHORIZATION_TTL", "30"),
        ("PAYMENTS_EVENT_RETENTION", "90"),
        ("PAYMENTS_WEBHOOKS_INSECURE", "perhaps"),
        ("PAYMENTS_WEBHOOK_NETWORKS", "10.0.0.0/33"),
        ("PAYMENTS_WEBHOOK_CA_FILE", "/no/such/file"),
        ("PAYMENTS_WEBHOOK_TEST_LIMIT", "many"),
        ("PAYMENTS_SANDBOX_CLOCK", "sometimes"),
        ("PAYMENTS_OUTBOX_CONCURRENCY", "513"),
        ("PAYMENTS_ACQUIRER", "sandbox"),
        ("PAYMENTS_ACQUIRER", "http"),
        ("PAYMENTS_ACQUIRER_URL", "http://acquirer.example"),
        ("PAYMENTS_ACQUIRER_URL", "https://acquirer.example"),
        ("PAYMENTS_ACQUIRER_SECRET_FILE", "/no/such/file"),
        ("PAYMENTS_STRIPE_URL", "http://api.stripe.com/"),
        ("PAYMENTS_STRIPE_FILES_URL", "http://files.stripe.com/"),
        ("PAYMENTS_STRIPE_URL", "https://api.stripe.com/?key=1"),
        ("PAYMENTS_STRIPE_PUBLISHABLE_KEY", "sk_live_1"),
        ("PAYMENTS_STRIPE_SCRIPT_URL", "http://js.stripe.com/v3/"),
        ("PAYMENTS_STRIPE_KEY", "line\nbreak"),
        ("PAYMENTS_STRIPE_KEY_FILE", "/no/such/file"),
        ("PAYMENTS_STRIPE_WEBHOOK_SECRET_FILE", "/no/such/file"),
    ] {
        println!("{name}={value}");
        let stderr = process::failure_line(Stopped::new(&[]).with(name, value).command()).await;
        assert!(stderr.contains(name), "{name}={value}: {stderr}");
    }
}

#[tokio::test]
async fn a_newer_store_is_used_only_if_its_migration_permits_this_version() {
    let mut place = Service::with(&[]).await.stop().await;
    place.has_later_migration("future_from_0_1_0");
    let service = place.start().await;
    service.process().logged(|line| line.contains("a newer version of this program wrote")).await;
    let _ = service.merchant().await.pay("EUR", 100).await;
    place = service.stop().await;
    place.has_later_migration("far_future_from_7_1_0");
    let complaint = process::failure_line(place.command()).await;
    let expected = "newer version of this program wrote the store: use version 7.1.0 or a newer";
    assert!(complaint.contains(expected), "{complaint}");
}

#[tokio::test]
async fn a_store_from_before_the_first_version_is_rejected() {
    let place = Service::with(&[]).await.stop().await;
    place.change("UPDATE refinery_schema_history SET checksum = '1' WHERE version = 1");
    let stderr = process::failure_line(place.command()).await;
    assert!(stderr.contains("before version 0.1.0 wrote the store"), "{stderr}");
}

#[tokio::test]
async fn fee_settings_apply_to_merchants_created_later() {
    let service = Service::with(&[]).await;
    let before = service.merchant().await;
    let place = service.stop().await.with("PAYMENTS_FEE_RATE", "0.015");
    let place = place.with("PAYMENTS_FEE_FLAT", "EUR:10").with("PAYMENTS_FEE_DISPUTE", "DKK:1");
    let service = place.start().await;
    let before = before.by(&before.app.at(&service));
    let after = service.merchant().await;
    assert_eq!(
        after.fetch().await["pricing"],
        json!({
            "rate": 0.015,
            "flat": { "currency": "EUR", "amount": 10 },
            "dispute": { "currency": "DKK", "amount": 1 },
        })
    );
    for (merchant, balance) in [(before, 1000 - 25 - 25), (after, 1000 - 15 - 10)] {
        let captured = merchant.pay("EUR", 1000).await.capture(1000).await;
        assert_eq!(int(&captured["trail"][0]["balance"]), balance);
    }
}

#[tokio::test]
async fn help_shows_no_value() {
    let settings = [
        ("METRICS_TOKEN", "xyzzy-token"),
        ("PAYMENTS_DATA_DIR", "/xyzzy-directory"),
        ("PAYMENTS_DATABASE_URL", "postgres://xyzzy@xyzzy/xyzzy"),
        ("PAYMENTS_DATABASE_CA_FILE", "/xyzzy-roots"),
        ("PAYMENTS_DESK_KEY", "xyzzy"),
        ("PAYMENTS_SMTP_URL", "smtp://xyzzy:xyzzy@xyzzy"),
        ("PAYMENTS_MAIL_FROM", "xyzzy@mail.example"),
        ("PAYMENTS_MAIL_HELLO", "xyzzy.example"),
        ("PAYMENTS_PAYOUT_NAME", "xyzzy"),
        ("PAYMENTS_RATES_FILE", "/xyzzy-rates"),
        ("PAYMENTS_WEBHOOK_CA_FILE", "/xyzzy-authorities"),
        ("PAYMENTS_ACQUIRER_URL", "https://xyzzy.example"),
        ("PAYMENTS_ACQUIRER_CA_FILE", "/xyzzy-acquirer"),
        ("PAYMENTS_STRIPE_KEY", "xyzzy-key"),
        ("PAYMENTS_STRIPE_URL", "https://xyzzy.example/"),
        ("PAYMENTS_STRIPE_PUBLISHABLE_KEY", "pk_xyzzy"),
        ("PAYMENTS_STRIPE_SCRIPT_URL", "https://xyzzy.example/"),
    ];
    process::help_hides(PROGRAM, &settings).await;
}

#[tokio::test]
async fn seed_creates_its_data_once_with_a_payment_link() {
    let place = Stopped::new(&[]).with("PAYMENTS_POS_URL", "https://pay.example/page/");
    fs::remove_dir(place.data()).unwrap();
    let seed = async || {
        let mut command = place.command();
        command.arg("seed");
        let ended = process::run(command).await;
        assert!(ended.status.success(), "{}", output(&ended));
        fs::read_to_string(place.data().join("demo.env")).unwrap()
    };
    let made = seed().await;
    assert_eq!(seed().await, made);
    assert_eq!(fs::metadata(place.data()).unwrap().permissions().mode() & 0o777, 0o700);
    let link = made.lines().find_map(|line| line.strip_prefix("PAYMENTS_LINK='")).unwrap();
    let path = link.strip_suffix('\'').unwrap().strip_prefix("https://pay.example/page").unwrap();
    let service = place.start().await;
    let page = service.show(&next(&service.show(path).await)).await.expect(200);
    assert!(page.text().contains("€9.95"), "{page:?}");
    assert!(page.text().contains("Mug Shop"), "{page:?}");
}

#[tokio::test]
async fn a_payout_pays_the_merchants_of_the_demo() {
    let place = Stopped::new(&[]);
    let mut command = place.command();
    command.arg("seed");
    assert!(process::run(command).await.status.success());
    let demo = fs::read_to_string(place.data().join("demo.env")).unwrap();
    let value = |name: &str| demo.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let service = place.start().await;
    for currency in ["EUR", "DKK"] {
        let body = json!({
            "key": value(&format!("PAYMENTS_{currency}_MERCHANT_KEY=")),
            "currency": "EUR",
            "amount": 995,
            "card": Card::VISA.details(),
        });
        let paid = service.pay("/transactions", &body).await.expect(201).json();
        let path =
            format!("/transactions/{}/captures", paid["transaction"]["id"].as_str().unwrap());
        let capture = service.request(Method::POST, &path).json(&json!({ "amount": 995 }));
        let _ = capture.basic_auth("", value("PAYMENTS_API_KEY=")).send().await.expect(201);
    }
    let place = service.stop().await;
    let file = place.data().join("transfers.csv");
    let mut command = place.command();
    command.args(["payout", "--test", "--csv"]).arg(&file);
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{}", output(&ended));
    let transfers = fs::read_to_string(&file).unwrap();
    for row in ["Mug Shop,IE29AIBK93115212345678,EUR,9.45", "Krusbutikken,DK5000400440116243,DKK,"]
    {
        assert!(transfers.contains(row), "{transfers}");
    }
}

#[tokio::test]
async fn healthcheck_succeeds_only_while_the_service_runs() {
    let service = Service::with(&[]).await;
    let port = service.process().address().port();
    assert!(process::is_healthy(PROGRAM, port).await);
    service.stop().await;
    assert!(!process::is_healthy(PROGRAM, port).await);
}

#[tokio::test]
async fn a_backup_of_a_running_service_can_be_restored() {
    let service = Stopped::on(None, &[]).start().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    let before = transaction.capture(400).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("copy.db");
    let mut command = service.data().command();
    command.args(["backup", "--to", file.to_str().unwrap()]);
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{}", output(&ended));
    transaction.capture(600).await;

    let restored = Stopped::on(None, &[]);
    fs::copy(&file, restored.data().join("payments.db")).unwrap();
    restored.agrees().await;
    let restored = restored.start().await;
    let transaction = transaction.by(&transaction.app.at(&restored));
    assert_eq!(transaction.fetch().await, before);
    transaction.capture(600).await;
}

#[tokio::test]
async fn the_exit_code_is_2_for_settings_and_3_for_what_others_hold() {
    let place = Stopped::on(None, &[]).with("PAYMENTS_FEE_RATE", "much");
    process::exits_with(2, place.command()).await;
    let service = Stopped::on(None, &[]).start().await;
    let output = process::exits_with(3, service.data().command()).await;
    assert!(output.contains("in use"), "{output}");
    let port = service.process().address().port().to_string();
    process::exits_with(3, Stopped::on(None, &[]).with("PORT", &port).command()).await;
    let place = Stopped::on(None, &[]);
    let file = place.data().join("transfers.csv");
    let url = "postgres://ann@127.0.0.1:1/none";
    let place = place.with("PAYMENTS_DATABASE_URL", url);
    for arguments in [&[][..], &["check"], &["seed"], &["payout", "--csv", file.to_str().unwrap()]]
    {
        let mut command = place.command();
        command.args(arguments);
        process::exits_with(3, command).await;
    }
    let place = place.with("PAYMENTS_DATABASE_URL", "postgres://?sslmode=maybe");
    process::exits_with(2, place.command()).await;
}

/// The database accepts the connection and does not answer, so the start takes some seconds.
#[tokio::test]
async fn signals_during_the_start_do_not_end_the_process() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ann@{}/none", silent.local_addr().unwrap());
    let place = Stopped::on(None, &[]).with("PAYMENTS_DATABASE_URL", &url);
    let child = place.command().spawn().unwrap();
    let _connection = timeout(DEADLINE, silent.accept()).await.unwrap().unwrap();
    for signal in ["HUP", "USR1", "USR2"] {
        process::send(child.id().unwrap(), signal).await;
    }
    let ended = timeout(DEADLINE, child.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", output(&ended));
    assert!(output(&ended).contains("no answer from the database"), "{}", output(&ended));
}

#[tokio::test]
async fn a_signal_stops_a_service_that_starts() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ann@{}/none", silent.local_addr().unwrap());
    let place = Stopped::on(None, &[]).with("PAYMENTS_DATABASE_URL", &url);
    let child = place.command().spawn().unwrap();
    let _connection = timeout(DEADLINE, silent.accept()).await.unwrap().unwrap();
    process::send(child.id().unwrap(), "TERM").await;
    let ended = timeout(DEADLINE, child.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", output(&ended));
}

#[tokio::test]
async fn a_check_connects_again_if_the_database_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ann@{}/none", silent.local_addr().unwrap());
    let place = Stopped::on(None, &[]).with("PAYMENTS_DATABASE_URL", &url);
    let mut check = place.command().arg("check").kill_on_drop(true).spawn().unwrap();
    let _first = timeout(DEADLINE, silent.accept()).await.unwrap().unwrap();
    let second = timeout(DEADLINE, silent.accept()).await.unwrap().unwrap();
    drop(second);
    let ended = timeout(DEADLINE, check.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(3));
}

#[tokio::test]
async fn errors_show_everything_that_is_missing_or_similar() {
    let missing = "the following required arguments were not provided:";
    for (arguments, expected) in [
        (&["payout"][..], format!("{missing}\n  <--pain001 <FILE>|--csv <FILE>>")),
        (&["reconcile"], format!("{missing}\n  --from <FROM>")),
        (&["returns"], format!("{missing}\n  --from <FROM>")),
        (&["backup"], format!("{missing}\n  --to <TO>")),
        (&["import"], format!("{missing}\n  --from <FROM>")),
        (
            &["reconcile", "--from=x", "--day=2026-11-21", "--since=2026-11-21"],
            "the argument '--day <DAY>' cannot be used with '--since <DAY>'".to_owned(),
        ),
        (
            &["payouts"],
            "unrecognized subcommand 'payouts'\n  tip: a similar subcommand exists: 'payout'"
                .to_owned(),
        ),
        (
            &["reconcile", "--formats", "x"],
            "unexpected argument '--formats' found\n  tip: a similar argument exists: '--format'"
                .to_owned(),
        ),
    ] {
        let mut command = process::command(PROGRAM, &[]);
        command.args(arguments);
        assert_eq!(process::exits_with(2, command).await, expected);
    }
}

#[tokio::test]
async fn no_error_shows_a_password_or_a_key() {
    for name in [
        "PAYMENTS_DATABASE_URL",
        "PAYMENTS_SMTP_URL",
        "PAYMENTS_ACQUIRER_URL",
        "PAYMENTS_POS_URL",
        "PAYMENTS_TERMS_URL",
        "PAYMENTS_PRIVACY_URL",
        "PAYMENTS_ACCESSIBILITY_URL",
        "PAYMENTS_STRIPE_URL",
        "PAYMENTS_STRIPE_SCRIPT_URL",
        "PAYMENTS_STRIPE_PUBLISHABLE_KEY",
        "TRUSTED_PROXIES",
        "PAYMENTS_WEBHOOK_NETWORKS",
        "HOST",
    ] {
        process::hides_passwords(name, |value| {
            let place = Stopped::on(None, &[]).with(name, value);
            place.with("PAYMENTS_MAIL_FROM", "shop@mail.example").command()
        })
        .await;
    }
    let place = Stopped::on(None, &[]).with("PAYMENTS_STRIPE_PUBLISHABLE_KEY", "sk_live_xyzzy");
    let output = process::exits_with(2, place.command()).await;
    assert!(!output.contains("xyzzy"), "{output}");
}
