//! Who may write to a folder.

use crate::failure::Failure;
use motemix_host::NodeConfig;
use std::path::Path;

/// Refuses root in the folder of another user, for whatever writes there.
pub fn refuse_root(folder: &Path) -> Result<(), Failure> {
    motemix_os::store::refuse_root(folder).map_err(Failure::broken)
}

/// Refuses everybody but root and the owner of the folder of a network whose processes are stopped.
pub fn refuse_others(folder: &Path) -> Result<(), Failure> {
    motemix_os::store::refuse_others(folder).map_err(Failure::broken)
}

/// As [`refuse_root`] for what a node writes: its state folder, or the one in which that is to be
/// made.
pub fn refuse_root_as_node(config: &NodeConfig) -> Result<(), Failure> {
    let state = &config.state;
    match state.parent() {
        Some(folder) if !state.exists() => refuse_root(folder),
        _ => refuse_root(state),
    }
}
