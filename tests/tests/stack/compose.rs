//! Runs Docker Compose on the stack that the environment variables select.

use std::time::Duration;

use tokio::{
    process::Command,
    time::{Instant, sleep},
};

/// Timeout for a container to become healthy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The containers of each service.
pub(crate) const REPLICAS: [&[&str]; 3] =
    [&["authsvc-1", "authsvc-2"], &["objstore-1", "objstore-2"], &["payments-1", "payments-2"]];

/// Runs Compose with these arguments, and returns its standard output.
pub(crate) async fn compose(arguments: &[&str]) -> String {
    run("scripts/compose", arguments).await
}

/// Runs Compose with these arguments on a container, and waits until the container is healthy.
pub(crate) async fn compose_at(arguments: &[&str], container: &str) {
    compose(&[arguments, &[container]].concat()).await;
    let id = compose(&["ps", "-q", container]).await;
    let inspect = ["inspect", "--format", "{{.State.Health.Status}}", id.trim()];
    let end = Instant::now() + PATIENCE;
    while run("docker", &inspect).await.trim() != "healthy" {
        assert!(Instant::now() < end, "{container} is not healthy after {PATIENCE:?}");
        sleep(Duration::from_millis(200)).await;
    }
}

async fn run(program: &str, arguments: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let ended = Command::new(program).args(arguments).current_dir(folder).output().await.unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{program} {arguments:?}: {stdout}{stderr}");
    stdout
}
