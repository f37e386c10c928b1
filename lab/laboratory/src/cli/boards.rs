//! `motemix-lab boards`.

use crate::firmware::Purpose;
use clap::{Args, Subcommand};
use motemix_mcu::Core;
use motemix_program::cli::{Mode, parse_probability};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Boards {
    Build(BoardsBuild),
    Cycles(BoardsCycles),
    Link(BoardsLink),
    List(BoardsList),
    Measure(BoardsMeasure),
    Neighbours(BoardsNeighbours),
    Network(BoardsNetwork),
    Objects(BoardsObjects),
    Secrets(BoardsSecrets),
}

/// Builds images for boards, with cargo.
///
/// Takes the firmware of a source tree, and puts the images where the other commands look for them:
/// into that tree, or with --out into a folder that serves without one. A folder of an installed
/// laboratory is `share/motemix/firmware` beside its `bin`, or `motemix/firmware` in the user's
/// data folder.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards build
  motemix-lab boards build network bench size
  motemix-lab boards build network link --budgets budgets.toml
  motemix-lab boards build --out ~/.local/share/motemix/firmware
  motemix-lab boards build mote --json | jq -r '.[].image'")]
pub struct BoardsBuild {
    /// Only programs for this purpose; by default those for all.
    #[arg(value_name = "PURPOSE", value_enum)]
    pub purposes: Vec<Purpose>,
    /// Copies the images into this folder, in a folder for each target; made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Fails if an image takes more flash or RAM than this file allows its program.
    #[arg(long, value_name = "FILE")]
    pub budgets: Option<PathBuf>,
    /// The firmware's workspace. By default MOTEMIX_FIRMWARE, or that of the source tree.
    #[arg(long, value_name = "DIR")]
    pub firmware: Option<PathBuf>,
    /// Prints JSON: a list of programs, each with the path of its image.
    #[arg(long)]
    pub json: bool,
}

/// Runs neighbours that have never met: emulated boards and hosts with a radio, on one channel.
///
/// There is no network and no server. Each board sends messages to the next one, as two sensors do,
/// and to a host that runs `motemix link router`. Then a host that runs `motemix link sensor` sends
/// messages to the last board. All boards run the same program, in an emulator. What their consoles
/// print is shown. Needs qemu-system-arm; in a source tree it builds the images first.
///
/// It fails (status 1) if a message was not heard or, in the modes `edhoc` and `diet`, not
/// acknowledged. In the modes `literal` and `plain` nothing is sent again: messages that the air
/// lost (--loss) are counted on stderr, and it fails if all from one to another were lost.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards link
  motemix-lab boards link --mode diet --board microbit --board an385
  motemix-lab boards link --mode literal --messages 3 --pcap link.pcap
  motemix-lab boards link --json | jq '.exchanges[]'")]
pub struct BoardsLink {
    #[command(flatten)]
    pub firmware: FirmwareFiles,
    /// How messages are protected, as in `motemix link`.
    #[arg(long, value_enum, default_value_t = Mode::Edhoc)]
    pub mode: Mode,
    /// A board: microbit, an385 or an386. Given up to four times; by default an385 and an386.
    #[arg(long = "board", value_name = "NAME")]
    pub boards: Vec<String>,
    /// How many messages each sends to each neighbour that it sends to.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub messages: u32,
    /// Time between two messages, such as 200ms.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub interval: Duration,
    /// Writes all frames on the air to a file that Wireshark reads.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Probability with which each radio misses a frame, from 0 to 1.
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = parse_probability)]
    pub loss: f64,
    /// Keeps the keys of the hosts and what the consoles printed in this folder. By default they
    /// are gone at the end.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// One more station on the channel, for a program of your own. Its serial line is the socket
    /// air/NAME.air in the folder that is kept.
    #[arg(long, value_name = "NAME", requires = "keep")]
    pub station: Option<String>,
    /// Prints JSON, and no consoles.
    #[arg(long)]
    pub json: bool,
}

/// Lists the programs for boards: what for, and how cargo builds them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards list
  motemix-lab boards list network --json | jq -r '.[].machine'")]
pub struct BoardsList {
    /// Only programs for this purpose; by default those for all.
    #[arg(value_name = "PURPOSE", value_enum)]
    pub purposes: Vec<Purpose>,
    /// Prints JSON: an object for each program.
    #[arg(long)]
    pub json: bool,
}

/// Counts the cycles of functions of an image for a board.
///
/// Runs every function `bench_NAME` of an ELF file on a model of the core that charges each
/// instruction what the core's manual says. A function `prepare_NAME`, if there is one, runs before
/// it and is not counted. Each begins with the memory that a board has when `main` begins. A bench
/// returns 0 when it did its work.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Boards with flash slower than their core:
  STM32F103, 72 MHz (M3)     --flash-line 8 --flash-wait 2,2
  nRF52840, 64 MHz (M4)      --flash-line 16 --flash-wait 1,1
  SAMR21, 48 MHz (M0+)       --flash-line 8 --flash-wait 1,1

Examples:
  motemix-lab boards cycles firmware.elf --core m0p
  motemix-lab boards cycles firmware.elf --core m3 --flash-wait 2,2 \\
      --only create --profile
  motemix-lab boards cycles firmware.elf --core m4 --json \\
      | jq '.benches[] | {name, cycles}'")]
pub struct BoardsCycles {
    /// A linked image with its symbols.
    #[arg(value_name = "ELF")]
    pub image: PathBuf,
    /// The core: m0p (Cortex-M0+), m3 or m4.
    #[arg(long, value_name = "CORE")]
    pub core: Core,
    /// Bytes that the flash delivers at once.
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = line)]
    pub flash_line: u32,
    /// Cycles that the core waits for the next line of flash, and for any other.
    #[arg(long, value_name = "NEXT,OTHER", default_value = "0,0", value_parser = waits)]
    pub flash_wait: (u32, u32),
    /// Runs only this bench; NAME of bench_NAME.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Shows where the cycles went, function by function.
    #[arg(long)]
    pub profile: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Measures what a mote costs on the boards of the thesis.
///
/// Runs the firmware's benches on the stopwatch, with each board's clock and wait states. Prints
/// cycles, time, energy and stack of every operation, beside the thesis' measurements and its
/// operations on TweetNaCl. Then a whole mote joins a network on this host and does everything that
/// a mote does; the command prints its flash, memory and deepest stack. Every bench checks its own
/// result.
///
/// In a source tree it builds the images first, with cargo; TweetNaCl needs arm-none-eabi-gcc.
/// Elsewhere it takes those of a folder, see `boards build`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards measure
  motemix-lab boards measure --board iotlab-m3 --no-baseline
  motemix-lab boards measure --json | jq '.[] | {board, forward, create6}'
  motemix-lab boards measure --no-baseline --budgets budgets.toml")]
pub struct BoardsMeasure {
    #[command(flatten)]
    pub files: BoardsFiles,
    /// Leaves out TweetNaCl, which takes most of the time.
    #[arg(long)]
    pub no_baseline: bool,
    /// Leaves out the wait states of the boards' flash.
    #[arg(long)]
    pub zero_wait: bool,
    /// Fails if a figure is above its budget in this file.
    #[arg(long, value_name = "FILE")]
    pub budgets: Option<PathBuf>,
    /// Draws figures 4 and 5 of the thesis into this folder: create.svg and process.svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Prints JSON: an object for each board, cycles by operation.
    #[arg(long)]
    pub json: bool,
}

/// Measures what keys between two neighbours cost, in the form of IoT-CryptoDiet's tables.
///
/// Runs the six functions of that paper on the stopwatch, each many times with other keys, on its
/// own chip (a CC2538 at 16 and at 32 MHz) and on the boards of the thesis: cycles, time and energy
/// beside the paper's. Takes the flash and the memory of an application with the library and
/// without. Then compares handshakes: to the letter, settled, EDHOC with two methods and that of a
/// protected link, both sides of which talk on this host, in bytes, frames and round trips, and
/// counts what each side computes; beside the published lengths of DTLS 1.3.
///
/// In a source tree it builds the images first, with cargo. Elsewhere it takes those of a folder,
/// see `boards build`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards neighbours
  motemix-lab boards neighbours --board cc2538-16mhz --runs 5
  motemix-lab boards neighbours --json | jq '.handshakes[] | {name, bytes}'
  motemix-lab boards neighbours --svg docs/research/boards")]
pub struct BoardsNeighbours {
    /// Only this board: cc2538-16mhz, cc2538-32mhz, samr21-xpro, iotlab-m3 or nrf52840dk. May be
    /// given several times.
    #[arg(long, value_name = "NAME")]
    pub board: Vec<String>,
    #[command(flatten)]
    pub firmware: FirmwareFiles,
    /// How often each function runs.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Leaves out the wait states of the boards' flash.
    #[arg(long)]
    pub zero_wait: bool,
    /// Fails if a figure is above its budget in this file.
    #[arg(long, value_name = "FILE")]
    pub budgets: Option<PathBuf>,
    /// Draws charts of functions, bytes and energy into this folder: neighbours-….svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Prints JSON: the paper, the boards and the handshakes.
    #[arg(long)]
    pub json: bool,
}

/// Measures signatures and key agreement of today's libraries, in the form of RFC 8387's tables.
///
/// Runs each operation of each library on the stopwatch, and in simavr on an ATmega2560 at 16 MHz,
/// which is the RFC's chip: cycles, time, stack, flash and static memory, beside its tables 1 to 9.
/// Each operation is on a published vector, and has to give its result.
///
/// In a source tree it builds the images first, with cargo. The ATmega2560 needs the source tree,
/// nightly Rust, avr-gcc and simavr (`scripts/setup avr`).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards objects
  motemix-lab boards objects --board samr21-xpro
  motemix-lab boards objects --board atmega2560 --avr-program x25519 --json
  motemix-lab boards objects --svg docs/research/boards")]
pub struct BoardsObjects {
    /// Only this board: samr21-xpro, iotlab-m3, nrf52840dk or atmega2560. May be given several
    /// times.
    #[arg(long, value_name = "NAME")]
    pub board: Vec<String>,
    /// Runs only this program on the ATmega2560. May be given several times.
    #[arg(long, value_name = "NAME", value_parser = ["ed25519", "x25519", "p256", "own_curve25519", "own_p256"])]
    pub avr_program: Vec<String>,
    #[command(flatten)]
    pub firmware: FirmwareFiles,
    /// Draws charts of signatures and flash into this folder: objects-sign.svg, objects-flash.svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Prints JSON: the RFC's tables and the boards.
    #[arg(long)]
    pub json: bool,
}

/// Checks whether secrets change what is executed, and how long it takes.
///
/// Runs each operation that uses a secret on the stopwatch, with many random secrets, for each
/// board's core: as our own programs have it, and as the C library has it (a quarter of the
/// secrets). Fails if runs of an operation differ in their cycles, in the instructions that they
/// executed or in the addresses that they loaded from and stored to, or if there was an instruction
/// whose time depends on its operands. Operations that leak on purpose are controls: the command
/// fails if it does not notice them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards secrets
  motemix-lab boards secrets --board nrf52840dk --secrets 1000 --json")]
pub struct BoardsSecrets {
    #[command(flatten)]
    pub files: BoardsFiles,
    /// Secrets for each operation that multiplies points; the others get ten times as many.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub secrets: u32,
    /// Prints JSON: an object for each board and program.
    #[arg(long)]
    pub json: bool,
}

/// Which boards, and where the ELF files are.
#[derive(Debug, Args)]
pub struct BoardsFiles {
    /// Only this board: samr21-xpro, iotlab-m3 or nrf52840dk. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub board: Vec<String>,
    #[command(flatten)]
    pub firmware: FirmwareFiles,
}

/// Where the ELF files are.
#[derive(Debug, Args)]
pub struct FirmwareFiles {
    /// The firmware's workspace, to be built, or a folder that `boards build` has filled. By
    /// default MOTEMIX_FIRMWARE, the source tree, `share/motemix/firmware` beside this
    /// program's folder, or `motemix/firmware` in the user's data folder.
    #[arg(long, value_name = "DIR")]
    pub firmware: Option<PathBuf>,
    /// Built ELF files, in a folder for each target, instead of building them.
    #[arg(long, value_name = "DIR", conflicts_with = "firmware")]
    pub elf: Option<PathBuf>,
}

/// Runs six emulated boards and two hosts on one radio channel, and measures their messages.
///
/// Two Cortex-M0, two M3 and two M4 mix and send; one host receives, another one sends. Every board
/// is an emulator that runs the unchanged firmware; every host is a process of the program motemix
/// beside this one. Needs qemu-system-arm; in a source tree it builds the images first. It fails
/// (status 1) if a message was given up or is undecided.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab boards network
  motemix-lab boards network --seconds 60 --pcap boards.pcap
  motemix-lab boards network --loss 0.05 --json | jq .rtt_ms")]
pub struct BoardsNetwork {
    #[command(flatten)]
    pub firmware: FirmwareFiles,
    /// How long the nodes send.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Mean time between two messages of a node. By default 6s, and longer in a run of more than a
    /// minute, because the replay filter of a micro:bit takes 183 packets.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub interval: Option<Duration>,
    /// Writes all frames on the air to a file that Wireshark reads, and the keys of the links to
    /// the folder FILE.keys.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Probability with which each radio misses a frame.
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = parse_probability)]
    pub loss: f64,
    /// Makes the network in this folder, and keeps it; by default it is in a temporary one.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// A further station in the channel, for a program of your own: its line is air/NAME.air in the
    /// folder that is kept.
    #[arg(long, value_name = "NAME", requires = "keep")]
    pub station: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

fn line(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ (4 | 8 | 16 | 32 | 64 | 128 | 256)) => Ok(bytes),
        _ => Err("a line is a power of two from 4 to 256 bytes, for example 8".into()),
    }
}

fn waits(text: &str) -> Result<(u32, u32), String> {
    let cycles = |text: &str| text.parse().ok().filter(|cycles| *cycles <= 255);
    text.split_once(',')
        .and_then(|(next, other)| Some((cycles(next)?, cycles(other)?)))
        .ok_or_else(|| "two numbers of cycles from 0 to 255, for example 2,2".into())
}
