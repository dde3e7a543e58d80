//! An authsvc and the portal that it signs in at.

use std::ops::Deref;

use demo_portal::{CAMPUSES, Desk, Options, Portal, Student};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};
use uuid::Uuid;

use super::Service;
use crate::{http::Answer, process::DEADLINE};

/// A service with a portal of its own; it can be asked what the [`Service`] can.
pub struct Site {
    /// The portal.
    pub portal: Portal,
    service: Service,
    _certificates: TempDir,
}

impl Site {
    /// A portal, and a new process with these settings that trusts it.
    ///
    /// # Panics
    ///
    /// When the portal does not start.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self::wrapped(settings, |command| command).await
    }

    /// The same, the process started by the command that `wrap` makes of its own.
    ///
    /// # Panics
    ///
    /// When the portal does not start.
    pub async fn wrapped(settings: &[(&str, &str)], wrap: impl FnOnce(Command) -> Command) -> Self {
        let certificates = tempfile::tempdir().expect("a directory can be made");
        let ca_file = certificates.path().join("ca.pem");
        let options =
            Options { ca_file: Some(ca_file.clone()), recording: true, ..Options::default() };
        let portal = Portal::start(options).expect("the portal starts");
        let (url, campuses) = (portal.url(), CAMPUSES.join(";"));
        let own = [
            ("PORTAL_URL", url.as_str()),
            ("PORTAL_CA_FILE", ca_file.to_str().expect("a plain path")),
            ("PORTAL_CAMPUSES", &campuses),
        ];
        let service = Service::wrapped(&[&own, settings].concat(), wrap).await;
        Self { portal, service, _certificates: certificates }
    }

    /// A student who is known under a name of this test's own.
    pub fn student(&self) -> Known {
        self.student_with(|student| student)
    }

    /// The same, made another by `change`.
    pub fn student_with(&self, change: impl FnOnce(Student) -> Student) -> Known {
        let known = Known {
            username: format!("user-{}", Uuid::new_v4()),
            password: format!("pass-{}", Uuid::new_v4()),
        };
        self.portal.enrol(change(Student::new(&known.username, &known.password)));
        known
    }

    /// Signs a student in.
    pub async fn sign_in(&self, known: &Known) -> Answer {
        self.ask(known, json!({})).await
    }

    /// Signs a student in and asks for the profile.
    pub async fn profile(&self, known: &Known) -> Answer {
        self.ask(known, json!({ "profile": true })).await
    }

    /// Signs a student in with what else the body holds.
    pub async fn ask(&self, known: &Known, rest: Value) -> Answer {
        self.service.sign_in(&known.username, &known.password, rest).await
    }

    /// Waits until the portal has seen what `condition` asks for.
    ///
    /// # Panics
    ///
    /// When that takes too long.
    pub async fn until(&self, condition: impl Fn(&Desk) -> bool) {
        timeout(DEADLINE, self.portal.until(condition)).await.expect("the portal sees it in time");
    }

    /// Stops the service with SIGTERM; it has to end well, and in time.
    pub async fn stop(self) {
        self.service.stop().await;
    }
}

impl Deref for Site {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

/// Somebody whom the portal knows.
#[derive(Debug, Clone)]
pub struct Known {
    /// The name to sign in with.
    pub username: String,
    /// The password.
    pub password: String,
}
