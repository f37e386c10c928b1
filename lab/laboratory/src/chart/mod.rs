//! Charts of simulations as SVG: lines with confidence bands, bars with confidence whiskers.

mod axis;
mod bars;
mod lines;

pub use bars::{Bar, Bars};
pub use lines::{Lines, Point, Series, Style};

use anyhow::{Context, Result, anyhow, ensure};
use plotters::prelude::*;
use std::fs;
use std::path::Path;

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const PAPER: RGBColor = WHITE;

/// Colours that people tell apart who see few: Okabe and Ito, "Color Universal Design", 2008.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x77, 0x77, 0x77),
];

type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The marks of lines, around the point: a disc is none of these. Each takes its turn when the
/// colours repeat.
const MARKS: [&[(i32, i32)]; 3] =
    [&[(-4, -4), (4, -4), (4, 4), (-4, 4)], &[(0, -5), (5, 4), (-5, 4)], &[(0, -6), (6, 0), (0, 6), (-6, 0)]];

/// How many lines can be told apart, by colour and mark.
pub const MOST_LINES: usize = COLOURS.len() * (1 + MARKS.len());

/// The mark of a line of this number; `None` is a disc.
fn mark(number: usize) -> Option<Vec<(i32, i32)>> {
    let round = number / COLOURS.len();
    round.checked_sub(1).map(|round| MARKS[round % MARKS.len()].to_vec())
}

/// The colour of this number; colours repeat.
fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// How wide a text is at most: seven twelfths of its size for a letter are enough for any
/// sans-serif.
fn width(text: &str, size: u32) -> i32 {
    (text.chars().count() as u32 * size * 7 / 12).cast_signed()
}

/// A number as short as it can be said to four digits.
fn brief(value: f64) -> String {
    let text = match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-4..1e6).contains(&size) => format!("{value:.2e}"),
        size => {
            let decimals = (3 - size.log10().floor() as i32).clamp(0, 6).unsigned_abs() as usize;
            format!("{value:.decimals$}")
        }
    };
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Writes a chart to a file; its folder is made.
pub fn write(path: &Path, chart: Drawn<String>) -> Result<()> {
    let is_svg = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    ensure!(is_svg, "{}: charts are SVG; call it {}", path.display(), path.with_extension("svg").display());
    let svg = chart.map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (5.0, "5"),
            (99.95, "99.95"),
            (0.1234, "0.1234"),
            (0.5, "0.5"),
            (1234.5, "1234"),
            (2e7, "2.00e7"),
        ] {
            assert_eq!(super::brief(value), text);
        }
    }
}
