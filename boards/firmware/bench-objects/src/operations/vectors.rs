//! What the operations are run on, and what has to come out: published vectors.

/// RFC 7748, section 5.2, the first: scalar, u-coordinate, and what comes out.
pub const X25519_SECRET: [u8; 32] = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
/// See [`X25519_SECRET`].
pub const X25519_POINT: [u8; 32] = hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
/// See [`X25519_SECRET`].
pub const X25519_SHARED: [u8; 32] = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");

/// RFC 8032, section 7.1, test 2.
pub const ED25519_SECRET: [u8; 32] = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
/// Its public key.
pub const ED25519_PUBLIC: [u8; 32] = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
/// Its message.
pub const ED25519_MESSAGE: [u8; 1] = [0x72];
/// Its signature.
pub const ED25519_SIGNATURE: [u8; 64] = hex(concat!(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da",
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
));

/// RFC 6979, section A.2.5, with SHA-256.
pub const ECDSA_SECRET: [u8; 32] = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
/// Its public key, both coordinates.
pub const ECDSA_PUBLIC: [u8; 64] = hex(concat!(
    "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
    "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
));
/// Its message.
pub const ECDSA_MESSAGE: [u8; 6] = *b"sample";
/// The nonce, k.
pub const ECDSA_NONCE: [u8; 32] = hex("a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60");
/// Its signature, r and s.
pub const ECDSA_SIGNATURE: [u8; 64] = hex(concat!(
    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
));

/// RFC 5903, section 8.1: the initiator's secret.
pub const AGREE_SECRET: [u8; 32] = hex("c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433");
/// The responder's point, both coordinates.
pub const AGREE_POINT: [u8; 64] = hex(concat!(
    "d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf63",
    "56fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab"
));
/// The x-coordinate that both share.
pub const AGREE_SHARED: [u8; 32] = hex("d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de");

/// A point in the form of SEC 1, section 2.3.3, that begins with 4.
pub fn uncompressed(coordinates: &[u8; 64]) -> [u8; 65] {
    let mut bytes = [4; 65];
    bytes[1..].copy_from_slice(coordinates);
    bytes
}

/// What hexadecimal digits say. Does not compile if there are too few or too many.
const fn hex<const N: usize>(digits: &str) -> [u8; N] {
    let digits = digits.as_bytes();
    assert!(digits.len() == 2 * N);
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = nibble(digits[2 * at]) << 4 | nibble(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}

const fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => panic!("no hexadecimal digit"),
    }
}
