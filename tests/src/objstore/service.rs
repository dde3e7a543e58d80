//! objstore-svc, running or stopped.

use uuid::Uuid;

use super::{Client, PROGRAM};
use crate::{
    process::Process,
    service::{self, Program},
};

pub type Service = service::Service<Objstore>;
pub type Stopped = service::Stopped<Objstore>;

#[derive(Debug)]
pub struct Objstore;

impl Program for Objstore {
    const NAME: &str = PROGRAM;
    const DATA_DIR: &str = "OBJSTORE_DATA_DIR";
    const DATABASE_URL: &str = "OBJSTORE_DATABASE_URL";
    const FILE: &str = "objstore.db";
    const ENGINE: &str = "OBJSTORE_TEST_ENGINE";
    const URL: &str = "OBJSTORE_URL";
    // The tests register more clients from one address than the default allows.
    const SETTINGS: &[(&str, &str)] = &[("OBJSTORE_REGISTER_LIMIT", "off")];

    fn of(_: &Process) -> Self {
        Self
    }

    fn of_variables() -> Option<Self> {
        Some(Self)
    }
}

impl Service {
    /// A client with a new id and a session.
    pub async fn client(&self) -> Client {
        self.client_with(Uuid::new_v4()).await
    }

    /// A client with this id and a new session.
    pub async fn client_with(&self, id: Uuid) -> Client {
        let mut client = Client::anonymous(&self.http, &self.url, id);
        client.register().await;
        client
    }

    /// A client with a new id, not registered.
    pub fn stranger(&self) -> Client {
        Client::anonymous(&self.http, &self.url, Uuid::new_v4())
    }
}

impl Stopped {
    /// Returns what writes change: the newest revision, and the numbers of clients, sessions and watches.
    pub fn writes(&self) -> Vec<String> {
        self.texts(
            "SELECT 'revision ' || max(revision) FROM log
             UNION ALL SELECT 'clients ' || count(*) FROM clients
             UNION ALL SELECT 'sessions ' || count(*) FROM sessions
             UNION ALL SELECT 'watches ' || count(*) FROM watches",
        )
    }
}
