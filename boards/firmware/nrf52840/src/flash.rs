//! The store: the last 64 pages of 4 KiB.
//!
//! A word of this flash may be written twice between two erases (nWRITE, product specification
//! 4.3): once with what it is to hold, and once to zero. [`WriteOnce`] writes no more often, also
//! after power cuts. While a page is erased, up to 85 ms, the core stands still: the radio
//! acknowledges nothing, and neighbours try again.

use embassy_nrf::nvmc;
use motemix_mote::store::Layout;
use motemix_write_once::WriteOnce;

pub(crate) type Nvmc = WriteOnce<nvmc::Nvmc<'static>>;

/// Behind what `memory.x` gives to the program.
const START: u32 = (1024 - 264) * 1024;

pub(crate) const LAYOUT: Layout = crate::LIMITS.flash.layout(START);

const _: () = assert!(crate::LIMITS.flash.len() == 264 * 1024, "memory.x gives it the rest");
