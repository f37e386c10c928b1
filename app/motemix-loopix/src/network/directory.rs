//! Collects what nodes say of themselves.

use motemix_loopix::files::{Config, Directory, NodeEntry, keys, names, role_of};
use motemix_program::failure::Failure;
use motemix_program::network::no_nodes;
use motemix_program::network::{NetworkDir, NodeDir};
use std::io;
use std::path::{Path, PathBuf};

/// The folders of a network's nodes.
pub fn folders(network: &NetworkDir) -> Result<Vec<NodeDir>, Failure> {
    let nodes = network.nodes();
    if network.authority_public_key().exists() {
        let folder = network.path().display();
        return Err(Failure::broken(format!("{folder}: is no Loopix network; use `motemix net`")));
    }
    let refused = |error| no_nodes(&nodes, &error, "motemix loopix net init");
    let folders = NodeDir::list(&nodes, |node| node.path().is_dir()).map_err(refused)?;
    if folders.is_empty() {
        return Err(refused(io::Error::other("no nodes")));
    }
    Ok(folders)
}

/// What others know of the node with this folder.
pub fn entry_of(node: &NodeDir) -> Result<NodeEntry, Failure> {
    let role = role_of(node.path()).map_err(Failure::broken)?;
    keys::load_public(&keys::public_file(node.path(), role)).map_err(Failure::broken)
}

/// The nodes of a network, each with its public key file.
pub fn nodes_of(network: &NetworkDir) -> Result<Vec<(NodeDir, NodeEntry)>, Failure> {
    let with_entry = |node: NodeDir| entry_of(&node).map(|entry| (node, entry));
    folders(network)?.into_iter().map(with_entry).collect()
}

/// A directory, and where it was put.
pub struct Built {
    pub directory: Directory,
    /// The one whose place it takes, if there was one and its file was named.
    pub before: Option<Directory>,
    pub files: Vec<PathBuf>,
}

/// Builds the directory of a network: in `out` alone if that is given, or else in the network's
/// folder and in that of each node.
pub fn build(network: &NetworkDir, out: Option<&Path>) -> Result<Built, Failure> {
    let nodes = nodes_of(network)?;
    let mut files = vec![out.map_or_else(|| network.path().join(names::DATABASE), Path::to_owned)];
    if out.is_none() {
        for (node, entry) in &nodes {
            let config = Config::load(&node.path().join(names::CONFIG)).map_err(Failure::broken)?;
            files.push(node.path().join(config.database(entry.role())));
        }
    }
    let directory = Directory::of_nodes(nodes.into_iter().map(|(_, entry)| entry));
    for file in &files {
        directory.save(file).map_err(Failure::failed)?;
    }
    Ok(Built { directory, before: None, files })
}
