//! What `GET /status` and `GET /network` say.

use std::collections::BTreeMap;
use std::time::Duration;

use motemix_directory::{Epoch, Role};
use serde::Serialize;

use crate::config::Agreed;
use crate::store::Member;
use crate::vote::described;

/// What `GET /network` says.
#[derive(Serialize)]
pub(super) struct Network<'r> {
    pub(super) network: &'r str,
    pub(super) epoch_length_s: u64,
    pub(super) threshold: u8,
    pub(super) authorities: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Report<'r> {
    pub(super) network: &'r str,
    pub(super) key: String,
    pub(super) epoch: u32,
    pub(super) documents: Vec<u32>,
    pub(super) threshold: u8,
    pub(super) authorities: usize,
    pub(super) epoch_length_s: u64,
    pub(super) phase_ms: u128,
    pub(super) ahead: u32,
    /// All of them, in ascending order.
    pub(super) keys: Vec<String>,
    pub(super) parameters: &'r Agreed,
    pub(super) trouble: Option<&'r str>,
    /// Why it takes no part in rounds.
    pub(super) idle: Option<String>,
    pub(super) liars: Vec<String>,
    pub(super) silent: Vec<&'r String>,
    /// Clocks that differ, in words.
    pub(super) clocks: Vec<String>,
    /// Nodes for which the last vote had no room.
    pub(super) left_out: &'r [String],
    pub(super) nodes: Vec<Node<'r>>,
}

#[derive(Serialize)]
pub(super) struct Node<'r> {
    name: &'r str,
    layer: Option<u8>,
    identity: String,
    /// Epochs from this one on that it has keys of.
    epochs_ahead: u32,
    addresses: &'r [String],
}

/// What descriptors say, by their files: anybody may ask, and reading one takes a signature.
#[derive(Debug, Default)]
pub(super) struct Summaries(BTreeMap<Vec<u8>, Summary>);

#[derive(Debug)]
struct Summary {
    /// The first epoch that it has a key of, and the one after the last.
    epochs: (Epoch, Epoch),
    addresses: Vec<String>,
}

impl Summaries {
    /// Reads what is new, and forgets what nobody says any more.
    pub(super) fn update(&mut self, members: &[Member]) {
        let mut before = std::mem::take(&mut self.0);
        for file in members.iter().filter_map(|member| member.descriptor.as_ref()) {
            let known = before.remove(file).or_else(|| {
                let descriptor = described(file)?;
                let addresses = descriptor.addresses.iter().map(|address| address.to_string()).collect();
                Some(Summary { epochs: descriptor.epochs(), addresses })
            });
            self.0.extend(known.map(|known| (file.clone(), known)));
        }
    }
}

/// Whose clock differs so much that votes come at the wrong time, in words: by half a phase, and at
/// least by two seconds, as answers say whole ones.
pub(super) fn clocks(ahead: &BTreeMap<String, i64>, phase: Duration) -> Vec<String> {
    let most = (phase.as_secs() / 2).max(2);
    let off: Vec<_> = ahead.iter().filter(|(_, ahead)| ahead.unsigned_abs() > most).collect();
    let way = |is_ahead| if is_ahead { "ahead of" } else { "behind" };
    // If most of the others are off, and in one direction, it is this one's clock.
    for others_ahead in [true, false] {
        let by = off
            .iter()
            .filter(|(_, ahead)| (*ahead > &0) == others_ahead)
            .map(|(_, ahead)| ahead.unsigned_abs());
        let (count, least) = (by.clone().count(), by.min().unwrap_or_default());
        if ahead.len() > 1 && 2 * count > ahead.len() {
            let (way, all) = (way(!others_ahead), ahead.len());
            return vec![format!(
                "this authority's clock is {least} s {way} those of {count} of {all} others; set it, or its votes \
                 do not count"
            )];
        }
    }
    let line = |(at, ahead): (&String, &i64)| {
        let (by, way) = (ahead.unsigned_abs(), way(*ahead > 0));
        format!(
            "{at}: its clock is {by} s {way} this authority's; the wrong one has to be set, or its votes do not count"
        )
    };
    off.into_iter().map(line).collect()
}

pub(super) fn node<'r>(member: &'r Member, summaries: &'r Summaries, present: Epoch) -> Node<'r> {
    let said = member.descriptor.as_ref().and_then(|file| summaries.0.get(file));
    let (first, end) = said.map_or((present, present), |said| said.epochs);
    let ahead = if first <= present { end.0.saturating_sub(present.0) } else { 0 };
    Node {
        name: &member.name,
        layer: match member.role {
            Role::Mix { layer } => Some(layer),
            Role::Endpoint => None,
        },
        identity: member.identity.to_string(),
        epochs_ahead: ahead,
        addresses: said.map(|said| &said.addresses[..]).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_another_clock_than_most_is_named() {
        let said = |ahead: &[(&str, i64)]| {
            let ahead = ahead.iter().map(|(at, ahead)| ((*at).to_owned(), *ahead)).collect();
            clocks(&ahead, Duration::from_secs(15))
        };
        assert!(said(&[]).is_empty() && said(&[("a:1", 7), ("b:1", -7)]).is_empty());
        let own = said(&[("a:1", -90), ("b:1", -89)]);
        assert!(
            own.len() == 1 && own[0].contains("this authority's clock is 89 s ahead of those of 2 of 2"),
            "{own:?}"
        );
        let own = said(&[("a:1", 90), ("b:1", 90), ("c:1", 0)]);
        assert!(own.len() == 1 && own[0].contains("clock is 90 s behind those of 2 of 3"), "{own:?}");
        let other = said(&[("a:1", 0), ("b:1", 90)]);
        assert!(
            other.len() == 1 && other[0].starts_with("b:1: its clock is 90 s ahead of this"),
            "{other:?}"
        );
        // Of two nobody knows which is right.
        let other = said(&[("b:1", -90)]);
        assert!(other.len() == 1 && other[0].starts_with("b:1: its clock is 90 s behind this"), "{other:?}");
    }
}
