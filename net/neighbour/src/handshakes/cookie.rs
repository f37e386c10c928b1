//! Cookies: whoever shows one receives what is sent to the address that it claims.

use core::time::Duration;

use motemix_crypto::Secret;
use motemix_crypto::hash::blake2s_128;
use motemix_time::Instant;
use rand_core::CryptoRng;
use subtle::ConstantTimeEq as _;

use super::{Handshakes, Peer};
use crate::edhoc::CipherSuite;

pub(super) const COOKIE_LEN: usize = 8;
/// A cookie is good for so long at least, and for twice as long at most.
const GOOD_FOR: Duration = Duration::from_secs(8);

/// Bytes of message_1 that its answer repeats: whoever forges an answer and has not seen message_1
/// does not know them, and causes a multiplication with one in 65,536.
pub(super) const ECHO_LEN: usize = 2;
/// Where they begin in message_1: at the ephemeral key, behind the method, the suite and the head
/// of a string.
const ECHO_AT: usize = 4;

/// What the answer to message_1 repeats.
pub(super) fn echo_of(message_1: &[u8]) -> Option<[u8; ECHO_LEN]> {
    message_1.get(ECHO_AT..).and_then(<[u8]>::first_chunk).copied()
}

/// The key that cookies are made with, drawn at each start.
pub(super) struct Cookies(Secret<32>);

impl Cookies {
    pub(super) fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut key = Secret::zero();
        rng.fill_bytes(key.expose_mut());
        Self(key)
    }

    pub(super) fn bake(&self, now: Instant, peer: Peer) -> [u8; COOKIE_LEN] {
        self.bake_at(period(now), peer)
    }

    /// Whether it was made for this peer, lately.
    pub(super) fn is_good(&self, now: Instant, peer: Peer, cookie: [u8; COOKIE_LEN]) -> bool {
        let period = period(now);
        [period, period.wrapping_sub(1)]
            .into_iter()
            .any(|period| self.bake_at(period, peer).ct_eq(&cookie).into())
    }

    fn bake_at(&self, period: u64, Peer(peer): Peer) -> [u8; COOKIE_LEN] {
        let Self(key) = self;
        let mut data = [0; 16];
        let (when, whose) = data.split_at_mut(8);
        when.copy_from_slice(&period.to_be_bytes());
        whose.copy_from_slice(&peer);
        let hash = blake2s_128(key.expose(), &data);
        *hash.expose().first_chunk().unwrap_or(&[0; COOKIE_LEN])
    }
}

impl<S: CipherSuite, const LEN: usize> Handshakes<S, LEN> {
    /// Bakes the same cookies as the other from now on: what is good for one is good for both.
    /// Several answer at one address like that, each to one peer at a time.
    pub fn share_cookies(&mut self, with: &Self) {
        self.cookies = Cookies(with.cookies.0.duplicate());
    }
}

const fn period(now: Instant) -> u64 {
    now.as_micros() / GOOD_FOR.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng as _;

    #[test]
    fn a_cookie_is_good_for_its_peer_and_its_time() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let cookies = Cookies::draw(&mut rng);
        let (now, peer) = (Instant::from_micros(100_000_000), Peer([1; 8]));
        let cookie = cookies.bake(now, peer);
        assert!(cookies.is_good(now + GOOD_FOR, peer, cookie));
        assert!(!cookies.is_good(now + 2 * GOOD_FOR, peer, cookie));
        assert!(!cookies.is_good(now, Peer([2; 8]), cookie));
        assert!(!Cookies::draw(&mut rng).is_good(now, peer, cookie), "after a restart");
    }
}
