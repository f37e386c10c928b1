//! A QR code (ISO/IEC 18004), drawn for terminals, printers and screens.

use super::png;
use motemix_object::IdentityLabel;
use motemix_program::failure::Failure;
use qrcode::{Color, EcLevel, QrCode};
use std::fmt::Write as _;

/// Light modules around the code (ISO/IEC 18004, 6.3.8).
const QUIET: usize = 4;
/// The side of a module in an SVG drawing: a phone reads it from a hand's breadth.
const MODULE_MILLIMETRES: f64 = 0.5;
/// The side of a module in an image.
const MODULE_PIXELS: usize = 8;

/// Rows of modules, dark or not, without the quiet zone.
pub struct Code {
    side: usize,
    dark: Vec<bool>,
}

impl Code {
    /// The code of a label, which can be read with a seventh of it covered (level M).
    pub fn of(label: &IdentityLabel) -> Result<Self, Failure> {
        let code = QrCode::with_error_correction_level(label.to_string(), EcLevel::M)
            .map_err(|error| Failure::failed(format!("cannot draw the QR code: {error}")))?;
        let dark = code.to_colors().into_iter().map(|color| color == Color::Dark).collect();
        Ok(Self { side: code.width(), dark })
    }

    /// Modules on a side, the quiet zone included.
    pub const fn side(&self) -> usize {
        self.side + 2 * QUIET
    }

    /// The side, with the quiet zone, if a module's is `module`.
    pub fn scaled(&self, module: f64) -> f64 {
        // A code has 177 modules at most.
        u16::try_from(self.side()).map_or(f64::INFINITY, |side| f64::from(side) * module)
    }

    fn rows(&self) -> impl Iterator<Item = &[bool]> {
        self.dark.chunks(self.side)
    }

    /// The colour of a module of the whole square.
    fn is_dark(&self, row: usize, column: usize) -> bool {
        let (Some(row), Some(column)) = (row.checked_sub(QUIET), column.checked_sub(QUIET)) else {
            return false;
        };
        column < self.side && self.dark.get(row * self.side + column).is_some_and(|dark| *dark)
    }

    /// Two rows of modules in one line of text. With colours it is black on white, whatever colours
    /// the terminal has; without, light modules are drawn, as most terminals have light letters.
    pub fn text(&self, coloured: bool) -> String {
        let mut text = String::new();
        for row in (0..self.side()).step_by(2) {
            if coloured {
                text.push_str("\x1b[38;5;16;48;5;231m");
            }
            for column in 0..self.side() {
                let is_drawn = |row| self.is_dark(row, column) == coloured;
                text.push(match (is_drawn(row), is_drawn(row + 1)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                });
            }
            if coloured {
                text.push_str("\x1b[0m");
            }
            text.push('\n');
        }
        text
    }

    /// A drawing of its own, on white.
    pub fn svg(&self) -> String {
        let side = self.side();
        let millimetres = self.scaled(MODULE_MILLIMETRES);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{millimetres}mm\" height=\"{millimetres}mm\" \
             viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\n<rect width=\"{side}\" \
             height=\"{side}\" fill=\"#fff\"/>\n<path d=\"{}\"/>\n</svg>\n",
            self.path()
        )
    }

    /// The dark modules as the data of an SVG path, in units of a module, with the quiet zone.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for (y, row) in (QUIET..).zip(self.rows()) {
            let mut x = QUIET;
            for run in row.chunk_by(|one, next| one == next) {
                if run.first() == Some(&true) {
                    // Writing to a string cannot fail.
                    let _ = write!(path, "M{x} {y}h{0}v1h-{0}z", run.len());
                }
                x += run.len();
            }
        }
        path
    }

    /// An image of black and white pixels.
    pub fn png(&self) -> Vec<u8> {
        png::bilevel(self.side() * MODULE_PIXELS, |row, column| {
            self.is_dark(row / MODULE_PIXELS, column / MODULE_PIXELS)
        })
    }
}
