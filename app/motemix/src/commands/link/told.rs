//! Strangers of whom a person has been told.

use motemix_neighbour::PublicKey;
use motemix_neighbour::suite::PUBLIC_KEY_LEN;
use std::collections::BTreeSet;

/// Strangers of whom a person is told. The others are counted: whoever makes up identities must not
/// fill the screen, or take a computation for each.
const MOST: usize = 16;

/// Says each stranger's line once.
#[derive(Default)]
pub struct Told(BTreeSet<[u8; PUBLIC_KEY_LEN]>);

impl Told {
    /// Says the line about this identity, unless one was said. What is no point is nobody's.
    pub fn tell(&mut self, identity: [u8; PUBLIC_KEY_LEN], line: impl FnOnce(&PublicKey) -> String) {
        if self.0.len() < MOST
            && self.0.insert(identity)
            && let Ok(identity) = PublicKey::new(identity)
        {
            eprintln!("motemix: {}", line(&identity));
        }
    }
}
