//! Compose, at the stack that its variables name.

use std::time::Duration;

use tokio::{
    process::Command,
    time::{Instant, sleep},
};

/// How long a container may take to be well.
const PATIENCE: Duration = Duration::from_secs(60);

/// The replicas of each service.
pub(crate) const REPLICAS: [&[&str]; 3] =
    [&["authsvc-1", "authsvc-2"], &["objstore-1", "objstore-2"], &["payments-1", "payments-2"]];

/// Runs Compose with these arguments, and returns what it prints.
pub(crate) async fn compose(arguments: &[&str]) -> String {
    run("scripts/compose", arguments).await
}

/// Does this to a container, and waits until it is well again.
pub(crate) async fn compose_at(arguments: &[&str], container: &str) {
    compose(&[arguments, &[container]].concat()).await;
    let id = compose(&["ps", "-q", container]).await;
    let question = ["inspect", "--format", "{{.State.Health.Status}}", id.trim()];
    let end = Instant::now() + PATIENCE;
    while run("docker", &question).await.trim() != "healthy" {
        assert!(Instant::now() < end, "{container} is not well");
        sleep(Duration::from_millis(200)).await;
    }
}

async fn run(program: &str, arguments: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let ended = Command::new(program).args(arguments).current_dir(folder).output().await.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{program} {arguments:?}: {said}{complaint}");
    said
}
