//! What one promised in a round that the others missed is signed in a later one; and what does not
//! show why is no evidence.

use std::collections::BTreeSet;
use std::slice;

use motemix_authority::ceremony::{Ceremony, Counted, Offered, Phase, sign_document};
use motemix_authority::evidence::{Evidence, MAX_EVIDENCE_LEN};
use motemix_authority::roster::Roster;
use motemix_authority::tally::Previous;
use motemix_authority::vote::{Digest, Preparation, Round, Sighting, VoteError};
use motemix_directory::{Epoch, SignedDocument};

use crate::authorities::*;

const LATER: Round = Round { attempt: ROUND.attempt + 1, ..ROUND };

fn payload_of(authority: &Authority) -> Vec<u8> {
    let file = authority.document.as_ref().expect("it has a document");
    SignedDocument::parse(file).unwrap().payload().to_vec()
}

fn renew(all: &mut [Authority]) {
    for authority in all {
        authority.nodes[1] = descriptor(1, 1100, 4001);
    }
}

/// The second one misses what the first one counted, and the signature; so do all who are behind it.
fn first_alone(phase: Phase, from: usize, _: usize) -> bool {
    match phase {
        Phase::Voting | Phase::Sighting => true,
        Phase::Preparing => from != 0,
        Phase::Signing | Phase::Rest => false,
    }
}

#[test]
fn what_one_promised_is_signed_after_a_descriptor_was_renewed() {
    let roster = roster(3, 2);
    // The third one is gone.
    let mut all = [Authority::new(0), Authority::new(1)];
    attempt(&mut all, &roster, 7, first_alone);
    assert!(all[0].promised.is_some() && all[1].promised.is_none());
    renew(&mut all);
    let ceremonies = attempt(&mut all, &roster, 8, |_, _, _| true);
    let promised = all[0].promised.clone().unwrap().0;
    assert!(all.iter().all(|authority| payload_of(authority) == promised));
    assert_eq!(ceremonies[0].agreed().unwrap().signatures, 2);
    assert_eq!(all[1].promised.clone().unwrap().0, promised);
}

#[test]
fn evidence_is_passed_on_by_whoever_promised_because_of_it() {
    let roster = roster(3, 2);
    let mut all = [0, 1, 2].map(Authority::new);
    // The first two have each other's votes alone, and the first one promises.
    attempt(&mut all, &roster, 7, |phase, from, to| from + to == 1 && first_alone(phase, from, to));
    renew(&mut all);
    // The second one promises the same, and no signature arrives.
    attempt(&mut all[..2], &roster, 8, |phase, _, _| phase < Phase::Signing);
    // The first one is gone.
    attempt(&mut all[1..], &roster, 9, |_, _, _| true);
    assert_eq!(payload_of(&all[2]), all[0].promised.clone().unwrap().0);
    assert_eq!(all[2].evidence(), all[0].evidence(), "not that of the round between");
}

#[test]
fn whoever_cannot_show_why_does_not_promise() {
    let roster = roster(3, 2);
    let mut all = [Authority::new(0), Authority::new(1)];
    attempt(&mut all, &roster, 7, |phase, _, _| phase == Phase::Voting);
    assert!(all.iter().all(|authority| authority.promised.is_none()));
}

/// Words are lost, so that five authorities count three sets of votes. If each promised what it
/// counted, no document could ever have three signatures.
#[test]
fn what_fewer_than_enough_have_counted_nobody_promises() {
    let roster = roster(5, 3);
    let mut all = [0, 1, 2, 3, 4].map(Authority::new);
    for (number, authority) in (0..).zip(&mut all[3..]) {
        authority.nodes[usize::from(number)] = descriptor(number, 1100, 4001);
    }
    let three = (0..3).flat_map(|from| (0..5).map(move |to| (from, to)));
    let told = |phase| match phase {
        Phase::Voting => three.clone().chain([(3, 4)]).collect(),
        Phase::Sighting => three.clone().chain([(4, 2), (4, 3)]).collect(),
        _ => three.clone().chain([(3, 0), (4, 0)]).chain((1..5).map(|to| (0, to))).collect(),
    };
    let ceremonies = attempt_in_order(&mut all, &roster, 7, told, |_, _| ());
    let counted = ceremonies.iter().map(|ceremony| payload(ceremony).unwrap());
    assert_eq!(counted.collect::<BTreeSet<_>>().len(), 3);
    assert!(all.iter().all(|authority| authority.promised.is_none()));
    attempt(&mut all, &roster, 8, |_, _, _| true);
    assert!(all.iter().all(|authority| authority.document.is_some()));
}

/// Votes and sightings of all three, and what they make.
fn counted() -> (Ceremony, Counted, Digest) {
    let [one, ..] = sighted();
    let counted = one.count(|_| Some(Previous::default())).unwrap();
    let document = Digest::of_document(&counted.payload);
    (one, counted, document)
}

#[test]
fn a_document_is_signed_if_enough_prepared_it_and_nothing_else() {
    let (mut one, counted, document) = counted();
    prepare(&mut one, document, 0);
    assert!(Ceremony::may_prepare(&counted, None) && !one.may_sign(&counted, None));
    let of = |document, round, by| Preparation { round, document }.sign(&secret(by)).unwrap();
    assert_eq!(one.take_preparation(&of(document, ROUND, 9)), Err(VoteError::Stranger));
    let later = VoteError::OtherRound { epoch: LATER.epoch, attempt: LATER.attempt };
    assert_eq!(one.take_preparation(&of(document, LATER, 1)), Err(later));
    let seen = one.sighting().sign(&secret(1)).unwrap();
    assert_eq!(one.take_preparation(&seen), Err(VoteError::Stranger));
    assert!(!one.may_sign(&counted, None));
    prepare(&mut one, document, 1);
    assert_eq!(one.take_preparation(&of(document, ROUND, 1)), Ok(false));
    assert!(one.may_sign(&counted, None) && one.twofold().is_empty());
    // What was promised is signed whoever prepares it, and nothing else ever.
    let other = Digest([7; 32]);
    assert!(one.may_sign(&counted, Some(document)) && !one.may_sign(&counted, Some(other)));
    assert!(!Ceremony::may_prepare(&counted, Some(other)));
    // Whoever prepares two is told of, and counts for none.
    prepare(&mut one, other, 1);
    assert!(!one.may_sign(&counted, None) && one.may_sign(&counted, Some(document)));
    assert_eq!(one.twofold(), [secret(1).public_key().id()]);
    assert_eq!(one.take_preparation(&of(Digest([8; 32]), ROUND, 1)), Err(VoteError::TooMany));
}

#[test]
fn the_document_that_most_promised_is_signed() {
    let roster = roster(5, 3);
    for most in [0, 1] {
        // Three promise one document in the first round, and another three in the second.
        let unsigned = |phase: Phase, _, _| phase < Phase::Signing;
        let mut first = [0, 1, 4].map(Authority::new);
        attempt(&mut first, &roster, 5, unsigned);
        let mut second = [2, 3, 4].map(Authority::new);
        renew(&mut second);
        attempt(&mut second, &roster, 6, unsigned);
        let promised = [&first, &second].map(|all| all[0].promised.clone().unwrap().0);
        assert_ne!(promised[0], promised[1]);
        // The last one is gone then, and one of them has promised nothing.
        let ([zero, one, _], [two, three, _]) = (first, second);
        let mut all = [zero, one, two, three];
        all[3 - 2 * most].promised = None;
        renew(&mut all);
        attempt(&mut all, &roster, 7, |_, _, _| true);
        assert!(all.iter().all(|authority| payload_of(authority) == promised[most]));
    }
}

#[test]
fn nobody_is_a_liar_who_signs_what_it_promised() {
    let roster = roster(3, 2);
    let mut all = [Authority::new(0), Authority::new(1), Authority::new(2)];
    let first = attempt(&mut all, &roster, 7, first_alone);
    renew(&mut all);
    let later = attempt(&mut all, &roster, 8, |_, _, _| true);
    for ceremony in &later {
        let counted = ceremony.count(|_| Some(Previous::default())).unwrap();
        assert_eq!(ceremony.dissenters(&counted, &first), []);
    }
    // Who counts by no evidence is told of the earlier signature by the earlier round.
    let promised = sign_document(&all[0].promised.as_ref().unwrap().0, &secret(0)).unwrap();
    let mut alone = [Authority::new(1), Authority::new(2)];
    renew(&mut alone);
    let mut others = attempt(&mut alone, &roster, 8, |_, _, _| true);
    others[0].take_signed(&promised).unwrap();
    let counted = others[0].count(|_| Some(Previous::default())).unwrap();
    assert_eq!(others[0].dissenters(&counted, &[]), [secret(0).public_key().id()]);
    assert_eq!(others[0].dissenters(&counted, &first), []);
    // Who did not hear what the others prepared cannot say who is wrong.
    let mut alone = [Authority::new(1), Authority::new(2)];
    renew(&mut alone);
    let mut deaf = attempt(&mut alone, &roster, 8, |phase, _, _| phase < Phase::Preparing);
    deaf[0].take_signed(&promised).unwrap();
    let counted = deaf[0].count(|_| Some(Previous::default())).unwrap();
    assert_eq!(deaf[0].dissenters(&counted, &[]), []);
}

/// Signatures are one of an authority: an old document must not be in their place.
#[test]
fn documents_of_other_epochs_are_not_taken() {
    let roster = roster(3, 2);
    let other = Round { epoch: Epoch(40), attempt: 3 };
    let mut earlier = Ceremony::new(roster.clone(), "orchard", other);
    for by in [0, 1] {
        earlier.take_vote(Phase::Voting, &vote_in(other, &nodes(4), by, None), &Offered::default()).unwrap();
    }
    let old = sign_document(&payload(&earlier).unwrap(), &secret(0)).unwrap();
    let mut one = ceremony(&roster);
    assert_eq!(one.take_signed(&old), Err(VoteError::Malformed("document of another epoch")));
    assert_eq!(earlier.take_signed(&old), Ok(true));
}

/// Three votes of an earlier round and what each of the three saw, to be told falsely.
struct Told {
    roster: Roster,
    votes: Vec<Vec<u8>>,
    sightings: Vec<Vec<u8>>,
}

fn told() -> Told {
    let votes: Vec<_> = (0..3).map(|by| vote_in(ROUND, &nodes(5), by, None)).collect();
    let sightings = (0..3).map(|by| sighting(ROUND, &votes, by)).collect();
    Told { roster: roster(3, 2), votes, sightings }
}

fn sighting(round: Round, votes: &[Vec<u8>], by: u8) -> Vec<u8> {
    let mut votes: Vec<_> = votes.iter().map(|file| Digest::of_vote(file)).collect();
    votes.sort_unstable();
    votes.dedup();
    Sighting { round, votes }.sign(&secret(by)).unwrap()
}

/// A round in which the third one names this evidence, and what became of its vote.
fn shown(roster: &Roster, evidence: &Evidence) -> (Ceremony, Result<bool, VoteError>) {
    let mut later = Ceremony::new(roster.clone(), "orchard", LATER);
    for by in 0..2 {
        let vote = vote_in(LATER, &nodes(4), by, None);
        later.take_vote(Phase::Voting, &vote, &Offered::default()).unwrap();
    }
    let vote = vote_in(LATER, &nodes(4), 2, Some(evidence));
    let taken = later.take_vote(Phase::Voting, &vote, &evidence.votes().collect());
    (later, taken)
}

/// The vote counts, and what it shows does not.
#[track_caller]
fn is_passed_over(roster: &Roster, evidence: &Evidence) {
    let (later, taken) = shown(roster, evidence);
    assert_eq!(taken, Ok(true));
    assert_eq!(later.counted().0.len(), 3);
    assert_eq!(names_of(&payload(&later).unwrap()).len(), 4, "the nodes of this round");
    assert!(!evidence.is_sound(LATER, "orchard", roster));
}

#[track_caller]
fn is_counted(roster: &Roster, evidence: &Evidence) {
    let (later, taken) = shown(roster, evidence);
    assert_eq!(taken, Ok(true));
    assert_eq!(names_of(&payload(&later).unwrap()).len(), 5, "the nodes of the earlier round");
    assert!(evidence.is_sound(LATER, "orchard", roster));
}

#[test]
fn sightings_are_of_enough_authorities_and_of_one_earlier_round() {
    let Told { roster, votes, sightings } = told();
    let with = |sightings: &[&Vec<u8>]| {
        Evidence::new(sightings.iter().map(|file| (*file).clone()).collect(), votes.clone())
    };
    let [first, second, third] = &sightings[..] else { unreachable!() };
    is_counted(&roster, &with(&[first, second, third]));
    is_counted(&roster, &with(&[second, third]));
    is_passed_over(&roster, &with(&[third]));
    is_passed_over(&roster, &with(&[third, third]));
    let fewer = sighting(ROUND, &votes[..2], 2);
    is_passed_over(&roster, &with(&[second, third, &fewer]));
    is_passed_over(&roster, &with(&[second, &sighting(ROUND, &votes, 9)]));
    is_passed_over(&roster, &with(&[second, &votes[2]]));
    is_passed_over(&roster, &with(&[second, &b"nothing".to_vec()]));
    for round in [
        Round { epoch: Epoch(40), ..ROUND },
        Round { epoch: Epoch(42), ..ROUND },
        LATER,
        Round { attempt: LATER.attempt + 1, ..ROUND },
    ] {
        let others: Vec<_> = (0..3).map(|by| sighting(round, &votes, by)).collect();
        is_passed_over(&roster, &with(&others.iter().collect::<Vec<_>>()));
        is_passed_over(&roster, &with(&[first, &others[1]]));
    }
}

#[test]
fn no_vote_that_was_seen_may_be_missing() {
    let Told { roster, votes, sightings } = told();
    let with =
        |votes: &[&Vec<u8>]| Evidence::new(sightings.clone(), votes.iter().map(|file| (*file).clone()));
    let [first, second, third] = &votes[..] else { unreachable!() };
    // The third one lies: beside an old vote of another it puts one of its own for what it likes.
    let liked = vote_in(ROUND, &nodes(3), 2, None);
    is_passed_over(&roster, &with(&[first, third]));
    is_passed_over(&roster, &with(&[first, &liked]));
    is_passed_over(&roster, &with(&[first, third, &liked]));
    // What the others had of it, if it voted twice, is for all the same.
    is_counted(&roster, &with(&[first, second, third, &liked]));
    let another = vote_in(ROUND, &nodes(2), 2, None);
    is_counted(&roster, &with(&[first, second, &another, &liked]));
    is_passed_over(&roster, &with(&[first, &another, &liked]));
    is_passed_over(&roster, &with(&[first, second, third, &another, &liked]));
    // With its own sighting and that of one whom the network had cut off, it can.
    let apart = [(first, 0), (&liked, 2)].map(|(vote, by)| sighting(ROUND, slice::from_ref(vote), by));
    let evidence = Evidence::new(apart.to_vec(), [first.clone(), liked.clone()]);
    assert!(evidence.is_sound(LATER, "orchard", &roster));
}

#[test]
fn votes_of_evidence_are_those_of_its_round_and_valid() {
    let Told { roster, votes, sightings } = told();
    let with = |vote: Vec<u8>| {
        let votes = [votes[0].clone(), votes[1].clone(), vote];
        let sightings = (0..3).map(|by| sighting(ROUND, &votes, by)).collect();
        Evidence::new(sightings, votes)
    };
    is_counted(&roster, &with(votes[2].clone()));
    is_passed_over(&roster, &with(b"nothing".to_vec()));
    is_passed_over(&roster, &with(vote_in(ROUND, &nodes(5), 9, None)));
    is_passed_over(&roster, &with(vote_in(LATER, &nodes(5), 2, None)));
    is_passed_over(&roster, &with(vote_in(Round { epoch: Epoch(40), ..ROUND }, &nodes(5), 2, None)));
    let mut changed = votes[2].clone();
    *changed.last_mut().unwrap() ^= 1;
    is_passed_over(&roster, &with(changed));
    // What an earlier vote names itself is not followed.
    let before = Round { attempt: ROUND.attempt - 1, ..ROUND };
    let theirs: Vec<_> = (0..3).map(|by| vote_in(before, &nodes(3), by, None)).collect();
    let nested = Evidence::new((0..3).map(|by| sighting(before, &theirs, by)).collect(), theirs);
    is_counted(&roster, &with(vote_in(ROUND, &nodes(5), 2, Some(&nested))));
    let itself = Evidence::new(sightings, votes.clone());
    is_counted(&roster, &with(vote_in(ROUND, &nodes(5), 2, Some(&itself))));
}

#[test]
fn evidence_has_bounds() {
    let Told { roster, votes, sightings } = told();
    let unsound = VoteError::Malformed("evidence");
    let many = Evidence::new(vec![sightings[0].clone(); 17], votes.clone());
    assert_eq!(shown(&roster, &many).1, Err(unsound.clone()));
    let many = Evidence::new(sightings.clone(), (0..33_u8).map(|word| vec![word]));
    assert_eq!(shown(&roster, &many).1, Err(unsound.clone()));
    let none = Evidence::new(sightings.clone(), []);
    assert_eq!(shown(&roster, &none).1, Err(unsound.clone()));
    let none = Evidence::new(Vec::new(), votes.clone());
    assert_eq!(shown(&roster, &none).1, Err(unsound));
    let long = Evidence::new(sightings.clone(), [votes[0].clone(), vec![0; MAX_EVIDENCE_LEN]]);
    assert_eq!(shown(&roster, &long).1, Err(VoteError::Malformed("length of evidence")));
    assert!(!long.is_sound(LATER, "orchard", &roster));

    // Without all that it names a vote is not taken, and is when it comes again with it.
    let evidence = Evidence::new(sightings, votes.clone());
    let mut later = Ceremony::new(roster, "orchard", LATER);
    let vote = vote_in(LATER, &nodes(4), 2, Some(&evidence));
    let some = votes[..2].iter().map(Vec::as_slice).collect();
    assert_eq!(later.take_vote(Phase::Voting, &vote, &some), Err(VoteError::Incomplete));
    assert_eq!(later.statements().count(), 0);
    let all = evidence.votes().collect();
    assert_eq!(later.take_vote(Phase::Voting, &vote, &all), Ok(true));
    assert_eq!(later.statements().count(), 4, "the vote, and the three that it names");
    // Another that names the same has them already.
    let vote = vote_in(LATER, &nodes(4), 1, Some(&evidence));
    assert_eq!(later.take_vote(Phase::Voting, &vote, &Offered::default()), Ok(true));
    assert_eq!(later.statements().count(), 5);
}

/// Builds from before evidence read these.
#[test]
fn votes_without_evidence_are_as_they_were() {
    let file = vote(&nodes(5), 1);
    let digest = "d7ee3b78aaea1890b3bddf6efd51dce2c1ed9d5e6caa54860e55747300e082ad";
    assert_eq!(hex::encode(Digest::of_vote(&file).0), digest);
}
