//! Several attempts at one document, in which messages are lost, authorities are gone, nodes renew
//! their descriptors, and one authority may lie.

use std::collections::{BTreeMap, BTreeSet};

use motemix_authority::ceremony::{Ceremony, Offered, Phase, Said};
use motemix_authority::evidence::Evidence;
use motemix_authority::vote::{Digest, Round, Sighting};
use proptest::prelude::*;

use crate::authorities::*;

/// Of how many authorities there are how many sign.
const NETWORKS: [(u8, u8); 3] = [(3, 2), (4, 3), (5, 3)];

/// The most of them.
const MOST: usize = 5;

/// Who is gone, what is heard, and which node has said something new to whom, in one attempt.
#[derive(Debug, Clone)]
struct Trouble {
    gone: Vec<bool>,
    heard: Vec<bool>,
    renewed: u8,
    told: Vec<bool>,
}

impl Trouble {
    fn hears(&self, phase: Phase, from: usize, to: usize) -> bool {
        let place = (phase as usize * MOST + from) * MOST + to;
        !self.gone[from] && !self.gone[to] && self.heard[place]
    }
}

fn troubles() -> impl Strategy<Value = Vec<Trouble>> {
    let some = |weight, len| proptest::collection::vec(proptest::bool::weighted(weight), len);
    // Signatures are lost more often than the rest: where they arrive, all is over soon.
    let heard = [0.6, 0.25, 0.4, 0.05].map(|weight| some(weight, MOST * MOST));
    let heard = heard.prop_map(|phases| phases.concat());
    let trouble = (some(0.15, MOST), heard, 0..4_u8, some(0.5, MOST));
    let trouble = trouble.prop_map(|(gone, heard, renewed, told)| Trouble { gone, heard, renewed, told });
    proptest::collection::vec(trouble, 1..5)
}

/// Some have the node's new words.
fn renew(all: &mut [Authority], attempt: u64, trouble: &Trouble) {
    for (authority, _) in all.iter_mut().zip(&trouble.told).filter(|(_, told)| **told) {
        let port = 5000 + u16::try_from(attempt).unwrap();
        authority.nodes[usize::from(trouble.renewed)] = descriptor(trouble.renewed, 1000 + attempt, port);
    }
}

/// How many promised each document, and how many none.
fn promises(all: &[Authority]) -> (BTreeMap<&[u8], usize>, usize) {
    let mut promised: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (payload, _) in all.iter().filter_map(|authority| authority.promised.as_ref()) {
        *promised.entry(payload).or_default() += 1;
    }
    let none = all.iter().filter(|authority| authority.promised.is_none()).count();
    (promised, none)
}

/// An authority that lies. It has all that was ever said, and may say what it likes of any round.
struct Liar {
    number: u8,
    votes: BTreeMap<u64, Vec<Vec<u8>>>,
    sightings: BTreeMap<u64, Vec<Vec<u8>>>,
}

/// Which of the things that a liar has it shows, and to whom.
#[derive(Debug, Clone)]
struct Lie {
    attempt: usize,
    votes: Vec<bool>,
    sightings: Vec<bool>,
    own: u8,
    to: usize,
    late: bool,
}

fn lies() -> impl Strategy<Value = Vec<Vec<Lie>>> {
    let some = || proptest::collection::vec(proptest::bool::weighted(0.7), 6);
    let lie = (0..4_usize, some(), some(), 1..5_u8, 0..3_usize, any::<bool>()).prop_map(
        |(attempt, votes, sightings, own, to, late)| Lie { attempt, votes, sightings, own, to, late },
    );
    proptest::collection::vec(proptest::collection::vec(lie, 0..3), 5)
}

impl Liar {
    /// A vote that shows what the lie says, and that evidence.
    fn vote(&self, round: Round, lie: &Lie) -> (Vec<u8>, Option<Evidence>) {
        let evidence = self.votes.iter().nth(lie.attempt).map(|(attempt, votes)| {
            let some = |all: &[Vec<u8>], which: &[bool]| -> Vec<Vec<u8>> {
                all.iter()
                    .zip(which)
                    .filter(|(_, is_there)| **is_there)
                    .map(|(file, _)| file.clone())
                    .collect()
            };
            let earlier = Round { attempt: *attempt, ..round };
            let mut votes = some(votes, &lie.votes);
            votes.push(vote_in(earlier, &nodes(lie.own), self.number, None));
            let mut seen: Vec<_> = votes.iter().map(|file| Digest::of_vote(file)).collect();
            seen.sort_unstable();
            let mut sightings = some(&self.sightings[attempt], &lie.sightings);
            let own = Sighting { round: earlier, votes: seen };
            sightings.push(own.sign(&secret(self.number)).unwrap());
            Evidence::new(sightings, votes)
        });
        (vote_in(round, &nodes(lie.own), self.number, evidence.as_ref()), evidence)
    }

    /// What was said in a round.
    fn hears(&mut self, attempt: u64, ceremonies: &[Ceremony]) {
        let (votes, sightings) = (self.votes.entry(attempt), self.sightings.entry(attempt));
        let (votes, sightings) = (votes.or_default(), sightings.or_default());
        for said in ceremonies.iter().flat_map(Ceremony::statements) {
            let (all, file) = match said {
                Said::Vote(file) => (&mut *votes, file),
                Said::Sighting(file) => (&mut *sightings, file),
                Said::EarlierVote(_) | Said::Preparation(_) => continue,
            };
            if !all.iter().any(|other| other == file) {
                all.push(file.to_vec());
            }
        }
    }

    /// An attempt in which it gives each of its votes to one of the others at the last moment of
    /// voting, or of sighting.
    fn attempt(
        &mut self,
        all: &mut [Authority],
        number: u64,
        lies: &[Lie],
        heard: impl FnMut(Phase, usize, usize) -> bool,
    ) {
        let roster = if all.len() == 2 { roster(3, 2) } else { roster(4, 3) };
        let round = Round { attempt: number, ..ROUND };
        let told: Vec<_> = lies.iter().map(|lie| (lie, self.vote(round, lie))).collect();
        let ceremonies = attempt_beside(all, &roster, number, heard, |phase, ceremonies| {
            if phase == Phase::Preparing {
                // It says to each that it counted the same.
                for ceremony in ceremonies {
                    if let Ok(payload) = payload(ceremony) {
                        prepare(ceremony, Digest::of_document(&payload), self.number);
                    }
                }
                return;
            }
            let at = |lie: &Lie| if lie.late { Phase::Sighting } else { Phase::Voting };
            for (lie, (vote, evidence)) in told.iter().filter(|(lie, _)| at(lie) == phase) {
                let offered: Offered<'_> = evidence.iter().flat_map(Evidence::votes).collect();
                let to = lie.to % ceremonies.len();
                let _ = ceremonies[to].take_vote(phase, vote, &offered);
            }
        });
        self.hears(number, &ceremonies);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Nobody lies. Whatever was lost before, an attempt in which all hear each other makes a
    /// document: never so many promised other ones that fewer than k are left for each. With k of
    /// them that may be.
    #[test]
    fn an_attempt_without_losses_makes_a_document(
        network in proptest::sample::select(&NETWORKS[..]),
        troubles in troubles(),
        away in 0..MOST,
    ) {
        let (count, threshold) = network;
        let roster = roster(count, threshold);
        let mut all: Vec<_> = (0..count).map(Authority::new).collect();
        let mut number = 1;
        for trouble in &troubles {
            renew(&mut all, number, trouble);
            attempt(&mut all, &roster, number, |phase, from, to| trouble.hears(phase, from, to));
            number += 1;
            if all.iter().any(|one| one.document.is_some()) {
                break;
            }
        }
        let two = promises(&all).0.into_values().filter(|one| *one >= usize::from(threshold)).count() > 1;
        prop_assert!(!two);
        // Whoever has the document gives it to the others, and there is no further attempt.
        if all.iter().any(|one| one.document.is_some()) {
            return Ok(());
        }
        let (promised, none) = promises(&all);
        let most = promised.values().max().copied().unwrap_or(0);
        prop_assert!(none + most >= usize::from(threshold), "nobody can agree ever again");
        let mut back = all.clone();
        attempt(&mut back, &roster, number, |_, _, _| true);
        prop_assert!(back.iter().all(|one| one.document.is_some()));
        // As many are there as must be.
        let gone = (0..usize::from(count - threshold)).map(|more| (away + more) % usize::from(count));
        let gone: BTreeSet<_> = gone.collect();
        let mut place = 0..;
        all.retain(|_| !gone.contains(&place.next().unwrap_or(0)));
        let (promised, none) = promises(&all);
        let most = promised.values().max().copied().unwrap_or(0);
        let enough = none + most >= usize::from(threshold);
        let only = promised.len() <= 1;
        attempt(&mut all, &roster, number, |_, _, _| true);
        prop_assert!(enough || !only, "a single promise is never in the way");
        prop_assert_eq!(all.iter().all(|one| one.document.is_some()), enough);
    }

    /// Three honest authorities and a liar, of whom three sign. It shows what it likes of earlier
    /// rounds, and signs everything: still there are no two documents.
    #[test]
    fn no_evidence_makes_two_documents(troubles in troubles(), lies in lies()) {
        let mut all: Vec<_> = (0..3).map(Authority::new).collect();
        let mut liar = Liar { number: 3, votes: BTreeMap::new(), sightings: BTreeMap::new() };
        for (number, (trouble, lies)) in (1..).zip(troubles.iter().zip(&lies)) {
            renew(&mut all, number, trouble);
            liar.attempt(&mut all, number, lies, |phase, from, to| trouble.hears(phase, from, to));
        }
        let (promised, _) = promises(&all);
        prop_assert!(promised.values().filter(|honest| **honest + 1 >= 3).count() <= 1);
    }

    /// Two honest authorities that hear each other, and a liar who shows what it likes of rounds
    /// before: the two have a document each time, and every node that both admitted is in it.
    #[test]
    fn no_evidence_leaves_out_whom_the_honest_admitted(lies in lies()) {
        let mut all: Vec<_> = (0..2).map(Authority::new).collect();
        let mut liar = Liar { number: 2, votes: BTreeMap::new(), sightings: BTreeMap::new() };
        for (number, lies) in (1..).zip(&lies) {
            // They have not signed yet: they would be done after the first attempt.
            for authority in &mut all {
                (authority.promised, authority.document) = (None, None);
            }
            liar.attempt(&mut all, number, lies, |_, _, _| true);
            let payloads: BTreeSet<_> = all.iter().map(|one| one.promised.clone().unwrap().0).collect();
            prop_assert_eq!(payloads.len(), 1);
            let names: BTreeSet<_> = names_of(payloads.first().unwrap()).into_iter().flatten().collect();
            prop_assert_eq!(names.len(), 4);
            prop_assert!(all.iter().all(|one| one.document.is_some()));
        }
    }
}
