//! Exact decimal numbers: a sensor's digits and no more.

use std::fmt;

/// `mantissa · 10^-places`.
///
/// Normal form: no zero at the end of the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    mantissa: i64,
    places: u8,
}

/// 10^18 still fits 64 bits, and no sensor is better than that.
const MAX_PLACES: u8 = 18;

impl Decimal {
    /// A whole number.
    pub const fn integer(value: i64) -> Self {
        Self { mantissa: value, places: 0 }
    }

    /// `mantissa · 10^-places`; `None` beyond 18 places.
    pub fn new(mantissa: i64, places: u8) -> Option<Self> {
        if places > MAX_PLACES {
            return None;
        }
        let mut decimal = Self { mantissa, places };
        while decimal.places > 0 && decimal.mantissa % 10 == 0 {
            decimal.mantissa /= 10;
            decimal.places -= 1;
        }
        Some(decimal)
    }

    /// The number rounded to so many places; zero if it is no number or too large.
    pub fn rounded(value: f64, places: u8) -> Self {
        let scaled = value * 10_f64.powi(i32::from(places));
        Self::new(scaled.round() as i64, places).unwrap_or(Self::integer(0))
    }

    /// The digits as a whole number.
    pub const fn mantissa(self) -> i64 {
        self.mantissa
    }

    /// How many of the digits are behind the point.
    pub const fn places(self) -> u8 {
        self.places
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.places == 0 {
            return write!(f, "{}", self.mantissa);
        }
        let unit = 10_u64.pow(u32::from(self.places));
        let digits = self.mantissa.unsigned_abs();
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let width = usize::from(self.places);
        write!(f, "{sign}{}.{:0width$}", digits / unit, digits % unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_digits_it_has() {
        for (decimal, text) in [
            (Decimal::integer(-7), "-7"),
            (Decimal::rounded(0.53, 2), "0.53"),
            (Decimal::rounded(-0.05, 2), "-0.05"),
            (Decimal::rounded(41.0, 1), "41"),
            (Decimal::rounded(1.5, 3), "1.5"),
            (Decimal::rounded(f64::NAN, 3), "0"),
            (Decimal::new(i64::MIN, 18).unwrap(), "-9.223372036854775808"),
        ] {
            assert_eq!(decimal.to_string(), text);
        }
        assert_eq!(Decimal::new(1, 19), None);
    }
}
