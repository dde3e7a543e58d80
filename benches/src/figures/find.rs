//! A `find` that matches all objects of a store with a million objects.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use http_body_util::BodyExt;
use hyper::Method;
use serde::{Deserialize, Serialize};

use crate::{
    figures::Bench,
    load::{self, Job, api::Api, object},
    process,
    report::{Row, Spread, Table, count},
};

/// Opening braces per object: the object, its key, its value. Counting braces counts objects.
const BRACES: usize = 3;

/// Sends the `find` several times and reads the complete answers.
#[derive(Deserialize, Serialize)]
pub(crate) struct Find {
    address: SocketAddr,
    pid: u32,
    cookie: String,
    objects: u64,
    rounds: usize,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Found {
    /// Per round: time from before the request until the first byte of the body, in milliseconds.
    first_byte: Vec<f64>,
    /// Per round: time from before the request until the last byte, in seconds.
    total: Vec<f64>,
    /// Size of the body in the last round.
    bytes: usize,
    /// Peak of resident memory minus the resident memory before the first round, in bytes.
    growth: u64,
}

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let filled = bench.filled().await?;
    let find = Find {
        address: filled.server.address,
        pid: filled.server.pid,
        cookie: filled.cookie.clone(),
        objects: bench.scale.objects,
        rounds: bench.scale.rounds,
    };
    let found = load::run_in_child(&find, Duration::from_secs(120)).await?;
    let (mut first, mut total) = (Spread::default(), Spread::default());
    found.first_byte.iter().for_each(|&milliseconds| first.add(milliseconds));
    found.total.iter().for_each(|&seconds| total.add(seconds));
    let growth = found.growth as f64 / 1024.0 / 1024.0;
    let per_second = bench.scale.objects as f64 / total.median();
    let figure = format!("Find, {} matches", count(bench.scale.objects as f64));
    let note = format!(
        "complete after {:.2} s, {} objects/s, {:.0} MB",
        total.median(),
        count(per_second),
        found.bytes as f64 / 1e6
    );
    let row = Row::ours(format!("{figure}: first byte"), "objstore-svc").result(&first, " ms");
    table.row(row.note(note));
    let row = Row::ours(format!("{figure}: growth of resident memory"), "objstore-svc")
        .once(growth, " MiB");
    table.row(row.note(format!("peak of {} finds in a fresh process", bench.scale.rounds)));
    Ok(())
}

impl Job for Find {
    const KIND: &'static str = "find";
    type Outcome = Found;

    async fn perform(self) -> Result<Found> {
        let mut found = Found { first_byte: Vec::new(), total: Vec::new(), bytes: 0, growth: 0 };
        let mut api = Api::connect(self.address).await?;
        process::reset_peak(self.pid)?;
        let before = process::resident(self.pid)?;
        for _ in 0..self.rounds {
            self.once(&mut api, &mut found).await?;
        }
        found.growth = process::peak(self.pid)?.saturating_sub(before);
        Ok(found)
    }
}

impl Find {
    async fn once(&self, api: &mut Api, found: &mut Found) -> Result<()> {
        let start = Instant::now();
        let answer = api
            .send(Method::POST, "/find", &self.cookie, object::key(object::TYPE, "", ""))
            .await?;
        let mut body = answer.into_body();
        let (mut first_byte, mut bytes, mut braces, mut last) = (None, 0, 0, None);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            if !data.is_empty() {
                first_byte.get_or_insert_with(|| start.elapsed());
                last = data.last().copied();
            }
            bytes += data.len();
            braces += memchr::memchr_iter(b'{', &data).count();
        }
        ensure!(last == Some(b']'), "the array in the answer is not closed");
        ensure!(
            u64::try_from(braces)? == self.objects * BRACES as u64,
            "{} objects instead of {}",
            braces / BRACES,
            self.objects
        );
        found.first_byte.push(first_byte.context("the answer is empty")?.as_secs_f64() * 1e3);
        found.total.push(start.elapsed().as_secs_f64());
        found.bytes = bytes;
        Ok(())
    }
}
