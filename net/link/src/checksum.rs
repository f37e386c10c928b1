//! The Internet checksum (RFC 1071) of messages over IPv6 (RFC 8200, 8.1).

/// A ones' complement sum that is not complete yet (RFC 1071).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sum(u16);

impl Sum {
    /// Begins with the pseudo-header, addresses and protocol. Its length is added by
    /// [`word`](Self::word).
    pub(crate) fn pseudo_header(source: &[u8; 16], destination: &[u8; 16], protocol: u8) -> Self {
        Self(0).bytes(source).bytes(destination).word(protocol.into())
    }

    /// Adds bytes that begin at an even offset; only the last ones may be of odd number.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        bytes.chunks(2).fold(self, |sum, pair| match *pair {
            [high, low] => sum.word(u16::from_be_bytes([high, low])),
            [high] => sum.word(u16::from_be_bytes([high, 0])),
            _ => sum,
        })
    }

    pub(crate) const fn word(self, word: u16) -> Self {
        let (sum, carry) = self.0.overflowing_add(word);
        Self(sum + carry as u16)
    }

    /// The checksum that makes the sum over the whole message valid. Zero would mean that there is
    /// none.
    pub(crate) const fn checksum(self) -> u16 {
        if self.0 == 0xffff { 0xffff } else { !self.0 }
    }

    /// Whether the message that was summed, its checksum included, is unchanged.
    pub(crate) const fn is_valid(self) -> bool {
        self.0 == 0xffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let sum = Sum(0).bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum, Sum(0xddf2));
        assert_eq!(sum.checksum(), 0x220d);
        assert!(sum.word(sum.checksum()).is_valid());
    }

    #[test]
    fn an_odd_byte_is_the_high_one() {
        assert_eq!(Sum(0).bytes(&[1, 2, 3]), Sum(0x0402));
    }

    #[test]
    fn a_checksum_is_never_zero() {
        let sum = Sum(0).word(0xffff);
        assert_eq!(sum.checksum(), 0xffff);
        assert!(sum.word(sum.checksum()).is_valid());
    }
}
