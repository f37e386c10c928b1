//! The operations as the project's own programs for boards have them: for speed.

#![no_std]
#![no_main]

mod balanced;
mod controls;
mod operations;

use motemix_crypto::BoardCurve as ShippedCurve;
