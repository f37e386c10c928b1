//! An identity as a QR code (ISO/IEC 18004), as on a device's label.

use std::fmt::Write as _;

use motemix_object::{Identity, IdentityLabel};
use qrcode::types::QrError;
use qrcode::{Color, EcLevel, QrCode};

/// Light modules around the code (ISO/IEC 18004, 6.3.8).
const QUIET: usize = 4;

/// A drawing on white, which can be read with a seventh of it covered (level M).
pub(super) fn svg(identity: Identity) -> Result<String, QrError> {
    let text = IdentityLabel::Full(identity).to_string();
    let code = QrCode::with_error_correction_level(text, EcLevel::M)?;
    let side = code.width() + 2 * QUIET;
    let mut path = String::new();
    for (y, row) in (QUIET..).zip(code.to_colors().chunks(code.width())) {
        let mut x = QUIET;
        for run in row.chunk_by(|one, next| one == next) {
            if run.first() == Some(&Color::Dark) {
                // Writing to a string cannot fail.
                let _ = write!(path, "M{x} {y}h{0}v1h-{0}z", run.len());
            }
            x += run.len();
        }
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{0}\" viewBox=\"0 0 {side} {side}\" \
         shape-rendering=\"crispEdges\">\n<rect width=\"{side}\" height=\"{side}\" fill=\"#fff\"/>\n\
         <path d=\"{path}\"/>\n</svg>\n",
        side * 8
    ))
}
