//! Wiping the stack after calls that work with keys.
//!
//! A secret wipes itself where it is dropped, but each move of it leaves a copy on the stack. The
//! stack belongs to the C program, which may hand its memory on.

pub(crate) use motemix_crypto::secret::{wiped, zeroize_stack};

/// What opening a mote, which makes its key, takes of the stack, but for its last frames.
pub(crate) const OPEN: usize = depth(2944);
/// What a public key takes.
pub(crate) const KEY: usize = depth(1408);
/// What checking a network document takes.
pub(crate) const DOCUMENT: usize = depth(3456);
/// What turning to the next epoch takes.
pub(crate) const TURN: usize = depth(3584);
/// What a start takes, whether it is called or typed.
pub(crate) const START: usize = depth(3904);
/// What a step of a handshake takes.
pub(crate) const MEET: usize = depth(4352);
/// What signing a reading takes, and what makes an identity.
pub(crate) const READING: usize = depth(3072);
/// What the calls of motemix_diet_… take that work with keys. The check of a signature takes more,
/// and has no secrets.
pub(crate) mod diet {
    use super::depth;

    pub(crate) const NEW: usize = depth(192);
    pub(crate) const GENERATE: usize = depth(3072);
    pub(crate) const AGREE: usize = depth(3456);
    pub(crate) const CIPHER: usize = depth(1024);
    pub(crate) const SIGN: usize = depth(3520);
    pub(crate) const IDENTITY: usize = depth(2688);
    pub(crate) const HELLO: usize = depth(3264);
    pub(crate) const ANSWER: usize = depth(4352);
    pub(crate) const FINISH: usize = depth(4352);
    pub(crate) const SEAL: usize = depth(3712);
    pub(crate) const OPEN: usize = depth(2048);
}

/// How deep that is on this machine. On boards no more is wiped than the call has used, or wiping
/// would be what needs the most stack: `tests/capi/boards.rs` measures that. Elsewhere there is
/// enough.
const fn depth(on_a_board: usize) -> usize {
    let is_board = cfg!(all(target_os = "none", target_pointer_width = "32"));
    if is_board { on_a_board } else { 3 * on_a_board }
}
