//! Draws the plots as SVG, for light and for dark pages: bars of throughput beside bars of latency.

use anyhow::Result;
use plotters::{
    coord::Shift,
    prelude::{DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend, Text},
    style::{
        Color, FontFamily, FontStyle, IntoTextStyle, TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use crate::{
    figures::Figure,
    report::{Results, Row, count},
};

/// The picture of a figure.
pub(crate) struct Plot {
    /// Prefix of the names of its files.
    name: &'static str,
    service: &'static str,
    pub(crate) figure: Figure,
}

/// All plots, in the order of the page.
pub(crate) const PLOTS: [Plot; 3] = [
    Plot { name: "objstore-writes", service: "objstore-svc", figure: Figure::Set },
    Plot { name: "objstore-push", service: "objstore-svc", figure: Figure::PushLatency },
    Plot { name: "payments-captures", service: "payments-svc", figure: Figure::Captures },
];

/// The part of a picture that shows one load.
struct Panel<'a> {
    title: &'a str,
    rows: Vec<&'a Row>,
}

/// The colours for one page background. The picture itself is transparent. The colours differ in
/// lightness, so that readers need not distinguish hues.
pub(crate) struct Theme {
    /// Suffix of the names of files.
    pub(crate) name: &'static str,
    text: RGBColor,
    muted: RGBColor,
    axis: RGBColor,
    ours: RGBColor,
    peer: RGBColor,
}

pub(crate) const LIGHT: Theme = Theme {
    name: "light",
    text: RGBColor(0x1f, 0x23, 0x28),
    muted: RGBColor(0x59, 0x63, 0x6e),
    axis: RGBColor(0x81, 0x8b, 0x98),
    ours: RGBColor(0x00, 0x5f, 0xa8),
    peer: RGBColor(0xaf, 0xb8, 0xc1),
};

pub(crate) const DARK: Theme = Theme {
    name: "dark",
    text: RGBColor(0xf0, 0xf6, 0xfc),
    muted: RGBColor(0x9d, 0xa5, 0xae),
    axis: RGBColor(0x65, 0x6c, 0x76),
    ours: RGBColor(0x56, 0xb4, 0xe9),
    peer: RGBColor(0x65, 0x6c, 0x76),
};

// All lengths are in pixels.
const WIDTH: i32 = 580;
/// Height of a line of text.
const LINE: i32 = 21;
/// Height of a bar.
const BAR: i32 = 14;
/// Height of the space between rows.
const GAP: i32 = 10;
const BETWEEN_COLUMNS: i32 = 24;
/// Width of the number after a bar of throughput.
const RATE_LABEL: i32 = 92;
/// Width of the numbers after a bar of latency.
const LATENCY_LABEL: i32 = 136;
// Font sizes.
const TITLE: f64 = 15.0;
const TEXT: f64 = 14.0;
const SMALL: f64 = 13.0;

impl Plot {
    /// The path of its file in the folder of documents.
    pub(crate) fn file(&self, theme: &Theme) -> String {
        format!("benchmarks/{}-{}.svg", self.name, theme.name)
    }

    pub(crate) fn svg(&self, results: &Results, theme: &Theme) -> Result<String> {
        let panels = self.panels(results);
        let heights = panels.iter().map(|panel| panel.height() + 2 * GAP);
        let height = heights.sum::<i32>() + LINE;
        let mut svg = String::new();
        {
            let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let canvas = Canvas { area, theme };
            let mut top = 0;
            for panel in &panels {
                canvas.panel(panel, self.service, top)?;
                top += panel.height() + 2 * GAP;
            }
            canvas.text((0, top), &footer(results), SMALL, theme.muted, Side::Left)?;
            canvas.area.present()?;
        }
        Ok(svg)
    }

    /// Returns the titles of the panels. Empty without results.
    pub(crate) fn words(&self, results: &Results) -> String {
        let titles: Vec<_> = self.panels(results).iter().map(|panel| panel.title).collect();
        titles.join("; ")
    }

    fn panels<'a>(&self, results: &'a Results) -> Vec<Panel<'a>> {
        let tables = results.tables.iter().filter(|table| table.figure == self.figure);
        let mut panels: Vec<Panel<'a>> = Vec::new();
        for row in tables.flat_map(|table| &table.rows) {
            match panels.last_mut() {
                Some(panel) if panel.title == row.title => panel.rows.push(row),
                _ => panels.push(Panel { title: &row.title, rows: vec![row] }),
            }
        }
        panels
    }
}

fn footer(results: &Results) -> String {
    let machine = &results.machine;
    format!("{}, {} cores, {}", machine.processor, machine.cores, results.date)
}

/// Formats the ratio of a row.
fn compared(row: &Row, service: &str) -> Option<String> {
    row.ratio.map(|ratio| format!("{service} is {ratio:.2} × this"))
}

impl Row {
    /// The rate to draw. `None` if the load determines the rate.
    fn drawn_rate(&self) -> Option<f64> {
        self.rate.as_ref().filter(|_| !self.steady).map(|rate| rate.median)
    }
}

impl Panel<'_> {
    fn height(&self) -> i32 {
        2 * LINE + i32::try_from(self.rows.len()).unwrap_or(0) * (2 * LINE + GAP)
    }

    /// The highest number of the rows. `None` if no row has one.
    fn most(&self, of: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        self.rows.iter().filter_map(|row| of(row)).reduce(f64::max)
    }
}

/// The side of a text that is placed at the given position.
enum Side {
    Left,
    Right,
}

/// The column for bars of one kind.
struct Column {
    left: i32,
    /// Length of the longest bar.
    length: i32,
    /// The number that the longest bar represents.
    most: f64,
}

impl Column {
    fn x(&self, number: f64) -> i32 {
        let share = if self.most > 0.0 { number / self.most } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "pixels within the picture")]
        let length = (f64::from(self.length) * share).round() as i32;
        self.left + length
    }
}

struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    theme: &'a Theme,
}

impl Canvas<'_> {
    fn panel(&self, panel: &Panel<'_>, service: &str, top: i32) -> Result<()> {
        let most_rate = panel.most(Row::drawn_rate);
        let left = if most_rate.is_some() { (WIDTH + BETWEEN_COLUMNS) / 2 } else { 0 };
        let rates = most_rate.map(|most| Column {
            left: 0,
            length: (WIDTH - BETWEEN_COLUMNS) / 2 - RATE_LABEL,
            most,
        });
        let most_latency = panel.most(|row| row.latency.map(|latency| latency.p99));
        let latencies =
            most_latency.map(|most| Column { left, length: WIDTH - left - LATENCY_LABEL, most });

        self.bold((0, top), panel.title, TITLE)?;
        if let Some(rates) = &rates {
            self.head(rates, "throughput", top + LINE)?;
        }
        if let Some(latencies) = &latencies {
            self.head(latencies, "latency: bar p50, line p99", top + LINE)?;
        }
        for (index, row) in (0..).zip(&panel.rows) {
            let top = top + 2 * LINE + index * (2 * LINE + GAP) + GAP / 2;
            self.name(row, service, top)?;
            if let Some((rates, rate)) = rates.as_ref().zip(row.drawn_rate()) {
                self.bar(rates, row, rate, top + LINE)?;
                let end = (rates.x(rate) + 6, top + LINE);
                self.text(end, &format!("{}/s", count(rate)), TEXT, self.theme.text, Side::Left)?;
            }
            if let Some((column, latency)) = latencies.as_ref().zip(row.latency) {
                self.bar(column, row, latency.p50, top + LINE)?;
                self.whisker(column, row, latency.p99, top + LINE)?;
                let end = (column.x(latency.p99) + 6, top + LINE);
                let label = format!("{} / {} ms", count(latency.p50), count(latency.p99));
                self.text(end, &label, TEXT, self.theme.text, Side::Left)?;
            }
        }
        Ok(())
    }

    /// Writes the heading of a column.
    fn head(&self, column: &Column, text: &str, top: i32) -> Result<()> {
        self.text((column.left, top), text, SMALL, self.theme.muted, Side::Left)
    }

    /// Writes the contender on the left and its ratio on the right.
    fn name(&self, row: &Row, service: &str, top: i32) -> Result<()> {
        if row.ours {
            self.bold((0, top), &row.who, TEXT)?;
        } else {
            self.text((0, top), &row.who, TEXT, self.theme.text, Side::Left)?;
        }
        let Some(ratio) = compared(row, service) else { return Ok(()) };
        self.text((WIDTH, top), &ratio, SMALL, self.theme.muted, Side::Right)
    }

    fn bar(&self, column: &Column, row: &Row, number: f64, top: i32) -> Result<()> {
        let top = top + (LINE - BAR) / 2;
        let end = column.x(number).max(column.left + 1);
        let colour = self.colour(row).filled();
        self.area.draw(&Rectangle::new([(column.left, top), (end, top + BAR)], colour))?;
        let axis = vec![(column.left, top - 3), (column.left, top + BAR + 3)];
        Ok(self.area.draw(&PathElement::new(axis, self.theme.axis))?)
    }

    fn whisker(&self, column: &Column, row: &Row, number: f64, top: i32) -> Result<()> {
        let (middle, end) = (top + LINE / 2, column.x(number));
        let style = self.colour(row).stroke_width(2);
        self.area.draw(&PathElement::new(vec![(column.left, middle), (end, middle)], style))?;
        let tick = vec![(end, middle - 5), (end, middle + 5)];
        Ok(self.area.draw(&PathElement::new(tick, style))?)
    }

    fn colour(&self, row: &Row) -> RGBColor {
        if row.ours { self.theme.ours } else { self.theme.peer }
    }

    fn bold(&self, at: (i32, i32), text: &str, size: f64) -> Result<()> {
        self.styled(at, text, font(size, FontStyle::Bold), self.theme.text, Side::Left)
    }

    fn text(
        &self,
        at: (i32, i32),
        text: &str,
        size: f64,
        colour: RGBColor,
        side: Side,
    ) -> Result<()> {
        self.styled(at, text, font(size, FontStyle::Normal), colour, side)
    }

    fn styled(
        &self,
        (x, top): (i32, i32),
        text: &str,
        font: TextStyle<'_>,
        colour: RGBColor,
        side: Side,
    ) -> Result<()> {
        let side = match side {
            Side::Left => HPos::Left,
            Side::Right => HPos::Right,
        };
        let style = font.color(&colour).pos(Pos::new(side, VPos::Center));
        Ok(self.area.draw(&Text::new(text, (x, top + LINE / 2), style))?)
    }
}

fn font(size: f64, style: FontStyle) -> TextStyle<'static> {
    // plotters expects the height of a line, but writes the size of the font into the SVG.
    const LINE_HEIGHT: f64 = 1.24;
    (FontFamily::SansSerif, size * LINE_HEIGHT, style).into_text_style(&(WIDTH.unsigned_abs(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::results;

    /// Returns the texts of a picture. plotters writes each text on a separate line.
    fn texts(svg: &str) -> Vec<&str> {
        svg.lines().filter(|line| !line.starts_with('<')).collect()
    }

    #[test]
    fn a_plot_shows_contenders_and_numbers() {
        let svg = PLOTS[0].svg(&results(), &LIGHT).unwrap();
        let texts = texts(&svg);
        for text in [
            "load &lt;a&gt;",
            "objstore-svc set",
            "30,000/s",
            "1 / 2.5 ms",
            "etcd put",
            "10,000/s",
            "objstore-svc is 3.00 × this",
        ] {
            assert!(texts.contains(&text), "no {text} in {texts:?}");
        }
    }

    #[test]
    fn the_longest_bar_fills_its_column() {
        let column = Column { left: 10, length: 200, most: 80.0 };
        assert_eq!([0.0, 20.0, 80.0].map(|number| column.x(number)), [10, 60, 210]);
        assert_eq!(Column { most: 0.0, ..column }.x(0.0), 10);
    }
}
