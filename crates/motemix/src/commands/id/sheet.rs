//! Labels for a kit of devices on A4: 3 by 8 labels of 70 by 37 mm, as they are sold.

use super::card::{Card, credential};
use super::qr::Code;
use super::{grouped, keys_of, name, text};
use crate::failure::Failure;
use motemix_object::{Group, Identity};
use std::fmt::Write as _;

/// Millimetres.
const PAGE: (usize, usize) = (210, 297);
const LABEL: (usize, usize) = (70, 37);
const COLUMNS: usize = 3;
const ROWS: usize = 8;
/// Height of the code on a label.
const CODE: usize = 31;

/// One label: what stands on it, from the top.
struct Label {
    code: Code,
    lines: Vec<String>,
}

/// A drawing with a label for each device, and one for the box if there are several.
pub fn sheet(cards: &[Card], short: bool) -> Result<String, Failure> {
    let mut labels = Vec::new();
    for card in cards {
        let credential = credential(card)?;
        let mut lines: Vec<_> =
            credential.others().map(|other| format!("{} {}", name(other.kind), text(other.value))).collect();
        lines.truncate(2);
        labels.push(Label::new(&credential.identity().map_err(Failure::broken)?, lines, short)?);
    }
    if cards.len() > 1 {
        let keys = keys_of(cards)?;
        let group = Group::new(&keys).map_err(Failure::broken)?.identity();
        labels.push(Label::new(&group, vec![format!("kit of {} devices", cards.len())], short)?);
    }
    if labels.len() > COLUMNS * ROWS {
        let most = COLUMNS * ROWS - 1;
        return Err(Failure::broken(format!(
            "a sheet has room for {most} devices and the box; make several"
        )));
    }
    let (width, height) = PAGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}mm\" height=\"{height}mm\" \
         viewBox=\"0 0 {width} {height}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (at, label) in labels.iter().enumerate() {
        label.draw(at % COLUMNS * LABEL.0, at / COLUMNS * LABEL.1, &mut svg);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

impl Label {
    fn new(identity: &Identity, lines: Vec<String>, short: bool) -> Result<Self, Failure> {
        let digits = grouped(identity);
        // Four groups of four digits in a line.
        let (first, second) = digits.split_at(digits.len() / 2);
        let lines = [first.trim().to_owned(), second.trim().to_owned()].into_iter().chain(lines);
        Ok(Self { code: Code::of(identity, short)?, lines: lines.collect() })
    }

    fn draw(&self, x: usize, y: usize, svg: &mut String) {
        let (path, modules) = (self.code.path(), self.code.width());
        // Writing to a text cannot fail.
        let _ = writeln!(
            svg,
            "<svg x=\"{}\" y=\"{}\" width=\"{CODE}\" height=\"{CODE}\" viewBox=\"0 0 {modules} {modules}\" \
             shape-rendering=\"crispEdges\"><path d=\"{path}\"/></svg>",
            x + 3,
            y + 3,
        );
        for (at, line) in self.lines.iter().enumerate() {
            let font = if at < 2 {
                "font-family=\"monospace\" font-size=\"3\""
            } else {
                "font-family=\"sans-serif\" font-size=\"3\""
            };
            let line: String = line.chars().take(22).map(escaped).collect();
            let _ =
                writeln!(svg, "<text x=\"{}\" y=\"{}\" {font}>{line}</text>", x + CODE + 4, y + 11 + at * 5);
        }
    }
}

fn escaped(character: char) -> String {
    match character {
        '<' => "&lt;".to_owned(),
        '&' => "&amp;".to_owned(),
        other if other.is_control() => "?".to_owned(),
        other => other.to_string(),
    }
}
