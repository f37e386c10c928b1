//! The files of the originals: what a node finds in its working directory.
//!
//! ```text
//! secretMixnode.prv  publicMixnode.bin    keys: the role is told by which are there
//! config.json                             config: times, limits, the name of the database
//! example.db                              database: everybody else, an SQLite directory
//! motemix.toml                            settings: ours; the originals do not look at it
//! ```
//!
//! Python nodes and nodes of motemix can run in the same folder, one at a time. What the originals
//! would read is read; anything else is refused in one line that names the file, the place in it
//! and a remedy. Sizes are bounded before anything is kept: a directory may come from somebody
//! else.

pub mod config;
mod database;
mod directory;
mod disk;
mod entry;
pub mod keys;
mod node;
mod secret;
mod settings;

pub use config::Config;
pub use directory::{Directory, Listed};
pub use entry::{MAX_ADDRESS_LEN, MixEntry, NodeEntry, ProviderEntry, Role, UserEntry};
pub use motemix_toml::FileError;
pub use node::{Installed, NodeFiles, install_directory, role_of};
pub use settings::{MailboxLimits, Originals, Profile, ReplayLimits, Settings};

use motemix_toml::Fault;
use std::path::Path;

/// The names of the files that have one name for all roles.
pub mod names {
    /// The configuration.
    pub const CONFIG: &str = "config.json";
    /// The directory, unless the configuration names another.
    pub const DATABASE: &str = "example.db";
    /// What motemix wants to know and the originals do not.
    pub const SETTINGS: &str = "motemix.toml";
}

/// A fault somewhere in a file.
fn wrong(
    file: &Path,
    place: impl Into<String>,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> FileError {
    FileError::without_line(file, Fault::new(place, problem, remedy))
}
