//! The nonces of signatures.

use motemix_crypto::Secret;
use rand_core::CryptoRng;
use rfc6979::KGenerator;
use rfc6979::bigint::U256;
use sha2::Sha256;

use super::PrivateKey;

/// n, the order of the group (SEC 2, 2.4.2).
const ORDER: U256 = U256::from_be_hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");

/// The nonces of one signature: RFC 6979's with 32 random bytes added (its section 3.6). A suite
/// takes the first that gives a signature.
pub struct Nonces(KGenerator<'static, Sha256, U256>);

impl Nonces {
    /// Takes 32 bytes from the generator.
    // Once in a board's flash, however many sign, and whatever the compiler makes of the rest.
    #[inline(never)]
    pub fn new<R: CryptoRng + ?Sized>(private: &PrivateKey, digest: &[u8; 32], rng: &mut R) -> Self {
        let mut fresh = Secret::<32>::zero();
        rng.fill_bytes(fresh.expose_mut());
        Self(KGenerator::new(private.expose(), digest, fresh.expose(), &ORDER))
    }

    /// From 1 to n − 1.
    #[inline(never)]
    pub fn next_nonce(&mut self) -> Secret<32> {
        let mut nonce = Secret::zero();
        self.0.fill_next_k(nonce.expose_mut());
        nonce
    }
}

impl core::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Nonces(..)")
    }
}
