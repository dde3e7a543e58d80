//! The trace of a request, in the requests and log lines of all processes that it passes.

use std::collections::BTreeSet;

use blackbox::{
    payments::{LOCAL, Move, Received, Receiver, Webhook},
    process::Process,
};

use super::*;

const PAYING: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const CAPTURING: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0bb902b7-00";

/// The ID of a trace, in its header.
fn id(traceparent: &str) -> &str {
    traceparent.split('-').nth(1).unwrap()
}

/// Waits for the log line of a request to this path, with this trace.
async fn logged(process: &Process, path: &str, traceparent: &str) {
    let trace = format!(r#""trace_id":"{}""#, id(traceparent));
    process.logged(|line| line.contains(path) && line.contains(&trace)).await;
}

#[tokio::test]
async fn one_trace_goes_on_to_the_acquirer_and_to_each_delivery() {
    let json = [("RUST_LOG", "debug"), ("LOG_FORMAT", "json")];
    let acquirer = Acquirer::with(&json).await;
    let receiver = Receiver::new().await;
    receiver.answer(500);
    let own = [json[0], json[1], LOCAL, receiver.trust()];
    let mut live = Live::beside(acquirer, &own).await;
    let webhook = Webhook::at(&live.merchant.app, &receiver).await;

    let paying = live.merchant.app.customer("/transactions").header("traceparent", PAYING);
    let paid = paying.json(&live.payment(card::VISA, 1000)).send().await.expect(201);
    let path = live.merchant.transaction(&paid).path_of(Move::Capture);
    let capturing = live.merchant.app.request(Method::POST, &path);
    let capturing = capturing.header("traceparent", CAPTURING).json(&json!({ "amount": 1000 }));
    let _ = capturing.send().await.expect(201);
    logged(live.service.process(), "/transactions", PAYING).await;
    logged(live.service.process(), "/captures", CAPTURING).await;
    logged(live.acquirer.process(), "/authorizations", PAYING).await;
    logged(live.acquirer.process(), "/captures", CAPTURING).await;

    // The first attempt fails. The next one, and that of the later event, are made by another process.
    let delivered = async |traceparent: &str, attempts: usize| {
        let of = |sent: &str| id(sent) == id(traceparent) && sent.ends_with(&traceparent[52..]);
        let parents = |received: &[Received]| {
            let sent = received.iter().filter_map(|request| request.headers.get("traceparent"));
            sent.filter(|sent| of(sent)).cloned().collect::<BTreeSet<_>>()
        };
        let received = receiver.until(|received| parents(received).len() >= attempts).await;
        assert!(!parents(&received).contains(traceparent), "the parent is ours");
    };
    delivered(PAYING, 1).await;
    live.service = live.service.stop().await.start().await;
    receiver.answer(204);
    webhook.by(&live.merchant.app.at(&live.service)).restart().await;
    delivered(PAYING, 2).await;
    delivered(CAPTURING, 1).await;
}
