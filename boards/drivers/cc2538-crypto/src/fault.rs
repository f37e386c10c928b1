//! What goes wrong in the engines, and how often.

use core::fmt;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)+) => {
        /// Why an engine gave no result. Callers of the suite see
        /// [`Refused::Engine`](motemix_neighbour::Refused::Engine).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Fault {
            $($(#[$doc])* $name,)+
        }

        impl Fault {
            /// All faults, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];
        }

        impl fmt::Display for Fault {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)+ })
            }
        }
    };
}

faults! {
    /// An operation of the PKA engine did not end within the limit.
    PkaStuck => "the PKA engine does not end",
    /// The PKA engine says that its operands are wrong, or a code that the guide does not have.
    Operands => "the PKA engine refuses its operands",
    /// The PKA engine says that a number below a prime has no inverse.
    NoInverse => "the PKA engine finds no inverse",
    /// The PKA engine says that a product is the point at infinity, which it cannot be.
    Infinity => "the PKA engine gives the point at infinity",
    /// A point that the PKA engine gave is not on the curve.
    OffCurve => "a point of the PKA engine is not on the curve",
    /// Two computations of the PKA engine that must agree do not.
    Inconsistent => "two results of the PKA engine disagree",
    /// The AES engine, its DMA or its store of keys did not end within the limit.
    AesStuck => "the AES engine does not end",
    /// The store of keys did not take a key.
    KeyStoreWrite => "the AES engine's store takes no key",
    /// The store of keys did not give a key out.
    KeyStoreRead => "the AES engine's store gives no key",
    /// The DMA of the AES engine met an error on the bus.
    DmaBus => "the AES engine's DMA met an error on the bus",
}

impl core::error::Error for Fault {}

/// Totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    faults: [u32; Fault::ALL.len()],
    /// Resets of an engine by the driver, those at the start left out.
    pub resets: u32,
    /// Times that an engine's memory could not be wiped, because the engine did not stop or did
    /// not work. It is wiped before anything else is done with that engine.
    pub unwiped: u32,
}

impl Counters {
    /// How often this went wrong.
    pub const fn faults(&self, fault: Fault) -> u32 {
        self.faults[fault as usize]
    }

    pub(crate) const fn count(&mut self, fault: Fault) {
        let count = &mut self.faults[fault as usize];
        *count = count.saturating_add(1);
    }
}
