//! Functions that have to run in their order: what one leaves in its places, the next one takes.

use crate::{GOOD, verdict};

/// What a step returns to the stopwatch.
pub fn outcome<E>(result: &Result<(), E>) -> u32 {
    verdict(result.is_ok())
}

/// The first `count` steps.
pub fn prepare<E>(steps: &[fn() -> Result<(), E>], count: usize) -> u32 {
    steps.iter().take(count).map(|step| outcome(&step())).find(|verdict| *verdict != GOOD).unwrap_or(GOOD)
}

/// `prepare_x`, which runs the steps before the one with this number, and `bench_x` of a step.
#[macro_export]
macro_rules! steps {
    ($steps:ident: $($number:literal $prepare:ident $bench:ident $step:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $prepare() -> u32 {
            $crate::steps::prepare(&$steps, $number)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $bench() -> u32 {
            $crate::steps::outcome(&$step())
        }
    )*};
}
