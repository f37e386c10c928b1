//! Keys between two neighbours behind the C interface: the six functions of IoT-CryptoDiet, and its
//! protocol as `docs/spec/link/diet.md` settles it.
//!
//! ```text
//! random bytes ─ random (callback) ─ generator ─┐
//! keys, messages ─ functions_face ──────────────┼─ motemix-neighbour
//! hellos, answers, datagrams ─ settled_face ────┘
//! ```
//!
//! [`memory`] is where the unsafe code is, besides the faces.

mod functions_face;
mod memory;
mod settled_face;

pub use functions_face::{
    DIET_COORDINATES_LEN, DIET_KEY_LEN, DIET_PRIVATE_KEY_LEN, DIET_SIGNATURE_LEN, motemix_diet_decrypt,
    motemix_diet_encrypt, motemix_diet_end, motemix_diet_generate_key_pair, motemix_diet_new,
    motemix_diet_shared_key, motemix_diet_sign, motemix_diet_verify,
};
pub use memory::{
    DIET_INITIATOR_WORDS, DIET_PENDING_WORDS, DIET_SESSION_WORDS, DIET_WORDS, Diet, DietInitiator,
    DietPending, DietSession,
};
pub use settled_face::{
    DIET_ANSWER_LEN, DIET_HELLO_LEN, DIET_IDENTITY_LEN, DIET_OVERHEAD, DietAdmission, motemix_diet_answer,
    motemix_diet_end_initiator, motemix_diet_end_pending, motemix_diet_end_session, motemix_diet_finish,
    motemix_diet_hello, motemix_diet_open_first, motemix_diet_open_message, motemix_diet_peer,
    motemix_diet_seal_message, motemix_diet_set_identity,
};

use motemix_neighbour::Refused;

use crate::status::{Status, done};
use crate::wiped::wiped;

/// What computes: the one place that names it.
type SuiteOfC = motemix_neighbour::suite::P256;

/// Runs a call's body, in which `?` answers with a status.
fn call(body: impl FnOnce() -> Result<(), Status>) -> Status {
    done(body())
}

/// The same of a body that works with keys.
fn call_with_keys<const DEPTH: usize>(body: impl FnOnce() -> Result<(), Status>) -> Status {
    wiped::<DEPTH, _>(|| call(body))
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Length => Self::BadLength,
            Refused::Kind => Self::OtherKind,
            Refused::PrivateKey => Self::BadPrivateKey,
            Refused::PublicKey => Self::BadPublicKey,
            Refused::Signature => Self::BadSignature,
            Refused::Ciphertext => Self::BadCiphertext,
            Refused::Replayed => Self::Replayed,
            Refused::Repeated => Self::Repeated,
            Refused::Stranger => Self::Stranger,
            Refused::Exhausted => Self::Exhausted,
            _ => Self::Refused,
        }
    }
}
