//! Subcommands that may take long: they show their progress, and stop cleanly on Ctrl-C.
//!
//! 1. Standard error gets a line every ten seconds, with the time left. A command that is faster prints
//!    nothing.
//! 2. SIGINT, SIGTERM and SIGHUP ask the command to stop. It stops where everything that it leaves behind is
//!    complete, and the process ends with exit code 130. A second signal ends the process at once.
//! 3. A thread of its own waits for signals, because a command may block for long: in SQLite, for
//!    example, which notices the request with the help of `sqlite::stop_with`.

use std::{
    fmt::Display,
    io,
    process::{self, ExitCode, Termination},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use humantime::format_duration;
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

/// Interval of the lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// The command was asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Fatal for Interrupted {}

/// The progress of a command, and the request to stop it. Clones share both.
#[derive(Debug, Clone)]
pub struct Progress {
    name: &'static str,
    part: Arc<Mutex<Option<Part>>>,
    stop: CancellationToken,
}

/// A part of a command: units of work.
#[derive(Debug)]
struct Part {
    unit: &'static str,
    total: u64,
    done: u64,
    begun: Instant,
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
        let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
        loop {
            ticks.tick().await;
            progress.print(&progress.line());
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
        Self { name, part: Arc::default(), stop: CancellationToken::new() }
    }

    fn part(&self) -> MutexGuard<'_, Option<Part>> {
        self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a part of the command that has `total` units of work.
    pub fn begin(&self, unit: &'static str, total: u64) {
        *self.part() = Some(Part { unit, total, done: 0, begun: Instant::now() });
    }

    /// One more unit of work is done.
    pub fn advance(&self) {
        if let Some(part) = &mut *self.part() {
            part.done += 1;
        }
    }

    /// So many units of work are done.
    pub fn set(&self, done: u64) {
        if let Some(part) = &mut *self.part() {
            part.done = done;
        }
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

    /// Prints a line on standard error.
    #[expect(clippy::print_stderr, reason = "subcommands have no log")]
    pub fn print(&self, line: &dyn Display) {
        eprintln!("{line}");
    }

    fn line(&self) -> String {
        let name = self.name;
        match &*self.part() {
            None => format!("{name}: preparing"),
            Some(Part { unit, total, done, begun }) => {
                let left = time_left(*total, *done, begun.elapsed());
                let left = left.map(|left| format!(", {} left", format_duration(left)));
                let left = left.unwrap_or_default();
                format!("{name}: {done} of {total} {unit}{left}")
            }
        }
    }
}

/// The time that the rest takes at the speed until now, in seconds. `None` before any is done.
fn time_left(total: u64, done: u64, elapsed: Duration) -> Option<Duration> {
    let left = u128::from(total.saturating_sub(done));
    let seconds = (elapsed.as_millis() * left).checked_div(u128::from(done) * 1000)?;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_position_and_the_time_left() {
        let progress = Progress::new("import");
        assert_eq!(progress.line(), "import: preparing");
        progress.begin("rows", 1_200_000);
        assert_eq!(progress.line(), "import: 0 of 1200000 rows");
        progress.set(1_000);
        assert!(progress.line().starts_with("import: 1000 of 1200000 rows, "));
        progress.begin("rules", 45);
        progress.advance();
        assert_eq!(progress.line(), "import: 1 of 45 rules, 0s left");
    }

    #[test]
    fn the_time_left_follows_from_the_speed() {
        let left = |done| time_left(1000, done, Duration::from_secs(10)).map(|left| left.as_secs());
        assert_eq!(left(0), None);
        assert_eq!([1, 500, 1000, 2000].map(left), [9990, 10, 0, 0].map(Some));
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
