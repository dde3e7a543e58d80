//! Sends invitations by SMTP, through the operator's mail server.

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

/// Timeout for sending a mail, from the connection to the server's last reply.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for the server's reply to QUIT.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// `PAYMENTS_SMTP_URL` names no usable mail server. The text does not quote it, because it may
/// contain a password.
#[derive(Debug, thiserror::Error)]
#[error(
    "PAYMENTS_SMTP_URL is not usable: must be smtp:// or smtps:// with a host; smtp:// can end in \
     ?tls=required or ?tls=opportunistic"
)]
pub(crate) struct InvalidSmtpUrl;

/// Why a mail was not sent. The text must not name the recipient. Replies of servers often do, so
/// only their code is kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    #[error("the address of the recipient is not valid")]
    Address(#[source] lettre::address::AddressError),
    #[error("the mail cannot be composed")]
    Compose(#[source] lettre::error::Error),
    /// Temporarily (4xx) or permanently (5xx).
    #[error("the mail server rejected the mail with code {0}")]
    Refused(Code),
    /// For example, STARTTLS is required and the server does not offer it.
    #[error("the mail server violates the protocol or lacks a required extension")]
    Protocol,
    /// Without `#[source]`, because the text of the error contains its cause.
    #[error("the mail server cannot be reached: {0}")]
    Unreachable(Error),
    #[error("the mail server did not answer in time")]
    TimedOut,
}

impl From<Error> for MailError {
    fn from(error: Error) -> Self {
        match error.status() {
            Some(code) => Self::Refused(code),
            None if error.is_response() || error.is_client() => Self::Protocol,
            None => Self::Unreachable(error),
        }
    }
}

/// Sends mail over one connection, which it keeps until an error or [`Self::disconnect`].
pub(crate) struct Mailer {
    server: Server,
    from: Mailbox,
    connection: Option<AsyncSmtpConnection>,
}

impl Mailer {
    /// Checks the URL. Does not connect.
    pub(crate) fn new(url: &SecretString, from: Mailbox) -> Result<Self, InvalidSmtpUrl> {
        Ok(Self { server: Server::of(url)?, from, connection: None })
    }

    /// Sends an invitation. A repeat has the same Message-ID.
    pub(crate) async fn send(&mut self, invitation: &Invitation) -> Result<(), MailError> {
        let message = self.message(invitation)?;
        // The connection is taken out of `self`. So an error or the timeout drops and closes it.
        let connection = self.connection.take().filter(|connection| !connection.has_broken());
        let sent = timeout(SEND_TIMEOUT, async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => self.server.connect().await?,
            };
            connection.send(message.envelope(), &message.formatted()).await?;
            Ok::<_, Error>(connection)
        });
        self.connection = Some(sent.await.map_err(|_| MailError::TimedOut)??);
        Ok(())
    }

    /// Closes the connection, if there is one.
    pub(crate) async fn disconnect(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            // The connection is closed even if the server does not reply.
            let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
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
                 you have been invited to {merchant}: you can help to manage its payments.\n\
                 The person who invited you can tell you more.\n\
                 \n\
                 If you did not expect this message, you can ignore it.\n"
            ))
            .map_err(MailError::Compose)
    }
}
