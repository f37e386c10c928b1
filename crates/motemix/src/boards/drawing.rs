//! Figures 4 and 5 of the thesis, with our bars beside its own, as SVG.

use super::operation::Operation;
use super::report::BoardReport;
use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fs;
use std::path::Path;

const PANEL: (u32, u32) = (430, 400);
const LEGEND: u32 = 70;
const FONT: &str = "sans-serif";
/// Of the width of a group, for all of its bars.
const BARS: f64 = 0.78;

/// The bars of a group: the name in the legend, the colour.
const SERIES: [(&str, RGBColor); 3] = [
    ("thesis, measured on the board", RGBColor(0x8c, 0x8c, 0x8c)),
    ("the thesis' operations on TweetNaCl, stopwatch", RGBColor(0xe6, 0x9f, 0x00)),
    ("motemix, stopwatch", RGBColor(0x00, 0x72, 0xb2)),
];
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

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
        ("create.svg", "Time to create a message, by path length", lengths.as_slice()),
        ("process.svg", "Time to process a message", process.as_slice()),
    ];
    for (name, title, operations) in figures {
        let svg =
            figure(reports, title, operations).map_err(|error| anyhow!("cannot draw {name}: {error}"))?;
        let path = dir.join(name);
        fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn figure(reports: &[BoardReport], title: &str, operations: &[(Operation, &str)]) -> Drawn<String> {
    let mut svg = String::new();
    let size = (PANEL.0 * reports.len() as u32, PANEL.1 + LEGEND);
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(LEGEND);
        legend(&head, title)?;
        for (area, report) in body.split_evenly((1, reports.len())).iter().zip(reports) {
            panel(area, report, &groups(report, operations))?;
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
            operation.thesis_s(&report.board.thesis).unwrap_or(0.0),
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
        x += 50 + 7 * name.len() as i32;
    }
    Ok(())
}

fn panel(area: &DrawingArea<SVGBackend<'_>, Shift>, report: &BoardReport, groups: &[Group]) -> Drawn {
    let all = || groups.iter().flat_map(|group| group.seconds).filter(|seconds| *seconds > 0.0);
    // Whole decades, with room for a number above the highest bar.
    let low = 10_f64.powf((all().fold(f64::MAX, f64::min) / 1.5).log10().floor());
    let high = all().fold(0.0, f64::max) * 2.5;
    let mhz = report.board.clock_hz / 1_000_000;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{}, {mhz} MHz", report.board.name), (FONT, 16).into_font().color(&INK))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..groups.len() as f64, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .y_label_style((FONT, 13).into_font().color(&INK))
        .y_label_formatter(&|seconds| time(*seconds))
        .draw()?;

    let plot = chart.plotting_area();
    let centred = |size: u32, vertical| {
        TextStyle::from((FONT, size).into_font()).color(&INK).pos(Pos::new(HPos::Center, vertical))
    };
    for (at, group) in groups.iter().enumerate() {
        let width = BARS / SERIES.len() as f64;
        for (series, seconds) in group.seconds.into_iter().enumerate().filter(|(_, seconds)| *seconds > 0.0) {
            let left = at as f64 + (1.0 - BARS) / 2.0 + series as f64 * width;
            let bar = [(left, low), (left + width * 0.92, seconds)];
            plot.draw(&Rectangle::new(bar, SERIES[series].1.filled()))?;
            let above = (left + width * 0.46, seconds * 1.06);
            plot.draw(&Text::new(short(seconds), above, centred(10, VPos::Bottom)))?;
        }
        let below = plot.map_coordinate(&(at as f64 + 0.5, low));
        let below = (below.0 - area.get_pixel_range().0.start, below.1 - area.get_pixel_range().1.start + 10);
        area.draw(&Text::new(group.label.clone(), below, centred(13, VPos::Top)))?;
    }
    Ok(())
}

fn time(seconds: f64) -> String {
    if seconds < 0.99 { format!("{:.0} ms", seconds * 1000.0) } else { format!("{seconds:.0} s") }
}

/// Three digits.
fn short(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => format!("{:.0} ms", s * 1000.0),
        s if s < 0.9995 => format!("{:.0} ms", s * 1000.0),
        s if s < 9.995 => format!("{s:.2}"),
        s if s < 99.95 => format!("{s:.1}"),
        s => format!("{s:.0}"),
    }
}
