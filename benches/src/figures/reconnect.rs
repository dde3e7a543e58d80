//! A restart of the service while many clients watch: the time until each has its socket again and
//! has received the change that it missed, and the latency of other requests meanwhile.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    figures::Bench,
    load::{
        self, Job, all,
        api::{self, Api},
        exchange::Exchange,
        line::Call,
        object,
        socket::Socket,
    },
    peers,
    report::{Rounds, Row, Spread, Table, count},
};

const NAMESPACE: &str = "reconnect";
/// Connections of the other requests.
const CONNECTIONS: u64 = 16;
/// Other requests per second.
const RATE: u64 = 500;

/// Clients connect spread over this time: the documentation advises a random delay.
const SPREAD: Duration = Duration::from_secs(1);

/// Time for the acknowledgements after the pushes.
const ACKNOWLEDGED: Duration = Duration::from_secs(2);

/// Opens a socket for each cookie, spread over [`SPREAD`], and waits for a push on each.
#[derive(Deserialize, Serialize)]
pub(crate) struct Reconnect {
    address: SocketAddr,
    /// A file with one cookie per line.
    cookies: PathBuf,
}

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut server = peers::objstore(bench).await?;
    let clients = bench.scale.idle_sockets;
    let everything = object::key(object::TYPE, NAMESPACE, "");
    let enrolled = api::enroll(server.address, vec![everything; clients]).await?;
    let cookies = server.directory().join("cookies");
    fs::write(&cookies, enrolled.join("\n"))?;
    let other = server.session().await?;
    let object = object::object(NAMESPACE, "missed", &object::value(256));
    let headers = format!("Cookie: {other}\r\n");
    let watches = Call::Get { path: "/watches".to_owned(), headers };
    let reconnect = Reconnect { address: server.address, cookies };
    let (mut ready, mut served, mut others) = (Vec::new(), Vec::new(), Rounds::default());
    for round in 0..=bench.scale.rounds {
        Api::connect(server.address).await?.post("/set", &other, object.clone()).await?;
        if round == 0 {
            // Before their first socket, the clients have acknowledged nothing.
            load::run_in_child(&reconnect, Duration::from_secs(60)).await?;
            continue;
        }
        let started = Instant::now();
        server.restart().await?;
        ready.push(started.elapsed().as_secs_f64());
        let exchange =
            Exchange { rate: Some(RATE), ..bench.exchange(&server, watches.clone(), CONNECTIONS) };
        let limit = Duration::from_secs(60);
        let reconnected = async {
            sleep(bench.scale.warm_up).await;
            load::run_in_child(&reconnect, limit).await
        };
        let (seconds, exchanged) =
            tokio::try_join!(reconnected, load::run_in_child(&exchange, limit))?;
        served.push(seconds);
        others.add(exchanged);
    }
    let clients = count(clients as f64);
    let served = Spread::from(served);
    table.row(
        Row::ours(format!("{clients} clients reconnect after a kill"), "objstore-svc, all served")
            .result(&served, " s")
            .note(format!("ready after {:.2} s", Spread::from(ready).median())),
    );
    let figure = format!("GET /watches, {RATE} a second, while {clients} clients reconnect");
    table.row(Row::ours(figure, "objstore-svc").exchanges(&others).steady());
    Ok(())
}

impl Job for Reconnect {
    const KIND: &'static str = "reconnect";
    /// Seconds until each client has received a push.
    type Outcome = f64;

    async fn perform(self) -> Result<f64> {
        let cookies = fs::read_to_string(&self.cookies)?;
        let cookies: Vec<_> = cookies.lines().map(str::to_owned).collect();
        let (served, started) = (Arc::new(AtomicUsize::new(0)), Instant::now());
        let (mut sockets, clients) = (JoinSet::new(), cookies.len());
        for (index, cookie) in cookies.into_iter().enumerate() {
            let delay = SPREAD.mul_f64(index as f64 / clients as f64);
            let (address, served) = (self.address, Arc::clone(&served));
            sockets.spawn(async move {
                sleep(delay).await;
                listen(Socket::open(address, &cookie).await?, &served).await
            });
        }
        let measuring = async {
            while served.load(Relaxed) < clients {
                sleep(Duration::from_millis(5)).await;
            }
            let seconds = started.elapsed().as_secs_f64();
            sleep(ACKNOWLEDGED).await;
            Ok(seconds)
        };
        tokio::select! {
            ended = all(sockets) => ended.and(Err(anyhow!("a socket ended"))),
            seconds = measuring => seconds,
        }
    }
}

/// Counts the client when it has received a push, and goes on to answer pings.
async fn listen(mut socket: Socket, served: &AtomicUsize) -> Result<()> {
    let mut pushes = 0;
    loop {
        let before = pushes;
        socket
            .receive(|_| {
                pushes += 1;
                Ok(())
            })
            .await?;
        if before == 0 && pushes > 0 {
            served.fetch_add(1, Relaxed);
        }
    }
}
