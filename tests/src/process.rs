//! A process of one of the workspace's programs: started, listened to, stopped.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Output, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

/// How long a test waits for what has to happen: far longer than it takes, on a busy machine too.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The name under which a service says where it listens.
const ADDRESS: &str = "server.address";

/// The command that runs a program of this workspace with these variables and no others.
///
/// # Panics
///
/// When the program was not built.
pub fn command(program: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(binary(program));
    command.env_clear().envs(variables.iter().copied());
    piped(&mut command);
    command
}

/// Has a command read nothing, write to pipes and end with its test.
pub(crate) fn piped(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
}

/// Runs a command to its end.
///
/// # Panics
///
/// When it does not end in time.
pub async fn run(mut command: Command) -> Output {
    timeout(DEADLINE, command.output()).await.expect("ends in time").expect("can be started")
}

/// The one line that a command says before it fails.
///
/// # Panics
///
/// As [`run`], and when it succeeds, or says more than a line.
pub async fn complaint(command: Command) -> String {
    let Output { status, stdout, stderr } = run(command).await;
    let said = String::from_utf8([stdout, stderr].concat()).expect("text");
    assert!(!status.success() && said.trim_end().lines().count() == 1, "{status}: {said}");
    said
}

/// A program stands beside the directory that the tests are in, whatever the profile.
fn binary(program: &str) -> PathBuf {
    let test = std::env::current_exe().expect("tests are files");
    let profile = test.ancestors().nth(2).expect("tests are in <profile>/deps");
    let binary = profile.join(program);
    assert!(
        binary.exists(),
        "{} is missing; build it with: cargo build -p {program}",
        binary.display()
    );
    binary
}

/// A service that runs. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    address: SocketAddr,
    log: watch::Receiver<Vec<String>>,
}

impl Process {
    /// Starts a service and waits until it says where it listens.
    ///
    /// # Panics
    ///
    /// When it ends or stays silent instead.
    pub async fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("can be started");
        let (sender, mut log) = watch::channel(Vec::new());
        let sender = Arc::new(sender);
        tokio::spawn(collect(child.stdout.take().expect("piped"), Arc::clone(&sender)));
        tokio::spawn(collect(child.stderr.take().expect("piped"), sender));
        let is_up = |lines: &Vec<String>| address(lines, ADDRESS).is_some();
        let _ = timeout(DEADLINE, log.wait_for(is_up)).await;
        let address = address(&log.borrow(), ADDRESS);
        let Some(address) = address else {
            panic!("no service is listening:\n{}", log.borrow().join("\n"));
        };
        Self { child, address, log }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its second listener does, which it tells under this name in the same line.
    ///
    /// # Panics
    ///
    /// When it tells none.
    pub fn address_of(&self, name: &str) -> SocketAddr {
        let address = address(&self.log.borrow(), name);
        address.unwrap_or_else(|| panic!("no {name}:\n{}", self.log.borrow().join("\n")))
    }

    /// What it has written to its log so far, line by line.
    pub fn log(&self) -> Vec<String> {
        self.log.borrow().clone()
    }

    /// Waits until the log, which is written by another thread, has a line that `is_wanted`.
    ///
    /// # Panics
    ///
    /// When none comes in time.
    pub async fn logged(&self, is_wanted: impl Fn(&str) -> bool) {
        let mut log = self.log.clone();
        let came = log.wait_for(|log| log.iter().any(|line| is_wanted(line)));
        let came = timeout(DEADLINE, came).await;
        assert!(came.is_ok_and(|came| came.is_ok()), "{}", self.log.borrow().join("\n"));
    }

    /// Bytes of memory that the process holds, beside its program and its files. `None` when it has
    /// ended.
    pub fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    }

    /// Asks the process to stop, with SIGTERM, and returns at once.
    ///
    /// # Panics
    ///
    /// When the process is gone already.
    pub async fn terminate(&self) {
        self.signal("TERM").await;
    }

    /// Sends the process the signal with this name.
    ///
    /// # Panics
    ///
    /// When the process is gone already.
    pub async fn signal(&self, name: &str) {
        let pid = self.child.id().expect("is running");
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).status().await;
        assert!(sent.expect("sh can be started").success(), "process {pid} cannot be signalled");
    }

    /// Waits for a process that was asked to stop.
    ///
    /// # Panics
    ///
    /// When it does not end in time, or with anything but success.
    pub async fn ended(mut self) {
        let ended = timeout(DEADLINE, self.child.wait()).await.expect("ends in time");
        let status = ended.expect("can be waited for");
        assert!(status.success(), "ended with {status}:\n{}", self.log.borrow().join("\n"));
    }

    /// Kills the process, as kill -9 does, and waits until it is gone.
    ///
    /// # Panics
    ///
    /// When it cannot be killed.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("can be killed");
    }
}

async fn collect(output: impl AsyncRead + Unpin, log: Arc<watch::Sender<Vec<String>>>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.send_modify(|log| log.push(line));
    }
}

/// The address with this name in the line that says where a service listens, whatever the form of
/// the log.
fn address(log: &[String], name: &str) -> Option<SocketAddr> {
    let line = log.iter().find(|line| line.contains("listening"))?;
    let (_, rest) = line.split_once(name)?;
    let is_address = |letter: char| letter.is_ascii_digit() || ".:".contains(letter);
    rest.split(|letter| !is_address(letter)).find_map(|word| word.parse().ok())
}
