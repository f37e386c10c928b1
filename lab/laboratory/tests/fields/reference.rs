//! What has to come out, by two libraries that share no code: one divides integers of any length by
//! p, the other computes in Montgomery's form on words of 64 bits.

use super::{Element, Operation};
use crypto_bigint::{Encoding as _, U256, const_monty_params, modular::ConstMontyForm};
use num_bigint::BigUint;
use std::sync::LazyLock;

/// Integers modulo p.
pub(super) trait Library: Clone {
    const NAME: &'static str;
    fn of(element: &Element) -> Self;
    /// The representative below p.
    fn value(&self) -> Element;
    fn plus(&self, other: &Self) -> Self;
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    /// Zero of zero.
    fn inverted(&self) -> Self;
}

#[derive(Clone)]
pub(super) struct NumBigint(BigUint);

static P: LazyLock<BigUint> = LazyLock::new(|| (BigUint::from(1_u32) << 255) - 19_u32);

impl Library for NumBigint {
    const NAME: &'static str = "num-bigint";

    fn of(element: &Element) -> Self {
        Self(BigUint::from_slice(element) % &*P)
    }

    fn value(&self) -> Element {
        super::operands::element(&self.0)
    }

    fn plus(&self, other: &Self) -> Self {
        Self((&self.0 + &other.0) % &*P)
    }

    fn minus(&self, other: &Self) -> Self {
        Self((&self.0 + &*P - &other.0) % &*P)
    }

    fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0 % &*P)
    }

    fn inverted(&self) -> Self {
        Self(self.0.modinv(&P).unwrap_or_default())
    }
}

const_monty_params!(Modulus, U256, "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed");

#[derive(Clone)]
pub(super) struct CryptoBigint(ConstMontyForm<Modulus, { U256::LIMBS }>);

impl Library for CryptoBigint {
    const NAME: &'static str = "crypto-bigint";

    fn of(element: &Element) -> Self {
        Self(ConstMontyForm::new(&U256::from_le_bytes(super::bytes(element).into())))
    }

    fn value(&self) -> Element {
        super::words(self.0.retrieve().to_le_bytes().as_ref())
    }

    fn plus(&self, other: &Self) -> Self {
        Self(self.0.add(&other.0))
    }

    fn minus(&self, other: &Self) -> Self {
        Self(self.0.sub(&other.0))
    }

    fn times(&self, other: &Self) -> Self {
        Self(self.0.mul(&other.0))
    }

    fn inverted(&self) -> Self {
        Self(self.0.invert().unwrap_or(ConstMontyForm::ZERO))
    }
}

/// What the operation makes of these operands, each below p.
pub(super) fn expected<L: Library>(operation: Operation, operands: &[Element]) -> Vec<Element> {
    let of = |at: usize| L::of(&operands[at]);
    let one = |value: L| vec![value.value()];
    match operation {
        Operation::Add => one(of(0).plus(&of(1))),
        Operation::Subtract => one(of(0).minus(&of(1))),
        Operation::SumAndDifference => vec![of(0).plus(&of(1)).value(), of(0).minus(&of(1)).value()],
        Operation::Choose => vec![operands[2 + 3 * operands[1][0] as usize + 2]],
        Operation::Multiply | Operation::MultiplyPublic => one(of(0).times(&of(1))),
        Operation::Square | Operation::SquarePublic => one(of(0).times(&of(0))),
        Operation::MultiplyBySmall => one(of(0).times(&L::of(&[operands[1][0], 0, 0, 0, 0, 0, 0, 0]))),
        Operation::Square5Times | Operation::SquarePublic5Times => {
            one((0..5).fold(of(0), |value, _| value.times(&value)))
        }
        Operation::Invert => one(of(0).inverted()),
        Operation::ToBytes => one(of(0)),
        Operation::LadderStep => {
            let [x1, x2, z2, x3, z3] = std::array::from_fn(of);
            step(&x1, [&x2, &z2], [&x3, &z3]).map(|value| value.value()).to_vec()
        }
        Operation::X25519 | Operation::Combed => vec![x25519::<L>(&operands[0], &operands[1])],
        Operation::PublicKey => vec![x25519::<L>(&operands[0], &[9, 0, 0, 0, 0, 0, 0, 0])],
    }
}

/// The step of RFC 7748 §5: the double of the first point, and the sum of both, whose difference
/// has the coordinate `x1`.
fn step<L: Library>(x1: &L, [x2, z2]: [&L; 2], [x3, z3]: [&L; 2]) -> [L; 4] {
    let (a, b) = (x2.plus(z2), x2.minus(z2));
    let (aa, bb) = (a.times(&a), b.times(&b));
    let e = aa.minus(&bb);
    let (da, cb) = (x3.minus(z3).times(&a), x3.plus(z3).times(&b));
    let (sum, difference) = (da.plus(&cb), da.minus(&cb));
    let a24 = L::of(&[121_665, 0, 0, 0, 0, 0, 0, 0]);
    [
        aa.times(&bb),
        e.times(&aa.plus(&a24.times(&e))),
        sum.times(&sum),
        x1.times(&difference.times(&difference)),
    ]
}

/// RFC 7748 §5, as it is written there.
fn x25519<L: Library>(scalar: &Element, point: &Element) -> Element {
    let (mut k, mut u) = (*scalar, *point);
    k[0] &= !7;
    k[7] = k[7] & 0x7fff_ffff | 0x4000_0000;
    u[7] &= 0x7fff_ffff;
    let [zero, one] = [0, 1].map(|least| L::of(&[least, 0, 0, 0, 0, 0, 0, 0]));
    let x1 = L::of(&u);
    let mut first = [one.clone(), zero];
    let mut second = [x1.clone(), one];
    for bit in (0..255).rev() {
        let is_set = k[bit / 32] >> (bit % 32) & 1 == 1;
        if is_set {
            std::mem::swap(&mut first, &mut second);
        }
        let [x2, z2, x3, z3] = step(&x1, [&first[0], &first[1]], [&second[0], &second[1]]);
        (first, second) = ([x2, z2], [x3, z3]);
        if is_set {
            std::mem::swap(&mut first, &mut second);
        }
    }
    first[0].times(&first[1].inverted()).value()
}
