//! The first page of a merchant: what needs attention, and a plot of the last days. It is an image that
//! the server draws, with the same numbers as a table.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use jiff::{Timestamp, tz::TimeZone};
use payments_domain::{Event, EventData, Transaction, Webhook, write::DayTotal};

use super::{
    disputes::Shown,
    payments::{name, time},
    view,
    visitor::AtMerchant,
};
use crate::web::Error;

/// The size of the plot. The page scales it to its width.
const WIDTH: i64 = 600;
const HEIGHT: i64 = 120;

#[derive(Template)]
#[template(path = "desk/overview.html")]
struct OverviewPage<'a> {
    at: &'a AtMerchant,
    next_payout: String,
    disputes: Vec<Shown<'a>>,
    /// Each with the time.
    refused: Vec<(Timestamp, Transaction)>,
    webhooks: &'a [Webhook],
    plot: Plot,
}

/// A bar for each day.
struct Plot {
    bars: Vec<Bar>,
    /// The height of nothing.
    zero: i64,
    /// The most of a day.
    most: String,
}

struct Bar {
    day: String,
    amount: String,
    x: i64,
    y: i64,
    height: i64,
}

pub(super) async fn show(at: AtMerchant) -> Result<Response, Error> {
    let overview = at.payments().overview(at.user(), &at.merchant).await?;
    let transaction = |event: &'_ Event| match &event.data {
        EventData::Transaction(transaction) => Some((event.created, (**transaction).clone())),
        _ => None,
    };
    let page = OverviewPage {
        at: &at,
        next_payout: at.money(overview.next_payout),
        disputes: Shown::listed(&at, overview.disputes),
        refused: overview.refused.iter().filter_map(transaction).collect(),
        webhooks: &overview.webhooks,
        plot: Plot::new(&overview.days, |minor| at.money(minor)),
    };
    Ok(view::page(StatusCode::OK, &page))
}

impl Plot {
    fn new(days: &[(i64, i64)], money: impl Fn(i64) -> String) -> Self {
        let amounts = || days.iter().map(|(_, minor)| *minor);
        let (most, least) =
            (amounts().max().unwrap_or(0).max(0), amounts().min().unwrap_or(0).min(0));
        let range = i128::from(most).saturating_sub(least.into()).max(1);
        let scaled = |minor: i64| {
            let height = i128::from(minor).saturating_mul(HEIGHT.into()) / range;
            i64::try_from(height).unwrap_or(0)
        };
        let zero = scaled(most);
        let count = i64::try_from(days.len()).unwrap_or(1).max(1);
        let bar = |(index, &(day, minor)): (i64, &(i64, i64))| {
            // A day with little is still visible.
            let height = scaled(minor).abs().max(i64::from(minor != 0));
            Bar {
                day: date(day),
                amount: money(minor),
                x: index.saturating_mul(WIDTH) / count,
                y: if minor > 0 { zero.saturating_sub(height) } else { zero },
                height,
            }
        };
        Self { bars: (0..).zip(days).map(bar).collect(), zero, most: money(most) }
    }
}

/// The name of a day.
fn date(day: i64) -> String {
    let begin = Timestamp::from_millisecond(day.saturating_mul(DayTotal::DAY)).unwrap_or_default();
    begin.to_zoned(TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_reach_from_the_least_to_the_most_of_a_day() {
        let plot = |amounts: &[i64]| {
            let days: Vec<_> = (0..).zip(amounts.iter().copied()).collect();
            let plot = Plot::new(&days, |minor| minor.to_string());
            let bars = plot.bars.iter().map(|bar| (bar.x, bar.y, bar.height)).collect::<Vec<_>>();
            (plot.zero, bars)
        };
        assert_eq!(plot(&[0, 0]), (0, vec![(0, 0, 0), (300, 0, 0)]));
        assert_eq!(plot(&[1000, 1, 500]), (120, vec![(0, 0, 120), (200, 119, 1), (400, 60, 60)]));
        assert_eq!(plot(&[300, -100]), (90, vec![(0, 0, 90), (300, 90, 30)]));
        assert_eq!(plot(&[i64::MAX, i64::MIN]), (59, vec![(0, 0, 59), (300, 59, 60)]));
        assert_eq!([date(0), date(20_785)], ["1970-01-01", "2026-11-28"]);
    }
}
