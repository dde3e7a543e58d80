//! PgBouncer in front of a cluster.

use std::{
    fs::{self, Permissions},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{Cluster, shell};
use crate::process::DEADLINE;

/// A running PgBouncer.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    place: TempDir,
    process: Child,
}

impl Pooler {
    /// `mode` is `session` or `transaction`.
    pub fn start(cluster: &Cluster, mode: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("there is a free port").port();
        let place = tempfile::tempdir().expect("a directory can be made");
        // PgBouncer refuses to run as root, so another user reads the file.
        let permissions = Permissions::from_mode(0o755);
        fs::set_permissions(place.path(), permissions).expect("the directory is ours");
        let config = format!(
            "[databases]\n* = host={} port={} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {mode}\ndefault_pool_size = 100\n",
            cluster.place, cluster.port
        );
        fs::write(place.path().join("pgbouncer.ini"), config).expect("a file can be written");
        let process = run(&place);
        let pooler = Self { port, place, process };
        pooler.is_up();
        pooler
    }

    /// Stops PgBouncer, and starts it in another mode.
    pub fn restart(&mut self, mode: &str) {
        self.stop();
        let file = self.place.path().join("pgbouncer.ini");
        let config = fs::read_to_string(&file).expect("a file");
        let other = config.lines().map(|line| match line.split_once(" = ") {
            Some(("pool_mode", _)) => format!("pool_mode = {mode}\n"),
            _ => format!("{line}\n"),
        });
        fs::write(file, other.collect::<String>()).expect("a file can be written");
        self.process = run(&self.place);
        self.is_up();
    }

    /// The host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn is_up(&self) {
        let begun = Instant::now();
        while TcpStream::connect(self.host()).is_err() {
            assert!(begun.elapsed() < DEADLINE, "PgBouncer does not start");
            sleep(Duration::from_millis(20));
        }
    }

    fn stop(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(place: &TempDir) -> Child {
    let mut command = shell();
    // Debian has it beside the programs of root.
    command.args(["-c", "PATH=$PATH:/usr/sbin exec pgbouncer --quiet pgbouncer.ini"]);
    command
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("sh can be started")
}
