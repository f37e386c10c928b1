//! Libraries on an ATmega2560: programs of `boards/firmware/bench-avr`, built with nightly and run
//! by simavr. A program marks in a register when an operation begins and ends. simavr writes the
//! times of the marks to a file, which gives the cycles; verdict and stack are on its console.

use super::library::{Figure, LIBRARIES, Library, Measured, Memory, NOTHING, OfLibrary, OnBoard};
use crate::failure::Failure;
use anyhow::{Context, Result, anyhow, ensure};
use object::{Object, ObjectSection, SectionKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const BOARD: &str = "atmega2560";
const CLOCK_HZ: u32 = 16_000_000;
/// Below the firmware's workspace.
const FOLDER: &str = "bench-avr";
const IMAGES: &str = "target/avr-none/release";
/// What simavr writes, where it runs; the program names it.
const MARKS: &str = "marks.vcd";
/// A program that takes more seconds of the processor counts as stuck: each takes some 15.
const CPU_LIMIT: &str = "--cpu=120";
const HINT: &str = "`scripts/setup avr` installs what the AVR needs, and --board leaves it out";

/// Builds the programs and runs them one after the other.
pub fn measure(workspace: &Path, only: &[String], done: impl Fn(&str)) -> Result<OnBoard, Failure> {
    let folder = workspace.join(FOLDER);
    build(&folder)?;
    done("built");
    let images = folder.join(IMAGES);
    let nothing = memory(&image(&images, NOTHING))?;
    let mut libraries = Vec::new();
    for library in
        LIBRARIES.iter().filter(|it| only.is_empty() || only.iter().any(|name| *name == it.program))
    {
        libraries.push(match library.not_on_avr {
            Some(reason) => OfLibrary::absent(library, reason),
            None => of_library(library, &image(&images, library.program), nothing)?,
        });
        done(library.name);
    }
    Ok(OnBoard { board: BOARD, core: "ATmega2560".into(), clock_hz: CLOCK_HZ, libraries })
}

fn image(images: &Path, program: &str) -> PathBuf {
    images.join(format!("avr_{program}.elf"))
}

fn build(folder: &Path) -> Result<(), Failure> {
    let nightly = std::env::var("MOTEMIX_NIGHTLY").unwrap_or_else(|_| "nightly".into());
    let mut command = Command::new("rustup");
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_DIR", "RUSTC"] {
        command.env_remove(name);
    }
    let built = command
        .args(["run", &nightly, "cargo", "build", "--locked", "--release", "--quiet"])
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run rustup; {HINT}"))?;
    if built.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&built.stderr);
    Err(Failure::failed(format!("the programs for {BOARD} were not built; {HINT}\n{said}")))
}

/// Code and initial values are in flash; what is written is in RAM.
fn memory(path: &Path) -> Result<Memory> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let elf = object::File::parse(&*bytes).with_context(|| format!("cannot read {}", path.display()))?;
    let sizes = |wanted: &[&str]| {
        let is_it = |name: &str| wanted.contains(&name);
        let sections = elf.sections().filter(|section| section.name().is_ok_and(is_it));
        sections.filter(|it| it.kind() != SectionKind::Metadata).map(|it| it.size() as u32).sum()
    };
    Ok(Memory { flash: sizes(&[".text", ".data"]), ram: sizes(&[".data", ".bss"]) })
}

fn of_library(library: &'static Library, image: &Path, nothing: Memory) -> Result<OfLibrary> {
    let said = run(image)?;
    let mut operations = Vec::new();
    for it in library.uses {
        let name = it.operation.name();
        let report = said.iter().find(|report| report.name == name);
        let report = report.ok_or_else(|| anyhow!("{BOARD}: {} said nothing of {name}", image.display()))?;
        let figure = match report.verdict.as_str() {
            "good" => Ok(Figure { cycles: report.cycles, stack: report.stack }),
            "overflow" => Err("its stack does not fit the RAM of 8,192 bytes".to_owned()),
            other => return Err(anyhow!("{BOARD}: {}: {name} was {other}", library.name)),
        };
        operations.push(Measured { operation: it.operation, curve: it.curve, figure });
    }
    Ok(OfLibrary { library, memory: Some(memory(image)?.more_than(nothing)), operations })
}

/// What a program reports of an operation.
#[derive(PartialEq, Eq, Debug)]
struct Report {
    name: String,
    verdict: String,
    stack: u32,
    cycles: u64,
}

fn run(image: &Path) -> Result<Vec<Report>> {
    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let output = Command::new("prlimit")
        .args([CPU_LIMIT, "simavr", "-m", BOARD, "-f", &CLOCK_HZ.to_string()])
        .arg(image)
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output()
        .context("cannot run prlimit")?;
    let console = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "simavr gave up {} ({}); {HINT}\n{console}",
        image.display(),
        output.status
    );
    let marks = fs::read_to_string(scratch.path().join(MARKS)).context("simavr wrote no marks")?;
    reports(&console, &marks)
}

/// Joins the console with the marks: both are in the order of the operations.
fn reports(console: &str, marks: &str) -> Result<Vec<Report>> {
    let mut taken = durations(marks)?.into_iter();
    let mut reports = Vec::new();
    // A colour may stand before it.
    for line in console.lines().filter_map(|line| line.split_once("O:").map(|(_, line)| line)) {
        let line: String =
            line.chars().take_while(|letter| letter.is_ascii_graphic() || *letter == ' ').collect();
        let words: Vec<_> = line.split(' ').collect();
        let [name, verdict, stack] = words[..] else { return Err(anyhow!("simavr's console has {line}")) };
        let cycles = taken.next().ok_or_else(|| anyhow!("there is no mark of {name}"))?;
        let stack = stack.parse().with_context(|| format!("{name}: {stack} is no stack"))?;
        reports.push(Report { name: name.into(), verdict: verdict.into(), stack, cycles });
    }
    Ok(reports)
}

/// Cycles from each mark 1 to the mark 0 after it. Times are in units of 10 ns, rounded down; a
/// cycle has 62.5 ns, so that one more cycle is always another time.
fn durations(marks: &str) -> Result<Vec<u64>> {
    ensure!(marks.contains("$timescale 10ns $end"), "simavr's marks have another unit of time than 10 ns");
    let (mut now, mut begun, mut durations) = (0, None, Vec::new());
    for line in marks.lines() {
        if let Some(time) = line.strip_prefix('#') {
            now = time.parse::<u64>().with_context(|| format!("{line} is no time"))?;
        } else if line.starts_with("b00000001 ") {
            begun = Some(cycles(now));
        } else if line.starts_with("b00000000 ")
            && let Some(begin) = begun.take()
        {
            durations.push(cycles(now) - begin);
        }
    }
    Ok(durations)
}

/// The cycle of a time: the first that is not before it.
const fn cycles(time: u64) -> u64 {
    (time * 4).div_ceil(25)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: &str = "$timescale 10ns $end\n$enddefinitions $end\n$dumpvars\nbxxxxxxxx !\n$end\n\
                         #306462\nb00000001 !\n#306468\nb00000000 !\n#400000\nb00000001 !\n#500000\nb00000000 !\n";

    #[test]
    fn times_are_cycles_whatever_was_cut_off() {
        for cycle in 0..100_000 {
            assert_eq!(cycles(cycle * 25 / 4), cycle);
        }
        assert_eq!(durations(MARKS).unwrap(), [1, 16_000]);
        assert!(durations("$timescale 1ns $end\n").is_err());
    }

    #[test]
    fn the_console_names_the_marks() {
        let console = "Loaded 838 .text\n\u{1b}[32mO:sign good 3706\u{1b}[0m\nO:verify overflow 0\n";
        let found = reports(console, MARKS).unwrap();
        let expected = [("sign", "good", 3706, 1), ("verify", "overflow", 0, 16_000)];
        for (report, (name, verdict, stack, cycles)) in found.iter().zip(expected) {
            let expected = Report { name: name.into(), verdict: verdict.into(), stack, cycles };
            assert_eq!(*report, expected);
        }
        assert_eq!(found.len(), expected.len());
        assert!(reports("O:sign good 3706\nO:panic\n", MARKS).is_err());
        assert!(reports("O:a good 1\nO:b good 1\nO:c good 1\n", MARKS).is_err());
    }
}
