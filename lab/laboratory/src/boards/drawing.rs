//! Figures 4 and 5 of the thesis, with our bars beside its own, as SVG.

use super::operation::Operation;
use super::report::BoardReport;
use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fs;
use std::ops::Range;
use std::path::Path;

const PANEL: (u32, u32) = (450, 400);
const LEGEND: u32 = 70;
const FONT: &str = "sans-serif";
/// The share of a group's width that its bars take.
const BARS: f64 = 0.78;

/// The bars of a group: the name in the legend, the colour.
const SERIES: [(&str, RGBColor); 3] = [
    ("thesis, measured on the board", RGBColor(0x8c, 0x8c, 0x8c)),
    ("the thesis' operations on TweetNaCl, stopwatch", RGBColor(0xe6, 0x9f, 0x00)),
    ("motemix, stopwatch", RGBColor(0x00, 0x72, 0xb2)),
];
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// What bars are labelled in.
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Milliseconds,
}

/// One group of bars; a missing bar is zero.
struct Group {
    label: String,
    seconds: [f64; 3],
}

/// Writes `create.svg` and `process.svg`.
pub fn draw(reports: &[BoardReport], dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let process = [
        (Operation::Forward, "forward"),
        (Operation::Receive, "receive and reply"),
        (Operation::Acknowledge, "acknowledge"),
    ];
    let lengths = Operation::CREATE.into_iter().zip(6..).map(|(create, length)| (create, length.to_string()));
    let lengths: Vec<_> = lengths.collect();
    let lengths: Vec<_> = lengths.iter().map(|(create, length)| (*create, length.as_str())).collect();
    let figures = [
        ("create.svg", "Seconds to create a message, by path length", Unit::Seconds, lengths.as_slice()),
        ("process.svg", "Milliseconds to process a message", Unit::Milliseconds, process.as_slice()),
    ];
    for (name, title, unit, operations) in figures {
        let svg = figure(reports, title, unit, operations)
            .map_err(|error| anyhow!("cannot draw {name}: {error}"))?;
        let path = dir.join(name);
        fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn figure(
    reports: &[BoardReport],
    title: &str,
    unit: Unit,
    operations: &[(Operation, &str)],
) -> Drawn<String> {
    let boards: Vec<_> = reports.iter().map(|report| (report, groups(report, operations))).collect();
    let all = || boards.iter().flat_map(|(_, groups)| groups).flat_map(|group| group.seconds);
    let shown = || all().filter(|seconds| *seconds > 0.0);
    // One scale for all boards: from a whole decade, with room for a number above the highest bar.
    let low = 10_f64.powf((shown().fold(f64::MAX, f64::min) / 1.2).log10().floor());
    let high = shown().fold(0.0, f64::max) * 2.5;
    let mut svg = String::new();
    let size = (PANEL.0 * reports.len() as u32, PANEL.1 + LEGEND);
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(LEGEND);
        legend(&head, title)?;
        for (area, (report, groups)) in body.split_evenly((1, reports.len())).iter().zip(&boards) {
            panel(area, report, groups, low..high, unit)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn groups(report: &BoardReport, operations: &[(Operation, &str)]) -> Vec<Group> {
    let seconds = |cycles: Option<u64>| cycles.map_or(0.0, |cycles| report.board.time(cycles).as_secs_f64());
    let baseline = report.baseline.as_ref().map(|baseline| &baseline.figures);
    let group = |(operation, label): &(Operation, &str)| Group {
        label: (*label).to_owned(),
        seconds: [
            report.board.thesis.as_ref().and_then(|thesis| operation.thesis_s(thesis)).unwrap_or(0.0),
            seconds(baseline.and_then(|figures| figures.cycles(*operation))),
            seconds(report.mote.cycles(*operation)),
        ],
    };
    operations.iter().map(group).collect()
}

fn legend(area: &DrawingArea<SVGBackend<'_>, Shift>, title: &str) -> Drawn {
    area.draw(&Text::new(title, (20, 10), (FONT, 20).into_font().color(&INK)))?;
    let mut x = 20;
    for (name, colour) in SERIES {
        area.draw(&Rectangle::new([(x, 44), (x + 14, 58)], colour.filled()))?;
        area.draw(&Text::new(name, (x + 20, 44), (FONT, 14).into_font().color(&INK)))?;
        // Seven points a letter are enough for any sans-serif at this size.
        x += 50 + 7 * i32::from(name.len() as u8);
    }
    Ok(())
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    report: &BoardReport,
    groups: &[Group],
    scale: Range<f64>,
    unit: Unit,
) -> Drawn {
    let low = scale.start;
    let mhz = report.board.clock_hz / 1_000_000;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{}, {mhz} MHz", report.board.name), (FONT, 16).into_font().color(&INK))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..f64::from(groups.len() as u32), scale.log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .y_label_style((FONT, 13).into_font().color(&INK))
        .y_label_formatter(&|seconds| unit.tick(*seconds))
        .draw()?;

    let plot = chart.plotting_area();
    let centred = |size: u32, vertical| {
        TextStyle::from((FONT, size).into_font()).color(&INK).pos(Pos::new(HPos::Center, vertical))
    };
    let width = BARS / f64::from(SERIES.len() as u32);
    for (at, group) in (0_u32..).map(f64::from).zip(groups) {
        for (series, seconds) in group.seconds.into_iter().enumerate().filter(|(_, seconds)| *seconds > 0.0) {
            let left = at + (1.0 - BARS) / 2.0 + f64::from(series as u32) * width;
            let bar = [(left, low), (left + width * 0.92, seconds)];
            plot.draw(&Rectangle::new(bar, SERIES[series].1.filled()))?;
            let above = (left + width * 0.46, seconds * 1.06);
            plot.draw(&Text::new(unit.label(seconds), above, centred(10, VPos::Bottom)))?;
        }
        let below = plot.map_coordinate(&(at + 0.5, low));
        let below = (below.0 - area.get_pixel_range().0.start, below.1 - area.get_pixel_range().1.start + 10);
        area.draw(&Text::new(group.label.clone(), below, centred(13, VPos::Top)))?;
    }
    Ok(())
}

impl Unit {
    fn of(self, seconds: f64) -> f64 {
        match self {
            Self::Seconds => seconds,
            Self::Milliseconds => seconds * 1000.0,
        }
    }

    /// A power of ten.
    fn tick(self, seconds: f64) -> String {
        let value = self.of(seconds);
        if value < 0.99 { format!("{value:.1}") } else { format!("{value:.0}") }
    }

    /// Three digits, and those before the point.
    fn label(self, seconds: f64) -> String {
        match self.of(seconds) {
            value if value < 0.9995 => format!("{value:.3}"),
            value if value < 9.995 => format!("{value:.2}"),
            value if value < 99.95 => format!("{value:.1}"),
            value => format!("{value:.0}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::board::BOARDS;
    use crate::boards::operation::{Figure, Figures};
    use crate::boards::session::Needs;

    #[test]
    fn a_figure_shows_the_thesis_and_us_on_every_board() {
        let report = |board| {
            let mut mote = Figures::default();
            mote.push(Operation::Forward, Figure { cycles: 7_200_000, stack: 0 });
            let needs = Needs { flash: 0, ram: 0, stack: 0 };
            BoardReport { board, zero_wait: false, mote, needs, baseline: None }
        };
        let reports: Vec<_> = BOARDS.iter().map(report).collect();
        let operations = [(Operation::Forward, "forward")];
        let svg = figure(&reports, "title", Unit::Milliseconds, &operations).unwrap();
        for board in &BOARDS {
            assert!(svg.contains(board.name), "{} has its panel", board.name);
        }
        for bar in ["4447", "1176", "945", "150", "100", "112"] {
            assert!(svg.contains(&format!("\n{bar}\n")), "{bar} ms is a bar");
        }
    }
}
