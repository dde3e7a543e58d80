//! A service and an operator's commands that are killed at random moments.

use std::{
    ffi::OsStr,
    process::Output,
    time::{Duration, Instant},
};

use blackbox::{
    http::{Answer, Request},
    payments::{Service, Stopped},
    process::until,
};
use rand::{RngExt as _, rngs::StdRng};
use tokio::time::sleep;

/// The longest time until a service is killed that answers a request.
const REQUEST: Duration = Duration::from_millis(20);

/// What a command prints whose service was killed.
const LOST: &str = "the running service did not answer";

/// How a command ended.
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Whether it was cut off before, and repeated.
    pub(super) was_cut: bool,
}

impl Ended {
    /// `None` if it was killed.
    fn of(Output { status, stdout, stderr }: Output) -> Option<Self> {
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        Some(Self { code: status.code()?, stdout, stderr, was_cut: false })
    }
}

/// A service, running or stopped.
pub(super) struct Machine {
    rng: StdRng,
    /// `None` while it is stopped.
    service: Option<Service>,
    /// `None` while it runs.
    place: Option<Stopped>,
    /// The time that the last whole command took.
    whole: Duration,
    /// The commands that were cut off.
    pub(super) cuts: usize,
}

impl Machine {
    pub(super) fn new(rng: StdRng, service: Service) -> Self {
        let whole = Duration::from_millis(50);
        Self { rng, service: Some(service), place: None, whole, cuts: 0 }
    }

    pub(super) fn place(&self) -> &Stopped {
        self.place.as_ref().unwrap_or_else(|| self.service.as_ref().unwrap().data())
    }

    /// Starts the service, unless it runs.
    pub(super) async fn up(&mut self) -> &Service {
        if let Some(place) = self.place.take() {
            self.service = Some(place.start().await);
        }
        self.service.as_ref().unwrap()
    }

    /// Kills the service, or stops it.
    pub(super) async fn down(&mut self, is_killed: bool) {
        if let Some(service) = self.service.take() {
            self.place = Some(if is_killed { service.kill().await } else { service.stop().await });
        }
    }

    /// Kills the service, and waits until nobody writes.
    pub(super) async fn be_quiet(&mut self) {
        self.down(true).await;
        let place = self.place();
        if place.database().is_some() {
            // The server carries out what it has received.
            let sessions = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
                 AND datname = current_database() AND backend_type = 'client backend'";
            until(async || place.number(sessions) == 0).await;
        }
    }

    /// Sends a request that may be repeated, until there is an answer.
    pub(super) async fn ask(&mut self, request: impl Fn(&Service) -> Request) -> Answer {
        loop {
            let moment = self.rng.random_ratio(1, 12).then(|| REQUEST.mul_f64(self.rng.random()));
            let service = self.up().await;
            let answer = request(service).attempt();
            let Some(moment) = moment else { return answer.await.unwrap() };
            let kill = async {
                sleep(moment).await;
                service.process().signal("KILL").await;
            };
            let (answer, ()) = tokio::join!(answer, kill);
            self.down(true).await;
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// Runs a command until it ends, perhaps without the service.
    pub(super) async fn run(&mut self, arguments: &[impl AsRef<OsStr>]) -> Ended {
        let cuts = self.cuts;
        while self.rng.random_ratio(1, 4) {
            if let Some(ended) = self.cut_off(arguments).await {
                return Ended { was_cut: self.cuts > cuts, ..ended };
            }
        }
        if self.rng.random_ratio(1, 8) {
            self.down(false).await;
        }
        let begin = Instant::now();
        let ended = self.place().command().args(arguments).output().await.unwrap();
        self.whole = begin.elapsed();
        Ended { was_cut: self.cuts > cuts, ..Ended::of(ended).unwrap() }
    }

    /// Kills a command, or the service that carries it out, at a random moment. `None` if the
    /// command was cut off: it may have done everything, a part or nothing.
    pub(super) async fn cut_off(&mut self, arguments: &[impl AsRef<OsStr>]) -> Option<Ended> {
        let moment = self.whole.mul_f64(self.rng.random());
        let kills_service = self.service.is_some() && self.rng.random();
        let mut child = self.place().command().args(arguments).spawn().unwrap();
        sleep(moment).await;
        if kills_service {
            self.down(true).await;
        } else {
            let _has_ended = child.start_kill();
        }
        let ended = child.wait_with_output().await.unwrap();
        let ended = Ended::of(ended);
        let ended = ended.filter(|ended| !(kills_service && ended.stderr.contains(LOST)));
        self.cuts += usize::from(ended.is_none());
        ended
    }
}
