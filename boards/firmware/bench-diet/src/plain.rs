//! The application without the library: a text goes out over UDP and comes in, as IoT-CryptoDiet's
//! native application has it.

#![no_std]
#![no_main]

mod application;

use application::{TEXT, exchange, start};
use motemix_board_calls::verdict;

#[unsafe(no_mangle)]
extern "C" fn prepare_message() -> u32 {
    start();
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_message() -> u32 {
    verdict(exchange(&TEXT, |text| *text == TEXT) == Some(true))
}
