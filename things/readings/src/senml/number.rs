//! Numbers as they were given: decimal digits, so that 0.1 and 0.2 make 0.3.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A number has at most this many significant digits; so much fits 128 bits, whatever the digits.
const MAX_DIGITS: usize = 38;
/// 10³⁸: mantissas are below.
const MANTISSA_LIMIT: u128 = 10_u128.pow(38);

/// `mantissa · 10^exponent`, exactly.
///
/// Normal form: the mantissa does not end with a zero. The range is that of IEEE binary64, which
/// RFC 8428 (5) asks for; what has more than 38 digits becomes the nearest binary64 number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Number {
    mantissa: i128,
    exponent: i32,
}

/// A text is no number, or none that SenML can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadNumber {
    /// It is not written as JSON writes numbers (RFC 8259, 6).
    Form,
    /// It is beyond what IEEE binary64 has, or closer to zero.
    Range,
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "not a number",
            Self::Range => "a number beyond the range of binary64",
        })
    }
}

impl std::error::Error for BadNumber {}

impl Number {
    /// Zero.
    pub const ZERO: Self = Self { mantissa: 0, exponent: 0 };

    /// `mantissa · 10^exponent`; `None` beyond 38 digits or the range of binary64.
    pub fn new(mantissa: i128, exponent: i32) -> Option<Self> {
        if mantissa == 0 {
            return Some(Self::ZERO);
        }
        let mut number = Self { mantissa, exponent };
        while number.mantissa % 10 == 0 {
            number.mantissa /= 10;
            number.exponent = number.exponent.checked_add(1)?;
        }
        number.magnitude()?;
        let nearest = number.to_f64();
        let fits = number.mantissa.unsigned_abs() < MANTISSA_LIMIT && nearest.is_finite() && nearest != 0.0;
        fits.then_some(number)
    }

    /// A whole number.
    pub fn integer(value: i64) -> Self {
        Self::new(value.into(), 0).unwrap_or(Self::ZERO)
    }

    /// The shortest digits that name this binary number; `None` if it is not finite.
    pub fn from_f64(value: f64) -> Option<Self> {
        if value == 0.0 {
            return Some(Self::ZERO);
        }
        value.is_finite().then(|| format!("{value:e}").parse().ok()).flatten()
    }

    /// The same of a shorter one: 0.1 stays 0.1.
    pub fn from_f32(value: f32) -> Option<Self> {
        if value == 0.0 {
            return Some(Self::ZERO);
        }
        value.is_finite().then(|| format!("{value:e}").parse().ok()).flatten()
    }

    /// The nearest binary64 number.
    pub fn to_f64(self) -> f64 {
        // The text of a number is parsed to the nearest binary number; a product of two would not
        // always be.
        format!("{}e{}", self.mantissa, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The digits as a whole number.
    pub const fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// Which power of ten the digits are multiplied with.
    pub const fn exponent(self) -> i32 {
        self.exponent
    }

    /// The sum, exact if it has 38 digits or less, and else that of the nearest binary64 numbers;
    /// `None` beyond their range.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        self.exact_sum(other).or_else(|| Self::from_f64(self.to_f64() + other.to_f64()))
    }

    fn exact_sum(self, other: Self) -> Option<Self> {
        let exponent = match (self.mantissa, other.mantissa) {
            (0, _) => return Some(other),
            (_, 0) => return Some(self),
            _ => self.exponent.min(other.exponent),
        };
        let sum = self.mantissa_at(exponent)?.checked_add(other.mantissa_at(exponent)?)?;
        Self::new(sum, exponent)
    }

    /// The mantissa that goes with a lower exponent.
    fn mantissa_at(self, exponent: i32) -> Option<i128> {
        let up = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        self.mantissa.checked_mul(10_i128.checked_pow(up)?)
    }

    /// The number as an integer, if it is one below 10³⁸.
    pub fn to_integer(self) -> Option<i128> {
        self.mantissa_at(0)
    }

    /// How many digits stand before the point, if the first of them is not zero.
    fn magnitude(self) -> Option<i32> {
        i32::try_from(digits(self.mantissa)).ok()?.checked_add(self.exponent)
    }
}

fn digits(mantissa: i128) -> u32 {
    mantissa.unsigned_abs().checked_ilog10().map_or(0, |log| log.saturating_add(1))
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.mantissa.signum().cmp(&other.mantissa.signum()).then_with(|| {
            let by_size = self.magnitude().cmp(&other.magnitude()).then_with(|| {
                // Of one magnitude: with as many digits each, which fit.
                let (own, others) = (digits(self.mantissa), digits(other.mantissa));
                let padded = |mantissa: i128, up: u32| {
                    mantissa.unsigned_abs().saturating_mul(10_u128.saturating_pow(up))
                };
                padded(self.mantissa, others.saturating_sub(own))
                    .cmp(&padded(other.mantissa, own.saturating_sub(others)))
            });
            if self.mantissa < 0 { by_size.reverse() } else { by_size }
        })
    }
}

impl From<motemix_object::Decimal> for Number {
    fn from(value: motemix_object::Decimal) -> Self {
        // 19 digits and 18 places are within all bounds.
        Self::new(value.mantissa().into(), -i32::from(value.places())).unwrap_or(Self::ZERO)
    }
}

impl FromStr for Number {
    type Err = BadNumber;

    fn from_str(text: &str) -> Result<Self, BadNumber> {
        let (decimal, exponent) = match text.split_once(['e', 'E']) {
            Some((decimal, exponent)) => (decimal, Some(exponent)),
            None => (text, None),
        };
        let unsigned = decimal.strip_prefix('-').unwrap_or(decimal);
        let (whole, fraction) = match unsigned.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (unsigned, None),
        };
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent_digits = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        let well_formed = is_digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && fraction.is_none_or(is_digits)
            && exponent_digits.is_none_or(is_digits);
        if !well_formed {
            return Err(BadNumber::Form);
        }
        let fraction = fraction.unwrap_or_default().trim_end_matches('0');
        let digits = [whole, fraction].concat();
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Ok(Self::ZERO);
        }
        let exponent = exponent.unwrap_or("0").parse::<i32>().map_err(|_| BadNumber::Range)?;
        let places = i32::try_from(fraction.len()).map_err(|_| BadNumber::Range)?;
        let short = digits.trim_end_matches('0');
        if short.len() > MAX_DIGITS {
            // The digits of a binary64 number are at most 17.
            let nearest = text.parse().ok().and_then(Self::from_f64);
            return nearest.filter(|nearest| *nearest != Self::ZERO).ok_or(BadNumber::Range);
        }
        let zeros = i32::try_from(digits.len().saturating_sub(short.len())).map_err(|_| BadNumber::Range)?;
        let mantissa: i128 = short.parse().map_err(|_| BadNumber::Form)?;
        let mantissa = if decimal.starts_with('-') { -mantissa } else { mantissa };
        exponent
            .checked_sub(places)
            .and_then(|exponent| exponent.checked_add(zeros))
            .and_then(|exponent| Self::new(mantissa, exponent))
            .ok_or(BadNumber::Range)
    }
}

impl fmt::Display for Number {
    /// As JSON has it: with a point, or with an exponent where that would be long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.unsigned_abs().to_string();
        let magnitude = self.magnitude().unwrap_or_default();
        let before = usize::try_from(magnitude).unwrap_or_default();
        match (self.exponent, magnitude) {
            (0.., ..=18) => write!(f, "{sign}{digits:0<before$}"),
            (..0, 1..) => {
                let (whole, fraction) = digits.split_at(before.min(digits.len()));
                write!(f, "{sign}{whole}.{fraction}")
            }
            (..0, -5..=0) => {
                let zeros = usize::try_from(magnitude.unsigned_abs()).unwrap_or_default();
                write!(f, "{sign}0.{:0<zeros$}{digits}", "")
            }
            _ => {
                let (first, rest) = digits.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                write!(f, "{sign}{first}{point}{rest}e{:+}", magnitude.saturating_sub(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn a_tenth_and_two_tenths_are_three_tenths() {
        assert_eq!(number("0.1").plus(number("0.2")), Some(number("0.3")));
        assert_eq!(number("1.276020076001e+09").plus(number("-5")), Some(number("1276020071.001")));
        assert_eq!(number("1e300").plus(number("1")), Some(number("1e300")));
        assert_eq!(number("1.7e308").plus(number("1.7e308")), None);
    }

    #[test]
    fn a_number_is_written_with_the_digits_it_has() {
        for (given, written) in [
            ("23.10", "23.1"),
            ("0.14e1", "1.4"),
            ("-0", "0"),
            ("0e9999999999", "0"),
            ("1.320067464e+09", "1320067464"),
            ("1e18", "1e+18"),
            ("123e15", "123000000000000000"),
            ("-1.5e-5", "-0.000015"),
            ("0.00000015", "1.5e-7"),
            ("24.30621", "24.30621"),
            ("179769313486231570000000000000000000000e270", "1.7976931348623157e+308"),
            ("5e-324", "5e-324"),
        ] {
            assert_eq!(number(given).to_string(), written);
        }
        let long = "0.1000000000000000055511151231257827021181583404541015625";
        assert_eq!(number(long).to_string(), "0.1", "the nearest binary number has a short name");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "+1", "1.", ".5", "01", "1e", "1e+", "0x1", "NaN", "inf", "1 ", "1e1.5", "--1"]
        {
            assert_eq!(text.parse::<Number>(), Err(BadNumber::Form), "{text:?}");
        }
        let long = "1.00000000000000000000000000000000000000001";
        let [tiny, huge] = ["e-324", "e309"].map(|exponent| long.to_owned() + exponent);
        for text in ["1e309", "1e-324", "-1e999999999999", "1.8e308", &tiny, &huge] {
            assert_eq!(text.parse::<Number>(), Err(BadNumber::Range), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(mantissa: i64, exponent in -340..=340_i32) {
            if let Some(number) = Number::new(mantissa.into(), exponent) {
                prop_assert_eq!(number.to_string().parse(), Ok(number));
            }
        }

        #[test]
        fn a_binary_number_keeps_its_value(bits: u64) {
            let value = f64::from_bits(bits);
            match Number::from_f64(value) {
                // A negative zero has no sign afterwards.
                Some(number) => prop_assert_eq!((number.to_f64() + 0.0).to_bits(), (value + 0.0).to_bits()),
                None => prop_assert!(!value.is_finite()),
            }
        }

        #[test]
        fn numbers_are_ordered_as_their_values(
            one in -10_000..10_000_i128, other in -10_000..10_000_i128, places in 0..6_u32, more in 0..6_u32
        ) {
            let scale = |by: u32| 10_i128.pow(6 - by);
            let (left, right) = (
                Number::new(one, -i32::try_from(places).unwrap()).unwrap(),
                Number::new(other, -i32::try_from(more).unwrap()).unwrap(),
            );
            prop_assert_eq!(left.cmp(&right), (one * scale(places)).cmp(&(other * scale(more))));
        }
    }
}
