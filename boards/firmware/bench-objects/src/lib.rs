//! Signatures and key agreement of several libraries. Each program has one library, so that its flash
//! can be told; `nothing` has none.

#![no_std]

pub mod operations;

// The operations are compiled for an AVR too, where this is a file among others.
pub use motemix_board_calls::place;

/// `prepare_x` and `bench_x` of an operation.
#[macro_export]
macro_rules! operations {
    ($($prepare:ident $bench:ident: $make:expr, $run:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $prepare() -> u32 {
            motemix_board_calls::verdict($make())
        }

        #[unsafe(no_mangle)]
        extern "C" fn $bench() -> u32 {
            motemix_board_calls::verdict($run())
        }
    )*};
}

/// For an operation that takes all from its vectors.
pub fn nothing() -> bool {
    true
}
