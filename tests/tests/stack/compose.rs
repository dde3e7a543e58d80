//! Runs Docker Compose on the stack that the environment variables select.

use std::time::Duration;

use blackbox::process::DEADLINE;
use serde::Deserialize;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

/// The containers of each service.
pub(crate) const REPLICAS: [&[&str]; 3] =
    [&["authsvc-1", "authsvc-2"], &["objstore-1", "objstore-2"], &["payments-1", "payments-2"]];

/// The nodes of the database.
const NODES: [&str; 2] = ["postgres-1", "postgres-2"];

/// Runs Compose with these arguments, and returns its standard output.
pub(crate) async fn compose(arguments: &[&str]) -> String {
    run("scripts/compose", arguments).await
}

/// Runs Compose with these arguments on a container, and waits until the container is healthy.
pub(crate) async fn compose_at(arguments: &[&str], container: &str) {
    compose(&[arguments, &[container]].concat()).await;
    let id = id(container).await;
    let inspect = ["inspect", "--format", "{{.State.Health.Status}}", &id];
    let end = Instant::now() + DEADLINE;
    while run("docker", &inspect).await.trim() != "healthy" {
        assert!(Instant::now() < end, "{container} is not healthy after {DEADLINE:?}");
        sleep(Duration::from_millis(200)).await;
    }
}

/// The ID of a container, for `docker`.
async fn id(container: &str) -> String {
    compose(&["ps", "-q", container]).await.trim().to_owned()
}

/// The primary and its synchronous standby. Waits until there is such a standby.
pub(crate) async fn primary_and_standby() -> [&'static str; 2] {
    wait_for(NODES[0], |members| Some([members.with("Leader")?, members.with("Sync Standby")?]))
        .await
}

/// Waits until the key of a dead primary has expired, as this node sees it.
pub(crate) async fn no_primary(node: &str) {
    wait_for(node, |members| members.with("Leader").is_none().then_some(())).await;
}

/// Waits until the members of the database cluster, as this node sees them, pass the test.
async fn wait_for<T>(node: &str, passed: impl Fn(&Members) -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    // Without Compose, which takes a second of processor time to start.
    let id = id(node).await;
    loop {
        let list = run("docker", &["exec", &id, "patronictl", "list", "--format", "json"]).await;
        if let Some(found) = passed(&serde_json::from_str(&list).unwrap()) {
            return found;
        }
        assert!(Instant::now() < end, "after {DEADLINE:?}: {list}");
        sleep(Duration::from_secs(1)).await;
    }
}

/// The list of Patroni.
#[derive(Deserialize)]
struct Members(Vec<Member>);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Member {
    member: String,
    role: String,
}

impl Members {
    /// The node with this role.
    fn with(&self, role: &str) -> Option<&'static str> {
        let member = self.0.iter().find(|member| member.role == role)?;
        NODES.into_iter().find(|node| *node == member.member)
    }
}

/// Checks the ledger of payments-svc.
pub(crate) async fn the_books_agree() {
    compose(&["run", "--rm", "--no-deps", "-T", "payments-1", "check"]).await;
}

async fn run(program: &str, arguments: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let ended = Command::new(program).args(arguments).current_dir(folder).output().await.unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{program} {arguments:?}: {stdout}{stderr}");
    stdout
}
