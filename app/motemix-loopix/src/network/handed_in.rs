//! The directory of nodes on several machines, out of the public key files that their operators
//! hand in.

use super::directory::Built;
use motemix_loopix::files::{Directory, NodeEntry, Role, keys};
use motemix_program::failure::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Builds a directory of the nodes whose public key files these are, and puts it in `out`, in place
/// of the one that was there before.
pub fn build_of(handed_in: &[PathBuf], out: &Path) -> Result<Built, Failure> {
    let nodes = handed_in.iter().map(|file| Ok((file.as_path(), read(file)?)));
    let nodes = nodes.collect::<Result<Vec<_>, Failure>>()?;
    all_differ(&nodes)?;
    all_is_there(&nodes)?;
    let directory = Directory::of_nodes(nodes.into_iter().map(|(_, entry)| entry));
    let before = out.try_exists().unwrap_or(true).then(|| replaced(out)).transpose()?;
    directory.save(out).map_err(Failure::failed)?;
    Ok(Built { directory, before, files: vec![out.to_owned()] })
}

/// Nothing else is written over, such as a file that was handed in.
fn replaced(out: &Path) -> Result<Directory, Failure> {
    Directory::load(out).map_err(|error| {
        Failure::broken(format!(
            "{error}; a directory takes the place of a directory alone: name another file with --out"
        ))
    })
}

fn read(file: &Path) -> Result<NodeEntry, Failure> {
    if keys::load_secret(file).is_ok() {
        return Err(Failure::broken(format!(
            "{}: is a secret key, which nobody else may have; its node needs another (`motemix loopix renew`), and \
             hands in its public*.bin",
            file.display()
        )));
    }
    keys::load_public(file).map_err(Failure::broken)
}

/// No two nodes of a role have one name, and no two nodes one address.
fn all_differ(nodes: &[(&Path, NodeEntry)]) -> Result<(), Failure> {
    let (mut names, mut addresses) = (BTreeMap::new(), BTreeMap::new());
    for (file, entry) in nodes {
        let (role, name, host, port) = (entry.role(), entry.name(), entry.host(), entry.port());
        if let Some(other) = names.insert((role, name), *file) {
            return Err(Failure::broken(format!(
                "{} and {}: both are of the {} {name}; leave out the older one, or give each node a name of its own",
                other.display(),
                file.display(),
                role.name()
            )));
        }
        if let Some(other) = addresses.insert((host, port), *file) {
            return Err(Failure::broken(format!(
                "{} and {}: both nodes are at {host}, port {port}; give each an address of its own",
                other.display(),
                file.display()
            )));
        }
    }
    Ok(())
}

/// A file that somebody forgot is missed: all mixes, one layer between others, a client's provider.
fn all_is_there(nodes: &[(&Path, NodeEntry)]) -> Result<(), Failure> {
    let layer = |entry| match entry {
        NodeEntry::Mix(mix) => Some((mix.layer, mix.name)),
        _ => None,
    };
    let layers: BTreeMap<_, _> = nodes.iter().cloned().filter_map(|(_, entry)| layer(entry)).collect();
    let provides =
        |name: &str| nodes.iter().any(|(_, entry)| entry.role() == Role::Provider && entry.name() == name);
    for role in [Role::Mix, Role::Provider] {
        if nodes.iter().all(|(_, entry)| entry.role() != role) {
            return Err(Failure::broken(format!(
                "no {} is among these files, and messages need one; add what it handed in",
                role.name()
            )));
        }
    }
    // The first layer has number 0; in networks of others it may be 1.
    let first = layers.keys().next().map_or(0, |first| (*first).min(1));
    if let Some(((layer, name), expected)) = layers.iter().zip(first..).find(|((layer, _), at)| *layer != at)
    {
        return Err(Failure::broken(format!(
            "no mix of layer {expected} is among these files, and {name} is of layer {layer}; add what is missing"
        )));
    }
    for (file, entry) in nodes {
        if let NodeEntry::Client(user) = entry
            && !provides(&user.provider)
        {
            return Err(Failure::broken(format!(
                "{}: the mail of {} is at {}, which is not among these files; add its publicProvider.bin, or make \
                 the client anew with the right --provider",
                file.display(),
                user.name,
                user.provider
            )));
        }
    }
    Ok(())
}
