//! The generator, which observes thermal noise: with its bias correction on, the product
//! specification calls its numbers uniform and fit for cryptography, and gives 120 µs a byte as
//! typical.

use core::cell::RefCell;
use core::convert::Infallible;

use embassy_nrf::mode::Blocking;
use embassy_nrf::rng::Rng;
use embassy_nrf::{Peri, peripherals};
use rand_core::{TryCryptoRng, TryRng};

pub(crate) type Generator = Rng<'static, Blocking>;

pub(crate) fn start(rng: Peri<'static, peripherals::RNG>) -> Generator {
    let generator = Rng::new_blocking(rng);
    generator.set_bias_correction(true);
    generator
}

/// A handle; all of them are the same generator.
#[derive(Clone, Copy)]
pub(crate) struct Random<'r>(pub(crate) &'r RefCell<Generator>);

impl TryRng for Random<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.borrow_mut().blocking_next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.borrow_mut().blocking_next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.borrow_mut().blocking_fill_bytes(out);
        Ok(())
    }
}

impl TryCryptoRng for Random<'_> {}
