//! Whether an operation takes the same number of cycles for every secret.

use super::board::Board;
use super::measure::call;
use crate::failure::Failure;
use motemix_crypto::{Portable, Secret, stream};
use motemix_mcu::{Core, FlashTiming, Image, Machine};
use motemix_neighbour::suite::{P256, PUBLIC_KEY_LEN};
use motemix_neighbour::{PrivateKey, Suite};
use motemix_sphinx::{HeaderBuilder, MOTE, MessageId, MixKey, Mote, NodeId, PathHop, Shape};
use serde::Serialize;

type Motes = Mote<Portable>;

/// An operation of `mote_secrets`.
struct Operation {
    name: &'static str,
    /// Takes a tenth of a second and more.
    has_points: bool,
    /// Multiplies 32 by 32 bits to 64, which no curve that a Cortex-M3 ships does.
    has_long: bool,
    /// Does the same here, on the same buffer.
    here: fn(&mut [u8]) -> Option<()>,
}

const OPERATIONS: [Operation; 14] = [
    Operation { name: "multiply", has_points: false, has_long: true, here: here::multiply },
    Operation { name: "x25519", has_points: true, has_long: false, here: here::x25519 },
    Operation { name: "x25519_base", has_points: true, has_long: false, here: here::x25519_base },
    Operation { name: "blind", has_points: false, has_long: false, here: here::blind },
    Operation { name: "forward", has_points: true, has_long: false, here: here::forward },
    Operation {
        name: "wide_block_encrypt",
        has_points: false,
        has_long: false,
        here: here::wide_block_encrypt,
    },
    Operation {
        name: "wide_block_decrypt",
        has_points: false,
        has_long: false,
        here: here::wide_block_decrypt,
    },
    Operation { name: "stream", has_points: false, has_long: false, here: here::stream },
    Operation { name: "mac", has_points: false, has_long: false, here: here::mac },
    Operation { name: "p256_public_key", has_points: true, has_long: false, here: here::p256_public_key },
    Operation { name: "p256_agree", has_points: true, has_long: false, here: here::p256_agree },
    Operation { name: "p256_sign", has_points: true, has_long: false, here: here::p256_sign },
    Operation { name: "ed25519_key", has_points: true, has_long: false, here: here::ed25519_key },
    Operation { name: "ed25519_sign", has_points: true, has_long: false, here: here::ed25519_sign },
];
/// Operations, for whoever shows progress.
pub const COUNT: usize = OPERATIONS.len();
/// Operations without points take so many times as many secrets.
const MORE: usize = 10;

/// How the cycles of one operation spread.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    pub operation: &'static str,
    pub secrets: usize,
    pub least: u64,
    pub most: u64,
    /// Different numbers of cycles.
    pub distinct: usize,
    /// Whether the core's multiplier lets them differ.
    pub may_vary: bool,
}

impl Spread {
    pub fn is_constant(&self) -> bool {
        self.least == self.most
    }
}

/// Every operation with `count` secrets, or ten times as many if it multiplies no points. Each
/// outcome has to be that of the same operation here.
pub fn spreads(
    board: &Board,
    image: &Image,
    count: usize,
    done: impl Fn(&str),
) -> Result<Vec<Spread>, Failure> {
    if board.core == Core::M0Plus {
        check_multiplication(board, image)?;
    }
    let spread = |operation: &Operation| {
        let secrets = if operation.has_points { count } else { MORE * count };
        let mut cycles = cycles(board, image, operation, secrets)?;
        cycles.sort_unstable();
        let (least, most) = (cycles.first().copied().unwrap_or(0), cycles.last().copied().unwrap_or(0));
        cycles.dedup();
        done(operation.name);
        // UMULL and UMLAL of a Cortex-M3 end early (Technical Reference Manual, table 18-1).
        let may_vary = operation.has_long && board.core == Core::M3;
        Ok(Spread { operation: operation.name, secrets, least, most, distinct: cycles.len(), may_vary })
    };
    OPERATIONS.iter().map(spread).collect()
}

/// The compiler's own 64-bit multiplication for ARMv6-M keeps registers on the stack; the one of
/// `firmware/multiply` touches no memory.
fn check_multiplication(board: &Board, image: &Image) -> Result<(), Failure> {
    let mut machine = Machine::new(image, board.core, FlashTiming::ZERO_WAIT);
    let run = call(board, image, &mut machine, "__aeabi_lmul", [3, 0, 5, 0])?;
    if run.loads + run.stores == 0 && run.result == 15 {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{}: the linker took the compiler's __aeabi_lmul instead of that of firmware/multiply",
        board.name
    )))
}

fn cycles(board: &Board, image: &Image, operation: &Operation, count: usize) -> Result<Vec<u64>, Failure> {
    let mut machine = Machine::new(image, board.core, FlashTiming::ZERO_WAIT);
    let buffer = call(board, image, &mut machine, "mote_buffer", [0; 4])?.result;
    let name = format!("bench_{}", operation.name);
    let broken = |what: String| Failure::failed(format!("{}: {name}: {what}", board.name));
    (0..count)
        .map(|number| {
            let mut bytes = input(operation.name, number).ok_or_else(|| broken("no input for it".into()))?;
            machine.write(buffer, &bytes).map_err(|fault| broken(fault.to_string()))?;
            let run = call(board, image, &mut machine, &name, [0; 4])?;
            if run.result != 0 {
                return Err(broken(format!("it did not do its work: it returned {}", run.result)));
            }
            let mut outcome = vec![0; bytes.len()];
            machine.read(buffer, &mut outcome).map_err(|fault| broken(fault.to_string()))?;
            (operation.here)(&mut bytes).ok_or_else(|| broken("this host cannot do the same".into()))?;
            if outcome != bytes {
                return Err(broken(format!("secret {number} has another outcome than on this host")));
            }
            Ok(run.cycles)
        })
        .collect()
}

/// The operations of the firmware's `mote_secrets`, on this host.
mod here {
    use super::Motes;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use ed25519_dalek::Signer;
    use motemix_crypto::curve::scalar::BlindedScalar;
    use motemix_crypto::wide_block::WideBlockKeys;
    use motemix_crypto::{Curve, Portable, PublicKey, Secret, WideBlake2s, hash};
    use motemix_neighbour::suite::{P256, PUBLIC_KEY_LEN, SIGNATURE_LEN};
    use motemix_neighbour::{PrivateKey, Suite};
    use motemix_sphinx::{MOTE, MixKey, Packet, ReplayError, ReplayFilter, ReplayTag};

    const LABEL: &motemix_crypto::stream::Label = b"motemix/test";

    fn key(buffer: &[u8], at: usize) -> Option<Secret<32>> {
        buffer.get(at..)?.first_chunk().copied().map(Secret::new)
    }

    pub fn multiply(buffer: &mut [u8]) -> Option<()> {
        let (first, rest) = buffer.split_first_chunk_mut::<8>()?;
        let second = u64::from_le_bytes(*rest.first_chunk()?);
        *first = u64::from_le_bytes(*first).wrapping_mul(second).to_le_bytes();
        Some(())
    }

    pub fn x25519(buffer: &mut [u8]) -> Option<()> {
        let product = Portable::diffie_hellman(&key(buffer, 0)?, &PublicKey(*key(buffer, 32)?.expose()))?;
        buffer[..32].copy_from_slice(product.expose());
        Some(())
    }

    pub fn x25519_base(buffer: &mut [u8]) -> Option<()> {
        let public_key = Portable::public_key(&key(buffer, 0)?);
        buffer[..32].copy_from_slice(&public_key.0);
        Some(())
    }

    pub fn blind(buffer: &mut [u8]) -> Option<()> {
        let mut scalar = BlindedScalar::from_clamped(&key(buffer, 0)?);
        scalar.blind(&key(buffer, 32)?);
        buffer[..32].copy_from_slice(scalar.to_clamped().expose());
        Some(())
    }

    pub fn forward(buffer: &mut [u8]) -> Option<()> {
        struct Forgetful;
        impl ReplayFilter for Forgetful {
            fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
                Ok(())
            }
        }
        let mix_key = MixKey::new(key(buffer, 0)?);
        let packet = Packet::<Motes>::parse(buffer.get_mut(32..)?).ok()?;
        let ((), authentic) = packet.authenticate([((), &mix_key)]).ok()?;
        authentic.admit(&mut Forgetful).ok()?.unwrap_layer().ok()?;
        Some(())
    }

    fn payload(buffer: &mut [u8]) -> Option<(WideBlockKeys, &mut [u8])> {
        let keys = WideBlockKeys::derive(key(buffer, 0)?.expose(), LABEL);
        Some((keys, buffer.get_mut(32..32 + MOTE.payload_len())?))
    }

    pub fn wide_block_encrypt(buffer: &mut [u8]) -> Option<()> {
        payload(buffer).map(|(keys, payload)| keys.encrypt::<WideBlake2s>(payload))
    }

    pub fn wide_block_decrypt(buffer: &mut [u8]) -> Option<()> {
        payload(buffer).map(|(keys, payload)| keys.decrypt::<WideBlake2s>(payload))
    }

    pub fn stream(buffer: &mut [u8]) -> Option<()> {
        let key = key(buffer, 0)?;
        motemix_crypto::stream::xor(key.expose(), LABEL, buffer.get_mut(32..32 + MOTE.routing_info_len())?);
        Some(())
    }

    pub fn p256_public_key(buffer: &mut [u8]) -> Option<()> {
        let public = P256.public_key(&PrivateKey::new(key(buffer, 0)?).ok()?).ok()?;
        buffer[..PUBLIC_KEY_LEN].copy_from_slice(public.as_bytes());
        Some(())
    }

    pub fn p256_agree(buffer: &mut [u8]) -> Option<()> {
        let peer = motemix_neighbour::PublicKey::new(*buffer.get(32..)?.first_chunk()?).ok()?;
        let shared = P256.agree(&PrivateKey::new(key(buffer, 0)?).ok()?, &peer).ok()?;
        buffer[..32].copy_from_slice(shared.expose());
        Some(())
    }

    pub fn p256_sign(buffer: &mut [u8]) -> Option<()> {
        let private = PrivateKey::new(key(buffer, 0)?).ok()?;
        let mut rng = ChaCha20Rng::from_seed(*key(buffer, 64)?.expose());
        let signature = P256.sign(&private, key(buffer, 32)?.expose(), &mut rng).ok()?;
        buffer[..SIGNATURE_LEN].copy_from_slice(&signature.0);
        Some(())
    }

    fn ed25519(buffer: &[u8]) -> Option<ed25519_dalek::SigningKey> {
        Some(ed25519_dalek::SigningKey::from_bytes(key(buffer, 0)?.expose()))
    }

    pub fn ed25519_key(buffer: &mut [u8]) -> Option<()> {
        let public = ed25519(buffer)?.verifying_key();
        buffer[..32].copy_from_slice(public.as_bytes());
        Some(())
    }

    pub fn ed25519_sign(buffer: &mut [u8]) -> Option<()> {
        let signature = ed25519(buffer)?.sign(buffer.get(32..96)?);
        buffer[..64].copy_from_slice(&signature.to_bytes());
        Some(())
    }

    pub fn mac(buffer: &mut [u8]) -> Option<()> {
        let (mac, message) = buffer.get(32..)?.split_first_chunk::<16>()?;
        let made = hash::blake2s_128(key(buffer, 0)?.expose(), message.get(..MOTE.routing_info_len())?);
        *buffer.last_mut()? = u8::from(made.expose() == mac);
        Some(())
    }
}

/// Random bytes, the same in every run; every other secret has a byte pattern that hurries
/// multipliers.
fn input(operation: &str, number: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 32 + MOTE.packet_len()];
    let mut key = [0; 32];
    key[..8].copy_from_slice(&(number as u64).to_le_bytes());
    stream::fill(&key, b"motemix/test", &mut bytes);
    if number % 4 == 1 {
        // Limbs of zeros and ones end a multiplication early, if anything does.
        let pattern = if number % 8 == 1 { 0x00 } else { 0xff };
        bytes[4..28].fill(pattern);
    }
    if operation == "mac" && number.is_multiple_of(2) {
        // A MAC that holds: the comparison must not tell.
        let (key, rest) = bytes.split_first_chunk_mut::<32>()?;
        let (mac, message) = rest.split_first_chunk_mut::<16>()?;
        *mac = *motemix_crypto::hash::blake2s_128(key, &message[..MOTE.routing_info_len()]).expose();
    }
    if operation == "p256_agree" {
        let other = PrivateKey::new(Secret::new(*bytes[64..].first_chunk()?)).ok()?;
        bytes[32..32 + PUBLIC_KEY_LEN].copy_from_slice(P256.public_key(&other).ok()?.as_bytes());
    }
    if operation == "forward" {
        let key = Secret::new(*bytes.first_chunk::<32>()?);
        let seed = Secret::new(*bytes[32..].first_chunk::<32>()?);
        let data: [u8; 103] = *bytes[64..].first_chunk()?;
        let mix_key = MixKey::new(key.duplicate());
        let next =
            PathHop { id: NodeId::new(1)?, mix_key: MixKey::new(seed.duplicate()).public_key::<Portable>() };
        let first = PathHop { id: NodeId::new(0)?, mix_key: mix_key.public_key::<Portable>() };
        let header = HeaderBuilder::<Motes>::new(&[first, next], Shape::OneWay, seed).ok()?.build().ok()?;
        header.seal(MessageId([number as u8; 4]), &data, &mut bytes[32..]).ok()?;
    }
    Some(bytes)
}
