//! Mail, and the server that takes it: somebody else's machine, spoken to by SMTP.

use std::time::Duration;

use lettre::{
    Address, Message,
    message::{Mailbox, header::ContentType},
    transport::smtp::{Error, client::AsyncSmtpConnection, response::Code},
};
use secrecy::SecretString;
use tokio::time::timeout;

use crate::domain::Invitation;

mod server;

use server::Server;

/// How long it may take to hand a mail over, from connecting to the server's last word.
const HAND_OVER: Duration = Duration::from_secs(10);

/// How long the server may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// The settings name no server that can be spoken to. What they say is not told, since it may hold
/// a password.
#[derive(Debug, thiserror::Error)]
#[error(
    "PAYMENTS_SMTP_URL is not usable: must be smtp:// or smtps:// with a host, and perhaps \
     ?tls=required or ?tls=opportunistic"
)]
pub(crate) struct UnusableServer;

/// Why a mail was not sent. It does not tell to whom: what servers say often does, so that only the
/// number of it is told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    /// The address is none that mail can be sent to.
    #[error("the address cannot be used")]
    Address(#[source] lettre::address::AddressError),
    /// There is no mail to be made of it.
    #[error("the mail cannot be written")]
    Unwritable(#[source] lettre::error::Error),
    /// The server does not take it, now or ever.
    #[error("the mail server refuses it with {0}")]
    Refused(Code),
    /// The server does not speak as it should, or lacks what is asked of it.
    #[error("the mail server cannot be spoken with")]
    Misunderstood,
    /// The server cannot be reached, or was lost. No source: the error tells its own.
    #[error("the mail server cannot be reached: {0}")]
    Unreachable(Error),
    /// The server took too long.
    #[error("the mail server does not answer in time")]
    Silent,
}

impl From<Error> for MailError {
    fn from(error: Error) -> Self {
        match error.status() {
            Some(code) => Self::Refused(code),
            None if error.is_response() || error.is_client() => Self::Misunderstood,
            None => Self::Unreachable(error),
        }
    }
}

/// Sends mail, over one connection for as long as that lasts.
pub(crate) struct Mailer {
    server: Server,
    from: Mailbox,
    connection: Option<AsyncSmtpConnection>,
}

impl Mailer {
    /// Mail from this address by the server of this URL.
    pub(crate) fn new(url: &SecretString, from: Mailbox) -> Result<Self, UnusableServer> {
        Ok(Self { server: Server::of(url)?, from, connection: None })
    }

    /// Sends an invitation. Sent again, it is the same mail: it has the same Message-ID.
    pub(crate) async fn send(&mut self, invitation: &Invitation) -> Result<(), MailError> {
        let message = self.message(invitation)?;
        // A connection that is left in the midst of something is dropped, and thereby closed.
        let connection = self.connection.take().filter(|connection| !connection.has_broken());
        let handed_over = timeout(HAND_OVER, async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => self.server.connect().await?,
            };
            connection.send(message.envelope(), &message.formatted()).await?;
            Ok::<_, Error>(connection)
        });
        self.connection = Some(handed_over.await.map_err(|_| MailError::Silent)??);
        Ok(())
    }

    /// Ends the connection, if there is one.
    pub(crate) async fn hang_up(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            // A server that does not care to answer is left as well.
            let _ = timeout(GOODBYE, connection.quit()).await;
        }
    }

    fn message(&self, invitation: &Invitation) -> Result<Message, MailError> {
        let Invitation { id, to, merchant, .. } = invitation;
        let to: Address = to.as_str().parse().map_err(MailError::Address)?;
        Message::builder()
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .from(self.from.clone())
            .to(to.into())
            .subject(format!("You are invited to {merchant}"))
            .header(ContentType::TEXT_PLAIN)
            .body(format!(
                "Hello,\n\
                 \n\
                 you have been invited to {merchant}: from now on you are one of those who look\n\
                 after its payments. Whoever invited you can tell you more.\n\
                 \n\
                 If you do not know what this is about, there is nothing you have to do.\n"
            ))
            .map_err(MailError::Unwritable)
    }
}
