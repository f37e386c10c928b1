//! Signs documents for further epochs, like the latest one that there is.

use super::NetworkDir;
use super::documents::{Calendar, DocumentFile, list, now, publish, publish_anew};
use super::init::{Member, sign_epoch};
use crate::cli::Links;
use crate::failure::Failure;
use motemix_crypto::{Curve as _, Portable};
use motemix_directory::{Authorities, AuthorityKey, Draft, Epoch, NetworkDocument, Parameters, UnixTime};
use motemix_host::{AuthorityKeyFile, NodeKey};
use std::path::PathBuf;
use std::time::Duration;

/// As many epochs as there may be documents for.
const MOST: u64 = 1000;
/// For all nodes to see a document before its epoch begins: they look every five seconds.
const NOTICE: u64 = 15;

/// Gives each of `count` epochs, from the present one on, a document; returns those that had none.
/// With another way of `links`, all that have not begun are given theirs anew, and returned too. So
/// are those that name mix keys which a node has no more.
pub fn renew(network: &NetworkDir, count: u64, links: Option<Links>) -> Result<Vec<Epoch>, Failure> {
    let office = Office::open(network)?;
    office.with_latest(|document, calendar| {
        let now = now();
        let mut parameters = document.parameters();
        let others = links.is_some_and(|links| {
            let protected = links == Links::Protected;
            std::mem::replace(&mut parameters.protected_links, protected) != protected
        });
        let signed = |epoch: &Epoch| office.documents.iter().any(|(signed, _)| signed == epoch);
        let begins = |epoch: &Epoch| calendar.valid_after(*epoch).0 > now.0 + NOTICE;
        let members = office.members(document)?;
        // All were signed with the keys of their time, so the latest tells of those before it.
        let stale = members.are_others_than(document);
        let wanted = calendar.upcoming(now, count)?;
        // Also those for which there are documents beyond so many.
        let last = office.documents.iter().map(|(signed, _)| *signed).max();
        let mut due = calendar.upcoming(now, MOST.max(count))?;
        due.retain(|epoch| wanted.contains(epoch) || Some(*epoch) <= last);
        due.retain(|epoch| {
            let (unsigned, anew) = (others || wanted.contains(epoch), begins(epoch) && (others || stale));
            if signed(epoch) { anew } else { unsigned }
        });
        // Those that are there in order: until the latest is replaced too, a second run sees that
        // some are left. New ones the latest first: a node that looks in between sees all, or none.
        let (anew, once): (Vec<&Epoch>, Vec<&Epoch>) = due.iter().partition(|epoch| signed(epoch));
        for epoch in anew.into_iter().chain(once.into_iter().rev()) {
            let validity = (calendar.valid_after(*epoch), calendar.valid_until(*epoch));
            let how = if signed(epoch) { Signed::Anew } else { Signed::Once };
            office.sign(document, parameters, *epoch, validity, &members, how)?;
        }
        Ok(due)
    })
}

/// Lets an epoch begin in a moment, in place of the rest of the present one: with new keys and
/// empty replay filters. The epochs after it begin when they would have. If one begins early in a
/// moment anyway, that one does.
pub fn renew_early(network: &NetworkDir) -> Result<Early, Failure> {
    let office = Office::open(network)?;
    office.with_latest(|document, calendar| {
        let now = now();
        if let Some((epoch, begins)) = office.begins_within(now, calendar)? {
            return Ok(Early { epoch, begins, is_new: false });
        }
        let signed = |epoch: &Epoch| office.documents.iter().any(|(signed, _)| signed == epoch);
        // In order: a number below one that is in force would be refused as rolled back.
        let taken = office.documents.iter().map(|(signed, _)| *signed);
        let last = taken.filter(|signed| *signed <= calendar.last_at(now)).max();
        let free = calendar.early(now)?.find(|epoch| Some(*epoch) > last && !signed(epoch));
        let epoch = free.ok_or_else(|| {
            Failure::failed(
                "--early: no number is left for another epoch before the next one; \
                 make the network anew with a shorter --epoch-length",
            )
        })?;
        let (begins, ends) = (UnixTime(now.0 + NOTICE), calendar.valid_until(epoch));
        if ends.0 < begins.0 + NOTICE {
            return Err(Failure::failed(format!(
                "--early: the next epoch begins in {} s anyway; wait for it",
                ends.0 - now.0
            )));
        }
        let members = office.members(document)?;
        office.sign(document, document.parameters(), epoch, (begins, ends), &members, Signed::Once)?;
        Ok(Early { epoch, begins, is_new: true })
    })
}

/// An epoch that begins before its calendar's next one.
pub struct Early {
    pub epoch: Epoch,
    pub begins: UnixTime,
    /// Whether its document was signed just now.
    pub is_new: bool,
}

/// What an authority works with.
struct Office<'n> {
    network: &'n NetworkDir,
    authority: AuthorityKeyFile,
    /// The latest epoch first.
    documents: Vec<(Epoch, PathBuf)>,
}

/// Whether a document takes the place of one for the same epoch.
#[derive(Clone, Copy)]
enum Signed {
    Anew,
    Once,
}

/// The keys of a document's nodes, by their ids.
struct Keys(Vec<NodeKey>);

impl Keys {
    /// Whether a document names a mix key that its node has not, as after the node was copied.
    fn are_others_than(&self, document: &NetworkDocument<'_>) -> bool {
        document.nodes().zip(&self.0).any(|(node, key)| {
            let secret = key.mix_secret(document.epoch());
            secret.is_ok_and(|secret| Portable::public_key(&secret) != node.mix_key)
        })
    }
}

impl<'n> Office<'n> {
    fn open(network: &'n NetworkDir) -> Result<Self, Failure> {
        let authority = AuthorityKeyFile::load(network.authority_key()).map_err(Failure::broken)?;
        let documents = list(&network.documents())?;
        Ok(Self { network, authority, documents })
    }

    /// Calls `act` with the latest document that follows the calendar.
    fn with_latest<T>(
        &self,
        act: impl FnOnce(&NetworkDocument<'_>, Calendar) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let trusted: [AuthorityKey; 1] = [self.authority.public_key()];
        let trusted = Authorities::new(&trusted, 1).map_err(Failure::broken)?;
        for (_, path) in &self.documents {
            let file = DocumentFile::read(path)?;
            if let Some(calendar) = Calendar::of(&file.verify(&trusted)?) {
                return act(&file.at_its_time(&trusted)?, calendar);
            }
        }
        let folder = self.network.documents();
        Err(Failure::broken(format!(
            "{}: no document; make a network with `motemix net init`",
            folder.display()
        )))
    }

    /// The epoch that begins early, after `now` and before the calendar's next one, and when.
    fn begins_within(&self, now: UnixTime, calendar: Calendar) -> Result<Option<(Epoch, UnixTime)>, Failure> {
        let trusted = [self.authority.public_key()];
        let trusted = Authorities::new(&trusted, 1).map_err(Failure::broken)?;
        let early: Vec<_> = calendar.early(now)?.collect();
        for (epoch, path) in self.documents.iter().filter(|(epoch, _)| early.contains(epoch)) {
            let begins = DocumentFile::read(path)?.verify(&trusted)?.valid_after();
            if begins > now {
                return Ok(Some((*epoch, begins)));
            }
        }
        Ok(None)
    }

    fn members(&self, document: &NetworkDocument<'_>) -> Result<Keys, Failure> {
        let load = |name| NodeKey::load(self.network.node(name).key()).map_err(Failure::broken);
        document.nodes().map(|node| load(node.name)).collect::<Result<_, _>>().map(Keys)
    }

    /// Signs and publishes a document like `document`, with these parameters.
    fn sign(
        &self,
        document: &NetworkDocument<'_>,
        mut parameters: Parameters,
        epoch: Epoch,
        (valid_after, valid_until): (UnixTime, UnixTime),
        keys: &Keys,
        how: Signed,
    ) -> Result<(), Failure> {
        let members = document.nodes().zip(&keys.0).map(|(node, key)| Member {
            name: node.name,
            role: node.role,
            addresses: node.addresses.iter().collect(),
            key,
        });
        let length = Duration::from_secs(valid_until.0 - valid_after.0);
        parameters.overlap = parameters.overlap.min(length);
        let draft = Draft {
            network_name: document.network_name(),
            epoch,
            valid_after,
            valid_until,
            profile: document.profile(),
            parameters,
        };
        let file = sign_epoch(&self.authority, &draft, &members.collect::<Vec<_>>())?;
        let publish = match how {
            Signed::Anew => publish_anew,
            Signed::Once => publish,
        };
        Ok(publish(self.network, epoch, &file)?)
    }
}
