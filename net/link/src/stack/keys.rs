//! The side of a stack that makes keys with neighbours.

use motemix_crypto::Secret;

use super::Stack;
use crate::protection::{HandshakeMessage, KEY_LEN, Keys, KeysWanted, Role};
use crate::serial::ExtendedAddress;

impl Keys for Stack<'_> {
    fn poll_wanted(&mut self) -> Option<KeysWanted> {
        let waiting = self.outgoing.awaits_keys_of();
        self.protection.as_mut()?.poll_wanted(waiting)
    }

    fn poll_handshake(&mut self) -> Option<HandshakeMessage> {
        self.handshake.take()
    }

    fn can_send_handshake(&self) -> bool {
        self.outgoing.can_send_handshake()
    }

    fn send_handshake(&mut self, message: HandshakeMessage) -> bool {
        self.outgoing.send_handshake(message)
    }

    fn poll_undelivered(&mut self) -> Option<ExtendedAddress> {
        self.outgoing.poll_undelivered()
    }

    // A frame's nonce has its sender's address, so it matters not who called.
    fn set_key(&mut self, peer: ExtendedAddress, key: &Secret<KEY_LEN>, _role: Role, shares_short: bool) {
        let Some(protection) = &mut self.protection else { return };
        let replaced = protection.set_key(peer, key, shares_short);
        self.counters.keys_replaced += u32::from(replaced);
        if let Some(envelope) = protection.envelope(peer) {
            self.outgoing.keys_set(peer, envelope);
        }
    }

    fn refuse_key(&mut self, peer: ExtendedAddress) {
        while let Some(progress) = self.outgoing.keys_refused(peer) {
            self.count(progress);
        }
    }

    fn has_place_for(&self, peer: ExtendedAddress) -> bool {
        self.protection.as_ref().is_some_and(|protection| protection.has_place_for(peer))
    }

    fn retain_keys(&mut self, keep: &mut dyn FnMut(ExtendedAddress) -> bool) {
        if let Some(protection) = &mut self.protection {
            protection.retain(keep);
        }
    }
}
