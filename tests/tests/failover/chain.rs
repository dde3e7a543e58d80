//! Four servers that are the primary one after the other.

use blackbox::postgres::{Address, Cluster, Database};

/// The second server follows the first one, and the third and fourth follow the second one.
pub(crate) struct Chain {
    servers: [Cluster; 4],
    /// The address of the primary.
    leader: Address,
    database: Database,
}

impl Chain {
    pub(crate) async fn new() -> Self {
        let first = Cluster::start();
        let database = first.database();
        let second = first.standby();
        let (third, fourth) = (second.standby(), second.standby());
        let leader = Address::of(&first).await;
        Self { servers: [first, second, third, fourth], leader, database }
    }

    /// The URL of the database, for the services.
    pub(crate) fn url(&self) -> String {
        self.database.url_on(&self.leader.host())
    }

    /// It has all commits.
    pub(crate) fn second_takes_over(&self) {
        self.servers[1].catch_up(&self.servers[0]);
        self.take_over(0, 1);
    }

    /// Ends the replication to the fourth server: it lacks every later commit.
    pub(crate) fn cut_fourth(&self) {
        self.servers[3].detach(&self.servers[1]);
    }

    /// It has all commits.
    pub(crate) fn third_takes_over(&self) {
        self.servers[2].catch_up(&self.servers[1]);
        self.take_over(1, 2);
    }

    pub(crate) fn fourth_takes_over(&self) {
        self.take_over(2, 3);
    }

    fn take_over(&self, from: usize, to: usize) {
        self.servers[from].crash();
        self.servers[to].promote();
        self.leader.lead_to(&self.servers[to]);
    }
}
