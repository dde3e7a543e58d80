//! The hub of objstore-svc: sockets open, acknowledge and close while changes are committed.

use interleavings::{
    explore,
    hub::{Plan, Socket, Step::*, run},
};

const MAX_ENDED: usize = 100;

#[test]
fn every_change_reaches_every_socket_once_and_in_order() {
    let plan = Plan {
        steps: vec![
            Watch(1, ""),
            Watch(2, "milk"),
            Set("milk"),
            Set("bread"),
            Delete("milk"),
            Set("milk"),
        ],
        sockets: vec![Socket::new(1), Socket { events: false, ..Socket::new(1) }, Socket::new(2)],
        max_ended: MAX_ENDED,
    };
    explore(move || run(&plan));
}

#[test]
fn a_change_is_matched_with_the_watches_of_its_time() {
    let plan = Plan {
        steps: vec![
            Watch(1, ""),
            Set("milk"),
            Unwatch(1, ""),
            Set("milk"),
            Watch(1, "milk"),
            Set("bread"),
            Forget(1),
            Set("milk"),
            Watch(1, ""),
            Set("milk"),
        ],
        sockets: vec![Socket::new(1), Socket { disconnects: 2, ..Socket::new(1) }],
        max_ended: MAX_ENDED,
    };
    explore(move || run(&plan));
}

#[test]
fn slow_sockets_read_the_change_log() {
    let plan = Plan {
        steps: vec![
            Watch(1, ""),
            Set("milk"),
            FillRing,
            Unwatch(1, ""),
            Set("bread"),
            Watch(1, "milk"),
            FillRing,
            Set("milk"),
        ],
        sockets: vec![Socket::new(1), Socket { events: false, ..Socket::new(1) }],
        max_ended: MAX_ENDED,
    };
    explore(move || run(&plan));
}

#[test]
fn a_socket_that_starts_later_acknowledges_nothing_before() {
    let plan = Plan {
        steps: vec![Watch(1, ""), Set("milk"), Set("bread"), Set("milk"), Set("bread")],
        sockets: vec![
            Socket { disconnects: 2, ..Socket::new(1) },
            Socket { since: Some(2), ..Socket::new(1) },
            Socket { since: Some(3), ..Socket::new(1) },
        ],
        max_ended: MAX_ENDED,
    };
    explore(move || run(&plan));
}

#[test]
fn too_many_ended_watches_close_sockets_and_lose_no_change() {
    let plan = Plan {
        steps: vec![
            Watch(1, ""),
            Set("milk"),
            Unwatch(1, ""),
            Watch(1, "milk"),
            Set("milk"),
            Unwatch(1, "milk"),
            Watch(1, ""),
            Set("bread"),
        ],
        sockets: vec![Socket::new(1), Socket::new(1)],
        max_ended: 0,
    };
    explore(move || run(&plan));
}

#[test]
fn a_trimmed_change_log_loses_no_object() {
    let plan = Plan {
        steps: vec![
            Watch(1, ""),
            Watch(2, "milk"),
            Set("milk"),
            Set("bread"),
            Trim,
            Set("milk"),
            Delete("bread"),
            Trim,
            Set("milk"),
        ],
        sockets: vec![Socket::new(1), Socket { events: false, ..Socket::new(1) }, Socket::new(2)],
        max_ended: MAX_ENDED,
    };
    explore(move || run(&plan));
}

#[test]
fn a_reset_pushes_every_object_that_was_set_before() {
    let plan = Plan {
        steps: vec![
            Watch(1, ""),
            Watch(1, "milk"),
            Set("milk"),
            Set("bread"),
            Set("eggs"),
            Delete("bread"),
            Set("milk"),
        ],
        sockets: vec![Socket { since: Some(1000), ..Socket::new(1) }, Socket::new(1)],
        max_ended: MAX_ENDED,
    };
    explore(move || run(&plan));
}
