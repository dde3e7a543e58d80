//! The hub of objstore-svc: sockets open, acknowledge and close while changes are committed.

use interleavings::{
    copies::{self, Places},
    explore,
    hub::{Plan, Socket, run, steps},
};

const MAX_ENDED: usize = 100;

fn run_sockets(text: &'static str, sockets: Vec<Socket>, max_ended: usize) {
    let plan = Plan { steps: steps(text), sockets, max_ended };
    explore(move || run(&plan));
}

#[test]
fn every_change_reaches_every_socket_once_and_in_order() {
    let text = "watch 1, watch 2 milk, set milk, set bread, delete milk, set milk";
    let one = Socket::new(1);
    run_sockets(text, vec![one, Socket { events: false, ..one }, Socket::new(2)], MAX_ENDED);
}

#[test]
fn a_change_is_matched_with_the_watches_of_its_time() {
    let text = "watch 1, set milk, unwatch 1, set milk, watch 1 milk, set bread, forget 1, \
                set milk, watch 1, set milk";
    let one = Socket::new(1);
    run_sockets(text, vec![one, Socket { disconnects: 2, ..one }], MAX_ENDED);
}

#[test]
fn slow_sockets_read_the_change_log() {
    let text = "watch 1, set milk, fill ring, unwatch 1, set bread, watch 1 milk, fill ring, \
                set milk";
    let one = Socket::new(1);
    run_sockets(text, vec![one, Socket { events: false, ..one }], MAX_ENDED);
}

#[test]
fn a_socket_that_starts_later_acknowledges_nothing_before() {
    let one = Socket::new(1);
    let sockets = vec![
        Socket { disconnects: 2, ..one },
        Socket { since: Some(2), ..one },
        Socket { since: Some(3), ..one },
    ];
    run_sockets("watch 1, set milk, set bread, set milk, set bread", sockets, MAX_ENDED);
}

#[test]
fn too_many_ended_watches_close_sockets_and_lose_no_change() {
    let text = "watch 1, set milk, unwatch 1, watch 1 milk, set milk, unwatch 1 milk, watch 1, \
                set bread";
    run_sockets(text, vec![Socket::new(1), Socket::new(1)], 0);
}

#[test]
fn a_trimmed_change_log_loses_no_object() {
    let text = "watch 1, watch 2 milk, set milk, set bread, trim, set milk, delete bread, trim, \
                set milk";
    let one = Socket::new(1);
    run_sockets(text, vec![one, Socket { events: false, ..one }, Socket::new(2)], MAX_ENDED);
}

#[test]
fn a_reset_pushes_every_object_that_was_set_before() {
    let text = "watch 1, watch 1 milk, set milk, set bread, set eggs, delete bread, set milk";
    let one = Socket::new(1);
    run_sockets(text, vec![Socket { since: Some(1000), ..one }, one], MAX_ENDED);
}

fn run_copies(
    text: &'static str,
    clients: [u128; 2],
    replicas: usize,
    disconnects: usize,
    places: Places,
) {
    let clients = clients.to_vec();
    let plan = copies::Plan { replicas, steps: steps(text), clients, places, disconnects };
    explore(move || copies::run(&plan));
}

#[test]
fn a_copy_has_the_state_of_each_revision_at_which_it_can_resume() {
    let text = "watch 1, set milk, set bread, watch 2 milk, delete bread, set milk, set eggs, \
                watch 2 eggs, delete milk, watch 2 bread, set eggs";
    run_copies(text, [1, 2], 1, 2, Places::Events);
}

#[test]
fn a_copy_stays_right_with_marks() {
    let text = "watch 1 milk, set bread, set milk, watch 1 bread, delete milk, set bread, set milk";
    run_copies(text, [1, 1], 1, 2, Places::Marks);
}

#[test]
fn a_copy_shows_whole_groups() {
    let text = "watch 1, watch 2 bread, join milk, join bread, join tea, join eggs, join ham, set rice, \
                fill ring, join bread, set eggs, set milk, watch 2 milk, join bread, set milk, \
                join bread, fill ring, set milk, set bread";
    run_copies(text, [1, 2], 2, 2, Places::Marks);
}

#[test]
fn a_copy_outlives_a_trimmed_change_log() {
    let text = "watch 1, set milk, set bread, fill ring, delete milk, trim, set bread, watch 2, \
                trim, set milk, delete bread, set eggs";
    run_copies(text, [1, 2], 1, 2, Places::Events);
}

#[test]
fn a_copy_is_complete_although_later_changes_do_not_concern_it() {
    let steps = steps("watch 1 milk, set milk, set bread");
    let plan = copies::Plan {
        replicas: 1,
        steps,
        clients: vec![1],
        places: Places::Events,
        disconnects: 1,
    };
    explore(move || copies::run_until(2, &plan));
}

/// The rules change twice. The first time the second replica loads them late, then the first one.
const WITH_RULES: &str = "watch 1, watch 2, give milk 1, load 0 owner, give bread 2, adopt owner, \
    set milk, give bread 1, load 1 owner, give milk 2, load 1 milk, set milk, give bread 1, \
    set eggs, adopt milk, set bread, load 0 milk, set milk, set eggs";

#[test]
fn a_copy_has_what_the_newest_rules_show() {
    run_copies(WITH_RULES, [1, 2], 2, 3, Places::Marks);
}

#[test]
fn a_copy_without_marks_follows_new_rules() {
    run_copies(WITH_RULES, [1, 2], 2, 3, Places::Events);
}

#[test]
fn a_copy_by_offsets_follows_new_rules() {
    run_copies(WITH_RULES, [1, 2], 2, 3, Places::Offsets);
}

#[test]
fn a_copy_by_offsets_outlives_a_trimmed_change_log() {
    let text = "set milk, set bread, fill ring, delete milk, trim, set bread, trim, set milk, \
                delete bread, set eggs";
    run_copies(text, [1, 2], 2, 3, Places::Offsets);
}

/// Copies move between a replica with the newest rules and one with older rules. Rules that are loaded
/// again only give them time.
const AT_OLDER_RULES: &str = "watch 1, give tea 2, give milk 1, load 0 owner, adopt owner, \
    load 0 owner, set milk, give bread 1, load 0 owner, give tea 1, set bread, load 0 owner, \
    give milk 2, set tea, load 1 owner, set eggs";

#[test]
fn a_copy_by_offsets_is_reset_after_a_replica_with_older_rules() {
    run_copies(AT_OLDER_RULES, [1, 2], 2, 6, Places::Offsets);
}

#[test]
fn a_copy_with_marks_is_reset_after_a_replica_with_older_rules() {
    run_copies(AT_OLDER_RULES, [1, 1], 2, 6, Places::Marks);
}

/// New rules of a replica are never recorded, and it returns to its old ones.
const WITHDRAWN: &str = "watch 1, give tea 2, give milk 1, load 0 owner, load 1 owner, adopt owner, \
    set milk, load 1 milk, give bread 1, load 1 owner, load 1 milk, set bread, load 1 owner, set eggs";

#[test]
fn a_copy_by_offsets_outlives_rules_that_are_withdrawn() {
    run_copies(WITHDRAWN, [1, 2], 2, 6, Places::Offsets);
}

#[test]
fn a_copy_with_marks_outlives_rules_that_are_withdrawn() {
    run_copies(WITHDRAWN, [1, 1], 2, 6, Places::Marks);
}

#[test]
fn new_rules_wake_a_copy_that_lacks_nothing_else() {
    let text = "watch 1, give milk 2, load 0 owner, give bread 1, adopt owner, load 1 owner";
    run_copies(text, [1, 1], 2, 1, Places::Events);
}

#[test]
fn a_stream_that_begins_before_the_record_of_its_rules() {
    let text = "watch 1, load 0 milk, adopt milk, set milk, load 0 owner, give bread 1, set eggs, \
                adopt owner, set eggs";
    run_copies(text, [1, 1], 1, 1, Places::Events);
}

#[test]
fn a_copy_follows_rules_whose_record_was_missed() {
    let text = "watch 1, give milk 2, load 0 owner, adopt owner, trim, load 1 owner, give bread 1, \
                set eggs";
    run_copies(text, [1, 1], 2, 2, Places::Marks);
}
