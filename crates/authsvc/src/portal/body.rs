//! Reads the body of an answer while it arrives: at most `PORTAL_MAX_RESPONSE`, decoded if it is
//! compressed.
//!
//! authsvc asks for no compression. A proxy or a CDN in front of the portal can compress all the
//! same. Decision: gzip and deflate are decoded, because their decoders need 75 KiB each, and any
//! other content coding is an error, because a decoder of Brotli or Zstandard can need 8 MiB and
//! more. Features of the HTTP library would decode, too, but for every client of the workspace.

use std::io::{self, Write};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use reqwest::{
    Response,
    header::{CONTENT_ENCODING, HeaderMap},
};
use tokio::sync::Semaphore;

use super::skim::{Members, Skimmer, Unreadable};

/// A body is long from this many bytes on.
const LONG_BODY: u64 = 16 * 1024;

/// Long or compressed bodies that are read at once. Meanwhile, the HTTP library holds up to 650 KiB
/// of each.
pub(super) const LONG_BODIES: usize = 32;

/// Why a body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFault {
    #[error("the answer is longer than PORTAL_MAX_RESPONSE")]
    TooLarge,
    #[error("the answer was cut off")]
    CutOff,
    #[error("the answer has a content coding other than gzip and deflate")]
    Coding,
    #[error("the compressed answer is damaged")]
    Damaged,
    #[error("{0}")]
    Unreadable(#[from] Unreadable),
}

/// The needed members of an answer.
pub(super) type Body = Result<Members, BodyFault>;

/// Reads at most `limit` bytes of a body, counted when it is decoded. Waits for a permit when it is
/// long or compressed.
pub(super) async fn read(
    mut response: Response,
    skimmer: Skimmer<'_>,
    limit: u64,
    long_bodies: &Semaphore,
) -> Body {
    let coding = coding(response.headers())?;
    let announced = response.content_length().unwrap_or(0);
    let mut permit = None;
    if coding != Coding::Identity {
        permit = long_bodies.acquire().await.ok();
    }
    let mut decoder = Decoder::new(coding, Plain { skimmer, length: 0, limit });
    loop {
        if permit.is_none() && announced.max(decoder.length()) >= LONG_BODY {
            permit = long_bodies.acquire().await.ok();
        }
        let chunk = response.chunk().await.map_err(|_| BodyFault::CutOff)?;
        let Some(chunk) = chunk else { break };
        decoder.push(&chunk)?;
    }
    Ok(decoder.finish()?.skimmer.finish()?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Deflate,
}

/// The content coding that a response names.
fn coding(headers: &HeaderMap) -> Result<Coding, BodyFault> {
    let values = headers.get_all(CONTENT_ENCODING).iter().map(|value| value.to_str());
    let values = values.collect::<Result<Vec<_>, _>>().map_err(|_| BodyFault::Coding)?;
    let names = values.iter().flat_map(|value| value.split(','));
    let names = names.map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<_> = names.filter(|name| !name.is_empty() && name != "identity").collect();
    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(Coding::Identity),
        ["gzip" | "x-gzip"] => Ok(Coding::Gzip),
        ["deflate"] => Ok(Coding::Deflate),
        _ => Err(BodyFault::Coding),
    }
}

/// A body that is not compressed, or no longer.
struct Plain<'a> {
    skimmer: Skimmer<'a>,
    length: u64,
    limit: u64,
}

impl Plain<'_> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), BodyFault> {
        self.length = self.length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.length > self.limit {
            return Err(BodyFault::TooLarge);
        }
        Ok(self.skimmer.push(bytes)?)
    }
}

/// Takes what a decoder has decoded. A fault ends the decoding, so that a small body cannot become a
/// large one.
impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Decoder<'a> {
    Identity(Plain<'a>),
    Gzip(MultiGzDecoder<Plain<'a>>),
    Deflate(ZlibDecoder<Plain<'a>>),
}

impl<'a> Decoder<'a> {
    fn new(coding: Coding, plain: Plain<'a>) -> Self {
        match coding {
            Coding::Identity => Self::Identity(plain),
            Coding::Gzip => Self::Gzip(MultiGzDecoder::new(plain)),
            Coding::Deflate => Self::Deflate(ZlibDecoder::new(plain)),
        }
    }

    /// The number of decoded bytes.
    fn length(&self) -> u64 {
        match self {
            Self::Identity(plain) => plain.length,
            Self::Gzip(decoder) => decoder.get_ref().length,
            Self::Deflate(decoder) => decoder.get_ref().length,
        }
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), BodyFault> {
        match self {
            Self::Identity(plain) => plain.push(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk).map_err(fault),
            Self::Deflate(decoder) => decoder.write_all(chunk).map_err(fault),
        }
    }

    fn finish(self) -> Result<Plain<'a>, BodyFault> {
        match self {
            Self::Identity(plain) => Ok(plain),
            Self::Gzip(decoder) => decoder.finish().map_err(fault),
            Self::Deflate(decoder) => decoder.finish().map_err(fault),
        }
    }
}

/// The fault that ended the decoding: of [`Plain`], or of the decoder.
fn fault(error: io::Error) -> BodyFault {
    error.downcast().unwrap_or(BodyFault::Damaged)
}

#[cfg(test)]
mod tests;
