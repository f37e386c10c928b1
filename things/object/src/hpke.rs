//! HPKE (RFC 9180) as far as pairing needs it: base mode, one message, HKDF-SHA256 and
//! ChaCha20-Poly1305, and the KEM of the key that it is sealed to.

use chacha20poly1305::aead::AeadInOut as _;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _};
use hkdf::{Hkdf, HkdfExtract};
use motemix_crypto::curve::{Curve, of_ed25519};
use motemix_crypto::secret::{Secret, zeroize_stack};
use p256::elliptic_curve::sec1::ToSec1Point as _;
use rand_core::CryptoRng;
use sha2::Sha256;

use crate::key::{Algorithm, PublicKey};

/// On a board the ladder that takes the same time for all secrets on its core.
#[cfg(target_os = "none")]
type X25519 = motemix_crypto::curve::words::Words<motemix_crypto::curve::words::arithmetic::OfThisCore>;
#[cfg(not(target_os = "none"))]
type X25519 = motemix_crypto::Portable;

/// Bytes of the tag behind a ciphertext.
pub(crate) const TAG_LEN: usize = 16;
/// Bytes of the longest encapsulated key.
pub(crate) const MAX_ENC_LEN: usize = 65;

/// More than key schedule and scalar multiplication keep on the stack.
const STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 8192 } else { 4096 };

const VERSION: &[u8] = b"HPKE-v1";
const KDF: [u8; 2] = [0, 1];
const AEAD: [u8; 2] = [0, 3];
const BASE_MODE: u8 = 0;

/// Not sealed to this key, or changed on its way; or the key cannot be sealed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused;

/// The KEM of a key: DHKEM(X25519) for Ed25519, DHKEM(P-256) for ES256, both with HKDF-SHA256.
pub(crate) const fn kem_of(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::Ed25519 => 0x20,
        Algorithm::Es256 => 0x10,
    }
}

/// Bytes of an encapsulated key.
pub(crate) const fn enc_len(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Ed25519 => 32,
        Algorithm::Es256 => MAX_ENC_LEN,
    }
}

/// A public key as RFC 9180 has it (7.1.1).
pub(crate) struct Serialized {
    bytes: [u8; MAX_ENC_LEN],
    len: usize,
}

impl Serialized {
    fn of(parts: &[&[u8]]) -> Self {
        let mut serialized = Self { bytes: [0; MAX_ENC_LEN], len: 0 };
        for byte in parts.iter().copied().flatten() {
            if let Some(place) = serialized.bytes.get_mut(serialized.len) {
                *place = *byte;
                serialized.len = serialized.len.saturating_add(1);
            }
        }
        serialized
    }

    /// The form of a key that signatures are checked with.
    pub(crate) fn of_key(key: &PublicKey) -> Option<Self> {
        match key.algorithm() {
            Algorithm::Ed25519 => {
                let key = of_ed25519::public_key(key.as_bytes().first_chunk()?)?;
                Some(Self::of(&[&key.0]))
            }
            Algorithm::Es256 => {
                let (x, y) = key.coordinates()?;
                Some(Self::of(&[&[4], &x, &y]))
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// What agrees with an encapsulated key: a private key that signs, in its other form.
#[derive(Debug)]
pub enum AgreementKey {
    X25519(Secret<32>),
    P256(Secret<32>),
}

impl AgreementKey {
    /// A fresh one, of the generator's bytes. One seed of 2³² is no scalar of P-256.
    fn generate<R: CryptoRng + ?Sized>(algorithm: Algorithm, rng: &mut R) -> Self {
        loop {
            let mut secret = Secret::zero();
            rng.fill_bytes(secret.expose_mut());
            match algorithm {
                Algorithm::Ed25519 => return Self::X25519(secret),
                Algorithm::Es256 if p256::SecretKey::from_slice(secret.expose()).is_ok() => {
                    return Self::P256(secret);
                }
                Algorithm::Es256 => {}
            }
        }
    }

    pub(crate) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::X25519(_) => Algorithm::Ed25519,
            Self::P256(_) => Algorithm::Es256,
        }
    }

    fn public(&self) -> Result<Serialized, Refused> {
        match self {
            Self::X25519(secret) => Ok(Serialized::of(&[&X25519::public_key(secret).0])),
            Self::P256(secret) => {
                let key = p256::SecretKey::from_slice(secret.expose()).map_err(|_| Refused)?;
                Ok(Serialized::of(&[key.public_key().to_sec1_point(false).as_bytes()]))
            }
        }
    }

    /// Refuses what is no point, and points of small order: their secret is known to everybody.
    fn agree(&self, public: &[u8], shared: &mut Secret<32>) -> Result<(), Refused> {
        match self {
            Self::X25519(secret) => {
                let public = public.try_into().map_err(|_| Refused)?;
                let product =
                    X25519::diffie_hellman(secret, &motemix_crypto::PublicKey(public)).ok_or(Refused)?;
                shared.expose_mut().copy_from_slice(product.expose());
            }
            Self::P256(secret) => {
                if public.len() != MAX_ENC_LEN {
                    return Err(Refused);
                }
                let key = p256::SecretKey::from_slice(secret.expose()).map_err(|_| Refused)?;
                let public = p256::PublicKey::from_sec1_bytes(public).map_err(|_| Refused)?;
                let product = p256::ecdh::diffie_hellman(key.to_nonzero_scalar(), public.as_affine());
                shared.expose_mut().copy_from_slice(product.raw_secret_bytes());
            }
        }
        Ok(())
    }
}

/// A key for one message, and what of it is sent.
pub(crate) struct Ephemeral {
    key: AgreementKey,
    enc: Serialized,
}

impl Ephemeral {
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        algorithm: Algorithm,
        rng: &mut R,
    ) -> Result<Self, Refused> {
        let key = AgreementKey::generate(algorithm, rng);
        let enc = key.public()?;
        Ok(Self { key, enc })
    }

    /// The encapsulated key.
    pub(crate) fn enc(&self) -> &[u8] {
        self.enc.as_slice()
    }

    /// Encrypts `text` in place for a key. Takes the ephemeral key: it is for one message.
    pub(crate) fn seal(
        self,
        to: &PublicKey,
        info: &[&[u8]],
        associated: &[u8],
        text: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Refused> {
        let receiver = Serialized::of_key(to).ok_or(Refused)?;
        let schedule = Schedule {
            kem: kem_of(self.key.algorithm()),
            enc: self.enc(),
            receiver: receiver.as_slice(),
            info,
        };
        let tag = schedule.with_cipher(&self.key, receiver.as_slice(), |cipher, nonce| {
            cipher.encrypt_inout_detached((&nonce).into(), associated, text.into()).map(Into::into)
        });
        zeroize_stack::<STACK_LEN>();
        tag
    }
}

/// Wipes a key that opens nothing, and what making it has left on the stack.
pub(crate) fn forget(key: AgreementKey) {
    drop(key);
    zeroize_stack::<STACK_LEN>();
}

/// Decrypts `text` in place with the key that it was sealed to.
pub(crate) fn open(
    key: &AgreementKey,
    enc: &[u8],
    info: &[&[u8]],
    associated: &[u8],
    text: &mut [u8],
    tag: &[u8; TAG_LEN],
) -> Result<(), Refused> {
    let receiver = key.public()?;
    let schedule = Schedule { kem: kem_of(key.algorithm()), enc, receiver: receiver.as_slice(), info };
    let opened = schedule.with_cipher(key, enc, |cipher, nonce| {
        cipher.decrypt_inout_detached((&nonce).into(), associated, text.into(), tag.into())
    });
    zeroize_stack::<STACK_LEN>();
    opened
}

/// What the key of a message is derived from, besides the shared secret.
struct Schedule<'s> {
    kem: u8,
    enc: &'s [u8],
    receiver: &'s [u8],
    info: &'s [&'s [u8]],
}

impl Schedule<'_> {
    /// In a frame of its own, so that the frame can be wiped.
    #[inline(never)]
    fn with_cipher<T>(
        &self,
        key: &AgreementKey,
        public: &[u8],
        work: impl FnOnce(&ChaCha20Poly1305, [u8; 12]) -> Result<T, chacha20poly1305::Error>,
    ) -> Result<T, Refused> {
        let mut shared = Secret::zero();
        key.agree(public, &mut shared)?;
        self.extract_and_expand(&mut shared)?;
        let (key, nonce) = self.key_and_nonce(&shared)?;
        work(&ChaCha20Poly1305::new(key.expose().into()), nonce).map_err(|_| Refused)
    }

    /// RFC 9180, 4.1: the KEM's secret, in the place of what the curve gave.
    fn extract_and_expand(&self, shared: &mut Secret<32>) -> Result<(), Refused> {
        let suite = [b'K', b'E', b'M', 0, self.kem];
        let prk = extract(&suite, &[], b"eae_prk", &[shared.expose()]);
        expand(&suite, &prk, b"shared_secret", &[self.enc, self.receiver], shared.expose_mut())
    }

    /// RFC 9180, 5.1, without a key that both know before.
    fn key_and_nonce(&self, shared: &Secret<32>) -> Result<(Secret<32>, [u8; 12]), Refused> {
        let ([k0, k1], [a0, a1]) = (KDF, AEAD);
        let suite = [b'H', b'P', b'K', b'E', 0, self.kem, k0, k1, a0, a1];
        let psk_id_hash = extract(&suite, &[], b"psk_id_hash", &[]);
        let info_hash = extract(&suite, &[], b"info_hash", self.info);
        let context: [&[u8]; 3] = [&[BASE_MODE], psk_id_hash.expose(), info_hash.expose()];
        let secret = extract(&suite, shared.expose(), b"secret", &[]);
        let (mut key, mut nonce) = (Secret::zero(), [0; 12]);
        expand(&suite, &secret, b"key", &context, key.expose_mut())?;
        expand(&suite, &secret, b"base_nonce", &context, &mut nonce)?;
        Ok((key, nonce))
    }
}

/// `LabeledExtract` of RFC 9180, 4.
fn extract(suite: &[u8], salt: &[u8], label: &[u8], ikm: &[&[u8]]) -> Secret<32> {
    let mut extract = HkdfExtract::<Sha256>::new(Some(salt));
    for part in [VERSION, suite, label].iter().chain(ikm) {
        extract.input_ikm(part);
    }
    Secret::new(extract.finalize().0.into())
}

/// `LabeledExpand` of RFC 9180, 4.
fn expand(
    suite: &[u8],
    prk: &Secret<32>,
    label: &[u8],
    info: &[&[u8]],
    out: &mut [u8],
) -> Result<(), Refused> {
    let [.., high, low] = out.len().to_be_bytes();
    let length = [high, low];
    let mut parts = [&[][..]; 8];
    let all = [&length, VERSION, suite, label].into_iter().chain(info.iter().copied());
    parts.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    let hkdf = Hkdf::<Sha256>::from_prk(prk.expose()).map_err(|_| Refused)?;
    hkdf.expand_multi_info(&parts, out).map_err(|_| Refused)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::key::{Agrees as _, PrivateKey, Signer as _};
    use rand_core::utils::next_word_via_fill;
    use rand_core::{Infallible, TryCryptoRng, TryRng};
    use serde_json::Value;
    use std::vec::Vec;

    /// Gives the bytes of a vector.
    struct Given(Vec<u8>);

    impl TryRng for Given {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            next_word_via_fill(self)
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            next_word_via_fill(self)
        }
        fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Infallible> {
            let drawn = self.0.drain(..to.len());
            to.iter_mut().zip(drawn).for_each(|(to, byte)| *to = byte);
            Ok(())
        }
    }

    impl TryCryptoRng for Given {}

    fn bytes(value: &Value) -> Vec<u8> {
        hex::decode(value.as_str().unwrap()).unwrap()
    }

    fn agreement_key(kem: &Value, secret: &Value) -> AgreementKey {
        let secret = Secret::new(bytes(secret).try_into().unwrap());
        if kem == 0x20 { AgreementKey::X25519(secret) } else { AgreementKey::P256(secret) }
    }

    #[test]
    fn messages_are_those_of_rfc_9180() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/hpke.json");
        let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 2);
        for case in cases {
            let receiver = agreement_key(&case["kem_id"], &case["skRm"]);
            let algorithm = receiver.algorithm();
            assert_eq!(case["kem_id"], kem_of(algorithm));
            assert_eq!(receiver.public().unwrap().as_slice(), bytes(&case["pkRm"]));
            let ephemeral = Ephemeral::generate(algorithm, &mut Given(bytes(&case["skEm"]))).unwrap();
            assert_eq!(
                (ephemeral.enc(), ephemeral.enc().len()),
                (&bytes(&case["enc"])[..], enc_len(algorithm))
            );

            let (info, associated, plain) = (bytes(&case["info"]), bytes(&case["aad"]), bytes(&case["pt"]));
            let (enc, receiver_bytes) = (bytes(&case["enc"]), bytes(&case["pkRm"]));
            let schedule =
                Schedule { kem: kem_of(algorithm), enc: &enc, receiver: &receiver_bytes, info: &[&info] };
            let mut shared = Secret::zero();
            receiver.agree(&enc, &mut shared).unwrap();
            schedule.extract_and_expand(&mut shared).unwrap();
            assert_eq!(shared.expose()[..], bytes(&case["shared_secret"]));
            let (key, nonce) = schedule.key_and_nonce(&shared).unwrap();
            assert_eq!(
                (&key.expose()[..], &nonce[..]),
                (&bytes(&case["key"])[..], &bytes(&case["base_nonce"])[..])
            );

            let mut text = plain.clone();
            let tag = schedule.with_cipher(&receiver, &enc, |cipher, nonce| {
                cipher.encrypt_inout_detached((&nonce).into(), &associated, text.as_mut_slice().into())
            });
            let tag: [u8; TAG_LEN] = tag.unwrap().into();
            assert_eq!([&text[..], &tag[..]].concat(), bytes(&case["ct"]));
            open(&receiver, &enc, &[&info], &associated, &mut text, &tag).unwrap();
            assert_eq!(text, plain);
        }
    }

    #[test]
    fn another_library_opens_what_is_sealed_here_and_the_other_way_round() {
        use hpke::{Deserializable as _, OpModeR, OpModeS, Serializable as _};
        use hpke::{
            aead::ChaCha20Poly1305 as Aead, kdf::HkdfSha256, kem::DhP256HkdfSha256, kem::X25519HkdfSha256,
        };
        fn both<K: hpke::Kem>(algorithm: Algorithm) {
            let key = PrivateKey::new(algorithm, Secret::new([7; 32])).unwrap();
            let agreement = key.agreement_key();
            let (AgreementKey::X25519(secret) | AgreementKey::P256(secret)) = &agreement;
            let private = K::PrivateKey::from_bytes(secret.expose()).unwrap();
            let public = K::PublicKey::from_bytes(Serialized::of_key(&key.public_key()).unwrap().as_slice());

            let ephemeral = Ephemeral::generate(algorithm, &mut Given(std::vec![9; 32])).unwrap();
            let enc = K::EncappedKey::from_bytes(ephemeral.enc()).unwrap();
            let mut text = *b"plant";
            let tag = ephemeral.seal(&key.public_key(), &[b"in", b"fo"], b"aad", &mut text).unwrap();
            let mut theirs =
                hpke::setup_receiver::<Aead, HkdfSha256, K>(&OpModeR::Base, &private, &enc, b"info").unwrap();
            let tag = hpke::aead::AeadTag::from_bytes(&tag).unwrap();
            theirs.open_inout_detached(text.as_mut_slice().into(), b"aad", &tag).unwrap();
            assert_eq!(&text, b"plant");

            let (enc, mut theirs) = hpke::setup_sender_with_rng::<Aead, HkdfSha256, K>(
                &OpModeS::Base,
                &public.unwrap(),
                b"info",
                &mut rand_chacha::ChaCha20Rng::from_seed([3; 32]),
            )
            .unwrap();
            let tag = theirs.seal_inout_detached(text.as_mut_slice().into(), b"aad").unwrap();
            let tag: [u8; TAG_LEN] = tag.to_bytes().into();
            open(&agreement, &enc.to_bytes(), &[b"info"], b"aad", &mut text, &tag).unwrap();
            assert_eq!(&text, b"plant");
        }
        use rand_core::SeedableRng as _;
        both::<X25519HkdfSha256>(Algorithm::Ed25519);
        both::<DhP256HkdfSha256>(Algorithm::Es256);
    }
}
