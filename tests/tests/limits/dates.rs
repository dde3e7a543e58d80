//! The `Date` of answers while the wall clock jumps.

use std::net::SocketAddr;

use blackbox::{
    clock::Clock,
    raw::{self, Connection, Reply},
};
use jiff::{Timestamp, ToSpan as _, fmt::rfc2822::DateTimeParser};

use crate::subject::{Kind, Subject};

/// Connections per request and offset, so that every thread of the service answers.
const CONNECTIONS: usize = 16;

/// Seconds from the clock of this machine.
const OFFSETS: [i64; 5] = [0, 86_400, -3_600, -3_598, 0];

/// Requests with a status of each kind that a service sends.
fn requests(subject: &Subject) -> Vec<(SocketAddr, String)> {
    let to = subject.address();
    let mut requests = vec![
        (to, raw::get("/health")),
        (to, raw::get("/no/such/path")),
        (to, raw::get("//health")),
        (to, "GET /health HTTP/1.1\r\n\r\n".to_owned()),
        (to, "GET /health HTTP/1.0\r\nHost: a/b\r\n\r\n".to_owned()),
    ];
    if let Subject::Objstore(_, client) = subject {
        requests.push((to, upgrade(client.token())));
    }
    if let Subject::Payments(..) = subject {
        requests.push((subject.process().address_of("pos.address"), raw::get("/")));
    }
    requests
}

fn upgrade(token: &str) -> String {
    format!(
        "GET /socket HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

fn date(reply: &Reply) -> Timestamp {
    let date = reply.header("date").unwrap_or_else(|| panic!("no Date: {reply:?}"));
    DateTimeParser::new().parse_timestamp(date).unwrap()
}

#[tokio::test]
async fn the_date_follows_a_clock_that_steps_back() {
    for kind in Kind::ALL {
        let clock = Clock::new();
        let subject = Subject::with(kind, &clock.variables()).await;
        for offset in OFFSETS {
            clock.set(offset);
            for (to, request) in requests(&subject) {
                for _ in 0..CONNECTIONS {
                    // A Date has no fraction.
                    let begun = Timestamp::now() + (offset - 1).seconds();
                    let reply = Connection::open(to).await.ask(&request).await;
                    let ended = Timestamp::now() + offset.seconds();
                    let date = date(&reply);
                    assert!(begun < date && date <= ended, "{kind:?} {offset}: {reply:?}");
                }
            }
        }
    }
}
