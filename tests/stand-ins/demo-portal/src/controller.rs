//! The shared state of a portal: students, scripts, recorded calls and counters.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    record::{Counters, Outcome, Received, Underway},
    script::{ANYONE, Behaviour, Operation, Script, Tls},
    student::{Student, demo_students},
};

/// Recorded calls per user. The oldest are deleted first.
const MAX_RECORDED: usize = 1000;

/// The interface for tests: enrols students, sets scripts, returns received calls and counters.
/// Clones share the same state.
#[derive(Clone)]
pub struct Controller {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<()>,
    /// Signs tokens, so that a portal accepts only its own.
    secret: Uuid,
    recording: bool,
}

#[derive(Default)]
struct State {
    students: HashMap<String, Arc<Student>>,
    scripts: HashMap<(String, Operation), Script<Behaviour>>,
    tls: Option<Script<Tls>>,
    received: HashMap<String, VecDeque<Arc<Mutex<Received>>>>,
    counters: Counters,
}

impl Controller {
    pub(crate) fn new(recording: bool) -> Self {
        let changed = watch::Sender::new(());
        let controller = Self { state: Arc::default(), changed, secret: Uuid::new_v4(), recording };
        for student in demo_students() {
            controller.enrol(student);
        }
        controller
    }

    /// Lets a student sign in with each of their usernames. Replaces students with the same
    /// username.
    pub fn enrol(&self, student: Student) {
        let student = Arc::new(student);
        let mut state = self.state();
        for name in &student.usernames {
            state.students.insert(name.clone(), Arc::clone(&student));
        }
    }

    /// Sets how an operation of a user is answered. Replaces the previous script. `username` is the
    /// name that the user types, whether or not the portal knows it, or [`ANYONE`].
    pub fn script(
        &self,
        username: &str,
        operation: Operation,
        script: impl Into<Script<Behaviour>>,
    ) {
        self.state().scripts.insert((username.to_owned(), operation), script.into());
    }

    /// Sets how the TLS handshakes of all connections end. Replaces the previous script.
    pub fn script_tls(&self, script: impl Into<Script<Tls>>) {
        self.state().tls = Some(script.into());
    }

    /// Returns the latest 1000 calls of a user, oldest first. Empty if calls are not recorded. A
    /// call without a username belongs to the user of the previous call on its connection. Without
    /// a previous call, it belongs to the empty username.
    pub fn received(&self, username: &str) -> Vec<Received> {
        let state = self.state();
        let calls = state.received.get(username).into_iter().flatten();
        calls.map(|call| call.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }

    /// Returns a copy of the counters of all connections.
    pub fn counters(&self) -> Counters {
        self.state().counters
    }

    /// Waits until the condition holds, without a timeout. Checks it after each recorded call, each
    /// outcome and each change of a counter.
    pub async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let mut changed = self.changed.subscribe();
        while !condition(self) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn student(&self, username: &str) -> Option<Arc<Student>> {
        self.state().students.get(username).cloned()
    }

    pub(crate) fn behaviour(&self, username: &str, operation: Operation) -> Behaviour {
        let mut state = self.state();
        let behaviour = [username, ANYONE].into_iter().find_map(|name| {
            state.scripts.get_mut(&(name.to_owned(), operation)).and_then(Script::advance)
        });
        behaviour.unwrap_or_default()
    }

    pub(crate) fn tls(&self) -> Tls {
        self.state().tls.as_mut().and_then(Script::advance).unwrap_or_default()
    }

    /// Records a call if recording is on.
    pub(crate) fn record(&self, username: &str, call: Received) -> Underway {
        let call = Arc::new(Mutex::new(Received { outcome: Outcome::Underway, ..call }));
        if self.recording {
            let mut state = self.state();
            let calls = state.received.entry(username.to_owned()).or_default();
            calls.push_back(Arc::clone(&call));
            if calls.len() > MAX_RECORDED {
                calls.pop_front();
            }
            drop(state);
            self.changed.send_replace(());
        }
        Underway::new(call, self.changed.clone())
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.state().counters);
        self.changed.send_replace(());
    }

    /// Issues a new token to a user: a random part, the username and a signature.
    pub(crate) fn issue(&self, username: &str) -> String {
        let signed = format!("{}.{}", Uuid::new_v4().simple(), encode(username));
        format!("{signed}.{}", self.sign(&signed))
    }

    /// The user to whom a token was issued. `None` for a token of another portal.
    pub(crate) fn holder(&self, token: &str) -> Option<String> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (_, username) = signed.split_once('.')?;
        let genuine = signature == self.sign(signed);
        let username = BASE64_URL_SAFE_NO_PAD.decode(username).ok().filter(|_| genuine)?;
        String::from_utf8(username).ok()
    }

    fn sign(&self, signed: &str) -> String {
        encode(Sha256::new().chain_update(self.secret).chain_update(signed).finalize())
    }

    // A std mutex suffices, because it is only held for a look-up or an insertion, never across an
    // await.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
