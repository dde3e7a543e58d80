//! A primary and its standby.

use blackbox::postgres::{Address, Cluster, Database};

/// A primary and its standby. Replication is asynchronous at first.
pub(crate) struct Pair {
    primary: Cluster,
    standby: Cluster,
    /// The address of the primary, which leads to the standby after a failover.
    leader: Address,
    /// The addresses of the two servers.
    servers: [Address; 2],
    database: Database,
}

/// How a service finds the primary.
#[derive(Clone, Copy)]
pub(crate) enum Route {
    /// At one address, which leads to the new primary after a failover.
    Address,
    /// In a list of all servers.
    Hosts,
}

impl Pair {
    pub(crate) async fn new() -> Self {
        let primary = Cluster::start();
        let database = primary.database();
        let standby = primary.standby();
        let leader = Address::of(&primary).await;
        let servers = [Address::of(&primary).await, Address::of(&standby).await];
        Self { primary, standby, leader, servers, database }
    }

    /// A pair whose primary confirms no commit that the standby lacks.
    pub(crate) async fn synchronous() -> Self {
        let pair = Self::new().await;
        pair.primary.commit_synchronously();
        pair
    }

    /// The URL of the database, for the services.
    pub(crate) fn url(&self, route: Route) -> String {
        match route {
            Route::Address => self.database.url_on(&self.leader.host()),
            Route::Hosts => {
                let hosts = self.servers.each_ref().map(Address::host).join(",");
                let url = self.database.url_on(&hosts);
                format!("{url}?target_session_attrs=read-write")
            }
        }
    }

    /// Ends the replication: the standby lacks every later commit.
    pub(crate) fn cut(&self) {
        self.standby.detach(&self.primary);
    }

    /// Waits until the standby has all commits.
    pub(crate) fn catch_up(&self) {
        self.standby.catch_up(&self.primary);
    }

    /// Crashes the primary.
    pub(crate) fn crash(&self) {
        self.primary.crash();
    }

    /// Makes the primary accept connections without an answer, in the list of all servers.
    pub(crate) fn hang(&self) {
        self.servers[0].hang();
    }

    /// Makes the address lead to the standby, promoted or not.
    pub(crate) fn lead_to_standby(&self) {
        self.leader.lead_to(&self.standby);
    }

    /// Makes the standby the primary.
    pub(crate) fn promote(&self) {
        self.standby.promote();
    }

    /// Crashes the primary and makes the standby take over.
    pub(crate) fn fail_over(&self) {
        self.crash();
        self.promote();
        self.lead_to_standby();
    }

    /// The database on the primary.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The database on the standby.
    pub(crate) fn survivor(&self) -> Database {
        self.standby.copy_of(&self.database)
    }

    /// Crashes the former standby.
    pub(crate) fn crash_survivor(&self) {
        self.standby.crash();
    }

    /// Starts the crashed former standby.
    pub(crate) fn resume_survivor(&self) {
        self.standby.resume();
    }

    /// The database on the crashed primary, which starts again. With [`Route::Address`] no service
    /// reaches it.
    pub(crate) fn lost(&self) -> Database {
        self.primary.resume();
        self.database.clone()
    }
}
