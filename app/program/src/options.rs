//! Options and files that say the same thing.

use crate::failure::Failure;
use motemix_host::NodeConfig;
use motemix_host::config::ConfigError as FileError;
use std::path::Path;

/// What is wrong with a file that is being made, as what was typed: its fields have the names of
/// these options. The file is not there for anybody to look at.
pub fn of_option(error: FileError, options: &[&str]) -> Result<Failure, FileError> {
    let option = error.field.replace('_', "-");
    if options.contains(&&*option) {
        return Ok(Failure::broken(format!("--{option}: {}; {}", error.problem, error.remedy)));
    }
    Err(error)
}

/// Reads the configuration of a node.
pub fn load_config(path: &Path) -> Result<NodeConfig, Failure> {
    NodeConfig::load(path).map_err(Failure::broken)
}
