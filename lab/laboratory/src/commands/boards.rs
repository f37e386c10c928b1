//! `motemix-lab boards`: what boards do with our code.

mod build;
mod cycles;
mod emulated;
mod link;
mod list;
mod measure;
mod neighbours;
mod network;
mod objects;
mod secrets;

pub use build::build;
pub use cycles::cycles;
pub use link::link;
pub use list::list;
pub use measure::measure;
pub use neighbours::neighbours;
pub use network::network;
pub use objects::objects;
pub use secrets::secrets;

use crate::boards::board::{BOARDS, Board};
use crate::cli::{BoardsFiles, FirmwareFiles};
use crate::failure::Failure;
use crate::firmware::{Origin, Program, Purpose, programs};
use anyhow::Context;
use motemix_mcu::Image;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// The boards of these names, or all if there is none.
fn chosen(
    boards: impl Iterator<Item = &'static Board> + Clone,
    names: &[String],
) -> Result<Vec<&'static Board>, Failure> {
    if let Some(unknown) = names.iter().find(|name| !boards.clone().any(|board| board.name == name.as_str()))
    {
        let known = boards.map(|board| board.name).collect::<Vec<_>>().join(", ");
        return Err(Failure::broken(format!("there is no board {unknown}; the boards are {known}")));
    }
    let is_chosen = |board: &&Board| names.is_empty() || names.iter().any(|name| name == board.name);
    Ok(boards.filter(is_chosen).collect())
}

/// The images that some boards run, each once, by whose they are and what for.
fn images_of(
    firmware: &FirmwareFiles,
    boards: &[&'static Board],
    purposes: &[Purpose],
) -> Result<BTreeMap<(&'static str, &'static str), Image>, Failure> {
    let mut wanted = programs()?;
    wanted.retain(|program| {
        purposes.contains(&program.purpose) && boards.iter().any(|board| board.images == program.board)
    });
    let files = firmware.origin()?.images(&wanted)?;
    let load =
        |(program, file): (Program, PathBuf)| Ok(((program.board, program.purpose.name()), image(&file)?));
    wanted.into_iter().zip(files).map(load).collect()
}

impl BoardsFiles {
    fn boards(&self) -> Result<Vec<&'static Board>, Failure> {
        chosen(BOARDS.iter(), &self.board)
    }

    /// The images of the boards' programs for these purposes, by purpose and then by board.
    fn images(&self, purposes: &[Purpose]) -> Result<Vec<Loaded>, Failure> {
        let (boards, programs) = (self.boards()?, programs()?);
        let mut wanted = Vec::new();
        for purpose in purposes {
            for &board in &boards {
                let is_it = |program: &&Program| program.purpose == *purpose && program.board == board.images;
                let program = programs.iter().find(is_it);
                let missing = || Failure::failed(format!("there is no {purpose:?} for {}", board.name));
                wanted.push((board, *program.ok_or_else(missing)?));
            }
        }
        let programs: Vec<_> = wanted.iter().map(|(_, program)| *program).collect();
        let files = self.firmware.origin()?.images(&programs)?;
        let load = |((board, program), file): ((&'static Board, Program), PathBuf)| {
            Ok(Loaded { board, purpose: program.purpose, image: image(&file)? })
        };
        wanted.into_iter().zip(files).map(load).collect()
    }
}

/// The image of a board's program.
struct Loaded {
    board: &'static Board,
    purpose: Purpose,
    image: Image,
}

fn image(file: &Path) -> Result<Image, Failure> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Image::parse(&bytes).map_err(|error| Failure::broken(format!("{}: {error}", file.display())))
}

impl FirmwareFiles {
    fn origin(&self) -> Result<Origin, Failure> {
        Origin::find(self.firmware.as_deref(), self.elf.as_deref())
    }
}

/// The programs for these purposes, or all if there is none.
fn programs_for(purposes: &[Purpose]) -> Result<Vec<Program>, Failure> {
    let mut programs = programs()?;
    programs.retain(|program| purposes.is_empty() || purposes.contains(&program.purpose));
    Ok(programs)
}

/// One thread for each piece of work; results in the order of the works.
fn at_once<W: Send, R: Send>(
    works: Vec<W>,
    work: impl Fn(W) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = works.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Failure::failed("a thread of the stopwatch panicked")))
            })
            .collect()
    })
}
