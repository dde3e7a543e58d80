//! Signals under load, and core dumps.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, chown},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use blackbox::{
    process::{self, DEADLINE, Process},
    raw::{Connection, get},
    rereading::SettingFile,
};
use tokio::{net::UnixDatagram, process::Command, task::JoinSet, time::timeout};

use crate::{
    memory::TURN,
    subject::{Kind, Subject, eventually},
};

/// Clients that send requests at the same time.
const CLIENTS: usize = 4;

/// The user and group `nobody`.
const NOBODY: u32 = 65534;

/// Requests that must succeed after each signal.
const REQUESTS: usize = 5;

async fn lives_through_signals(kind: Kind) {
    let _turn = TURN.lock().await;
    let settings = match kind {
        Kind::Payments => &[("PAYMENTS_ATTEMPT_LIMIT", "off")][..],
        _ => &[],
    };
    let subject = Arc::new(Subject::with(kind, settings).await);
    let (answered, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (subject, answered) = (Arc::clone(&subject), Arc::clone(&answered));
        let is_over = Arc::clone(&is_over);
        clients.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                subject.ordinary().run().await;
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for signal in ["HUP", "USR1", "USR2", "HUP"] {
        let before = answered.load(Ordering::Relaxed);
        subject.process().signal(signal).await;
        eventually(signal, async || {
            assert_eq!(clients.len(), CLIENTS);
            while let Some(ended) = clients.try_join_next() {
                ended.expect("no request fails");
            }
            (answered.load(Ordering::Relaxed) >= before + REQUESTS).then_some(())
        })
        .await;
    }
    subject.process().logged(|line| line.contains("SIGHUP: reading files again")).await;
    is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended.expect("no request fails");
    }
    Arc::into_inner(subject).expect("no client is left").stop().await;
}

#[tokio::test]
async fn authsvc_reads_files_at_sighup_and_ignores_user_signals() {
    lives_through_signals(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_reads_files_at_sighup_and_ignores_user_signals() {
    lives_through_signals(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_reads_files_at_sighup_and_ignores_user_signals() {
    lives_through_signals(Kind::Payments).await;
}

#[tokio::test]
async fn the_metrics_token_is_read_once() {
    let token = SettingFile::new("METRICS_TOKEN_FILE", "first");
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = certificate.cert.pem();
    for (kind, name, content) in [
        (Kind::Authsvc, "PORTAL_CA_FILE", &*certificate),
        (Kind::Objstore, "OBJSTORE_CLIENTS_FILE", ""),
        (Kind::Payments, "PAYMENTS_WEBHOOK_CA_FILE", &*certificate),
    ] {
        token.replace("first");
        let (directory, other) = (tempfile::tempdir().unwrap(), SettingFile::new(name, content));
        let path = directory.path().to_str().unwrap();
        let process = Process::start(process::command(
            kind.program(),
            &[
                token.variable(),
                other.variable(),
                ("PORT", "0"),
                ("PAYMENTS_POS_PORT", "0"),
                ("OBJSTORE_DATA_DIR", path),
                ("PAYMENTS_DATA_DIR", path),
            ],
        ))
        .await;
        token.replace("second");
        other.accepted(&process, content).await;
        for (token, status) in [("first", 200), ("second", 401)] {
            let request = format!(
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
            );
            let reply = Connection::open(process.address()).await.ask(request).await;
            assert_eq!(reply.status, status, "{kind:?}");
        }
        process.terminate().await;
        process.ended().await;
    }
}

#[tokio::test]
async fn a_process_of_an_ordinary_user_works_and_cannot_be_dumped() {
    for kind in Kind::ALL {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let settings = [
            ("PORT", "0"),
            ("PAYMENTS_POS_PORT", "0"),
            ("OBJSTORE_DATA_DIR", path),
            ("PAYMENTS_DATA_DIR", path),
        ];
        let mut command = process::command(kind.program(), &settings);
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        if is_root {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        let process = Process::start(command).await;
        let reply = Connection::open(process.address()).await.ask(get("/health")).await;
        assert_eq!(reply.status, 200, "{kind:?}");
        let limits = process.proc("limits");
        // The files of a process that can be dumped belong to its user.
        assert_eq!(fs::metadata(&limits).unwrap().uid(), 0, "{kind:?}");
        let limits = fs::read_to_string(limits).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
        process.terminate().await;
        process.ended().await;
    }
}

/// Starts a service as systemd does with `Type=notify`, and reads what it says.
async fn tells_systemd(kind: Kind) {
    let _turn = TURN.lock().await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let wrap = |mut command: Command| {
        command.env("NOTIFY_SOCKET", &path);
        command
    };
    let subject = Subject::wrapped(kind, &[], wrap).await;
    let said = async || {
        let mut message = [0; 100];
        let length = timeout(DEADLINE, socket.recv(&mut message)).await.unwrap().unwrap();
        String::from_utf8_lossy(&message[..length]).into_owned()
    };
    assert_eq!(said().await, "READY=1\n");
    subject.ordinary().run().await;
    subject.stop().await;
    assert_eq!(said().await, "STOPPING=1\n");
}

#[tokio::test]
async fn authsvc_tells_systemd_when_it_listens_and_stops() {
    tells_systemd(Kind::Authsvc).await;
}

#[tokio::test]
async fn objstore_tells_systemd_when_it_listens_and_stops() {
    tells_systemd(Kind::Objstore).await;
}

#[tokio::test]
async fn payments_tells_systemd_when_it_listens_and_stops() {
    tells_systemd(Kind::Payments).await;
}
