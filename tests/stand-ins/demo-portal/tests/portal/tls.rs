//! Scripted TLS handshakes, certificates and errors at start.

use std::{net::TcpStream, time::Duration};

use demo_portal::{Options, Portal, Script, Tls};
use rustls::client::Resumption;

use crate::client::{builder, client, login};

#[tokio::test]
async fn scripted_handshake_failures_end_the_connection() {
    let portal = Portal::start(Options::default()).unwrap();
    for (tls, expected) in [
        (Tls::Expired, "Expired"),
        (Tls::OtherHost, "NotValidForName"),
        (Tls::UnknownAuthority, "UnknownIssuer"),
        (Tls::Refuse, "HandshakeFailure"),
        (Tls::Reset, "ConnectionReset"),
    ] {
        portal.script_tls(Script::queue([tls]));
        let error = login(&client(&portal), &portal.url(), "x", "x").await.unwrap_err();
        assert!(error.is_connect() && format!("{error:?}").contains(expected), "{error:?}");
    }
    assert!(portal.received("x").is_empty());
    assert_eq!(login(&client(&portal), &portal.url(), "x", "x").await.unwrap().status(), 401);
    let counters = portal.counters();
    assert_eq!((counters.connections, counters.handshakes, counters.failed_handshakes), (6, 1, 5));
}

#[tokio::test]
async fn a_handshake_can_hang() {
    let portal = Portal::start(Options::default()).unwrap();
    portal.script_tls(Tls::Hang);
    let impatient = builder(portal.ca_pem(), Resumption::disabled());
    let impatient = impatient.timeout(Duration::from_millis(300)).build().unwrap();
    assert!(login(&impatient, &portal.url(), "x", "x").await.unwrap_err().is_timeout());
    assert_eq!(portal.counters().connections, 1);
}

#[tokio::test]
async fn the_certificate_contains_the_requested_names() {
    let names = vec!["portal.example".to_owned()];
    let portal = Portal::start(Options { names, ..Options::default() }).unwrap();
    let port = portal.address().port();
    let client = builder(portal.ca_pem(), Resumption::disabled())
        .resolve("portal.example", portal.address())
        .build()
        .unwrap();
    for host in ["localhost", "127.0.0.1", "portal.example"] {
        let url = format!("https://{host}:{port}");
        assert_eq!(login(&client, &url, "x", "x").await.unwrap().status(), 401, "{host}");
    }
}

#[test]
fn start_errors_name_the_address_or_the_setting() {
    let portal = Portal::start(Options::default()).unwrap();
    let start = |options| Portal::start(options).err().unwrap().to_string();
    let taken = start(Options { address: portal.address(), ..Options::default() });
    assert!(taken.starts_with(&format!("cannot listen on {}: ", portal.address())), "{taken}");
    let ca_file = Some("/nowhere/ca.pem".into());
    let unwritable = start(Options { ca_file, ..Options::default() });
    assert!(unwritable.starts_with("DEMO_PORTAL_CA_FILE (--ca-file): "), "{unwritable}");
    let unnameable = start(Options { names: vec!["\u{e9}".to_owned()], ..Options::default() });
    assert!(unnameable.starts_with("DEMO_PORTAL_NAMES (--names): "), "{unnameable}");
    TcpStream::connect(portal.address()).unwrap();
}
