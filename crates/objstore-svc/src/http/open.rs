//! Sockets and the live responses to `GET /streams` open in the same way.

use std::{sync::Arc, time::Duration};

use common::{limits::Permit, serve::Connection};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::{App, Error, session::Authenticated};
use crate::{
    domain::TokenDigest,
    store::now,
    watch::{ConnectedClient, OpenSocket, Stream, Subscriber},
};

/// Time between two checks whether the session of a stream has ended.
const CHECK_SESSION: Duration = Duration::from_mins(5);

/// A stream of changes to a client.
pub(super) struct OpenStream {
    pub(super) subscriber: Subscriber,
    /// Keeps the stream in the list of its session.
    pub(super) open: OpenSocket,
    /// Keeps the presence objects of its client.
    pub(super) connected: ConnectedClient,
    /// For the connection, because a stream uses it for long.
    pub(super) permit: Permit,
}

impl OpenStream {
    pub(super) async fn new(
        app: &Arc<App>,
        session: &Authenticated,
        connection: &Connection,
        stream: &Stream,
    ) -> Result<Self, Error> {
        let permit = connection.upgrade().ok_or(Error::TooManySockets)?;
        let open = app.open_sockets.add(session.token);
        let connected = app.connected.add(session.client);
        // A logout before this line is found here. One after it finds the stream.
        if app.store.session(session.token, now()).await?.is_none() {
            return Err(Error::Unauthenticated);
        }
        let subscriber = app.hub.subscribe(session.client, stream).await?;
        session.mark_used(app).await;
        Ok(Self { subscriber, open, connected, permit })
    }
}

/// Extends the session while its stream is open, since an open stream counts as use. Returns when
/// the session has ended: at once after a logout at this process, after [`CHECK_SESSION`] after a
/// logout at another one.
pub(super) async fn until_session_ends(app: &Arc<App>, open: &OpenSocket) {
    let every = CHECK_SESSION.min(app.lifetime.extend_every() / 2);
    while open.logout.run_until_cancelled(sleep(every)).await.is_some() {
        // A task of its own, because this future is not polled while a slow reader's response is
        // full: it would keep its connection with the database from others.
        let extending = tokio::spawn(extend(Arc::clone(app), open.token));
        if let Ok(false) = AbortOnDropHandle::new(extending).await {
            return;
        }
    }
}

/// Extends a session if it is time. Returns whether it exists, or is not known to have ended.
async fn extend(app: Arc<App>, token: TokenDigest) -> bool {
    let found = app.store.session(token, now()).await;
    let Some(found) = app.session_outage.observe(found) else { return true };
    let Some(session) = found else { return false };
    if app.lifetime.must_extend(session, now()) {
        app.session_outage.observe(app.store.extend(token, now()).await);
    }
    true
}
