//! Signs documents for further epochs, like the latest one that there is.

use super::NetworkDir;
use super::documents::{Calendar, DocumentFile, list, now};
use super::init::{Member, sign_epoch};
use crate::failure::Failure;
use motemix_directory::{Authorities, Draft, Epoch};
use motemix_host::{AuthorityKeyFile, NodeKey};
use std::time::Duration;

/// Gives each of `count` epochs, from the present one on, a document; returns those that had none.
pub fn renew(network: &NetworkDir, count: u64) -> Result<Vec<Epoch>, Failure> {
    let authority = AuthorityKeyFile::load(network.authority_key()).map_err(Failure::broken)?;
    let trusted = [authority.public_key()];
    let trusted = Authorities::new(&trusted, 1).map_err(Failure::broken)?;
    let documents = list(&network.documents())?;
    let (_, latest) = documents.first().ok_or_else(|| {
        let folder = network.documents();
        Failure::broken(format!("{}: no document; make a network with `motemix net init`", folder.display()))
    })?;
    let file = DocumentFile::read(latest)?;
    let document = file.at_its_time(&trusted)?;

    let length = document.valid_until().0 - document.valid_after().0;
    let calendar = Calendar::new(Duration::from_secs(length))?;
    let mut keys = Vec::new();
    for node in document.nodes() {
        keys.push(NodeKey::load(network.node(node.name).key()).map_err(Failure::broken)?);
    }
    let members: Vec<_> = document
        .nodes()
        .zip(&keys)
        .map(|(node, key)| Member {
            name: node.name,
            role: node.role,
            addresses: node.addresses.iter().collect(),
            key,
        })
        .collect();

    let missing: Vec<_> = calendar
        .upcoming(now(), count)?
        .into_iter()
        .filter(|epoch| documents.iter().all(|(signed, _)| signed != epoch))
        .collect();
    for epoch in &missing {
        let draft = Draft {
            network_name: document.network_name(),
            epoch: *epoch,
            valid_after: calendar.valid_after(*epoch),
            valid_until: calendar.valid_until(*epoch),
            profile: document.profile(),
            parameters: document.parameters(),
        };
        sign_epoch(network, &authority, &draft, &members)?;
    }
    Ok(missing)
}
