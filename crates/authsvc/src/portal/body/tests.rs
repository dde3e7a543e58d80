use std::{
    future::pending,
    io::{self, Write as _},
    iter,
    sync::LazyLock,
};

use bytes::Bytes;
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use futures_util::{FutureExt as _, StreamExt as _, future, stream};
use reqwest::Body as Sent;

use super::*;
use crate::portal::skim::Needed;

static NEEDED: LazyLock<[Needed; 1]> = LazyLock::new(|| [Needed::value("kept")]);

/// An answer with so many chunks of 4 KiB. Without an end, more may follow.
fn answer(chunks: usize, has_end: bool) -> Response {
    let start = iter::once(Bytes::from_static(br#"{"kept":1,"long":""#));
    let filler = iter::repeat_n(Bytes::from(vec![b'x'; 4096]), chunks);
    let sent = stream::iter(start.chain(filler)).map(Ok::<_, std::io::Error>);
    let end = if has_end {
        future::ready(Ok(Bytes::from_static(br#""}"#))).left_future()
    } else {
        pending().right_future()
    };
    let body = Sent::wrap_stream(sent.chain(stream::once(end)));
    Response::from(http::Response::new(body))
}

fn read_with(long_bodies: &Semaphore, answer: Response) -> impl Future<Output = Body> + use<'_> {
    read(answer, Skimmer::new(&*NEEDED), 1 << 20, long_bodies)
}

#[tokio::test]
async fn a_long_body_waits_while_others_are_read() {
    let long_bodies = Semaphore::new(1);
    let mut first = Box::pin(read_with(&long_bodies, answer(5, false)));
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!(long_bodies.available_permits(), 0);
    let mut second = Box::pin(read_with(&long_bodies, answer(5, true)));
    assert!(second.as_mut().now_or_never().is_none());
    assert!(read_with(&long_bodies, answer(3, true)).now_or_never().unwrap().is_ok());
    drop(first);
    assert!(second.now_or_never().unwrap().is_ok());
    assert_eq!(long_bodies.available_permits(), 1);
}

#[tokio::test]
async fn a_body_with_an_announced_length_waits_before_it_is_read() {
    let announced = |length: usize| {
        let text = format!(r#"{{"kept":"{}"}}"#, "x".repeat(length));
        Response::from(http::Response::new(Sent::from(text)))
    };
    let none = Semaphore::new(0);
    assert!(read_with(&none, announced(1 << 10)).now_or_never().unwrap().is_ok());
    let mut waiting = Box::pin(read_with(&none, announced(32 << 10)));
    assert!(waiting.as_mut().now_or_never().is_none());
    none.add_permits(1);
    assert!(waiting.now_or_never().unwrap().is_ok());
}

/// An answer with this content coding, in chunks of so many bytes.
fn coded(coding: &str, body: &[u8], size: usize) -> Response {
    let chunks: Vec<_> =
        body.chunks(size).map(|chunk| Ok::<_, io::Error>(chunk.to_vec())).collect();
    let body = Sent::wrap_stream(stream::iter(chunks));
    let answer = http::Response::builder().header(CONTENT_ENCODING, coding).body(body);
    Response::from(answer.unwrap())
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

async fn fault_of(answer: Response) -> Option<BodyFault> {
    read_with(&Semaphore::new(1), answer).await.err()
}

#[tokio::test]
async fn a_compressed_body_is_decoded_however_it_is_cut() {
    let text = br#"{"kept":1,"long":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#;
    let members = [gzip(&text[..9]), gzip(&text[9..])].concat();
    for (coding, body) in [
        ("gzip", gzip(text)),
        ("GZip", gzip(text)),
        ("x-gzip", gzip(text)),
        (" identity , gzip,", gzip(text)),
        ("gzip", members),
        ("deflate", deflate(text)),
        ("identity", text.to_vec()),
        ("", text.to_vec()),
    ] {
        for size in [1, 7, body.len()] {
            assert_eq!(fault_of(coded(coding, &body, size)).await, None, "{coding} {size}");
        }
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_decoded_is_a_fault() {
    let text = br#"{"kept":1}"#;
    let whole = gzip(text);
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for (coding, body, expected) in [
        ("br", &text[..], BodyFault::Coding),
        ("zstd", text, BodyFault::Coding),
        ("gzip, gzip", &gzip(&whole), BodyFault::Coding),
        ("gzip", text, BodyFault::Damaged),
        ("deflate", &whole, BodyFault::Damaged),
        ("gzip", &whole[..whole.len() - 1], BodyFault::Damaged),
        ("gzip", &wrong, BodyFault::Damaged),
        ("gzip", b"", BodyFault::Damaged),
        ("gzip", &gzip(b"<html>"), Unreadable::NotAnObject.into()),
    ] {
        assert_eq!(fault_of(coded(coding, body, 4)).await, Some(expected), "{coding}");
    }
}

#[tokio::test]
async fn a_small_body_that_becomes_large_is_too_large() {
    for (length, expected) in [(1 << 19, None), (1 << 20, Some(BodyFault::TooLarge))] {
        let text = format!(r#"{{"long":"{}"}}"#, " ".repeat(length));
        for (coding, body) in
            [("gzip", gzip(text.as_bytes())), ("deflate", deflate(text.as_bytes()))]
        {
            assert!(body.len() < length / 500);
            assert_eq!(fault_of(coded(coding, &body, body.len())).await, expected, "{coding}");
        }
    }
}

#[tokio::test]
async fn a_compressed_body_waits_while_others_are_read() {
    let answer = || coded("gzip", &gzip(br#"{"kept":1}"#), 4);
    let none = Semaphore::new(0);
    let mut waiting = Box::pin(read_with(&none, answer()));
    assert!(waiting.as_mut().now_or_never().is_none());
    none.add_permits(1);
    assert!(waiting.now_or_never().unwrap().is_ok());
}
