//! Mix keys that no honest node has.

/// 2^255 − 19, little-endian.
const PRIME: [u8; 32] = {
    let mut prime = [0xff; 32];
    prime[0] = 0xed;
    prime[31] = 0x7f;
    prime
};

/// The canonical u-coordinates of all points of small order, on Curve25519 and on its twist.
const SMALL_ORDER: [[u8; 32]; 5] = [
    [0; 32],
    {
        let mut one = [0; 32];
        one[0] = 1;
        one
    },
    {
        let mut minus_one = PRIME;
        minus_one[0] -= 1;
        minus_one
    },
    [
        0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda,
        0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
    ],
    [
        0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04,
        0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
    ],
];

/// Whether X25519 could give a secret with this key, and the key has no second encoding.
pub(crate) fn is_sound(key: &[u8; 32]) -> bool {
    let canonical = key.iter().rev().lt(PRIME.iter().rev());
    canonical && !SMALL_ORDER.contains(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve25519_dalek::montgomery::MontgomeryPoint;

    #[test]
    fn listed_keys_give_no_secret() {
        for key in SMALL_ORDER {
            assert_eq!(MontgomeryPoint(key).mul_clamped([0x55; 32]).0, [0; 32]);
            assert!(!is_sound(&key));
        }
    }

    #[test]
    fn second_encodings_are_refused() {
        assert!(!is_sound(&PRIME));
        let mut two = [0; 32];
        two[0] = 2;
        assert!(is_sound(&two));
        let mut two_plus_prime = PRIME;
        two_plus_prime[0] += 2;
        assert!(!is_sound(&two_plus_prime));
        two[31] = 0x80;
        assert!(!is_sound(&two));
    }

    #[test]
    fn greatest_sound_key_is_two_below_the_prime() {
        let mut key = PRIME;
        key[0] -= 2;
        assert!(is_sound(&key));
    }
}
