//! "A game" in docs/objstore-svc.md: its commands, and a whole game of docs/examples/game.py.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
};

use blackbox::{
    objstore::{Change, Client, Key, Object, Service, StateStream},
    process,
    project::{read, root},
};
use serde::Deserialize;
use tokio::process::Command;

const TITLE: &str = "## A game\n";

const TABLE: &str = "table-1";

const RULES: &str = "docs/examples/game.toml";

/// A state of the board, as the referee prints it.
#[derive(Deserialize)]
struct Board {
    wins: BTreeMap<String, usize>,
    cards: Option<BTreeMap<String, u8>>,
    winner: Option<String>,
}

#[derive(Deserialize)]
struct Hand {
    cards: Vec<u8>,
}

async fn service() -> Service {
    let rules = root().join(RULES);
    let grace = ("OBJSTORE_PRESENCE_GRACE", "2s");
    Service::with(&[("OBJSTORE_RULES_FILE", rules.to_str().unwrap()), grace]).await
}

#[tokio::test]
async fn the_game_prints_what_the_document_says() {
    let service = service().await;
    let page = read("docs/objstore-svc.md");
    let section = page.split_once(TITLE).and_then(|(_, rest)| rest.split("\n## ").next()).unwrap();
    let section = section.replace("localhost:5001", service.url().trim_start_matches("http://"));
    let folder = tempfile::tempdir().unwrap();
    symlink(root().join("docs"), folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("game.md"), section).unwrap();

    let byexample = root().join("target/tools/docs/bin/byexample");
    assert!(byexample.exists(), "byexample is missing; install it with: scripts/install test");
    let mut command = Command::new(byexample);
    command.args(["--language", "shell", "--timeout", "20", "--fail-fast", "game.md"]);
    command.current_dir(folder.path()).kill_on_drop(true);
    let ended = process::run(command).await;
    let output = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{output}");
}

#[tokio::test]
async fn a_whole_game_keeps_the_hands_hidden() {
    let service = service().await;
    let referee = client(&service, "referee").await;
    let [alice, bob] = [client(&service, "alice").await, client(&service, "bob").await];
    let stranger = service.client().await;
    let mut streams = Vec::new();
    for client in [&referee, &alice, &bob, &stranger] {
        streams.push(client.stream(&Key::new("", TABLE, ""), "now").await);
    }
    let (boards, ..) =
        tokio::join!(play(&service, "referee"), play(&service, "alice"), play(&service, "bob"));
    let end = Object::new(&Key::new("board", TABLE, "end"), "{}");
    referee.set(&end).await;

    let mut hands = Vec::new();
    for (mut stream, expected) in streams.into_iter().zip([
        "board/end board/state hand/alice hand/bob seat/alice seat/bob",
        "board/end board/state hand/alice",
        "board/end board/state hand/bob",
        "board/end board/state",
    ]) {
        let seen = until(&mut stream, &end).await;
        let keys = seen.iter().map(|Object { key, .. }| format!("{}/{}", key.r#type, key.name));
        let keys: Vec<_> = keys.collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(keys.join(" "), expected);
        hands.push(seen.into_iter().find(|object| object.key.r#type == "hand"));
    }
    let dealt = |player: usize| {
        let hand = hands[player].as_ref().unwrap();
        serde_json::from_str::<Hand>(&hand.value).unwrap().cards
    };
    check(&boards, [dealt(1), dealt(2)]);
}

/// The client with the ID that the rules give to a role.
async fn client(service: &Service, role: &str) -> Client {
    let rules = read(RULES);
    let (_, rest) = rules.split_once(&format!("{role} = [\"")).unwrap();
    service.client_with(rest.split('"').next().unwrap().parse().unwrap()).await
}

/// Runs a program until the game is over. Returns its lines.
async fn play(service: &Service, role: &str) -> Vec<String> {
    let mut command = Command::new(root().join("target/tools/python/bin/python"));
    command.args(["docs/examples/game.py", service.url().trim_start_matches("http://"), role]);
    command.current_dir(root()).kill_on_drop(true);
    let ended = process::run(command).await;
    assert!(ended.status.success(), "{role}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The objects that a stream shows, up to this one.
async fn until(stream: &mut StateStream, end: &Object) -> Vec<Object> {
    let mut objects = Vec::new();
    while objects.last() != Some(end) {
        if let Change::Update(_, object) = stream.next_change().await {
            objects.push(object);
        }
    }
    objects
}

/// Checks that the referee was fair.
fn check(boards: &[String], hands: [Vec<u8>; 2]) {
    let boards: Vec<Board> =
        boards.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let played = boards.iter().filter_map(|board| board.cards.as_ref());
    let rounds: Vec<_> = played.map(|cards| [cards["alice"], cards["bob"]]).collect();
    for (player, hand) in hands.into_iter().enumerate() {
        let played: BTreeSet<_> = rounds.iter().map(|cards| cards[player]).collect();
        assert_eq!((rounds.len(), played), (3, hand.into_iter().collect()));
    }
    let alice = rounds.iter().filter(|[alice, bob]| alice > bob).count();
    let last = boards.last().unwrap();
    assert_eq!((last.wins["alice"], last.wins["bob"]), (alice, 3 - alice));
    let winner = if alice > 1 { "alice" } else { "bob" };
    assert_eq!(last.winner.as_deref(), Some(winner));
}
