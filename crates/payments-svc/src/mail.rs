//! Sends invitations by SMTP, through the operator's mail server.

use std::{sync::Arc, time::Duration};

use lettre::{
    Address, Message,
    message::{
        Mailbox,
        header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0},
    },
    transport::smtp::{Error, client::AsyncSmtpConnection, response::Code},
};
use payments_domain::{Invitation, Name};
use tokio::{sync::watch::Receiver, time::timeout};

use crate::language::Language;

mod server;

pub(crate) use server::Server;

/// Timeout for sending a mail, from the connection to the server's last reply.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Asks programs not to answer the mail automatically (RFC 3834).
const AUTO_SUBMITTED: HeaderName = HeaderName::new_from_ascii_str("Auto-Submitted");

/// The line between the two languages of a mail.
const SEPARATOR: &str = "\n----------\n\n";

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
    server: Receiver<Arc<Server>>,
    from: Mailbox,
    connection: Option<AsyncSmtpConnection>,
}

impl Mailer {
    /// Does not connect. New connections use the current server.
    pub(crate) fn new(server: Receiver<Arc<Server>>, from: Mailbox) -> Self {
        Self { server, from, connection: None }
    }

    /// Sends an invitation. A repeat has the same Message-ID.
    pub(crate) async fn send(&mut self, invitation: &Invitation) -> Result<(), MailError> {
        let message = self.message(invitation)?;
        // The connection is taken out of `self`. So an error or the timeout drops and closes it.
        let connection = self.connection.take().filter(|connection| !connection.has_broken());
        let server = Arc::clone(&self.server.borrow());
        let sent = timeout(SEND_TIMEOUT, async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => server.connect().await?,
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
        let Invitation { id, to, merchant, country, .. } = invitation;
        let to: Address = to.as_str().parse().map_err(MailError::Address)?;
        let english = Language::english();
        let (language, text) = match Language::of_country(country) {
            None => (english, text(invitation, english)),
            Some(own) => (own, [text(invitation, own), text(invitation, english)].join(SEPARATOR)),
        };
        Message::builder()
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .from(self.from.clone())
            .to(to.into())
            .subject(language.invitation_subject(merchant.as_str()))
            .header(MIME_VERSION_1_0)
            .raw_header(HeaderValue::new(AUTO_SUBMITTED, "auto-generated".to_owned()))
            .header(ContentType::TEXT_PLAIN)
            .body(text)
            .map_err(MailError::Compose)
    }
}

/// The text of an invitation in one language.
fn text(invitation: &Invitation, language: &Language) -> String {
    let merchant = invitation.merchant.as_str();
    let app = invitation.app.as_ref().map(Name::as_str).filter(|app| !app.trim().is_empty());
    let invited = match app {
        Some(app) => language.invitation_by_app(app, merchant),
        None => language.invitation(merchant),
    };
    format!(
        "{}\n\n{invited} {}\n\n{}\n",
        language.invitation_greeting(),
        language.invitation_more(),
        language.invitation_unexpected(),
    )
}

#[cfg(test)]
mod tests {
    use lettre::transport::smtp::extension::ClientId;
    use payments_domain::{Country, Email, Id};
    use secrecy::SecretString;
    use tokio::sync::watch::channel;

    use super::*;

    fn mail(country: &str, app: Option<&str>) -> String {
        let url = SecretString::from("smtp://mail.example");
        let from = "Payments <payments@service.example>".parse().unwrap();
        let server = Server::of(&url, ClientId::default()).unwrap();
        let mailer = Mailer::new(channel(Arc::new(server)).1, from);
        let invitation = Invitation {
            id: Id::MIN,
            to: Email::new("ben@shop.example").unwrap(),
            merchant: "Corner shop".to_owned(),
            country: Country::new(country).unwrap(),
            app: app.map(|name| Name::new(name).unwrap()),
            attempts: 1,
        };
        String::from_utf8(mailer.message(&invitation).unwrap().formatted()).unwrap()
    }

    #[test]
    fn a_mail_is_in_the_language_of_the_country_and_in_english() {
        let [danish, english, japanese] = ["DK", "GB", "JP"].map(|country| mail(country, None));
        let parts: Vec<_> = danish.split("\r\n----------\r\n").collect();
        assert!(parts.len() == 2 && parts[0].contains("Subject: Invitation til Corner shop"));
        assert!(parts[1].trim_start().starts_with("Hello,"), "{danish}");
        for mail in [english, japanese] {
            assert!(mail.contains("Subject: You are invited to Corner shop"), "{mail}");
            assert!(!mail.contains("----------") && mail.matches("Hello,").count() == 1, "{mail}");
        }
    }

    #[test]
    fn a_mail_names_the_app_that_invites() {
        let named = mail("GB", Some("Till"));
        assert!(named.contains("Till has invited you to help manage the payments of Corner shop."));
        for nameless in [None, Some(""), Some(" ")] {
            let mail = mail("GB", nameless);
            assert!(mail.contains("You have been invited to help"), "{mail}");
        }
    }

    #[test]
    fn a_mail_says_that_a_program_sent_it() {
        let mail = mail("DK", None);
        for header in ["MIME-Version: 1.0", "Auto-Submitted: auto-generated"] {
            assert_eq!(mail.lines().filter(|line| *line == header).count(), 1, "{mail}");
        }
        assert!(mail.is_ascii(), "text that is not ASCII must be encoded: {mail}");
    }
}
