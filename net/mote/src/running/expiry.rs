//! What stops when the network document has expired and no next one has begun.
//!
//! ```text
//! in force ─ expired: nothing of its own leaves ─ an overlap later: nothing is taken in, the key is gone
//! ```
//!
//! A document that begins later puts an end to either.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::UnixTime;
use motemix_node::Instant;
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::Running;
use super::fill::Fill;
use super::neighbours::OwnKey;
use crate::console::{Console, News, Warning, or_warn, say};

/// How far that is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// The document is of this time.
    InForce,
    /// What others sent is still forwarded.
    Silent,
    /// The epoch has ended.
    Over,
}

impl Expiry {
    /// Whether this node sends nothing of its own.
    pub(super) const fn is_silent(self) -> bool {
        !matches!(self, Self::InForce)
    }

    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::Over)
    }
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'_, P, F, R> {
    /// Ends own traffic when the document has expired, and the epoch an overlap later.
    #[inline(never)]
    pub(super) fn expire<C: Console>(&mut self, now: Instant, console: &mut C) {
        let Some(time) = self.mote.clock.map(|clock| clock.at(now)) else { return };
        if self.expiry == Expiry::InForce && time >= self.network.valid_until {
            self.expiry = Expiry::Silent;
            self.node.fall_silent();
            console.notice(News::Warning(Warning::Expired));
            say!(console, "warning: the network document has expired; {}", self.remedy());
        }
        if self.expiry == Expiry::Silent && time >= self.network.overlap_until {
            self.expiry = Expiry::Over;
            self.node.end_epoch();
            self.own_key = Some(OwnKey::Gone);
            self.fill = Fill::new();
            self.unprepare();
            or_warn!(console, self.mote.retire(self.network.epoch));
            let epoch = self.network.epoch;
            console.notice(News::Warning(Warning::EpochEnded));
            say!(console, "warning: epoch {epoch} has ended, nothing is forwarded; {}", self.remedy());
        }
    }

    /// When [`expire`](Self::expire) has something to do.
    pub(super) const fn expiry_due(&self) -> Option<UnixTime> {
        match self.expiry {
            Expiry::InForce => Some(self.network.valid_until),
            Expiry::Silent => Some(self.network.overlap_until),
            Expiry::Over => None,
        }
    }

    /// How the next document comes here.
    pub(super) const fn remedy(&self) -> &'static str {
        if self.document.is_empty() {
            "`stop`, and give this node the next one"
        } else {
            "give this node the next one"
        }
    }
}
