//! What is measured: libraries, their operations, and what came out.

use serde::Serialize;
use std::time::Duration;

/// What a program does with a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Sign,
    Verify,
    Agree,
}

impl Operation {
    /// As the images call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Verify => "verify",
            Self::Agree => "agree",
        }
    }
}

/// An operation of a library, on a curve.
#[derive(Debug)]
pub struct Use {
    pub operation: Operation,
    pub curve: &'static str,
}

/// A library, which has a program of its own on each board.
#[derive(Debug)]
pub struct Library {
    pub name: &'static str,
    /// Ends the program's name: `objects_` and this, and for the AVR `avr_` and this.
    pub program: &'static str,
    pub uses: &'static [Use],
    /// Why it has no program for the AVR.
    pub not_on_avr: Option<&'static str>,
}

/// What ends the name of the program without a library.
pub const NOTHING: &str = "nothing";

const P256: &[Use] = &[
    Use { operation: Operation::Sign, curve: "secp256r1" },
    Use { operation: Operation::Verify, curve: "secp256r1" },
    Use { operation: Operation::Agree, curve: "secp256r1" },
];

/// All of them.
pub static LIBRARIES: [Library; 5] = [
    Library {
        name: "ed25519-dalek 3",
        program: "ed25519",
        uses: &[
            Use { operation: Operation::Sign, curve: "Ed25519" },
            Use { operation: Operation::Verify, curve: "Ed25519" },
        ],
        not_on_avr: None,
    },
    Library {
        name: "curve25519-dalek 5",
        program: "x25519",
        uses: &[Use { operation: Operation::Agree, curve: "X25519" }],
        not_on_avr: None,
    },
    Library {
        name: "p256 0.14",
        program: "p256",
        uses: P256,
        not_on_avr: Some(
            "crypto-bigint 0.7, under it, does not compile for addresses of 16 bits (\"usize too small\")",
        ),
    },
    Library {
        name: "motemix-crypto, Curve25519",
        program: "own_curve25519",
        uses: &[
            Use { operation: Operation::Verify, curve: "Ed25519" },
            Use { operation: Operation::Agree, curve: "X25519" },
        ],
        not_on_avr: None,
    },
    Library { name: "motemix-crypto, P-256", program: "own_p256", uses: P256, not_on_avr: None },
];

/// What an operation took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Figure {
    pub cycles: u64,
    /// Bytes, below the call.
    pub stack: u32,
}

/// An operation of a library on a board.
#[derive(Debug)]
pub struct Measured {
    pub operation: Operation,
    pub curve: &'static str,
    /// Or why there is none.
    pub figure: Result<Figure, String>,
}

/// A library on a board.
#[derive(Debug)]
pub struct OfLibrary {
    pub library: &'static Library,
    /// What its program has more than one without a library, bytes. `None` if it has no program.
    pub memory: Option<Memory>,
    pub operations: Vec<Measured>,
}

impl OfLibrary {
    /// A library that a board cannot have.
    pub fn absent(library: &'static Library, reason: &str) -> Self {
        let none =
            |it: &Use| Measured { operation: it.operation, curve: it.curve, figure: Err(reason.to_owned()) };
        Self { library, memory: None, operations: library.uses.iter().map(none).collect() }
    }
}

/// Bytes of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Memory {
    pub flash: u32,
    /// Static memory, without the stack.
    pub ram: u32,
}

impl Memory {
    pub const fn more_than(self, other: Self) -> Self {
        Self { flash: self.flash.saturating_sub(other.flash), ram: self.ram.saturating_sub(other.ram) }
    }
}

/// All libraries on a board.
#[derive(Debug)]
pub struct OnBoard {
    pub board: &'static str,
    pub core: String,
    pub clock_hz: u32,
    pub libraries: Vec<OfLibrary>,
}

impl OnBoard {
    pub fn milliseconds(&self, figure: Figure) -> f64 {
        let nanos = u128::from(figure.cycles) * 1_000_000_000 / u128::from(self.clock_hz);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).as_secs_f64() * 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_have_the_versions_that_are_named() {
        for lock in [
            include_str!("../../../../../boards/firmware/Cargo.lock"),
            include_str!("../../../../../boards/firmware/bench-avr/Cargo.lock"),
        ] {
            // Those of the project have no version in their names.
            for library in LIBRARIES.iter().filter(|it| !it.program.starts_with("own_")) {
                let (name, version) = library.name.split_once(' ').expect("a version");
                let is_there = lock.contains(&format!("name = \"{name}\"\nversion = \"{version}."));
                assert!(is_there || !lock.contains(&format!("name = \"{name}\"")), "{}", library.name);
            }
        }
    }

    #[test]
    fn sixteen_thousand_cycles_are_a_millisecond_at_16_mhz() {
        let board = OnBoard { board: "", core: String::new(), clock_hz: 16_000_000, libraries: Vec::new() };
        let figure = Figure { cycles: 16_000, stack: 0 };
        assert!((board.milliseconds(figure) - 1.0).abs() < 1e-9);
    }
}
