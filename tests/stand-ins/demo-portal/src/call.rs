//! Reads a call and checks whether it has the form that the mobile app sends.

use axum::{body::Body, extract::Request, http::Extensions};
use common::body;
use futures_util::stream;
use hyper::{
    HeaderMap, Method,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use multer::Multipart;

use crate::{
    controller::Controller,
    record::{Outcome, Received},
    script::Operation,
};

/// Longest form that is read, in bytes.
const MAX_FORM: usize = 64 * 1024;

pub(crate) struct Call {
    /// Determined by the path alone. `None` for an unknown path.
    pub(crate) operation: Option<Operation>,
    pub(crate) received: Received,
    /// Whether the body is a form of text fields, without files.
    is_text_form: bool,
}

impl Call {
    pub(crate) async fn read(request: Request, connection: u64) -> Self {
        let (head, body) = request.into_parts();
        let form = fields(&head.headers, body).await;
        let is_text_form = form.is_some();
        let received = Received {
            connection,
            method: head.method.to_string(),
            path: head.uri.to_string(),
            headers: pairs(&head.headers),
            fields: form.unwrap_or_default(),
            outcome: Outcome::Underway,
        };
        Self { operation: Operation::at(head.uri.path()), received, is_text_form }
    }

    /// The user of the call: the holder of its token, or else the user who signs in.
    pub(crate) fn user(&self, controller: &Controller) -> Option<String> {
        let typed = || self.received.field("userName").map(str::to_owned);
        self.holder(controller).or_else(typed)
    }

    /// The user to whom its bearer token was issued.
    pub(crate) fn holder(&self, controller: &Controller) -> Option<String> {
        let credential = self.received.header(AUTHORIZATION.as_str())?;
        controller.holder(credential.strip_prefix("Bearer ")?)
    }

    /// Whether the mobile app could have sent it.
    pub(crate) fn is_mobile(&self) -> bool {
        self.is_text_form && self.received.header("x-client-type") == Some("MOBILE")
    }

    pub(crate) fn is_post(&self) -> bool {
        self.received.method == Method::POST.as_str()
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect()
}

/// Reads the fields of a form. Returns `None` if the body is not a form, is too long or contains a
/// file.
async fn fields(headers: &HeaderMap, body: Body) -> Option<Vec<(String, String)>> {
    let body = body::read(&Extensions::new(), body, MAX_FORM).await.ok()?;
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let boundary = multer::parse_boundary(content_type).ok()?;
    let whole = stream::once(async { Ok::<_, std::convert::Infallible>(body.to_vec()) });
    let mut form = Multipart::new(whole, boundary);
    let mut fields = Vec::new();
    while let Some(field) = form.next_field().await.ok()? {
        let name = field.name().filter(|_| field.file_name().is_none())?.to_owned();
        let value = field.bytes().await.ok()?;
        fields.push((name, String::from_utf8_lossy(&value).into_owned()));
    }
    Some(fields)
}
