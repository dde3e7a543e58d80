//! A process of one of the workspace's programs: start it, read its log, stop it.

use std::{
    env::consts::ARCH,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    join,
    process::{Child, Command},
    sync::watch,
    time::{sleep, timeout},
};

/// The timeout of every wait in the tests. It only ends what hangs: on a machine with 16 busy
/// processes, a step of seconds takes a minute.
pub const DEADLINE: Duration = Duration::from_secs(180);

/// The field with the address of the first listener, in the log line "listening".
const ADDRESS: &str = "server.address";

/// The command that runs a program of this workspace, with only these environment variables.
pub fn command(program: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(binary(program));
    command.env_clear().envs(variables.iter().copied());
    piped(&mut command);
    command
}

/// Lets a program see a clock that differs from this machine's, such as by `+1h`.
pub fn shift_clock(command: &mut Command, offset: &str) {
    let library = format!("/usr/lib/{ARCH}-linux-gnu/faketime/libfaketime.so.1");
    assert!(Path::new(&library).exists(), "install it with: apt-get install libfaketime");
    command.env("LD_PRELOAD", library).env("FAKETIME", offset);
}

/// Connects a command to no input and piped outputs, and kills its process with the test.
pub(crate) fn piped(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
}

pub async fn run(mut command: Command) -> Output {
    timeout(DEADLINE, command.output()).await.expect("ends in time").expect("can be started")
}

/// Runs a command, of this workspace or not, with this text on standard input. It may take long, and
/// may end before it has read everything.
pub async fn run_with(command: &mut Command, input: &str) -> Output {
    piped(command);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("can be started");
    let mut stdin = child.stdin.take().expect("piped");
    let fed = async {
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
    };
    let ended = async { join!(fed, child.wait_with_output()).1 };
    timeout(10 * DEADLINE, ended).await.expect("ends in time").expect("can be waited for")
}

/// The text that a command has printed, on both outputs.
pub fn output(ended: &Output) -> String {
    let [stdout, stderr] = [&ended.stdout, &ended.stderr].map(|it| String::from_utf8_lossy(it));
    stdout.into_owned() + &stderr
}

/// Prints the help of a program with settings whose values contain `xyzzy`. It may show none.
pub async fn help_hides(program: &str, settings: &[(&str, &str)]) {
    let mut command = command(program, settings);
    command.arg("--help");
    let ended = run(command).await;
    let help = output(&ended);
    assert!(ended.status.success() && !help.contains("xyzzy"), "{help}");
    assert!(settings.iter().all(|(name, _)| help.contains(name)), "{help}");
}

/// Whether the subcommand `healthcheck` of a program finds a service at this port.
pub async fn is_healthy(program: &str, port: u16) -> bool {
    let mut command = command(program, &[("PORT", &port.to_string())]);
    command.arg("healthcheck");
    run(command).await.status.success()
}

/// Sends a process the signal with this name, such as `TERM`.
pub async fn send(pid: u32, signal: &str) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{signal} {pid}")).status().await;
    assert!(sent.expect("sh can be started").success(), "process {pid} cannot be signalled");
}

/// Waits until a condition is true.
pub async fn until(is_true: impl AsyncFn() -> bool) {
    let waited = async {
        while !is_true().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, waited).await.expect("becomes true in time");
}

/// The output of a command that has to fail with exactly one line.
pub async fn failure_line(command: Command) -> String {
    let (code, output) = failure(command).await;
    assert!(output.trim_end().lines().count() == 1, "{code}: {output}");
    output
}

/// The exit code and the output of a command that has to fail.
pub async fn failure(command: Command) -> (i32, String) {
    let ended = run(command).await;
    let (status, output) = (ended.status, output(&ended));
    assert!(!status.success(), "{output}");
    (status.code().unwrap_or_else(|| panic!("{status}: {output}")), output)
}

/// Starts a program with wrong values of the setting `name` that contain a password. No output may
/// contain it.
pub async fn hides_passwords(name: &str, with: impl Fn(&str) -> Command) {
    for value in [
        "https://me:xyzzy@",
        "https://me:xyzzy@host.example:port/",
        "https://me:xyz/xyzzy@host.example/",
        "ftp://me:xyzzy@host.example/",
        "https://me:xyzzy@host.example/?query#part",
        "//me:xyzzy@host.example",
        "me:xyzzy@host.example",
        "postgres://me:xyzzy@127.0.0.1:port/shop",
        "postgres://me:xyzzy@127.0.0.1:1/shop?sslmode=xyzzy",
        "smtp://me:xyzzy@host.example/?tls=xyzzy",
    ] {
        let (code, output) = failure(with(value)).await;
        assert!([2, 3].contains(&code) && output.contains(name), "{name}={value}: {output}");
        assert!(!output.contains("xyzzy"), "{name}={value}: {output}");
    }
}

/// The reason in the output of a command that has to end with this exit code, without `error: `.
pub async fn exits_with(expected: i32, command: Command) -> String {
    let (code, output) = failure(command).await;
    assert_eq!(code, expected, "{output}");
    output.trim_end().trim_start_matches("error: ").to_owned()
}

/// The program is in the parent of the tests' directory, in every profile.
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

/// A running service. Dropping it kills the process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    address: SocketAddr,
    log: watch::Receiver<Vec<String>>,
}

impl Process {
    /// Starts a service and waits until its log names its address.
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

    /// The address of the first listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of another listener, which has this field name in the same log line.
    pub fn address_of(&self, name: &str) -> SocketAddr {
        let address = address(&self.log.borrow(), name);
        address.unwrap_or_else(|| panic!("no {name}:\n{}", self.log.borrow().join("\n")))
    }

    /// The log lines so far.
    pub fn log(&self) -> Vec<String> {
        self.log.borrow().clone()
    }

    /// Waits for a log line that satisfies `is_wanted`. The service logs on another thread, so a
    /// line may follow its cause late.
    pub async fn logged(&self, is_wanted: impl Fn(&str) -> bool) {
        self.logged_times(1, is_wanted).await;
    }

    /// As [`Self::logged`], for this many lines.
    pub async fn logged_times(&self, times: usize, is_wanted: impl Fn(&str) -> bool) {
        let mut log = self.log.clone();
        let has_all =
            |log: &Vec<String>| log.iter().filter(|line| is_wanted(line)).count() >= times;
        let line = log.wait_for(has_all);
        let found = timeout(DEADLINE, line).await;
        assert!(found.is_ok_and(|found| found.is_ok()), "{}", self.log.borrow().join("\n"));
    }

    pub fn id(&self) -> u32 {
        self.child.id().expect("the process runs")
    }

    /// The path of a file of the process in `/proc`, such as `limits`.
    pub fn proc(&self, file: &str) -> PathBuf {
        format!("/proc/{}/{file}", self.id()).into()
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        fs::read_dir(self.proc("task")).expect("the process runs").count()
    }

    /// Resident bytes, without program and files. `None` if the process has ended.
    pub fn resident(&self) -> Option<u64> {
        self.memory("RssAnon:")
    }

    /// The most resident bytes so far. `None` if the process has ended.
    pub fn peak(&self) -> Option<u64> {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    }

    /// Sends SIGTERM and returns at once.
    pub async fn terminate(&self) {
        self.signal("TERM").await;
    }

    /// Sends the signal with this name, such as `TERM`.
    pub async fn signal(&self, name: &str) {
        send(self.id(), name).await;
    }

    /// Waits until a terminated process has ended with success.
    pub async fn ended(mut self) {
        let ended = timeout(DEADLINE, self.child.wait()).await.expect("ends in time");
        let status = ended.expect("can be waited for");
        assert!(status.success(), "ended with {status}:\n{}", self.log.borrow().join("\n"));
    }

    /// Kills the process with SIGKILL and waits for its end.
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

/// The address in this field of the log line "listening", in any log format.
fn address(log: &[String], name: &str) -> Option<SocketAddr> {
    let line = log.iter().find(|line| line.contains("listening"))?;
    let (_, rest) = line.split_once(name)?;
    let is_address = |letter: char| letter.is_ascii_digit() || ".:".contains(letter);
    rest.split(|letter| !is_address(letter)).find_map(|word| word.parse().ok())
}
