//! Keys that somebody is told of as they are set: a log for a person who reads captures, a test.

use motemix_crypto::Secret;

use crate::protection::{HandshakeMessage, KEY_LEN, Keys, KeysWanted, Role};
use crate::serial::ExtendedAddress;

/// Passes everything on, and tells `watch` of each key, and of the neighbour that it is with.
pub struct WatchedKeys<'k, W> {
    /// Where everything goes.
    pub keys: &'k mut dyn Keys,
    /// Who is told.
    pub watch: W,
}

impl<W: FnMut(ExtendedAddress, &Secret<KEY_LEN>)> Keys for WatchedKeys<'_, W> {
    fn poll_wanted(&mut self) -> Option<KeysWanted> {
        self.keys.poll_wanted()
    }

    fn poll_handshake(&mut self) -> Option<HandshakeMessage> {
        self.keys.poll_handshake()
    }

    fn can_send_handshake(&self) -> bool {
        self.keys.can_send_handshake()
    }

    fn send_handshake(&mut self, message: HandshakeMessage) -> bool {
        self.keys.send_handshake(message)
    }

    fn poll_undelivered(&mut self) -> Option<ExtendedAddress> {
        self.keys.poll_undelivered()
    }

    fn set_key(&mut self, peer: ExtendedAddress, key: &Secret<KEY_LEN>, role: Role, shares_short: bool) {
        (self.watch)(peer, key);
        self.keys.set_key(peer, key, role, shares_short);
    }

    fn refuse_key(&mut self, peer: ExtendedAddress) {
        self.keys.refuse_key(peer);
    }

    fn has_place_for(&self, peer: ExtendedAddress) -> bool {
        self.keys.has_place_for(peer)
    }

    fn retain_keys(&mut self, keep: &mut dyn FnMut(ExtendedAddress) -> bool) {
        self.keys.retain_keys(keep);
    }
}
