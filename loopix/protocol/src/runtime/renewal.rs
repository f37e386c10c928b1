//! Gives a node a new key.

use std::path::Path;

use motemix_host::control::ControlClient;

use super::{RuntimeError, control_socket, rng, store_error, tags_of_key};
use crate::files::{NodeEntry, keys, role_of};

/// Gives the node in `dir`, which does not run, a new key in place of its old one, and forgets the
/// replay tags of that. From then on the node opens no packet that was made for the old key, and
/// starts when the directory has the new one.
///
/// # Errors
/// The node runs, its public key file cannot be read, or the system refuses.
pub fn renew(dir: &Path) -> Result<NodeEntry, RuntimeError> {
    if ControlClient::connect(control_socket(dir)).is_ok() {
        return Err(RuntimeError::Running(dir.to_owned()));
    }
    let role = role_of(dir)?;
    let before = keys::load_public(&keys::public_file(dir, role))?;
    let own = keys::renew(dir, &before, &mut rng()?)?;
    let tags = tags_of_key(dir, before.public_key());
    if tags.exists() {
        std::fs::remove_dir_all(&tags).map_err(|error| store_error(&tags, error))?;
    }
    Ok(own)
}
