//! Points of the curve −x² + y² = 1 + d·x²·y².

use subtle::Choice;

use crate::curve::words::arithmetic::{Arithmetic, OfThisCore, Table, WORDS};
use crate::curve::words::field::Element;

/// Its operations take one time for all numbers, on the core that this is compiled for.
pub(crate) type Field = Element<OfThisCore>;

/// d = −121665 / 121666 of the curve −x² + y² = 1 + d·x²·y².
const D: [u32; WORDS] =
    [0x1359_78a3, 0x75eb_4dca, 0x4141_d8ab, 0x0070_0a4d, 0x7779_e898, 0x8cc7_4079, 0x2b6f_fe73, 0x5203_6cee];
/// 2·d
pub(crate) const TWICE_D: [u32; WORDS] =
    [0x26b2_f159, 0xebd6_9b94, 0x8283_b156, 0x00e0_149a, 0xeef3_d130, 0x198e_80f2, 0x56df_fce7, 0x2406_d9dc];
/// 2^((p − 1) / 4): its square is −1.
const ROOT_OF_MINUS_ONE: [u32; WORDS] =
    [0x4a0e_a0b0, 0xc4ee_1b27, 0xad2f_e478, 0x2f43_1806, 0x3dfb_d7a7, 0x2b4d_0099, 0x4fc1_df0b, 0x2b83_2480];
/// A root of −(A + 2) = −486664: what u and v of the Montgomery form are scaled by.
const SCALE: [u32; WORDS] =
    [0xff45_7e06, 0xcc6e_04aa, 0x4b7d_1a82, 0xc5a1_d3d1, 0x03fc_4f7e, 0xd27b_08dc, 0x60a0_06bb, 0x0f26_edf4];
/// A of the Montgomery form v² = u³ + A·u² + u.
const A: u32 = 486_662;
/// What follows an operation. Only an addition needs T.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Addition,
    /// Or nothing.
    Doubling,
}

/// Whether a point is added or taken off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

/// x = X/Z, y = Y/Z, x·y = T/Z (Hisil and others, "Twisted Edwards Curves Revisited", 2008).
#[derive(Clone, Copy)]
pub(crate) struct Point<F = OfThisCore> {
    x: Element<F>,
    y: Element<F>,
    z: Element<F>,
    t: Element<F>,
}

impl Point {
    /// (1 + y) / (1 − y), little-endian: u on the Montgomery form of the curve (RFC 7748 §4.1).
    #[inline(never)]
    pub(crate) fn u_coordinate(&self) -> [u8; 32] {
        let (mut above, mut below) = (self.z, self.z);
        above.add(&self.y);
        below.subtract(&self.y);
        above.multiply(&below.inverted());
        above.to_bytes()
    }

    /// Adds a point whose Z is one, in two multiplications less: one that is known before.
    #[inline(never)]
    pub(crate) fn add_addend(&mut self, addend: &Addend, next: Next) {
        let Self { x, y, z, t } = self;
        // A = (Y1 − X1)·(Y2 − X2) in the place of X, B = (Y1 + X1)·(Y2 + X2) in that of Y
        Element::sum_and_difference(y, x);
        x.multiply(&addend.minus);
        y.multiply(&addend.plus);
        // C = 2·d·T1·T2, D = 2·Z1·Z2
        t.multiply(&addend.twice_t);
        z.double();
        // H = B + A, E = B − A, G = D + C, F = D − C
        Element::sum_and_difference(y, x);
        Element::sum_and_difference(z, t);
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

    /// A point that is kept with the factor d in its T.
    #[inline(never)]
    pub(crate) fn of_addend(&Addend { mut minus, mut plus, .. }: &Addend) -> Self {
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
}

impl<F: Arithmetic> Point<F> {
    pub(crate) const ZERO: Self =
        Self { x: Element::ZERO, y: Element::ONE, z: Element::ONE, t: Element::ZERO };

    /// The base point: its y is 4/5, and its x even.
    pub(super) const BASE: Self = Self {
        x: Element::new([
            0x8f25_d51a,
            0xc956_2d60,
            0x9525_a7b2,
            0x692c_c760,
            0xfdd6_dc5c,
            0xc0a4_e231,
            0xcd6e_53fe,
            0x2169_36d3,
        ]),
        y: Element::new([
            0x6666_6658,
            0x6666_6666,
            0x6666_6666,
            0x6666_6666,
            0x6666_6666,
            0x6666_6666,
            0x6666_6666,
            0x6666_6666,
        ]),
        z: Element::ONE,
        t: Element::new([
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

    /// RFC 8032 §5.1.3.
    #[inline(never)]
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let y = Element::from_bytes(bytes);
        // x² = (y² − 1) / (d·y² + 1)
        let mut numerator = y;
        numerator.square();
        let mut denominator = numerator;
        denominator.multiply(&Element::new(D));
        denominator.add(&Element::ONE);
        numerator.subtract(&Element::ONE);
        let mut x = Element::ZERO;
        if !set_root(&mut x, &numerator, &denominator) {
            return None;
        }
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
        Some(Self { x, y, z: Element::ONE, t })
    }

    /// RFC 8032 §5.1.2.
    #[inline(never)]
    pub(super) fn encoded(&self) -> [u8; 32] {
        let (x, y) = self.affine();
        let mut bytes = y.to_bytes();
        bytes[31] |= x.to_bytes()[0] << 7;
        bytes
    }

    /// x and y.
    pub(super) fn affine(&self) -> (Element<F>, Element<F>) {
        let (mut x, mut y) = (self.z.inverted(), self.y);
        y.multiply(&x);
        x.multiply(&self.x);
        (x, y)
    }

    /// Becomes one of the two points whose u on the Montgomery form of the curve this is; bit 255
    /// is ignored. Whether there is one: zero has none, nor has what is on the curve's twist.
    #[inline(never)]
    pub(crate) fn set_u_coordinate(&mut self, bytes: &[u8; 32]) -> bool {
        let Self { x, y, z, t } = self;
        let u = Element::from_bytes(bytes);
        // v² = u·(u² + A·u + 1)
        *t = u;
        t.add(&Element::new([A, 0, 0, 0, 0, 0, 0, 0]));
        t.multiply(&u);
        t.add(&Element::ONE);
        t.multiply(&u);
        if !set_root(x, &Element::ONE, t) {
            return false;
        }
        // y = (u − 1)/(u + 1), x = c·u/v with c² = −(A + 2); −1 is no u of the curve.
        (*y, *z) = (Element::ONE, u);
        Element::sum_and_difference(z, y);
        x.multiply(&Element::new(SCALE));
        x.multiply(&u);
        *t = *x;
        t.multiply(y);
        x.multiply(z);
        true
    }

    /// Becomes its negative.
    pub(crate) fn negate(&mut self) {
        self.x.negate();
        self.t.negate();
    }

    /// X, Y and Z.
    pub(crate) const fn coordinates(&self) -> [&Element<F>; 3] {
        [&self.x, &self.y, &self.z]
    }

    /// Adds a point that is added several times, or takes it off. Complete, because d is no square:
    /// any two points (§3.1 there, with a = −1).
    #[inline(never)]
    pub(crate) fn add_cached(&mut self, other: &Cached<F>, sign: Sign) {
        let Self { x, y, z, t } = self;
        let (minus, plus) = match sign {
            Sign::Plus => (&other.minus, &other.plus),
            Sign::Minus => (&other.plus, &other.minus),
        };
        // A to F as below; C changes its sign, so that F and G change places.
        Element::sum_and_difference(y, x);
        x.multiply(minus);
        y.multiply(plus);
        t.multiply(&other.twice_t);
        z.multiply(&other.twice_z);
        Element::sum_and_difference(y, x);
        Element::sum_and_difference(z, t);
        let (g, f) = match sign {
            Sign::Plus => (&*z, &*t),
            Sign::Minus => (&*t, &*z),
        };
        let mut new_t = *x;
        new_t.multiply(y);
        x.multiply(f);
        y.multiply(g);
        z.multiply(t);
        *t = new_t;
    }

    /// Twice the point.
    pub(crate) fn double(&mut self, next: Next) {
        let Self { x, y, z, t } = self;
        F::double_point([x, y, z, t].map(Element::words_mut), next == Next::Addition);
    }
}

/// A point that is added several times: Y − X, Y + X, 2·d·T and 2·Z.
pub(crate) struct Cached<F> {
    minus: Element<F>,
    plus: Element<F>,
    twice_t: Element<F>,
    twice_z: Element<F>,
}

impl<F: Arithmetic> Cached<F> {
    /// A place for one.
    pub(crate) const ZERO: Self =
        Self { minus: Element::ONE, plus: Element::ONE, twice_t: Element::ZERO, twice_z: Element::ZERO };

    /// Becomes this point.
    #[inline(never)]
    pub(crate) fn set(&mut self, point: &Point<F>) {
        let Self { minus, plus, twice_t, twice_z } = self;
        (*minus, *plus, *twice_t, *twice_z) = (point.x, point.y, point.t, point.z);
        Element::sum_and_difference(plus, minus);
        twice_t.multiply(&Element::new(TWICE_D));
        twice_z.double();
    }
}

/// A point as it is added: y − x, y + x and 2·x·y, the last one times d if it is added to a point
/// whose T is not.
#[derive(Clone, Copy)]
pub(crate) struct Addend {
    minus: Field,
    plus: Field,
    twice_t: Field,
}

impl Addend {
    /// A place for one.
    pub(crate) const ZERO: Self = Self { minus: Field::ONE, plus: Field::ONE, twice_t: Field::ZERO };

    /// Becomes the one of this index in the table, in the same time for all.
    pub(crate) fn choose(&mut self, table: &Table, index: u32) {
        self.minus.choose(table, index, 0);
        self.plus.choose(table, index, 1);
        self.twice_t.choose(table, index, 2);
    }

    /// Becomes its negative or stays, in the same time.
    pub(crate) fn negate_if(&mut self, choice: Choice) {
        Field::swap_if(choice, &mut self.minus, &mut self.plus);
        let mut negative = self.twice_t;
        negative.negate();
        Field::swap_if(choice, &mut self.twice_t, &mut negative);
    }
}

/// Makes x a root of u / v, if that is a square and v not zero.
#[inline(never)]
fn set_root<F: Arithmetic>(x: &mut Element<F>, u: &Element<F>, v: &Element<F>) -> bool {
    // u·v³·(u·v⁷)^((p − 5) / 8)
    let mut power = *v;
    power.square();
    *x = power;
    x.multiply(v);
    x.multiply(u);
    power.square();
    power.multiply(x);
    x.multiply(&power.power_for_root());
    // v·x² is u or −u, or there is none.
    let square = &mut power;
    *square = *x;
    square.square();
    square.multiply(v);
    square.subtract(u);
    if square.to_bytes() == [0; 32] {
        return true;
    }
    square.add(u);
    square.add(u);
    x.multiply(&Element::new(ROOT_OF_MINUS_ONE));
    square.to_bytes() == [0; 32]
}
