//! Points of the curve −x² + y² = 1 + d·x²·y².

use subtle::Choice;

use crate::curve::words::arithmetic::{OfThisCore, Table};
use crate::curve::words::field::Element;

/// Its operations take one time for all numbers, on the core that this is compiled for.
pub(super) type Field = Element<OfThisCore>;

/// d = −121665 / 121666 of the curve −x² + y² = 1 + d·x²·y².
const D: Field = Field::new([
    0x1359_78a3,
    0x75eb_4dca,
    0x4141_d8ab,
    0x0070_0a4d,
    0x7779_e898,
    0x8cc7_4079,
    0x2b6f_fe73,
    0x5203_6cee,
]);
/// 2^((p − 1) / 4): its square is −1.
const ROOT_OF_MINUS_ONE: Field = Field::new([
    0x4a0e_a0b0,
    0xc4ee_1b27,
    0xad2f_e478,
    0x2f43_1806,
    0x3dfb_d7a7,
    0x2b4d_0099,
    0x4fc1_df0b,
    0x2b83_2480,
]);
/// The base point: its y is 4/5, and its x even.
pub(super) const BASE: Point = Point {
    x: Field::new([
        0x8f25_d51a,
        0xc956_2d60,
        0x9525_a7b2,
        0x692c_c760,
        0xfdd6_dc5c,
        0xc0a4_e231,
        0xcd6e_53fe,
        0x2169_36d3,
    ]),
    y: Field::new([
        0x6666_6658,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
    ]),
    z: Field::ONE,
    t: Field::new([
        0xa5b7_dda3,
        0x6dde_8ab3,
        0x7751_52f5,
        0x20f0_9f80,
        0x64ab_e37d,
        0x66ea_4e8e,
        0xd78b_7665,
        0x6787_5f0f,
    ]),
};

/// What follows an operation. Only an addition needs T.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Addition,
    /// Or nothing.
    Doubling,
}

/// x = X/Z, y = Y/Z, x·y = T/Z (Hisil and others, "Twisted Edwards Curves Revisited", 2008).
#[derive(Clone, Copy)]
pub(super) struct Point {
    x: Field,
    y: Field,
    z: Field,
    t: Field,
}

impl Point {
    pub(super) const ZERO: Self = Self { x: Field::ZERO, y: Field::ONE, z: Field::ONE, t: Field::ZERO };

    /// RFC 8032 §5.1.3.
    #[inline(never)]
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let y = Field::from_bytes(bytes);
        let mut x = x_of(&y)?;
        let parity = bytes[31] >> 7;
        if x.to_bytes()[0] & 1 != parity {
            x.negate();
            // Zero has one sign only.
            if x.to_bytes()[0] & 1 != parity {
                return None;
            }
        }
        let mut t = x;
        t.multiply(&y);
        Some(Self { x, y, z: Field::ONE, t })
    }

    /// RFC 8032 §5.1.2.
    #[inline(never)]
    pub(super) fn encoded(&self) -> [u8; 32] {
        let (x, y) = self.affine();
        let mut bytes = y.to_bytes();
        bytes[31] |= x.to_bytes()[0] << 7;
        bytes
    }

    /// (1 + y) / (1 − y), little-endian: u on the Montgomery form of the curve (RFC 7748 §4.1).
    #[inline(never)]
    pub(super) fn u_coordinate(&self) -> [u8; 32] {
        let (mut above, mut below) = (self.z, self.z);
        above.add(&self.y);
        below.subtract(&self.y);
        above.multiply(&below.inverted());
        above.to_bytes()
    }

    /// x and y.
    pub(super) fn affine(&self) -> (Field, Field) {
        let (mut x, mut y) = (self.z.inverted(), self.y);
        y.multiply(&x);
        x.multiply(&self.x);
        (x, y)
    }

    /// A point that is kept with the factor d in its T.
    #[inline(never)]
    pub(super) fn of_addend(&Addend { mut minus, mut plus, .. }: &Addend) -> Self {
        // 2·y and 2·x
        Field::sum_and_difference(&mut plus, &mut minus);
        let (mut x, mut y) = (minus, plus);
        // All times four.
        let mut t = x;
        t.multiply(&y);
        x.double();
        y.double();
        Self { x, y, z: Field::new([4, 0, 0, 0, 0, 0, 0, 0]), t }
    }

    /// Complete, because d is no square: any two points (§3.1 there, with a = −1).
    #[inline(never)]
    pub(super) fn add(&mut self, other: &Self) {
        self.t.multiply(&D);
        self.z.multiply(&other.z);
        let (mut minus, mut plus, mut twice_t) = (other.y, other.y, other.t);
        minus.subtract(&other.x);
        plus.add(&other.x);
        twice_t.double();
        self.add_addend(&Addend { minus, plus, twice_t }, Next::Addition);
    }

    /// Adds a point whose Z is one, in two multiplications less: one that is known before.
    #[inline(never)]
    pub(super) fn add_addend(&mut self, addend: &Addend, next: Next) {
        let Self { x, y, z, t } = self;
        // A = (Y1 − X1)·(Y2 − X2) in the place of X, B = (Y1 + X1)·(Y2 + X2) in that of Y
        Field::sum_and_difference(y, x);
        x.multiply(&addend.minus);
        y.multiply(&addend.plus);
        // C = 2·d·T1·T2, D = 2·Z1·Z2
        t.multiply(&addend.twice_t);
        z.double();
        // H = B + A, E = B − A, G = D + C, F = D − C
        Field::sum_and_difference(y, x);
        Field::sum_and_difference(z, t);
        // T = E·H, X = E·F, Y = G·H, Z = F·G
        let mut new_t = *x;
        if next == Next::Addition {
            new_t.multiply(y);
        }
        x.multiply(t);
        y.multiply(z);
        z.multiply(t);
        *t = new_t;
    }

    /// §3.3 there.
    #[inline(never)]
    pub(super) fn double(&mut self, next: Next) {
        let Self { x, y, z, t } = self;
        // T = (X + Y)²
        *t = *x;
        t.add(y);
        t.square();
        // A = X², B = Y², C = 2·Z²
        x.square();
        y.square();
        z.square();
        z.double();
        // With the signs of all changed: H = A + B, G = A − B, E = H − T, F = C + G, in the places
        // of X, Y, T and Z
        Field::sum_and_difference(x, y);
        let mut e = *x;
        e.subtract(t);
        z.add(y);
        // X = E·F, Y = G·H, Z = F·G, T = E·H
        *t = e;
        if next == Next::Addition {
            t.multiply(x);
        }
        e.multiply(z);
        z.multiply(y);
        y.multiply(x);
        *x = e;
    }
}

/// A point as it is added: y − x, y + x and 2·x·y, the last one times d if it is added to a point
/// whose T is not.
#[derive(Clone, Copy)]
pub(super) struct Addend {
    minus: Field,
    plus: Field,
    twice_t: Field,
}

impl Addend {
    /// A place for one.
    pub(super) const ZERO: Self = Self { minus: Field::ONE, plus: Field::ONE, twice_t: Field::ZERO };

    /// Becomes the one of this index in the table, in the same time for all.
    pub(super) fn choose(&mut self, table: &Table, index: u32) {
        self.minus.choose(table, index, 0);
        self.plus.choose(table, index, 1);
        self.twice_t.choose(table, index, 2);
    }

    /// Becomes its negative or stays, in the same time.
    pub(super) fn negate_if(&mut self, choice: Choice) {
        Field::swap_if(choice, &mut self.minus, &mut self.plus);
        let mut negative = self.twice_t;
        negative.negate();
        Field::swap_if(choice, &mut self.twice_t, &mut negative);
    }
}

/// A root of (y² − 1) / (d·y² + 1), if it is a square.
#[inline(never)]
fn x_of(y: &Field) -> Option<Field> {
    let mut u = *y;
    u.square();
    let mut v = u;
    v.multiply(&D);
    v.add(&Field::ONE);
    u.subtract(&Field::ONE);
    // x = u·v³·(u·v⁷)^((p − 5) / 8)
    let mut power = v;
    power.square();
    let mut x = power;
    x.multiply(&v);
    x.multiply(&u);
    power.square();
    power.multiply(&x);
    x.multiply(&power.power_for_root());
    // v·x² is u or −u, or there is none.
    let square = &mut power;
    *square = x;
    square.square();
    square.multiply(&v);
    square.subtract(&u);
    if square.to_bytes() == [0; 32] {
        return Some(x);
    }
    square.add(&u);
    square.add(&u);
    x.multiply(&ROOT_OF_MINUS_ONE);
    (square.to_bytes() == [0; 32]).then_some(x)
}
