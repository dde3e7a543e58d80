//! Sends an answer: complete, slowly, endless or incomplete.

use std::{future, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use hyper::{
    HeaderMap, StatusCode,
    header::{CONTENT_LENGTH, HeaderName, HeaderValue},
};
use tokio::{task::yield_now, time::sleep};

use crate::{
    record::{Outcome, Underway},
    script::{Answer, Delivery},
};

/// Pause between two bytes of [`Delivery::Drip`].
const DRIP_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between the last byte of an answer and the reset after it. A reset discards bytes that the
/// client has not read yet.
const RESET_DELAY: Duration = Duration::from_millis(500);

/// One chunk of [`Delivery::Flood`].
const FLOOD_CHUNK: Bytes = Bytes::from_static(&[b' '; 64 * 1024]);

/// The script ends the connection before the answer is complete.
#[derive(Debug, thiserror::Error)]
#[error("the script ended the connection")]
pub(crate) struct BrokenOff;

/// An answer to send, with the call that it answers.
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) call: Underway,
}

impl Reply {
    /// Returns the response to send, or an error if the connection must end instead.
    pub(crate) async fn deliver(mut self, delivery: Delivery) -> Result<Response, BrokenOff> {
        let body = self.answer.body.into_bytes();
        let announced = match delivery {
            Delivery::Hang => future::pending().await,
            Delivery::Raw => {
                self.call.end(Outcome::Answered);
                return Err(BrokenOff);
            }
            Delivery::ResetBefore | Delivery::CloseBefore | Delivery::NotHttp => {
                self.call.end(Outcome::BrokenOff);
                return Err(BrokenOff);
            }
            Delivery::ResetMidway | Delivery::CloseEarly => Some(body.len() + 1),
            Delivery::Drip => Some(body.len()),
            Delivery::Whole | Delivery::Flood => None,
        };
        let Some((status, mut headers)) = head(self.answer.status, self.headers) else {
            self.call.end(Outcome::BrokenOff);
            return Ok(unsendable());
        };
        if let Some(length) = announced {
            headers.entry(CONTENT_LENGTH).or_insert(length.into());
        }
        let body = if delivery == Delivery::Whole {
            self.call.end(Outcome::Answered);
            Body::from(body)
        } else {
            let sending = Sending { rest: body, delivery, call: self.call };
            Body::from_stream(stream::unfold(sending, Sending::next))
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

fn head(status: u16, headers: Vec<(String, String)>) -> Option<(StatusCode, HeaderMap)> {
    let status = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 200)?;
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?);
    }
    Some((status, map))
}

/// The answer to a call whose script cannot be sent as HTTP.
fn unsendable() -> Response {
    let mut response =
        Response::new(Body::from("the script has a status or a header that HTTP does not allow"));
    *response.status_mut() = StatusCode::NOT_IMPLEMENTED;
    response
}

/// A body that is being sent in pieces.
struct Sending {
    rest: Bytes,
    delivery: Delivery,
    call: Underway,
}

impl Sending {
    async fn next(mut self) -> Option<(Result<Bytes, BrokenOff>, Self)> {
        if self.delivery == Delivery::Drip {
            if self.rest.is_empty() {
                return None;
            }
            sleep(DRIP_INTERVAL).await;
            let byte = self.rest.split_to(1);
            if self.rest.is_empty() {
                self.call.end(Outcome::Answered);
            }
            return Some((Ok(byte), self));
        }
        if !self.rest.is_empty() {
            let whole = std::mem::take(&mut self.rest);
            return Some((Ok(whole), self));
        }
        if self.delivery == Delivery::Flood {
            return Some((Ok(FLOOD_CHUNK), self));
        }
        if self.delivery == Delivery::ResetMidway {
            sleep(RESET_DELAY).await;
        } else {
            // Lets the connection flush the bytes that it has received so far.
            yield_now().await;
        }
        self.call.end(Outcome::BrokenOff);
        Some((Err(BrokenOff), self))
    }
}
