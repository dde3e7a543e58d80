//! Sends mail by SMTP, through the operator's mail server.

use std::{sync::Arc, time::Duration};

use jiff::tz::TimeZone;
use lettre::{
    Address, Message,
    message::{
        Mailbox,
        header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0},
    },
    transport::smtp::{Error, client::AsyncSmtpConnection, response::Code},
};
use payments_domain::{Mail, MailKind, Token};
use tokio::{sync::watch::Receiver, time::timeout};

use crate::{language::Language, receipt_links::ReceiptLinks};

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
    /// The URL of the desk, for links. `None`: there is no desk.
    desk: Option<String>,
    /// `None`: payers get no receipts.
    receipts: Option<Arc<ReceiptLinks>>,
    connection: Option<AsyncSmtpConnection>,
}

impl Mailer {
    /// Does not connect. New connections use the current server.
    pub(crate) fn new(server: Receiver<Arc<Server>>, from: Mailbox, desk: Option<String>) -> Self {
        Self { server, from, desk, receipts: None, connection: None }
    }

    pub(crate) fn with_receipts(self, receipts: Option<Arc<ReceiptLinks>>) -> Self {
        Self { receipts, ..self }
    }

    /// Whether a mail is of use: without links to receipts, a mail with one is not.
    pub(crate) fn may_send(&self, mail: &Mail) -> bool {
        !mail.is_late && (mail.kind != MailKind::Receipt || self.receipts.is_some())
    }

    /// Whether mails can contain links.
    pub(crate) fn has_desk(&self) -> bool {
        self.desk.is_some()
    }

    /// Sends a mail with a link. A repeat has the same Message-ID.
    pub(crate) async fn send(
        &mut self,
        mail: &Mail,
        link: Option<&Token>,
    ) -> Result<(), MailError> {
        let message = self.message(mail, link)?;
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

    fn message(&self, mail: &Mail, link: Option<&Token>) -> Result<Message, MailError> {
        let Mail { id, to, language, country, .. } = mail;
        let to: Address = to.as_str().parse().map_err(MailError::Address)?;
        let (desk, receipts) = (self.desk.as_ref(), self.receipts.as_ref());
        let url = match mail.kind {
            MailKind::Invitation | MailKind::SignIn => {
                desk.zip(link).map(|(desk, link)| format!("{desk}link/{}", link.expose()))
            }
            MailKind::Receipt => receipts.zip(mail.object).map(|(links, paid)| links.url(paid)),
            _ => desk.zip(mail.page).map(|(desk, page)| format!("{desk}merchants/{page}/payments")),
        };
        let text = |language| text(mail, url.as_deref(), language);
        let english = Language::english();
        let (language, text) = match (language, country.as_ref().and_then(Language::of_country)) {
            (Some(chosen), _) => {
                let chosen = Language::named(chosen).unwrap_or(english);
                (chosen, text(chosen))
            }
            (None, None) => (english, text(english)),
            (None, Some(own)) => (own, [text(own), text(english)].join(SEPARATOR)),
        };
        let merchant = mail.merchant.as_deref().unwrap_or_default();
        let subject = match mail.kind {
            MailKind::Invitation => language.invitation_subject(merchant),
            MailKind::SignIn => language.sign_in_subject(),
            MailKind::Dispute => language.dispute_subject(merchant),
            MailKind::Payout => language.payout_subject(merchant),
            MailKind::Return => language.return_subject(merchant),
            MailKind::Webhook => language.webhook_subject(merchant),
            MailKind::Receipt => format!("{} – {merchant}", language.receipt()).into(),
        };
        Message::builder()
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .from(self.from.clone())
            .to(to.into())
            .subject(subject)
            .header(MIME_VERSION_1_0)
            .raw_header(HeaderValue::new(AUTO_SUBMITTED, "auto-generated".to_owned()))
            .header(ContentType::TEXT_PLAIN)
            .body(text)
            .map_err(MailError::Compose)
    }
}

/// The text of a mail in one language. `url` is the address of its link.
fn text(mail: &Mail, url: Option<&str>, language: &Language) -> String {
    let greeting = language.invitation_greeting();
    let merchant = mail.merchant.as_deref().unwrap_or_default();
    let actor = mail.actor.as_deref().filter(|actor| !actor.trim().is_empty());
    let money = mail.money.map(|money| language.money(money)).unwrap_or_default();
    match (mail.kind, url) {
        (MailKind::Receipt, url) => format!(
            "{greeting}\n\n{}\n\n{}\n",
            language.receipt_mail(money, merchant),
            url.unwrap_or_default(),
        ),
        (MailKind::SignIn, url) => format!(
            "{greeting}\n\n{}\n\n{}\n\n{}\n",
            language.sign_in_mail(),
            url.unwrap_or_default(),
            language.sign_in_unexpected(),
        ),
        (MailKind::Invitation, url) => {
            let invited = match actor {
                Some(actor) => language.invitation_by_app(actor, merchant),
                None => language.invitation(merchant),
            };
            let how = match url {
                Some(url) => format!("\n\n{}\n\n{url}", language.invitation_link()),
                None => format!(" {}", language.invitation_more()),
            };
            format!("{greeting}\n\n{invited}{how}\n\n{}\n", language.invitation_unexpected())
        }
        (kind, url) => {
            let day = mail.answer_by.map(|time| time.to_zoned(TimeZone::UTC).date());
            let day = day.map(|day| day.to_string()).unwrap_or_default();
            let told = match kind {
                MailKind::Dispute => language.dispute_mail(money, merchant, day),
                MailKind::Payout => language.payout_mail(money, merchant),
                MailKind::Return => language.return_mail(money, merchant),
                _ => language.webhook_mail(merchant),
            };
            let url = url.unwrap_or_default();
            format!("{greeting}\n\n{told}\n\n{}\n\n{url}\n", language.more_at_desk())
        }
    }
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
        let mailer = Mailer::new(channel(Arc::new(server)).1, from, None);
        let mail = Mail {
            id: Id::MIN,
            kind: MailKind::Invitation,
            to: Email::new("ben@shop.example").unwrap(),
            merchant: Some("Corner shop".to_owned()),
            country: Some(Country::new(country).unwrap()),
            page: None,
            object: None,
            money: None,
            answer_by: None,
            actor: app.map(str::to_owned),
            language: None,
            attempts: 1,
            is_late: false,
        };
        String::from_utf8(mailer.message(&mail, None).unwrap().formatted()).unwrap()
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
