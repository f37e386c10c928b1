//! QR codes of identities: in the terminal, as SVG, as PNG.

use super::card::{Card, credential};
use super::sheet;
use crate::cli::IdQr;
use crate::failure::Failure;
use crate::report;
use motemix_object::Identity;
use qrcode::{Color, EcLevel, QrCode};
use std::fmt::Write as _;
use std::path::Path;

/// Modules of white around a code (ISO/IEC 18004).
const QUIET: usize = 4;
/// Pixels of a module in a PNG.
const PIXELS: usize = 8;
/// Millimetres of a code by itself.
const WIDTH: f64 = 20.0;

/// The modules of a code, with the white around them.
pub struct Code {
    width: usize,
    dark: Vec<bool>,
}

impl Code {
    /// The code of an identity, or of its first half: in capital letters, for which a code has a
    /// smaller alphabet.
    pub fn of(identity: &Identity, short: bool) -> Result<Self, Failure> {
        let digits = if short { format!("{identity:.32}") } else { identity.to_string() };
        let text = format!("MOTEMIX:ID:{}", digits.to_uppercase());
        let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(Failure::failed)?;
        let inner = code.width();
        let colours = code.to_colors();
        let width = inner + 2 * QUIET;
        let dark = (0..width * width).map(|at| {
            let inside = |place: usize| place.checked_sub(QUIET).filter(|place| *place < inner);
            match (inside(at % width), inside(at / width)) {
                (Some(x), Some(y)) => colours[y * inner + x] == Color::Dark,
                _ => false,
            }
        });
        Ok(Self { width, dark: dark.collect() })
    }

    fn is_dark(&self, x: usize, y: usize) -> bool {
        y < self.width && self.dark[y * self.width + x]
    }

    /// Two rows of modules in a line of text. Black on white whatever the terminal's colours are:
    /// many readers take no white code on black.
    fn text(&self) -> String {
        let mut text = String::new();
        for y in (0..self.width).step_by(2) {
            text.push_str("\x1b[30;107m");
            for x in 0..self.width {
                text.push(match (self.is_dark(x, y), self.is_dark(x, y + 1)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                });
            }
            text.push_str("\x1b[0m\n");
        }
        text
    }

    /// A path in units of modules: a rectangle for each run of dark ones.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for y in 0..self.width {
            let mut x = 0;
            while x < self.width {
                let run = (x..self.width).take_while(|x| self.is_dark(*x, y)).count();
                if run > 0 {
                    let _ = write!(path, "M{x} {y}h{run}v1h-{run}z");
                }
                x += run.max(1);
            }
        }
        path
    }

    /// How many modules it is wide.
    pub const fn width(&self) -> usize {
        self.width
    }

    fn svg(&self) -> String {
        let (width, path) = (self.width, self.path());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}mm\" height=\"{WIDTH}mm\" \
             viewBox=\"0 0 {width} {width}\" shape-rendering=\"crispEdges\">\
             <rect width=\"{width}\" height=\"{width}\" fill=\"#fff\"/><path d=\"{path}\"/></svg>\n"
        )
    }

    fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let side = self.width * PIXELS;
        let pixel = |at: usize| if self.is_dark(at % side / PIXELS, at / side / PIXELS) { 0 } else { 255 };
        let pixels: Vec<u8> = (0..side * side).map(pixel).collect();
        let mut out = Vec::new();
        let side = u32::try_from(side).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut out, side, side);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&pixels)?;
        Ok(out)
    }
}

pub fn qr(args: &IdQr) -> Result<(), Failure> {
    let cards: Vec<_> = args.devices.iter().map(|path| Card::load(path)).collect::<Result<_, _>>()?;
    if let Some(path) = &args.labels {
        return write(path, sheet::sheet(&cards, args.short)?.as_bytes());
    }
    let [card] = &cards[..] else {
        return Err(Failure::broken("one device for a code; several are for --labels"));
    };
    let identity = credential(card)?.identity().map_err(Failure::broken)?;
    let code = Code::of(&identity, args.short)?;
    match (&args.svg, &args.png) {
        (Some(path), _) => write(path, code.svg().as_bytes()),
        (None, Some(path)) => write(path, &code.png().map_err(Failure::failed)?),
        (None, None) => {
            Ok(report::print(format!("{}{}\n", code.text(), super::grouped(&identity)).as_bytes())?)
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| {
        Failure::failed(format!("{}: {error}; check the folder and its free space", path.display()))
    })
}
