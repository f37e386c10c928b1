//! The table of programs for boards, which shell scripts read too.

use crate::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("../../../../boards/firmware/programs.txt");

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A mote on an emulated board: `boards network`.
    Network,
    /// One of two neighbours without a network, on an emulated board: `boards link`.
    Link,
    /// The packet's known answers on an emulated board.
    Vectors,
    /// The operations, one by one: `boards measure`.
    Bench,
    /// A whole mote in little memory: `boards measure`.
    Size,
    /// One operation at a time, with secrets from outside: `boards secrets`.
    Secrets,
    /// The same as the C library has them, for little code: `boards secrets`.
    SecretsSmall,
    /// The arithmetic of each core, with operands from outside: the tests of the laboratory.
    Fields,
    /// The same as the C library has it where code for little flash is another.
    FieldsSmall,
    /// The thesis' operations on TweetNaCl: `boards measure`.
    Baseline,
    /// The functions of IoT-CryptoDiet, one by one: `boards neighbours`.
    Diet,
    /// The steps of its handshakes, one by one: `boards neighbours`.
    DietSteps,
    /// An application without IoT-CryptoDiet: `boards neighbours`.
    DietPlain,
    /// The same with it: `boards neighbours`.
    DietExtended,
    /// The steps of EDHOC with static keys, one by one: `boards neighbours`.
    Edhoc,
    /// The same with signatures: `boards neighbours`.
    EdhocSigned,
    /// Signatures and key agreement, a library each: `boards objects`.
    Objects,
    /// A mote on a board that is not emulated.
    Mote,
}

impl Purpose {
    /// As the table calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Link => "link",
            Self::Vectors => "vectors",
            Self::Bench => "bench",
            Self::Size => "size",
            Self::Secrets => "secrets",
            Self::SecretsSmall => "secrets-small",
            Self::Fields => "fields",
            Self::FieldsSmall => "fields-small",
            Self::Baseline => "baseline",
            Self::Diet => "diet",
            Self::DietSteps => "diet-steps",
            Self::DietPlain => "diet-plain",
            Self::DietExtended => "diet-extended",
            Self::Edhoc => "edhoc",
            Self::EdhocSigned => "edhoc-signed",
            Self::Objects => "objects",
            Self::Mote => "mote",
        }
    }
}

/// A line of the table: one program for one board.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Program {
    pub purpose: Purpose,
    pub board: &'static str,
    /// Cargo's names: package and program, what it is compiled for, and with which profile.
    pub package: &'static str,
    pub bin: &'static str,
    pub target: &'static str,
    pub profile: &'static str,
    /// QEMU's name of the board, if an emulator runs the image.
    pub machine: Option<&'static str>,
}

impl Program {
    fn parse(line: &'static str) -> Option<Self> {
        let columns: Vec<_> = line.split_whitespace().collect();
        let [purpose, board, package, bin, target, profile, machine] = columns[..] else { return None };
        let purpose = Purpose::from_str(purpose, false).ok()?;
        let machine = (machine != "-").then_some(machine);
        Some(Self { purpose, board, package, bin, target, profile, machine })
    }

    /// Where the image is in a folder of images.
    pub fn place(&self) -> PathBuf {
        Path::new(self.target).join(self.bin)
    }

    /// Where cargo puts the image, below its target directory.
    pub fn built(&self) -> PathBuf {
        Path::new(self.target).join(self.profile).join(self.bin)
    }
}

/// The whole table, in its order.
///
/// # Errors
/// A line has no seven columns, or a purpose that is none.
pub fn programs() -> Result<Vec<Program>, Failure> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let parse = |line| {
        let program = Program::parse(line);
        program.ok_or_else(|| {
            Failure::failed(format!("boards/firmware/programs.txt: cannot read the line {line}"))
        })
    };
    lines.map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::board::BOARDS;
    use std::collections::BTreeSet;

    #[test]
    fn each_image_has_a_place_of_its_own() {
        let programs = programs().unwrap();
        let places: BTreeSet<_> = programs.iter().map(Program::place).collect();
        assert_eq!(places.len(), programs.len());
        let built: BTreeSet<_> = programs.iter().map(Program::built).collect();
        assert_eq!(built.len(), programs.len());
    }

    #[test]
    fn every_board_of_the_thesis_has_each_program_of_the_stopwatch() {
        let programs = programs().unwrap();
        for board in &BOARDS {
            let purposes = [
                Purpose::Bench,
                Purpose::Size,
                Purpose::Secrets,
                Purpose::SecretsSmall,
                Purpose::Fields,
                Purpose::Baseline,
            ];
            for purpose in purposes {
                let is_it = |program: &&Program| program.purpose == purpose && program.board == board.name;
                assert_eq!(programs.iter().filter(is_it).count(), 1, "{purpose:?} for {}", board.name);
            }
        }
    }

    #[test]
    fn emulators_run_what_is_for_emulated_boards_and_nothing_else() {
        for program in programs().unwrap() {
            let is_emulated = matches!(program.purpose, Purpose::Network | Purpose::Link | Purpose::Vectors);
            assert_eq!(program.machine.is_some(), is_emulated, "{program:?}");
        }
    }

    #[test]
    fn a_line_that_is_not_whole_is_no_program() {
        let line = "mote iotlab-m3 motemix-stm32f103 motemix-stm32f103 thumbv7m-none-eabi release -";
        assert!(Program::parse(line).is_some());
        assert_eq!(Program::parse("mote iotlab-m3 motemix-stm32f103 motemix-stm32f103"), None);
        assert_eq!(Program::parse("lamp iotlab-m3 a b thumbv7m-none-eabi release -"), None);
        assert_eq!(Program::parse("mote iotlab-m3 a b thumbv7m-none-eabi release - more"), None);
    }
}
