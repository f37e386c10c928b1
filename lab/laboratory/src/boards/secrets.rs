//! Whether an operation does the same for every secret: the same instructions in the same order, at
//! the same addresses, in the same number of cycles.

mod here;
mod spread;

pub use spread::{Leak, Spread, names};

use super::board::Board;
use super::measure::{call, good};
use crate::failure::Failure;
use motemix_crypto::{Curve, Portable, Secret, stream};
use motemix_mcu::{Core, FlashTiming, Image, Machine, Run};
use motemix_neighbour::suite::{P256, PUBLIC_KEY_LEN};
use motemix_neighbour::{PrivateKey, Suite};
use motemix_sphinx::{HeaderBuilder, MOTE, MessageId, MixKey, Mote, NodeId, PathHop, Shape};

type Motes = Mote<Portable>;

/// An operation of `mote_secrets`.
#[derive(Clone, Copy)]
struct Operation {
    name: &'static str,
    /// Takes a tenth of a second and more.
    has_points: bool,
    /// Has no instruction at all whose time depends on operands: curves and scalars.
    strict: bool,
    /// What it shows on purpose, on which core.
    control: fn(Core) -> &'static [Leak],
    /// Does the same here, on the same buffer.
    here: fn(&mut [u8]) -> Option<()>,
}

/// What no secret may show itself in.
const fn secret(name: &'static str, here: fn(&mut [u8]) -> Option<()>) -> Operation {
    Operation { name, has_points: false, strict: false, control: |_| &[], here }
}

/// The same of a tenth of a second and more.
const fn with_points(name: &'static str, here: fn(&mut [u8]) -> Option<()>) -> Operation {
    Operation { has_points: true, ..secret(name, here) }
}

const fn strict(operation: Operation) -> Operation {
    Operation { strict: true, ..operation }
}

const OPERATIONS: [Operation; 19] = [
    // UMULL of a Cortex-M3 ends early (Technical Reference Manual, table 18-1).
    Operation {
        control: |core| if core == Core::M3 { &[Leak::Cycles, Leak::Operands] } else { &[] },
        ..secret("multiply", here::multiply)
    },
    strict(with_points("x25519", here::x25519)),
    strict(with_points("x25519_public", here::x25519)),
    strict(with_points("x25519_base", here::x25519_base)),
    strict(secret("blind", here::blind)),
    with_points("forward", here::forward),
    secret("wide_block_encrypt", here::wide_block_encrypt),
    secret("wide_block_decrypt", here::wide_block_decrypt),
    secret("stream", here::stream),
    secret("mac", here::mac),
    strict(with_points("p256_public_key", here::p256_public_key)),
    strict(with_points("p256_agree", here::p256_agree)),
    with_points("p256_sign", here::p256_sign),
    strict(with_points("ed25519_key", here::ed25519_key)),
    strict(with_points("ed25519_sign", here::ed25519_sign)),
    Operation {
        control: |_| &[Leak::Cycles, Leak::Branches, Leak::Addresses],
        ..secret("control_comparison", here::control_comparison)
    },
    // Whose sides take the same time: cycles do not tell.
    Operation { control: |_| &[Leak::Branches], ..secret("control_branch", here::control_branch) },
    Operation { control: |_| &[Leak::Addresses], ..secret("control_table", here::control_table) },
    // A routine that branches, where the core has no instruction for it.
    Operation {
        control: |core| {
            if core == Core::M0Plus { &[Leak::Branches] } else { &[Leak::Cycles, Leak::Operands] }
        },
        ..secret("control_division", here::control_division)
    },
];
/// Operations, for whoever shows progress.
pub const COUNT: usize = OPERATIONS.len();
/// Operations without points take so many times as many secrets.
const MORE: usize = 10;

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
        let runs = runs(board, image, operation, secrets)?;
        done(operation.name);
        Ok(Spread::new(operation.name, &runs, (operation.control)(board.core), operation.strict))
    };
    OPERATIONS.iter().map(spread).collect()
}

/// The compiler's own 64-bit multiplication for ARMv6-M keeps registers on the stack; the one of
/// `boards/firmware/multiply` touches no memory.
fn check_multiplication(board: &Board, image: &Image) -> Result<(), Failure> {
    let mut machine = Machine::new(image, board.core, FlashTiming::ZERO_WAIT);
    let run = call(board, image, &mut machine, "__aeabi_lmul", [3, 0, 5, 0])?;
    if run.loads + run.stores == 0 && run.result == 15 {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{}: the linker took the compiler's __aeabi_lmul instead of that of boards/firmware/multiply",
        board.name
    )))
}

fn runs(board: &Board, image: &Image, operation: &Operation, count: usize) -> Result<Vec<Run>, Failure> {
    let mut machine = Machine::new(image, board.core, FlashTiming::ZERO_WAIT);
    let buffer = call(board, image, &mut machine, "mote_buffer", [0; 4])?.result;
    let name = format!("bench_{}", operation.name);
    let broken = |what: String| Failure::failed(format!("{}: {name}: {what}", board.name));
    (0..count)
        .map(|number| {
            let mut bytes = input(operation.name, number).ok_or_else(|| broken("no input for it".into()))?;
            machine.write(buffer, &bytes).map_err(|fault| broken(fault.to_string()))?;
            let prepare = format!("prepare_{}", operation.name);
            if image.function(&prepare).is_some() {
                good(board, image, &mut machine, &prepare, 0)?;
            }
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
            Ok(run)
        })
        .collect()
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
    if operation == "control_comparison" {
        // Equal up to one byte after the other: random bytes differ at once.
        let (first, rest) = bytes.split_at_mut(32);
        let equal = number % 17;
        rest[..equal].copy_from_slice(&first[..equal]);
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
    if operation == "x25519_public" {
        // Any point of the curve: its products take one time for all of these, too.
        let point = Portable::public_key(&Secret::new(*bytes[32..].first_chunk()?));
        bytes[32..64].copy_from_slice(&point.0);
    }
    if operation == "forward" {
        let key = Secret::new(*bytes.first_chunk::<32>()?);
        // One seed, so one group element: it is public, and what is made of it may take any time.
        let seed = Secret::new([0x5e; 32]);
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
