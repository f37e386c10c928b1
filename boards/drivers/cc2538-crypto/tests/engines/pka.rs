//! The PKA engine: registers, memory of 512 words, and what its operations compute.

use std::ops::Range;

use crypto_bigint::{NonZero, Odd, U256, U1024};
use p256::elliptic_curve::PrimeField;
use p256::elliptic_curve::sec1::{FromSec1Point, ToSec1Point};
use p256::{AffinePoint, ProjectivePoint, Scalar, Sec1Point};

const BASE: u32 = 0x4400_4000;
const RAM: u32 = 0x4400_6000;
const RAM_WORDS: usize = 512;
const RUN: u32 = 1 << 15;
/// The longest vector of an operation on points, in words.
const MAX_LEN: usize = 24;

pub const MULTIPLY: u32 = 1;
pub const ADD: u32 = 1 << 4;
pub const MODULO: u32 = 1 << 9;
pub const ECC_ADD: u32 = 3 << 12;
pub const ECC_MUL: u32 = 5 << 12;
pub const MOD_INV: u32 = 7 << 12;

const P: &str = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
const A: &str = "ffffffff00000001000000000000000000000000fffffffffffffffffffffffc";
const B: &str = "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b";

/// What goes wrong with an operation.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// It does not end.
    Hangs,
    /// It does not end, and resets do not help until so many were tried.
    HangsThroughResets(u32),
    /// It ends with this code in `PKA_SHIFT`.
    Code(u32),
    /// A bit of the result is the other one.
    Flipped(usize),
}

struct Running {
    polls: u32,
    function: u32,
    failure: Option<Failure>,
}

pub struct Pka {
    pub ram: [u32; RAM_WORDS],
    /// `PKA_APTR` to `PKA_DPTR`, `PKA_ALENGTH` and `PKA_BLENGTH`; undefined after an operation of
    /// the sequencer.
    operands: [Option<usize>; 6],
    shift: Option<u32>,
    msw: Option<u32>,
    divmsw: Option<u32>,
    running: Option<Running>,
    /// Resets that do nothing.
    deaf: u32,
    /// Which of the next operations fails, and how.
    pub failing: Option<(usize, Failure)>,
    /// Operations that were begun.
    pub begun: Vec<u32>,
}

impl Pka {
    pub fn new() -> Self {
        Self {
            ram: [0xdead_beef; RAM_WORDS],
            operands: [None; 6],
            shift: None,
            msw: None,
            divmsw: None,
            running: None,
            deaf: 0,
            failing: None,
            begun: vec![],
        }
    }

    /// The memory keeps what it has.
    pub fn reset(&mut self) {
        if self.deaf > 0 {
            self.deaf -= 1;
            return;
        }
        self.operands = [None; 6];
        (self.shift, self.msw, self.divmsw) = (None, None, None);
        // Until the sequencer's first instruction.
        self.running = Some(Running { polls: 2, function: 0, failure: None });
    }

    pub fn read(&mut self, address: u32) -> u32 {
        match address - BASE {
            0x1c => self.poll(),
            0xf4 => 0x0000_0020,
            offset => {
                assert!(self.running.is_none(), "{address:#x} is read while the engine runs");
                match offset {
                    0x18 => self.shift.expect("a code of an operation of the sequencer"),
                    0x24 => self.msw.expect("a most significant word"),
                    0x28 => self.divmsw.expect("a most significant word of a remainder"),
                    _ => self.ram[word_of(address)],
                }
            }
        }
    }

    pub fn write(&mut self, address: u32, value: u32) {
        assert!(self.running.is_none(), "{address:#x} is written while the engine runs");
        let index = ((address - BASE) / 4) as usize;
        match index {
            0..4 => {
                assert!(value.is_multiple_of(2), "a vector begins at an even word");
                assert!((value as usize) < RAM_WORDS, "a vector is in the memory");
                self.operands[index] = Some(value as usize);
            }
            4 | 5 => {
                assert!((1..=MAX_LEN).contains(&(value as usize)), "a vector of {value} words");
                self.operands[index] = Some(value as usize);
            }
            7 => self.begin(value),
            _ => self.ram[word_of(address)] = value,
        }
    }

    fn begin(&mut self, value: u32) {
        assert!(value & RUN != 0, "a function without the bit that starts it");
        let function = value & !RUN;
        let known = [MULTIPLY, ADD, MODULO, ECC_ADD, ECC_MUL, MOD_INV];
        assert!(known.contains(&function), "no one function: {function:#x}");
        self.check_places(function);
        self.begun.push(function);
        (self.shift, self.msw, self.divmsw) = (None, None, None);
        let mut failure = None;
        if let Some((countdown, what)) = &mut self.failing {
            if *countdown == 0 {
                failure = Some(*what);
                self.failing = None;
            } else {
                *countdown -= 1;
            }
        }
        if let Some(Failure::HangsThroughResets(resets)) = failure {
            self.deaf = resets;
        }
        let polls = if function >= ECC_ADD { 20 } else { 3 };
        self.running = Some(Running { polls, function, failure });
    }

    fn poll(&mut self) -> u32 {
        let Some(running) = &mut self.running else { return 0 };
        let hangs = matches!(running.failure, Some(Failure::Hangs | Failure::HangsThroughResets(_)));
        if !hangs {
            running.polls -= 1;
        }
        if running.polls > 0 {
            return RUN | running.function;
        }
        let Some(Running { function, failure, .. }) = self.running.take() else { return 0 };
        self.finish(function, failure);
        0
    }

    fn place(&self, which: usize) -> usize {
        self.operands[which].expect("a pointer or length that was written")
    }

    /// The tables of vectors: lengths, words behind them, and what may not overlap.
    fn check_places(&self, function: u32) {
        let [a, b] = [0, 1].map(|which| self.place(which));
        let (a_len, b_len) = (if function == ECC_ADD { 0 } else { self.place(4) }, self.place(5));
        let stride = b_len + 2 + b_len % 2;
        let (inputs, output): (Vec<Range<usize>>, Range<usize>) = match function {
            MULTIPLY => (vec![a..a + a_len, b..b + b_len], self.behind(2, a_len + b_len + 6)),
            ADD => (vec![a..a + a_len, b..b + b_len], self.behind(2, a_len.max(b_len) + 1)),
            MODULO => {
                assert!(b_len > 1 && b_len <= a_len, "a modulus is not longer than the number");
                (vec![a..a + a_len, b..b + b_len], self.behind(2, b_len + 1))
            }
            MOD_INV => {
                let longest = a_len.max(b_len);
                let scratch = 5 * (longest + 2 - longest % 2);
                (vec![a..a + a_len, b..b + b_len], self.behind(3, scratch))
            }
            // The temporary values of points have all the rest.
            ECC_MUL => {
                let c = self.place(2);
                let inputs = vec![a..a + a_len, b..b + 3 * stride, c..c + 2 * stride];
                (inputs, self.behind(3, RAM_WORDS - self.place(3)))
            }
            _ => {
                let c = self.place(2);
                let inputs = vec![a..a + 2 * stride, b..b + 2 * stride, c..c + 2 * stride];
                (inputs, self.behind(3, RAM_WORDS - self.place(3)))
            }
        };
        if function >= ECC_ADD {
            assert!(function == MOD_INV || output.len() >= 20 * stride, "room for temporary values");
            for (at, one) in inputs.iter().enumerate() {
                assert!(inputs[at + 1..].iter().all(|other| are_apart(one, other)), "inputs overlap");
            }
        }
        assert!(output.end <= RAM_WORDS, "the result reaches beyond the memory");
        assert!(inputs.iter().all(|input| input.end <= RAM_WORDS && are_apart(input, &output)), "overlap");
        assert!(function == MULTIPLY || function == ADD || self.ram[b + b_len - 1] != 0, "a short modulus");
    }

    fn behind(&self, which: usize, len: usize) -> Range<usize> {
        let begin = self.place(which);
        begin..begin + len
    }

    fn finish(&mut self, function: u32, failure: Option<Failure>) {
        let is_basic = match function {
            0 => return,
            MULTIPLY | ADD | MODULO => {
                self.compute(function);
                true
            }
            _ => {
                self.shift = Some(match failure {
                    Some(Failure::Code(code)) => code,
                    _ => self.sequence(function),
                });
                false
            }
        };
        if let Some(Failure::Flipped(bit)) = failure {
            self.ram[self.place(if is_basic { 2 } else { 3 }) + bit / 32] ^= 1 << (bit % 32);
        }
        if !is_basic {
            // The sequencer used them for itself.
            self.operands = [None; 6];
        }
    }

    /// The basic operations.
    fn compute(&mut self, function: u32) {
        let (a_len, b_len, c) = (self.place(4), self.place(5), self.place(2));
        let (x, y) = (self.number(self.place(0), a_len), self.number(self.place(1), b_len));
        let (result, len, scratch) = match function {
            MULTIPLY => (x.wrapping_mul(&y), a_len + b_len, 6),
            ADD => (x.wrapping_add(&y), a_len.max(b_len) + 1, 0),
            _ => {
                let modulus = NonZero::new(y).expect("a modulus that is not zero");
                (x.rem_vartime(&modulus), b_len, 1)
            }
        };
        let told = self.store(c, &result, len);
        self.ram[c + len..c + len + scratch].fill(0x7777_7777);
        if function == MODULO {
            // Above what it tells there is nothing to rely on.
            let end = if told & RUN == 0 { told as usize + 1 } else { c };
            self.ram[end..c + len].fill(0x7777_7777);
            self.divmsw = Some(told);
        } else {
            self.msw = Some(told);
        }
    }

    /// The operations of the sequencer, and their codes.
    fn sequence(&mut self, function: u32) -> u32 {
        let (b, result, b_len) = (self.place(1), self.place(3), self.place(5));
        if self.ram[b] & 1 == 0 {
            return 31;
        }
        if function == MOD_INV {
            let x = self.number(self.place(0), self.place(4));
            let modulus = self.number(b, b_len);
            let inverse = x.invert_odd_mod(&Odd::new(modulus).expect("odd"));
            let Some(inverse) = inverse.into_option() else { return 7 };
            let told = self.store(result, &inverse, b_len);
            self.ram[result + b_len..result + 5 * (b_len + 2)].fill(0x6666_6666);
            self.msw = Some(told);
            return 0;
        }
        let parameters = [P, A, B].map(|hex| U256::from_be_hex(hex).to_be_bytes());
        let of_operation = if function == ECC_MUL { 3 } else { 2 };
        assert_eq!(b_len, 8, "the model has one curve");
        for (at, parameter) in parameters.iter().enumerate().take(of_operation) {
            assert_eq!(self.bytes(b + 10 * at)[..], parameter[..], "the model has one curve");
        }
        let (a, point) = (self.place(0), self.point(self.place(2)));
        let computed = if function == ECC_MUL {
            let scalar = Scalar::from_repr(self.bytes(a).into()).into_option();
            point * scalar.expect("a scalar below the order")
        } else {
            point + self.point(a)
        };
        self.ram[result..].fill(0x6666_6666);
        let computed = computed.to_affine().to_sec1_point(false);
        let Some((x, y)) = computed.x().zip(computed.y()) else { return 7 };
        for (at, coordinate) in [x, y].into_iter().enumerate() {
            let number = U1024::from(&U256::from_be_slice(coordinate));
            let told = self.store(result + 10 * at, &number, 8);
            if at == 0 {
                self.msw = Some(told);
            }
        }
        0
    }

    fn bytes(&self, at: usize) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.as_chunks_mut().0.iter_mut().rev().zip(&self.ram[at..at + 8]) {
            *chunk = word.to_be_bytes();
        }
        bytes
    }

    /// One of the curve: the engine does not look, and what it does with another is undefined.
    fn point(&self, at: usize) -> ProjectivePoint {
        let [x, y] = [at, at + 10].map(|at| self.bytes(at).into());
        let point = AffinePoint::from_sec1_point(&Sec1Point::from_affine_coordinates(&x, &y, false));
        point.into_option().expect("a point of the curve").into()
    }

    fn number(&self, at: usize, len: usize) -> U1024 {
        let mut bytes = [0; 128];
        for (chunk, word) in bytes.as_chunks_mut().0.iter_mut().zip(&self.ram[at..at + len]) {
            *chunk = word.to_le_bytes();
        }
        U1024::from_le_slice(&bytes)
    }

    /// Stores so many words, and tells where the most significant is that is not zero.
    fn store(&mut self, at: usize, number: &U1024, len: usize) -> u32 {
        let bytes = number.to_le_bytes();
        for (word, chunk) in self.ram[at..at + len].iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*chunk);
        }
        let highest = self.ram[at..at + len].iter().rposition(|word| *word != 0);
        // "Ignore the address": it is another's.
        highest.map_or(RUN | 0x123, |highest| (at + highest) as u32)
    }
}

fn word_of(address: u32) -> usize {
    assert!((RAM..RAM + 4 * RAM_WORDS as u32).contains(&address), "no register at {address:#x}");
    assert!(address.is_multiple_of(4), "{address:#x} is no word");
    ((address - RAM) / 4) as usize
}

fn are_apart(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.end <= other.start || other.end <= one.start
}
