//! The operations as the C library has them: for little code, with the curve that is quick then.

#![no_std]
#![no_main]

mod balanced;
mod controls;
mod operations;

use motemix_crypto::BoardCurveWithoutTable as ShippedCurve;
