//! Draws the plots as SVG, for light and for dark pages: bars of throughput beside bars of latency.

use anyhow::Result;
use plotters::{
    coord::Shift,
    prelude::{
        ChartBuilder, Color, DrawingArea, EmptyElement, IntoDrawingArea, IntoFont,
        IntoSegmentedCoord, PathElement, RGBColor, Rectangle, SVGBackend, SegmentValue, Text,
    },
    style::{
        TRANSPARENT, TextStyle,
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
    pub(crate) figure: Figure,
}

/// All plots, in the order of the page.
pub(crate) const PLOTS: [Plot; 3] = [
    Plot { name: "objstore-writes", figure: Figure::Set },
    Plot { name: "objstore-push", figure: Figure::PushLatency },
    Plot { name: "payments-captures", figure: Figure::Captures },
];

/// The colours for one page background. The picture itself is transparent. The colours differ in
/// lightness, so that readers need not distinguish hues.
pub(crate) struct Theme {
    /// Suffix of the names of files.
    pub(crate) name: &'static str,
    text: RGBColor,
    axis: RGBColor,
    ours: RGBColor,
    peer: RGBColor,
}

pub(crate) const LIGHT: Theme = Theme {
    name: "light",
    text: RGBColor(0x1f, 0x23, 0x28),
    axis: RGBColor(0x81, 0x8b, 0x98),
    ours: RGBColor(0x00, 0x5f, 0xa8),
    peer: RGBColor(0xaf, 0xb8, 0xc1),
};

pub(crate) const DARK: Theme = Theme {
    name: "dark",
    text: RGBColor(0xf0, 0xf6, 0xfc),
    axis: RGBColor(0x9d, 0xa5, 0xae),
    ours: RGBColor(0x56, 0xb4, 0xe9),
    peer: RGBColor(0x65, 0x6c, 0x76),
};

// All lengths are in pixels.
const WIDTH: u32 = 800;
/// Height of a contender.
const ROW: usize = 34;
/// Height of the title of a panel, and of what is below its contenders.
const AROUND: usize = 94;
/// Height of the tick values and the unit.
const BELOW: u32 = 42;
/// Space below a panel, and on its right.
const MARGIN: u32 = 14;
const FOOTER: usize = 24;
/// Width of a character of a name, on average.
const CHARACTER: usize = 7;
/// Width of the space between two charts.
const BETWEEN: i32 = 28;

impl Plot {
    /// The path of its file in the folder of documents.
    pub(crate) fn file(&self, theme: &Theme) -> String {
        format!("benchmarks/{}-{}.svg", self.name, theme.name)
    }

    pub(crate) fn svg(&self, results: &Results, theme: &Theme) -> Result<String> {
        let panels = self.panels(results);
        let heights: Vec<_> = panels.iter().map(|rows| AROUND + ROW * rows.len()).collect();
        let height = u32::try_from(heights.iter().sum::<usize>() + FOOTER)?;
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
            let mut rest = root.clone();
            for (rows, height) in panels.iter().zip(heights) {
                let (area, below) = rest.split_vertically(i32::try_from(height)?);
                panel(&area, rows, theme)?;
                rest = below;
            }
            let machine = &results.machine;
            let footer =
                format!("{}, {} cores, {}", machine.processor, machine.cores, results.date);
            rest.draw_text(&footer, &font(15, theme), (0, 2))?;
            root.present()?;
        }
        Ok(svg)
    }

    /// The rows of each load.
    pub(crate) fn panels<'a>(&self, results: &'a Results) -> Vec<Vec<&'a Row>> {
        let tables = results.tables.iter().filter(|table| table.figure == self.figure);
        let rows: Vec<_> = tables.flat_map(|table| &table.rows).collect();
        rows.chunk_by(|row, next| row.title == next.title).map(<[_]>::to_vec).collect()
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the contenders under one load.
fn panel(area: &Area<'_>, rows: &[&Row], theme: &Theme) -> Result<()> {
    let area = area.titled(&rows[0].title, font(19, theme))?;
    let longest = rows.iter().map(|row| row.who.chars().count()).max().unwrap_or_default();
    let names = i32::try_from(CHARACTER * longest + 24)?;
    if rows.iter().all(|row| row.steady) {
        return chart(&area, rows, names, "latency in ms: bar p50, line p99", latencies, theme);
    }
    let width = i32::try_from(WIDTH)?;
    let (left, right) = area.split_horizontally(names + (width - names) / 2);
    chart(&left, rows, names, "requests per second", rates, theme)?;
    chart(&right, rows, BETWEEN, "latency in ms: bar p50, line p99", latencies, theme)
}

fn rates(row: &Row) -> Vec<f64> {
    row.rate.iter().map(|rate| rate.median).collect()
}

fn latencies(row: &Row) -> Vec<f64> {
    row.latency.iter().flat_map(|latency| [latency.p50, latency.p99]).collect()
}

/// Draws a bar to the first number of each row, a line from there to the last one, and the numbers.
/// `names` is the width of the names of the contenders, which are left out if there is no space.
fn chart(
    area: &Area<'_>,
    rows: &[&Row],
    names: i32,
    unit: &str,
    numbers: fn(&Row) -> Vec<f64>,
    theme: &Theme,
) -> Result<()> {
    let most = rows.iter().flat_map(|row| numbers(row)).fold(0.0, f64::max);
    // The axis begins at the bottom. plotters divides by zero if it has only one segment.
    let last = rows.len() - 1;
    let segments = (0..last.max(1)).into_segmented();
    let mut chart = ChartBuilder::on(area)
        .margin_right(MARGIN)
        .margin_bottom(MARGIN)
        .x_label_area_size(BELOW)
        .y_label_area_size(names)
        .build_cartesian_2d(0.0..most * 1.5, segments)?;
    let name = |segment: &SegmentValue<usize>| match segment {
        SegmentValue::CenterOf(index) if names > BETWEEN && *index <= last => {
            rows[last - index].who.clone()
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(theme.axis.mix(0.4))
        .axis_style(theme.axis)
        .label_style(font(16, theme))
        .x_desc(unit)
        .x_labels(5)
        .x_label_formatter(&|number| count(*number))
        .y_labels(rows.len())
        .y_label_formatter(&name)
        .draw()?;
    for (index, row) in rows.iter().rev().enumerate() {
        let numbers = numbers(row);
        let (Some(&bar), Some(&end)) = (numbers.first(), numbers.last()) else { continue };
        let (bottom, top) = (SegmentValue::Exact(index), SegmentValue::Exact(index + 1));
        let middle = || SegmentValue::CenterOf(index);
        let colour = if row.ours { theme.ours } else { theme.peer };
        let mut filled = Rectangle::new([(0.0, bottom), (bar, top)], colour.filled());
        filled.set_margin(9, 9, 0, 0);
        chart.draw_series([filled])?;
        let line = vec![(bar, middle()), (end, middle())];
        chart.draw_series([PathElement::new(line, colour.stroke_width(3))])?;
        let text: Vec<_> = numbers.iter().map(|number| count(*number)).collect();
        let style = font(16, theme).pos(Pos::new(HPos::Left, VPos::Center));
        let label = EmptyElement::at((end, middle())) + Text::new(text.join(" / "), (6, 0), style);
        chart.draw_series([label])?;
    }
    Ok(())
}

/// The size is that of a line, of which plotters makes the size of the font by dividing by 1.24.
fn font(size: u32, theme: &Theme) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&theme.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::results;

    #[test]
    fn a_plot_shows_contenders_numbers_and_axes() {
        let svg = PLOTS[0].svg(&results(), &LIGHT).unwrap();
        // plotters writes each text on a line of its own.
        let texts: Vec<_> = svg.lines().filter(|line| !line.starts_with('<')).collect();
        for text in [
            "load &lt;a&gt;",
            "objstore-svc set",
            "30,000",
            "1 / 2.5",
            "etcd put",
            "10,000",
            "requests per second",
            "50,000",
        ] {
            assert!(texts.contains(&text), "no {text} in {texts:?}");
        }
    }
}
