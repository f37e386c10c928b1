//! Where images come from. The first of these that is there:
//!
//! 1. what a flag names, or else the variable `MOTEMIX_FIRMWARE`;
//! 2. the firmware of the source tree in `MOTEMIX_SOURCE`;
//! 3. that of the source tree that the current folder is in;
//! 4. that of the source tree that this program was built from, unless `MOTEMIX_SOURCE` is empty;
//! 5. `share/motemix/firmware` beside the `bin` with this program;
//! 6. `motemix/firmware` in the user's data folder (XDG).

use super::program::Program;
use super::{build, folder};
use crate::failure::Failure;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Names a workspace or a folder of images.
const FIRMWARE: &str = "MOTEMIX_FIRMWARE";
/// Names the source tree; empty if there is none but the one that the current folder is in.
const SOURCE: &str = "MOTEMIX_SOURCE";
/// The firmware in a source tree.
const IN_SOURCE: &str = "boards/firmware";
/// The images among the data of installed programs.
const IN_SHARE: &str = "motemix/firmware";

/// Where images come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The firmware's workspace, to be built.
    Workspace(PathBuf),
    /// A folder with a folder for each target, with the images in it.
    Folder(PathBuf),
}

impl Origin {
    /// Finds them. `firmware` is a workspace or a folder of images, `elf` a folder of images that
    /// need not say which version they are.
    ///
    /// # Errors
    /// There is nothing, or it is of another version than this program.
    pub fn find(firmware: Option<&Path>, elf: Option<&Path>) -> Result<Self, Failure> {
        if let Some(elf) = elf {
            check(elf, folder::version(elf)?)?;
            return Ok(Self::Folder(elf.to_owned()));
        }
        if let Some(named) = named(firmware) {
            return Self::at(&named)?.ok_or_else(|| {
                Failure::broken(format!(
                    "{}: neither the firmware's workspace nor a folder of images; `motemix-lab boards build --out \
                     FOLDER` makes one, and built ELF files alone are named with --elf",
                    named.display()
                ))
            });
        }
        let places = places();
        for place in &places {
            if let Some(origin) = Self::at(place)? {
                return Ok(origin);
            }
        }
        Err(nothing("no images for boards", &places))
    }

    /// The workspace, where images are built.
    ///
    /// # Errors
    /// There is none, or it is of another version than this program.
    pub fn workspace(firmware: Option<&Path>) -> Result<PathBuf, Failure> {
        let places = named(firmware).map_or_else(places, |named| vec![named]);
        for place in &places {
            if let Some(Self::Workspace(workspace)) = Self::at(place)? {
                return Ok(workspace);
            }
        }
        Err(nothing("the firmware's sources are not here", &places))
    }

    /// The images of these programs: built, or found.
    ///
    /// # Errors
    /// One cannot be built, or is missing.
    pub fn images(&self, programs: &[Program]) -> Result<Vec<PathBuf>, Failure> {
        match self {
            Self::Workspace(workspace) => build(workspace, programs),
            Self::Folder(folder) => folder::images(folder, programs),
        }
    }

    fn at(place: &Path) -> Result<Option<Self>, Failure> {
        let manifest = place.join("Cargo.toml");
        if let Ok(text) = fs::read_to_string(&manifest) {
            let parsed: Result<Manifest, _> = toml::from_str(&text);
            // Another workspace is none of ours.
            let Ok(Manifest { workspace }) = parsed else { return Ok(None) };
            check(place, Some(workspace.package.version))?;
            return Ok(Some(Self::Workspace(place.to_owned())));
        }
        let Some(version) = folder::version(place)? else { return Ok(None) };
        check(place, Some(version))?;
        Ok(Some(Self::Folder(place.to_owned())))
    }
}

/// The manifest of a workspace, as far as it matters here.
#[derive(Deserialize)]
struct Manifest {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    version: String,
}

fn check(place: &Path, version: Option<String>) -> Result<(), Failure> {
    let own = env!("CARGO_PKG_VERSION");
    match version {
        Some(other) if other != own => Err(Failure::broken(format!(
            "{}: firmware of version {other}, and this program is {own}; build both from one source, with `cargo \
             build --package motemix-lab` and `motemix-lab boards build`",
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// What a flag names, or the variable.
fn named(flag: Option<&Path>) -> Option<PathBuf> {
    flag.map(Path::to_owned).or_else(|| variable(FIRMWARE).filter(|path| !path.as_os_str().is_empty()))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// Where images are looked for unless somebody says where they are.
fn places() -> Vec<PathBuf> {
    let named = variable(SOURCE);
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_owned);
    let built_from = built_from.filter(|_| named.is_none());
    let named = named.filter(|source| !source.as_os_str().is_empty());
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.parent()?.join("share")));
    [
        named.map(|source| source.join(IN_SOURCE)),
        around().or_else(|| Some(std::env::current_dir().ok()?.join(IN_SOURCE))),
        built_from.map(|source| source.join(IN_SOURCE)),
        beside.map(|share| share.join(IN_SHARE)),
        data_of_user().map(|data| data.join(IN_SHARE)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The firmware of the source tree that the current folder is in: perhaps another checkout than the
/// one that this program was built from.
fn around() -> Option<PathBuf> {
    let current = std::env::current_dir().ok()?;
    let mut firmware = current.ancestors().map(|folder| folder.join(IN_SOURCE));
    firmware.find(|firmware| firmware.join("Cargo.toml").is_file())
}

/// By the XDG Base Directory Specification, which lets relative paths not count.
fn data_of_user() -> Option<PathBuf> {
    let named = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
    named.or_else(|| Some(variable("HOME").filter(|home| home.is_absolute())?.join(".local/share")))
}

fn nothing(what: &str, places: &[PathBuf]) -> Failure {
    let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    let out = data_of_user().map_or_else(|| PathBuf::from("FOLDER"), |data| data.join(IN_SHARE));
    Failure::broken(format!(
        "{what}; looked in {}; with a source tree, `motemix-lab boards build --firmware TREE/firmware --out {}` \
         makes them, and --firmware or {FIRMWARE} names another folder",
        places.join(", "),
        out.display()
    ))
}
