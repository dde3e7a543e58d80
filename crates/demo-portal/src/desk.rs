//! The portal's desk: where students are enrolled, scripts handed in, and calls looked up.

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

/// Calls that are kept of one user; older ones go first.
const KEPT: usize = 1000;

/// Where tests say what the portal is to do, and read what it received. Clones share one desk.
#[derive(Clone)]
pub struct Desk {
    papers: Arc<Mutex<Papers>>,
    changed: watch::Sender<()>,
    seal: Uuid,
    recording: bool,
}

#[derive(Default)]
struct Papers {
    students: HashMap<String, Arc<Student>>,
    scripts: HashMap<(String, Operation), Script<Behaviour>>,
    tls: Option<Script<Tls>>,
    received: HashMap<String, VecDeque<Arc<Mutex<Received>>>>,
    counters: Counters,
}

impl Desk {
    pub(crate) fn new(recording: bool) -> Self {
        let changed = watch::Sender::new(());
        let desk = Self { papers: Arc::default(), changed, seal: Uuid::new_v4(), recording };
        for student in demo_students() {
            desk.enrol(student);
        }
        desk
    }

    /// Lets a student sign in under each of their names, instead of who had the name before.
    pub fn enrol(&self, student: Student) {
        let student = Arc::new(student);
        let mut papers = self.papers();
        for name in &student.usernames {
            papers.students.insert(name.clone(), Arc::clone(&student));
        }
    }

    /// Says how the calls of a user are answered from now on, in place of what was said before.
    /// The user is the name that is typed, known to the portal or not, or [`ANYONE`].
    pub fn script(
        &self,
        username: &str,
        operation: Operation,
        script: impl Into<Script<Behaviour>>,
    ) {
        self.papers().scripts.insert((username.to_owned(), operation), script.into());
    }

    /// Says how connections are received from now on, whoever they are of.
    pub fn script_tls(&self, script: impl Into<Script<Tls>>) {
        self.papers().tls = Some(script.into());
    }

    /// The latest thousand calls of a user, oldest first. A call that names nobody belongs to who
    /// called last on its connection, or else to the user of the empty name.
    pub fn received(&self, username: &str) -> Vec<Received> {
        let papers = self.papers();
        let calls = papers.received.get(username).into_iter().flatten();
        calls.map(|call| call.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }

    /// What has happened on all connections.
    pub fn counters(&self) -> Counters {
        self.papers().counters
    }

    /// Resolves when the condition holds, which is asked again whenever something happens.
    pub async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let mut changed = self.changed.subscribe();
        while !condition(self) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn student(&self, username: &str) -> Option<Arc<Student>> {
        self.papers().students.get(username).cloned()
    }

    pub(crate) fn behaviour(&self, username: &str, operation: Operation) -> Behaviour {
        let mut papers = self.papers();
        let behaviour = [username, ANYONE].into_iter().find_map(|name| {
            papers.scripts.get_mut(&(name.to_owned(), operation)).and_then(Script::advance)
        });
        behaviour.unwrap_or_default()
    }

    pub(crate) fn tls(&self) -> Tls {
        self.papers().tls.as_mut().and_then(Script::advance).unwrap_or_default()
    }

    /// Keeps a call, if calls are kept.
    pub(crate) fn record(&self, username: &str, call: Received) -> Underway {
        let call = Arc::new(Mutex::new(Received { outcome: Outcome::Underway, ..call }));
        if self.recording {
            let mut papers = self.papers();
            let calls = papers.received.entry(username.to_owned()).or_default();
            calls.push_back(Arc::clone(&call));
            if calls.len() > KEPT {
                calls.pop_front();
            }
            drop(papers);
            self.changed.send_replace(());
        }
        Underway::new(call, self.changed.clone())
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.papers().counters);
        self.changed.send_replace(());
    }

    /// A token for a user, another one each time.
    pub(crate) fn issue(&self, username: &str) -> String {
        let stem = format!("{}.{}", Uuid::new_v4().simple(), encode(username));
        format!("{stem}.{}", self.sign(&stem))
    }

    /// Who a token was issued to.
    pub(crate) fn holder(&self, token: &str) -> Option<String> {
        let (stem, signature) = token.rsplit_once('.')?;
        let (_, username) = stem.split_once('.')?;
        let genuine = signature == self.sign(stem);
        let username = BASE64_URL_SAFE_NO_PAD.decode(username).ok().filter(|_| genuine)?;
        String::from_utf8(username).ok()
    }

    fn sign(&self, stem: &str) -> String {
        encode(Sha256::new().chain_update(self.seal).chain_update(stem).finalize())
    }

    // A std mutex: it is held for a look-up or an insertion, and never while anything is awaited.
    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
