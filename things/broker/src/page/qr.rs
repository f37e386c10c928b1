//! An identity as a QR code (ISO/IEC 18004), as on a device's label.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use motemix_object::{Identity, IdentityLabel};
use qrcode::types::QrError;
use qrcode::{Color, EcLevel, QrCode};
use tokio::time::Instant;

/// Light modules around the code (ISO/IEC 18004, 6.3.8).
const QUIET: usize = 4;

/// Drawings that are kept.
const KEPT: usize = 256;
/// How often another one is drawn, after so many at once.
const EVERY: Duration = Duration::from_millis(20);
const AT_ONCE: u32 = 200;

/// Drawings, and when the next may be made: anybody can think of identities without end.
#[derive(Debug)]
pub(super) struct Drawings(Mutex<(HashMap<Identity, Bytes>, Instant)>);

impl Drawings {
    pub(super) fn new() -> Self {
        Self(Mutex::new((HashMap::new(), Instant::now())))
    }

    /// The drawing of an identity; nothing if there were too many others a moment ago.
    pub(super) fn get(&self, identity: Identity) -> Option<Result<Bytes, QrError>> {
        self.get_at(Instant::now(), identity)
    }

    fn get_at(&self, now: Instant, identity: Identity) -> Option<Result<Bytes, QrError>> {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, next) = &mut *inside;
        if let Some(drawing) = kept.get(&identity) {
            return Some(Ok(drawing.clone()));
        }
        if *next > now + EVERY * AT_ONCE {
            return None;
        }
        *next = now.max(*next) + EVERY;
        let drawing = svg(identity).map(Bytes::from);
        if kept.len() >= KEPT {
            kept.clear();
        }
        if let Ok(drawing) = &drawing {
            kept.insert(identity, drawing.clone());
        }
        Some(drawing)
    }
}

/// A drawing on white, which can be read with a seventh of it covered (level M).
fn svg(identity: Identity) -> Result<String, QrError> {
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

#[cfg(test)]
mod tests {
    use super::{AT_ONCE, Drawings, EVERY, Identity, Instant};

    #[test]
    fn codes_of_identities_without_end_are_drawn_now_and_then() {
        let (drawings, now) = (Drawings::new(), Instant::now());
        let identity = |number: u32| {
            let mut bytes = [0; Identity::LEN];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            Identity::from_bytes(bytes)
        };
        let mine = identity(u32::MAX);
        assert!(drawings.get_at(now, mine).is_some());
        let drawn = (0..1000).take_while(|number| drawings.get_at(now, identity(*number)).is_some()).count();
        assert_eq!(drawn, AT_ONCE as usize);
        assert!(drawings.get_at(now, mine).is_some(), "what is kept costs nothing");
        let later = now + EVERY;
        assert!(drawings.get_at(later, identity(2000)).is_some());
        assert!(drawings.get_at(later, identity(2001)).is_none());
    }
}
