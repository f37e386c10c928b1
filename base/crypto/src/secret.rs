//! Bytes that wipe themselves, compare in constant time and say nothing when printed.

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
/// Overwrites so many bytes of the stack below its caller. What is to be wiped ran there, in a
/// function that was not inlined: moves of secrets leave copies that nobody drops.
pub use zeroize::zeroize_stack;
use zeroize::{ZeroizeOnDrop, optimization_barrier};

/// `N` secret bytes. There is no `Clone`: a copy of a secret is made by name, with
/// [`Secret::duplicate`].
pub struct Secret<const N: usize>([u8; N]);

impl<const N: usize> Secret<N> {
    /// Takes over `bytes`. The caller's own copy, if it keeps one, is the caller's to wipe.
    pub const fn new(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// All zero: a place to derive a secret into.
    pub const fn zero() -> Self {
        Self([0; N])
    }

    /// The bytes themselves, to be handed to a primitive.
    pub const fn expose(&self) -> &[u8; N] {
        &self.0
    }

    /// The bytes themselves, to be filled by a primitive.
    pub const fn expose_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }

    /// A second copy, which wipes itself as well.
    #[must_use]
    pub const fn duplicate(&self) -> Self {
        Self(self.0)
    }
}

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        // A plain store, which the compiler makes as wide as it can; the barrier keeps it from
        // being left out. Byte by byte, wiping would cost a tenth of what is done with the secrets.
        self.0 = [0; N];
        optimization_barrier(&self.0);
    }
}

impl<const N: usize> ZeroizeOnDrop for Secret<N> {}

impl<const N: usize> fmt::Debug for Secret<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const N: usize> ConstantTimeEq for Secret<N> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.as_slice().ct_eq(other.0.as_slice())
    }
}

/// Takes what is in a place, and leaves none of its bytes there: [`Option::take`] marks the place
/// as empty, and what was moved out of it stays readable. `blank` is a value without a secret that
/// has as many bytes.
pub fn take<T>(place: &mut Option<T>, blank: T) -> Option<T> {
    let taken = place.replace(blank);
    // The blank is dropped where it lies, so it is written there. A `None` that is no constant is
    // made on the stack first, and copied with what lay there.
    *place = const { None };
    taken
}

/// Does `work`, and wipes so many bytes of the stack that it ran on: what it kept there does not
/// wipe itself. What it returns by value is the caller's to wipe.
pub fn wiped<const STACK_LEN: usize, T>(work: impl FnOnce() -> T) -> T {
    let made = framed(work);
    zeroize_stack::<STACK_LEN>();
    made
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn framed<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn a_secret_prints_nothing_of_itself() {
        assert_eq!(std::format!("{:?}", Secret::new([0xab; 32])), "Secret(..)");
    }

    #[test]
    fn secrets_compare_by_value() {
        assert!(bool::from(Secret::new([1; 16]).ct_eq(&Secret::new([1; 16]))));
        assert!(!bool::from(Secret::new([1; 16]).ct_eq(&Secret::new([2; 16]))));
    }
}
