//! Subcommands that may take long: they show their progress, and stop cleanly on Ctrl-C.
//!
//! 1. A bar on a terminal shows the rate and the time left. If standard error is no terminal, it
//!    gets a line every ten seconds instead, so a log stays short. A command that is faster prints
//!    nothing.
//! 2. SIGINT, SIGTERM and SIGHUP ask the command to stop. It stops where everything that it leaves behind is
//!    complete, and the process ends with exit code 130. A second signal ends the process at once.
//! 3. A thread of its own waits for signals, because a command may block for long: in SQLite, for
//!    example, which notices the request with the help of `sqlite::stop_with`.

use std::{
    fmt::{self, Display},
    io,
    process::{self, ExitCode, Termination},
    thread,
    time::Duration,
};

use indicatif::{
    HumanCount, HumanDuration, HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState,
    ProgressStyle,
};
use tokio::{
    runtime::Builder,
    time::{Instant, interval_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::or_exit,
    exit::{Fatal, failed},
    process::stop_signal,
};

/// Exit code of a command that was stopped: 128 and the number of SIGINT, as a shell reports it.
const INTERRUPTED: u8 = 130;

/// Interval of the lines if standard error is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Interval of the updates of the bar while the position does not change.
const BAR_INTERVAL: Duration = Duration::from_millis(250);

const BAR: &str = "{prefix}: {wide_bar} {human_pos} of {human_len} {msg}, {speed}";

/// The command was asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Fatal for Interrupted {}

/// The progress of a command, and the request to stop it. Clones share both.
#[derive(Debug, Clone)]
pub struct Progress {
    bar: ProgressBar,
    stop: CancellationToken,
}

/// Runs the subcommand `name`. Its result becomes the exit code. An error becomes one line on standard
/// error, and its exit code, or 130 if the command was asked to stop.
pub fn run<T: Termination, E: Fatal>(
    name: &'static str,
    work: impl FnOnce(&Progress) -> Result<T, E>,
) -> ExitCode {
    let progress = Progress::new(name);
    or_exit(watch(progress.clone()));
    let result = work(&progress);
    progress.bar.finish_and_clear();
    let error = match result {
        Ok(result) => return result.report(),
        Err(error) => error,
    };
    let code = failed(&error);
    if progress.is_stopped() { ExitCode::from(INTERRUPTED) } else { code }
}

/// Starts the thread that waits for signals and shows the progress.
fn watch(progress: Progress) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let stop = {
        let _context = runtime.enter();
        stop_signal()?
    };
    let stopping = progress.clone();
    let stop = async move {
        stop.await;
        stopping.stop.cancel();
        if let Ok(again) = stop_signal() {
            again.await;
            process::exit(INTERRUPTED.into());
        }
    };
    let show = async move {
        let interval = if progress.bar.is_hidden() { LINE_INTERVAL } else { BAR_INTERVAL };
        let mut ticks = interval_at(Instant::now() + interval, interval);
        loop {
            ticks.tick().await;
            progress.show();
        }
    };
    let both = async move {
        tokio::join!(stop, show);
    };
    let run = move || runtime.block_on(both);
    thread::Builder::new().name("progress".to_owned()).spawn(run).map(drop)
}

impl Progress {
    /// Progress of the subcommand `name`.
    pub fn new(name: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let bar = bar.with_prefix(name);
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            let write = |state: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = out.write_str(&speed(state.per_sec(), state.eta()));
            };
            bar.set_style(style.with_key("speed", write));
        }
        Self { bar, stop: CancellationToken::new() }
    }

    /// Begins a part of the command that has `total` units of work.
    pub fn begin(&self, unit: &'static str, total: u64) {
        self.bar.reset();
        self.bar.set_length(total);
        self.bar.set_message(unit);
    }

    /// One more unit of work is done.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// So many units of work are done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Asks the command to stop, for this reason.
    pub fn stop(&self, reason: &str) {
        if !self.is_stopped() {
            self.print(&reason);
            self.stop.cancel();
        }
    }

    /// Whether the command was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Fails if the command was asked to stop.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_stopped() { Err(Interrupted) } else { Ok(()) }
    }

    /// Runs `work` until it ends or the command is asked to stop. Then `work` is dropped where it
    /// waits.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        self.stop.run_until_cancelled(work).await.ok_or(Interrupted)
    }

    /// Runs `print`, which writes to the terminal, without the bar.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Prints a line on standard error, above the bar.
    pub fn print(&self, line: &dyn Display) {
        self.bar.suspend(|| print_line(line));
    }

    fn show(&self) {
        if self.bar.is_hidden() {
            print_line(&self.line());
        } else {
            self.bar.tick();
        }
    }

    fn line(&self) -> String {
        let name = self.bar.prefix();
        let Some(total) = self.bar.length() else { return format!("{name}: preparing") };
        let (done, total) = (HumanCount(self.bar.position()), HumanCount(total));
        let speed = speed(self.bar.per_sec(), self.bar.eta());
        format!("{name}: {done} of {total} {}, {speed}", self.bar.message())
    }
}

fn speed(per_second: f64, left: Duration) -> String {
    let rate = HumanFloatCount(per_second);
    // The estimate is zero as long as nothing is done.
    if left.is_zero() {
        format!("{rate:.1}/s")
    } else {
        format!("{rate:.1}/s, {} left", HumanDuration(left))
    }
}

#[expect(clippy::print_stderr, reason = "subcommands have no log")]
fn print_line(line: &dyn Display) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_position_the_rate_and_the_time_left() {
        let progress = Progress::new("import");
        assert_eq!(progress.line(), "import: preparing");
        progress.begin("rows", 1_200_000);
        assert_eq!(progress.line(), "import: 0 of 1,200,000 rows, 0/s");
        assert_eq!(speed(61_234.56, Duration::from_secs(20)), "61,234.6/s, 20 seconds left");
        progress.set(1_000);
        assert!(progress.line().starts_with("import: 1,000 of 1,200,000 rows, "));
        progress.begin("rules", 45);
        progress.advance();
        assert!(progress.line().starts_with("import: 1 of 45 rules, "), "{}", progress.line());
    }

    #[tokio::test]
    async fn a_stopped_command_ends_its_work() {
        let progress = Progress::new("check");
        assert!(progress.check().is_ok());
        assert_eq!(progress.unless_stopped(async { 7 }).await.unwrap(), 7);
        let stop = async {
            tokio::task::yield_now().await;
            progress.stop.cancel();
        };
        let (stopped, ()) =
            tokio::join!(progress.unless_stopped(std::future::pending::<()>()), stop);
        assert!(stopped.is_err() && progress.is_stopped());
        assert_eq!(progress.check().unwrap_err().to_string(), "interrupted");
    }

    #[test]
    fn the_exit_code_of_a_failure_depends_on_the_request_to_stop() {
        let code = |code: u8| format!("{:?}", ExitCode::from(code));
        let run =
            |work: fn(&Progress) -> Result<(), Interrupted>| format!("{:?}", run("check", work));
        assert_eq!(run(|_| Ok(())), code(0));
        assert_eq!(run(|_| Err(Interrupted)), code(2));
        let stopped = |progress: &Progress| {
            progress.stop.cancel();
            Err(Interrupted)
        };
        assert_eq!(run(stopped), code(130));
        let result = super::run("check", |_| Ok::<_, Interrupted>(ExitCode::from(1)));
        assert_eq!(format!("{result:?}"), code(1));
    }
}
