//! The steps of EDHOC as boards run it: method 3, suite 0, the board's own X25519; and the
//! protection of a frame with the key that they end with.

#![no_std]
#![no_main]

mod handshake;

use motemix_board_calls::place::Place;
use motemix_board_calls::verdict;
use motemix_crypto::aes_ccm::{KEY_LEN, NONCE_LEN, TAG_LEN, open, seal};
use motemix_crypto::{BoardCurve, Curve, Secret};
use motemix_neighbour::edhoc::{CoseKey, Method, OwnKey, Suite0, WithoutSignatures};

/// What [`handshake`] runs.
type Suite = WithoutSignatures<Suite0<BoardCurve>>;
type Key = Secret<32>;
const METHOD: Method = Method::StaticKeys;
/// Bytes of a credential without a subject, with a kid of one byte.
const CCS_LEN: usize = 47;
const MESSAGE_2_LEN: usize = 45;
const MESSAGE_3_LEN: usize = 19;

fn credential_key(byte: u8) -> (Key, CoseKey) {
    let key = Secret::new([byte; 32]);
    let public = CoseKey::X25519(BoardCurve::public_key(&key).0);
    (key, public)
}

fn own_key(key: &Key) -> OwnKey<'_, Suite> {
    OwnKey::Static(key)
}

/// The longest frame, 127 bytes without its check sequence: header, text and MIC.
struct Protected {
    header: [u8; FRAME_HEADER],
    text: [u8; FRAME_TEXT],
    tag: [u8; TAG_LEN],
}

/// Two short addresses, a security header with a counter; see `motemix-link`.
const FRAME_HEADER: usize = 14;
const FRAME_TEXT: usize = 125 - FRAME_HEADER - TAG_LEN;
const FRAME_KEY: [u8; KEY_LEN] = [0x4b; KEY_LEN];
const FRAME_NONCE: [u8; NONCE_LEN] = [0x6e; NONCE_LEN];
const TEXT: [u8; FRAME_TEXT] = [0x74; FRAME_TEXT];

static FRAME: Place<Protected> = Place::empty();

#[unsafe(no_mangle)]
extern "C" fn prepare_seal_frame() -> u32 {
    FRAME.put(Protected { header: [0x68; FRAME_HEADER], text: TEXT, tag: [0; TAG_LEN] });
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_seal_frame() -> u32 {
    let sealed = FRAME.with(|frame| {
        frame.tag = seal(&Secret::new(FRAME_KEY), &FRAME_NONCE, &frame.header, &mut frame.text).ok()?;
        Some(())
    });
    verdict(sealed.flatten().is_some())
}

/// What was sealed opens again, and is the text.
#[unsafe(no_mangle)]
extern "C" fn check_seal_frame() -> u32 {
    let opened = bench_open_frame();
    verdict(opened == verdict(true) && FRAME.with(|frame| frame.text == TEXT) == Some(true))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_open_frame() -> u32 {
    prepare_seal_frame() | bench_seal_frame()
}

#[unsafe(no_mangle)]
extern "C" fn bench_open_frame() -> u32 {
    let opened = FRAME.with(|frame| {
        open(&Secret::new(FRAME_KEY), &FRAME_NONCE, &frame.header, &mut frame.text, &frame.tag).is_ok()
    });
    verdict(opened == Some(true))
}
