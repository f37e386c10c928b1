//! Whether an operation takes the same number of cycles for every secret.

use super::board::Board;
use super::measure::call;
use crate::failure::Failure;
use motemix_crypto::{Portable, Secret, stream};
use motemix_mcu::{Core, FlashTiming, Image, Machine};
use motemix_sphinx::{HeaderBuilder, MOTE, MessageId, MixKey, Mote, NodeId, PathHop, Shape};
use serde::Serialize;

type Motes = Mote<Portable>;

/// An operation of `mote_secrets`: its name, whether it multiplies points, whether its field or scalar
/// arithmetic multiplies 32 by 32 bits to 64.
const OPERATIONS: [(&str, bool, bool); 8] = [
    ("x25519", true, true),
    ("x25519_base", true, true),
    ("blind", false, true),
    ("forward", true, true),
    ("wide_block_encrypt", false, false),
    ("wide_block_decrypt", false, false),
    ("stream", false, false),
    ("mac", false, false),
];
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

/// Every operation with `count` secrets, or ten times as many if it multiplies no points.
pub fn spreads(
    board: &Board,
    image: &Image,
    count: usize,
    done: impl Fn(&str),
) -> Result<Vec<Spread>, Failure> {
    let spread = |(operation, has_points, has_long)| {
        let secrets = if has_points { count } else { MORE * count };
        let mut cycles = cycles(board, image, operation, secrets)?;
        cycles.sort_unstable();
        let (least, most) = (cycles.first().copied().unwrap_or(0), cycles.last().copied().unwrap_or(0));
        cycles.dedup();
        done(operation);
        // UMULL and UMLAL of a Cortex-M3 end early (Technical Reference Manual, table 18-1).
        let may_vary = has_long && board.core == Core::M3;
        Ok(Spread { operation, secrets, least, most, distinct: cycles.len(), may_vary })
    };
    OPERATIONS.into_iter().map(spread).collect()
}

fn cycles(board: &Board, image: &Image, operation: &str, count: usize) -> Result<Vec<u64>, Failure> {
    let mut machine = Machine::new(image, board.core, FlashTiming::ZERO_WAIT);
    let buffer = call(board, image, &mut machine, "mote_buffer", [0; 4])?.result;
    let name = format!("bench_{operation}");
    let broken = |what: String| Failure::failed(format!("{}: {name}: {what}", board.name));
    (0..count)
        .map(|number| {
            let input = input(operation, number).ok_or_else(|| broken("no input for it".into()))?;
            machine.write(buffer, &input).map_err(|fault| broken(fault.to_string()))?;
            let run = call(board, image, &mut machine, &name, [0; 4])?;
            if run.result != 0 {
                return Err(broken(format!("it did not do its work: it returned {}", run.result)));
            }
            Ok(run.cycles)
        })
        .collect()
}

/// Random bytes, the same in every run; every other secret has a byte pattern that hurries multipliers.
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
