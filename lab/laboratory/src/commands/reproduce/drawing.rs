//! The thesis' figures with our points beside its own.

use super::{Found, Mean, Percentages};
use crate::chart::{self, Bar, Bars, Lines, Point, Series, Style};
use anyhow::Result;
use motemix_sim::scenario::Protocol;
use std::path::Path;

/// Colours of motes, of the thesis' Sphinx, of plain datagrams.
const COLOURS: [(Protocol, usize, &str); 3] = [
    (Protocol::Thesis, 1, "Sphinx on RIOT"),
    (Protocol::Udp, 2, "UDP on RIOT"),
    (Protocol::Motes, 0, "motemix"),
];

pub fn draw(found: &[Found], dir: &Path) -> Result<()> {
    chart::write(&dir.join("figure-7.svg"), figure7(found).draw())?;
    for (figure, file, title) in [
        ("8", "figure-8.svg", "Figure 8: messages acknowledged, clients, mixes and servers apart"),
        ("ablation", "ablation.svg", "60 nodes: messages acknowledged, one cause of loss taken away"),
    ] {
        chart::write(&dir.join(file), bars(found, figure, title).draw())?;
    }
    Ok(())
}

fn figure7(found: &[Found]) -> Lines {
    let mut series = Vec::new();
    for (protocol, colour, name) in COLOURS {
        let points = || found.iter().filter(|point| point.figure == "7" && point.protocol == protocol);
        let x = |point: &Found| f64::from(point.nodes);
        let simulated = points().map(|point| {
            let Percentages { acknowledged: Mean { mean, ci95 }, .. } = point.simulated;
            Point { x: x(point), y: mean, half: ci95 }
        });
        let measured = points()
            .filter_map(|point| Some(Point { x: x(point), y: point.measured?.acknowledged, half: None }));
        let of = |style, kind: &str, points: Vec<Point>| Series {
            name: format!("{name}, {kind}"),
            colour,
            style,
            points,
        };
        series.push(of(Style::Solid, "simulated", simulated.collect()));
        series.push(of(Style::Hollow, "measured in the thesis", measured.collect()));
    }
    series.retain(|series| !series.points.is_empty());
    Lines {
        title: "Figure 7: messages acknowledged in a mesh, percent of those sent".into(),
        x: "nodes".into(),
        y: "acknowledged, %".into(),
        log_x: false,
        log_y: false,
        series,
    }
}

fn bars(found: &[Found], figure: &str, title: &str) -> Bars {
    let colour =
        |protocol| COLOURS.iter().find(|(known, ..)| *known == protocol).map_or(6, |(_, colour, _)| *colour);
    let bar = |point: &Found| Bar {
        name: point.label.clone(),
        colour: colour(point.protocol),
        value: point.simulated.acknowledged.mean,
        half: point.simulated.acknowledged.ci95,
        measured: point.measured.map(|measured| ("thesis", measured.acknowledged)),
    };
    Bars {
        title: title.into(),
        unit: "percent of the messages sent; the black line is the thesis' measurement".into(),
        bars: found.iter().filter(|point| point.figure == figure).map(bar).collect(),
    }
}
