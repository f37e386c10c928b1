//! The PKA engine: numbers modulo the order of P-256's group, and its points.
//!
//! Numbers are 32 bytes, big-endian, outside the engine. In its memory they are eight words, and a
//! vector begins at an even word.

use motemix_crypto::Secret;
use motemix_crypto::p256::Point;
use motemix_crypto::secret::zeroize_stack;

use crate::curve::{self, Bytes, Coordinates};
use crate::fault::{Counters, Fault};
use crate::registers::{PKA_RAM_WORDS, Register, Registers, pka, pka_ram, sys_ctrl};

/// Words of a number.
const WORDS: usize = 8;
/// From the beginning of a number to the next in a list of numbers: between them lies a word that
/// the engine uses, and the next begins at an even word.
const STRIDE: usize = WORDS + 2;

// Where vectors are: each place has room for the longest that any operation puts there. The last
// has all the rest, because the engine's temporary values lie behind the result.
const A: usize = 0;
const B: usize = A + 2 * STRIDE;
const C: usize = B + 3 * STRIDE;
/// A product has 16 words, and six more in which the engine works.
const D: usize = C + 2 * WORDS + 6;

/// The engine while somebody uses it. Its memory is wiped at the end of [`Pka::wiped`].
pub(crate) struct Pka<'a, R> {
    pub(crate) registers: &'a mut R,
    /// How often the end of an operation is asked for.
    pub(crate) polls: u32,
    pub(crate) counters: &'a mut Counters,
    /// Whether keys may be left in the memory.
    pub(crate) is_dirty: &'a mut bool,
}

impl<R: Registers> Pka<'_, R> {
    /// Does what works with keys, and wipes the engine's memory whatever comes of it.
    pub(crate) fn wiped<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if *self.is_dirty || self.is_running() {
            self.wipe()?;
        }
        *self.is_dirty = true;
        let result = work(self);
        // A result of an engine that does not stop is none.
        self.wipe().and(result)
    }

    /// Overwrites the engine's memory; before, it stops an engine that still runs.
    pub(crate) fn wipe(&mut self) -> Result<(), Fault> {
        let stopped = if self.is_running() { self.reset() } else { Ok(()) };
        if stopped.is_err() {
            self.counters.unwiped = self.counters.unwiped.saturating_add(1);
            return stopped;
        }
        (0..PKA_RAM_WORDS).for_each(|word| self.registers.write(pka_ram(word), 0));
        *self.is_dirty = false;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Fault> {
        self.counters.resets = self.counters.resets.saturating_add(1);
        reset(self.registers, sys_ctrl::PKA);
        self.wait()
    }

    /// The product of a scalar from 1 to n − 1 and a point of the curve. It is on the curve, or it
    /// is not given out.
    pub(crate) fn point_product(
        &mut self,
        scalar: &Secret<32>,
        point: &Coordinates,
    ) -> Result<Secret<64>, Fault> {
        self.put(A, scalar.expose());
        self.put_list(B, &[&curve::P, &curve::A, &curve::B]);
        self.put_point(C, point);
        self.operands(WORDS, WORDS, [A, B, C, D]);
        self.run(pka::ECC_MUL)?;
        self.completion(Fault::Infinity)?;
        self.point_at(D)
    }

    /// The sum of two points of the curve, or `None` if it is the point at infinity.
    pub(crate) fn point_sum(
        &mut self,
        point: &Coordinates,
        other: &Coordinates,
    ) -> Result<Option<Secret<64>>, Fault> {
        self.put_point(A, point);
        self.put_list(B, &[&curve::P, &curve::A, &curve::B]);
        self.put_point(C, other);
        self.operands(WORDS, WORDS, [A, B, C, D]);
        self.run(pka::ECC_ADD)?;
        match self.completion(Fault::Infinity) {
            Ok(()) => self.point_at(D).map(Some),
            Err(Fault::Infinity) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// A product modulo n. The factors need not be below n.
    pub(crate) fn product(&mut self, a: &Bytes, b: &Bytes) -> Result<Secret<32>, Fault> {
        self.put(A, a);
        self.put(B, b);
        self.operands(WORDS, WORDS, [A, B, C, D]);
        self.run(pka::MULTIPLY)?;
        self.remainder(C, 2 * WORDS)
    }

    /// A sum modulo n.
    pub(crate) fn sum(&mut self, a: &Bytes, b: &Bytes) -> Result<Secret<32>, Fault> {
        self.put(A, a);
        self.put(B, b);
        self.operands(WORDS, WORDS, [A, B, C, D]);
        self.run(pka::ADD)?;
        self.remainder(C, WORDS + 1)
    }

    /// A number modulo n.
    pub(crate) fn reduced(&mut self, number: &Bytes) -> Result<Secret<32>, Fault> {
        self.put(A, number);
        self.remainder(A, WORDS)
    }

    /// The inverse of a number from 1 to n − 1, modulo n.
    pub(crate) fn inverse(&mut self, number: &Bytes) -> Result<Secret<32>, Fault> {
        self.put(A, number);
        self.put(B, &curve::ORDER);
        self.operands(WORDS, WORDS, [A, B, C, D]);
        self.run(pka::MOD_INV)?;
        self.completion(Fault::NoInverse)?;
        Ok(self.number_below(D, pka::MSW))
    }

    /// The vector at `from`, modulo n. A product does not leave the engine before.
    fn remainder(&mut self, from: usize, len: usize) -> Result<Secret<32>, Fault> {
        self.put(B, &curve::ORDER);
        self.operands(len, WORDS, [from, B, D, D]);
        self.run(pka::MODULO)?;
        Ok(self.number_below(D, pka::DIVMSW))
    }

    fn operands(&mut self, a_len: usize, b_len: usize, [a, b, c, d]: [usize; 4]) {
        let values = [a, b, c, d, a_len, b_len];
        let places = [pka::APTR, pka::BPTR, pka::CPTR, pka::DPTR, pka::ALENGTH, pka::BLENGTH];
        for (register, value) in places.into_iter().zip(values) {
            self.registers.write(register, value as u32);
        }
    }

    fn run(&mut self, function: u32) -> Result<(), Fault> {
        self.registers.write(pka::FUNCTION, pka::RUN | function);
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> Result<(), Fault> {
        for _ in 0..self.polls {
            if !self.is_running() {
                return Ok(());
            }
            // The engine needs a cycle between two reads.
            core::hint::spin_loop();
        }
        Err(Fault::PkaStuck)
    }

    fn is_running(&mut self) -> bool {
        self.registers.read(pka::FUNCTION) & pka::RUN != 0
    }

    fn completion(&mut self, no_result: Fault) -> Result<(), Fault> {
        match self.registers.read(pka::SHIFT) {
            0 => Ok(()),
            pka::NO_RESULT => Err(no_result),
            _ => Err(Fault::Operands),
        }
    }

    fn put(&mut self, at: usize, number: &Bytes) {
        let words = number.as_chunks().0.iter().rev();
        for (word, bytes) in (at..).zip(words) {
            self.registers.write(pka_ram(word), u32::from_be_bytes(*bytes));
        }
    }

    fn put_list(&mut self, at: usize, numbers: &[&Bytes]) {
        for (at, number) in (at..).step_by(STRIDE).zip(numbers) {
            self.put(at, number);
        }
    }

    fn put_point(&mut self, at: usize, point: &Coordinates) {
        for (at, number) in (at..).step_by(STRIDE).zip(point.as_chunks().0) {
            self.put(at, number);
        }
    }

    /// The number whose most significant word that is not zero a register tells. What is above it
    /// is not the engine's.
    fn number_below(&mut self, at: usize, most_significant: Register) -> Secret<32> {
        let told = self.registers.read(most_significant);
        let end = if told & pka::IS_ZERO == 0 { (told & pka::ADDRESS) as usize + 1 } else { at };
        let mut number = Secret::zero();
        self.get(at, number.expose_mut(), |word| word < end);
        number
    }

    /// The point at a place, if it is one of the curve.
    fn point_at(&mut self, at: usize) -> Result<Secret<64>, Fault> {
        let mut point = Secret::<64>::zero();
        for (at, number) in (at..).step_by(STRIDE).zip(point.expose_mut().as_chunks_mut().0) {
            self.get(at, number, |_| true);
        }
        let is_on_curve = is_on_curve(point.expose());
        // The coordinates of a shared point are a secret.
        zeroize_stack::<1024>();
        if is_on_curve { Ok(point) } else { Err(Fault::OffCurve) }
    }

    fn get(&mut self, at: usize, number: &mut Bytes, is_valid: impl Fn(usize) -> bool) {
        let words = number.as_chunks_mut().0.iter_mut().rev();
        for (word, bytes) in (at..).zip(words) {
            let mask = u32::from(is_valid(word)).wrapping_neg();
            *bytes = (self.registers.read(pka_ram(word)) & mask).to_be_bytes();
        }
    }
}

/// Not inlined, so that what it leaves on the stack can be wiped.
#[inline(never)]
fn is_on_curve(point: &Coordinates) -> bool {
    Point::from_coordinates(point).is_some()
}

/// Resets engines.
pub(crate) fn reset(registers: &mut impl Registers, engines: u32) {
    let others = registers.read(sys_ctrl::SRSEC) & !engines;
    registers.write(sys_ctrl::SRSEC, others | engines);
    // The write is on its way to the bus while this is read; some cycles are enough.
    registers.read(sys_ctrl::SRSEC);
    registers.write(sys_ctrl::SRSEC, others);
}
