//! An authsvc with a demo portal.

use std::ops::Deref;

use demo_portal::{CAMPUSES, Controller, Options, Portal, Student};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};
use uuid::Uuid;

use super::Service;
use crate::{http::Answer, process::DEADLINE};

/// A service and its portal. It dereferences to the [`Service`].
pub struct Site {
    pub portal: Portal,
    service: Service,
    _certificates: TempDir,
}

impl Site {
    /// Starts a portal, and a process with these settings that trusts it.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        Self::wrapped(settings, |command| command).await
    }

    /// [`Self::with`], where `wrap` may change the command that starts the process.
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

    /// Enrols a student with a unique username and password.
    pub fn student(&self) -> Credentials {
        self.student_with(|student| student)
    }

    /// [`Self::student`], modified by `change` before the enrolment.
    pub fn student_with(&self, change: impl FnOnce(Student) -> Student) -> Credentials {
        let known = Credentials {
            username: format!("user-{}", Uuid::new_v4()),
            password: format!("pass-{}", Uuid::new_v4()),
        };
        self.portal.enrol(change(Student::new(&known.username, &known.password)));
        known
    }

    pub async fn sign_in(&self, known: &Credentials) -> Answer {
        self.ask(known, json!({})).await
    }

    /// Signs a student in with `"profile": true`.
    pub async fn profile(&self, known: &Credentials) -> Answer {
        self.ask(known, json!({ "profile": true })).await
    }

    /// Signs a student in, with the other members of the body in `rest`.
    pub async fn ask(&self, known: &Credentials, rest: Value) -> Answer {
        self.service.sign_in(&known.username, &known.password, rest).await
    }

    /// Waits until the portal's records satisfy `condition`.
    pub async fn until(&self, condition: impl Fn(&Controller) -> bool) {
        timeout(DEADLINE, self.portal.until(condition)).await.expect("the portal sees it in time");
    }

    /// Stops the service with SIGTERM. It has to end in time and with success.
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

/// The credentials of an enrolled student.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub username: String,
    pub password: String,
}
