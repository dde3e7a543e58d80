//! The hub of objstore-svc: sockets open, acknowledge and close while changes are committed.

use interleavings::{
    copies, explore,
    hub::{Plan, Socket, Step, Step::*, run},
    rules::{MILK, OWNER},
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

#[test]
fn a_copy_has_the_state_of_each_revision_at_which_it_can_resume() {
    let steps = vec![
        Watch(1, ""),
        Set("milk"),
        Set("bread"),
        Watch(2, "milk"),
        Delete("bread"),
        Set("milk"),
        Set("eggs"),
        Watch(2, "eggs"),
        Delete("milk"),
        Watch(2, "bread"),
        Set("eggs"),
    ];
    let clients = vec![1, 2];
    let plan = copies::Plan { replicas: 1, steps, clients, marks: false, disconnects: 2 };
    explore(move || copies::run(&plan));
}

#[test]
fn a_copy_stays_right_with_marks() {
    let steps = vec![
        Watch(1, "milk"),
        Set("bread"),
        Set("milk"),
        Watch(1, "bread"),
        Delete("milk"),
        Set("bread"),
        Set("milk"),
    ];
    let clients = vec![1, 1];
    let plan = copies::Plan { replicas: 1, steps, clients, marks: true, disconnects: 2 };
    explore(move || copies::run(&plan));
}

#[test]
fn a_copy_outlives_a_trimmed_change_log() {
    let steps = vec![
        Watch(1, ""),
        Set("milk"),
        Set("bread"),
        FillRing,
        Delete("milk"),
        Trim,
        Set("bread"),
        Watch(2, ""),
        Trim,
        Set("milk"),
        Delete("bread"),
        Set("eggs"),
    ];
    let clients = vec![1, 2];
    let plan = copies::Plan { replicas: 1, steps, clients, marks: false, disconnects: 2 };
    explore(move || copies::run(&plan));
}

#[test]
fn a_copy_is_complete_although_later_changes_do_not_concern_it() {
    let steps = vec![Watch(1, "milk"), Set("milk"), Set("bread")];
    let plan = copies::Plan { replicas: 1, steps, clients: vec![1], marks: false, disconnects: 1 };
    explore(move || copies::run_until(2, &plan));
}

/// The rules change twice. The first time the second replica loads them late, then the first one.
fn steps_with_rules() -> Vec<Step> {
    vec![
        Watch(1, ""),
        Watch(2, ""),
        Give("milk", 1),
        Load(0, OWNER),
        Give("bread", 2),
        Adopt(OWNER),
        Set("milk"),
        Give("bread", 1),
        Load(1, OWNER),
        Give("milk", 2),
        Load(1, MILK),
        Set("milk"),
        Give("bread", 1),
        Set("eggs"),
        Adopt(MILK),
        Set("bread"),
        Load(0, MILK),
        Set("milk"),
        Set("eggs"),
    ]
}

#[test]
fn a_copy_has_what_the_newest_rules_show() {
    let steps = steps_with_rules();
    let clients = vec![1, 2];
    let plan = copies::Plan { replicas: 2, steps, clients, marks: true, disconnects: 3 };
    explore(move || copies::run(&plan));
}

#[test]
fn a_copy_without_marks_follows_new_rules() {
    let steps = steps_with_rules();
    let clients = vec![1, 2];
    let plan = copies::Plan { replicas: 2, steps, clients, marks: false, disconnects: 3 };
    explore(move || copies::run(&plan));
}

#[test]
fn new_rules_wake_a_copy_that_lacks_nothing_else() {
    let steps = vec![
        Watch(1, ""),
        Give("milk", 2),
        Load(0, OWNER),
        Give("bread", 1),
        Adopt(OWNER),
        Load(1, OWNER),
    ];
    let clients = vec![1, 1];
    let plan = copies::Plan { replicas: 2, steps, clients, marks: false, disconnects: 1 };
    explore(move || copies::run(&plan));
}

#[test]
fn a_stream_that_begins_before_the_record_of_its_rules() {
    let steps = vec![
        Watch(1, ""),
        Load(0, MILK),
        Adopt(MILK),
        Set("milk"),
        Load(0, OWNER),
        Give("bread", 1),
        Set("eggs"),
        Adopt(OWNER),
        Set("eggs"),
    ];
    let clients = vec![1, 1];
    let plan = copies::Plan { replicas: 1, steps, clients, marks: false, disconnects: 1 };
    explore(move || copies::run(&plan));
}

#[test]
fn a_copy_follows_rules_whose_record_was_missed() {
    let steps = vec![
        Watch(1, ""),
        Give("milk", 2),
        Load(0, OWNER),
        Adopt(OWNER),
        Trim,
        Load(1, OWNER),
        Give("bread", 1),
        Set("eggs"),
    ];
    let clients = vec![1, 1];
    let plan = copies::Plan { replicas: 2, steps, clients, marks: true, disconnects: 2 };
    explore(move || copies::run(&plan));
}
