//! From encodings to [`Op`]s. Table numbers are those of the ARMv7-M Architecture Reference Manual
//! (ARM DDI 0403E); a core that lacks an instruction finds it undefined.

mod narrow;
mod transfer;
mod wide;

use crate::cores::Core;
use crate::op::{ASR, Kind, LSL, LSR, Op, ROR, RRX, WIDE};

/// Decodes the instruction at `address`; `second` is the halfword after it, if memory has one.
pub(crate) fn decode(core: Core, address: u32, first: u16, second: Option<u16>) -> Op {
    if first >> 11 < 0b11101 {
        return narrow::decode(core, address, first);
    }
    let Some(second) = second else { return undefined(u32::from(first)) };
    let mut op = wide::decode(core, address, u32::from(first), u32::from(second));
    op.flags |= WIDE;
    if op.kind == Kind::Undefined {
        op.imm = u32::from(first) << 16 | u32::from(second);
    }
    op
}

fn undefined(code: u32) -> Op {
    Op { imm: code, ..Op::new(Kind::Undefined) }
}

/// Bits `low..low + width` of `code`.
fn bits(code: u32, low: u32, width: u32) -> u32 {
    code >> low & ((1 << width) - 1)
}

fn bit(code: u32, at: u32) -> bool {
    code >> at & 1 == 1
}

/// A register of `width` 4 at `low`.
fn reg(code: u32, low: u32) -> u8 {
    (code >> low & 15) as u8
}

/// A register of three bits at `low`.
fn low_reg(code: u32, low: u32) -> u8 {
    (code >> low & 7) as u8
}

fn sign_extend(value: u32, width: u32) -> u32 {
    ((value << (32 - width)) as i32 >> (32 - width)) as u32
}

/// `DecodeImmShift`, with amounts of 1 to 32 and LSL #0 as an amount of 0.
fn shift_of(kind: u32, amount: u32) -> (u8, u8) {
    match (kind, amount) {
        (0, _) => (LSL, amount as u8),
        (1, 0) => (LSR, 32),
        (1, _) => (LSR, amount as u8),
        (2, 0) => (ASR, 32),
        (2, _) => (ASR, amount as u8),
        (_, 0) => (RRX, 1),
        _ => (ROR, amount as u8),
    }
}
