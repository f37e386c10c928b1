//! Rounds in memory: honest authorities agree byte for byte, whatever one of them does, and
//! whatever a partition does nobody has two documents.

mod authorities;
mod evidence;
mod lengths;
mod many_attempts;
mod newcomers;

use std::collections::BTreeSet;

use motemix_authority::ceremony::{Ceremony, Offered, Phase, Said, sign_document};
use motemix_authority::roster::{Roster, RosterError};
use motemix_authority::tally::{Previous, TallyError, tally};
use motemix_authority::vote::{Digest, NewVote, Round, Vote, VoteError};
use motemix_crypto::PublicKey;
use motemix_directory::{
    Capabilities, Epoch, IdentitySecret, MAX_DESCRIPTOR_LEN, NewDescriptor, Role, SignedDocument, UnixTime,
};
use proptest::prelude::*;

use authorities::*;

fn payloads(all: &[Ceremony]) -> Vec<Result<Vec<u8>, TallyError>> {
    all.iter().map(payload).collect()
}

#[test]
fn three_authorities_sign_the_same_bytes() {
    let mut all = sighted();
    let payloads: Vec<_> = payloads(&all).into_iter().map(Result::unwrap).collect();
    for (number, (ceremony, payload)) in (0..).zip(all.iter_mut().zip(&payloads)) {
        assert!(ceremony.agreed().is_none());
        ceremony.take_signed(&sign_document(payload, &secret(number)).unwrap()).unwrap();
    }
    all_tell(&mut all, Phase::Signing);
    let agreed: BTreeSet<_> = all.iter().map(|ceremony| ceremony.agreed().unwrap().file).collect();
    assert_eq!(agreed.len(), 1, "with all signatures, the files are the same as well");
    let file = agreed.first().unwrap();
    let roster = roster(3, 2);
    let authorities = roster.authorities().unwrap();
    let document = SignedDocument::parse(file).unwrap().verify(&authorities).unwrap();
    let document = document.admit(UnixTime(41 * 3600), None).unwrap();
    assert_eq!((document.node_count(), document.epoch()), (5, Epoch(41)));
    let node = document.find("node-3").unwrap();
    assert_eq!((node.role, node.mix_key.0[0]), (Role::Endpoint, 4 + 32), "the key of this epoch");
}

#[test]
fn a_node_needs_as_many_authorities_as_a_document() {
    let roster = roster(3, 2);
    let mut one = ceremony(&roster);
    one.take_vote(Phase::Voting, &vote(&nodes(4), 0), &Offered::default()).unwrap();
    assert_eq!(payload(&one), Err(TallyError::TooFew { votes: 1, needed: 2 }));
    // The second one has not admitted node 3, and has admitted node 4 alone.
    let mut theirs = nodes(5);
    theirs.remove(3);
    one.take_vote(Phase::Voting, &vote(&theirs, 1), &Offered::default()).unwrap();
    let payload = payload(&one).unwrap();
    let names = names_of(&payload);
    assert_eq!(names.iter().flatten().collect::<BTreeSet<_>>().len(), 3);
    assert!(!names.contains(&Some("node-3".into())) && !names.contains(&Some("node-4".into())));
}

#[test]
fn what_a_node_said_last_counts() {
    let roster = roster(3, 2);
    let mut one = ceremony(&roster);
    let (mut old, mut new) = (nodes(3), nodes(3));
    old[1] = descriptor(1, 900, 4001);
    new[1] = descriptor(1, 1100, 4002);
    one.take_vote(Phase::Voting, &vote(&old, 0), &Offered::default()).unwrap();
    one.take_vote(Phase::Voting, &vote(&new, 1), &Offered::default()).unwrap();
    let payload = payload(&one).unwrap();
    let file = sign_document(&payload, &secret(0)).unwrap();
    let keys = [secret(0).public_key()];
    let authorities = motemix_directory::Authorities::new(&keys, 1).unwrap();
    let document = SignedDocument::parse(&file).unwrap().verify(&authorities).unwrap();
    let then = document.valid_after();
    let document = document.admit(then, None).unwrap();
    let addresses: Vec<_> = document.find("node-1").unwrap().addresses.iter().collect();
    assert_eq!(addresses, ["192.0.2.1:4002".parse().unwrap()]);
}

#[test]
fn nodes_keep_their_ids_and_nobody_inherits_one_at_once() {
    let roster = roster(1, 1);
    let some = |names: &[&str]| -> Vec<Option<String>> {
        names.iter().map(|name| (!name.is_empty()).then(|| (*name).to_owned())).collect()
    };
    let placed = |previous: &[&str], nodes: &[Vec<u8>]| {
        let mut one = ceremony(&roster);
        one.take_vote(Phase::Voting, &vote(nodes, 0), &Offered::default()).unwrap();
        names_of(
            &tally(&one.counted().0, &roster, &Previous { names: some(previous), ..Previous::default() })
                .unwrap(),
        )
    };
    let all = nodes(5);
    // Node 1 is gone, node 4 is new: it does not get the id of node 1.
    let without_one: Vec<_> = [0, 2, 3, 4].map(|number| all[number].clone()).into();
    let previous = ["node-2", "node-1", "node-0", "node-3"];
    assert_eq!(placed(&previous, &without_one), some(&["node-2", "", "node-0", "node-3", "node-4"]));
    // An epoch later somebody new does.
    let vacant = ["node-2", "", "node-0", "node-3", "node-4"];
    assert_eq!(placed(&vacant, &all), some(&["node-2", "node-1", "node-0", "node-3", "node-4"]));
    // The last id is never vacant.
    assert_eq!(placed(&previous, &all[..3]), some(&["node-2", "node-1", "node-0"]));
}

/// An admitted node claims an address that protected links cannot tell from another's: it is left
/// out, and the others have their document.
#[test]
fn one_node_cannot_keep_all_others_from_a_document() {
    let roster = roster(1, 1);
    let mut protected = draft();
    protected.parameters.protected_links = true;
    let mut described = nodes(4);
    let twin = NewDescriptor {
        network_name: "orchard",
        issued: UnixTime(1000),
        name: "twin",
        capabilities: Capabilities::of_mix(),
        addresses: &[([192, 0, 2, 1], 4000).into()],
        first_epoch: Epoch(40),
        mix_keys: &[0, 1, 2].map(|later| PublicKey([20 + 32 * later; 32])),
    };
    let identity = IdentitySecret::from_bytes(&[200; 32]);
    described.push(twin.sign(&mut [0; MAX_DESCRIPTOR_LEN], &identity).unwrap().to_vec());
    let candidates = described.iter().map(|file| (Role::Mix { layer: 0 }, &file[..])).collect();
    let vote =
        NewVote { attempt: ROUND.attempt, previous: None, draft: protected, candidates, evidence: None };
    let mut one = ceremony(&roster);
    one.take_vote(Phase::Voting, &vote.sign(&secret(0)).unwrap(), &Offered::default()).unwrap();
    let names = names_of(&payload(&one).unwrap());
    assert_eq!(names.iter().flatten().count(), 4, "one of the two is left out");
}

#[test]
fn a_vote_for_what_a_node_did_not_say_is_none() {
    let roster = roster(3, 2);
    let mut forged = nodes(2);
    let last = forged[1].len() - 1;
    forged[1][last] ^= 1;
    let mut one = ceremony(&roster);
    // Whoever makes votes leaves such descriptors out, so the byte is changed afterwards.
    let sound = nodes(2);
    let mut payload = Vec::new();
    let file = vote(&sound, 1);
    let statement = motemix_directory::SignedStatement::parse(&file).unwrap();
    payload.extend_from_slice(
        statement.payload_by(&secret(1).public_key(), motemix_directory::Label::Vote).unwrap(),
    );
    let at = payload.windows(sound[1].len()).position(|window| window == sound[1]).unwrap();
    payload[at..at + forged[1].len()].copy_from_slice(&forged[1]);
    let mut out = vec![0; payload.len() + motemix_directory::STATEMENT_OVERHEAD];
    let forged =
        motemix_directory::sign_statement(&mut out, motemix_directory::Label::Vote, &payload, &secret(1))
            .unwrap();
    assert_eq!(
        one.take_vote(Phase::Voting, forged, &Offered::default()),
        Err(VoteError::Malformed("descriptor"))
    );
    let stranger = vote(&sound, 9);
    assert_eq!(one.take_vote(Phase::Voting, &stranger, &Offered::default()), Err(VoteError::Stranger));
}

#[test]
fn votes_have_their_round_and_their_time() {
    let roster = roster(3, 2);
    let other = Round { attempt: 8, ..ROUND };
    let mut one = Ceremony::new(roster.clone(), "orchard", other);
    let refused = one.take_vote(Phase::Voting, &vote(&nodes(2), 1), &Offered::default());
    assert_eq!(refused, Err(VoteError::OtherRound { epoch: ROUND.epoch, attempt: ROUND.attempt }));
    let mut one = ceremony(&roster);
    assert_eq!(
        one.take_vote(Phase::Sighting, &vote(&nodes(2), 1), &Offered::default()),
        Err(VoteError::Late)
    );
    assert_eq!(one.take_vote(Phase::Signing, &vote(&nodes(2), 1), &Offered::default()), Err(VoteError::Late));
    assert_eq!(one.take_vote(Phase::Voting, &vote(&nodes(2), 1), &Offered::default()), Ok(true));
    assert_eq!(
        one.take_vote(Phase::Signing, &vote(&nodes(2), 1), &Offered::default()),
        Ok(false),
        "it is known"
    );
}

#[test]
fn two_groups_that_could_sign_apart_are_no_roster() {
    let keys = |count: u8| (0..count).map(|number| secret(number).public_key()).collect::<Vec<_>>();
    for (count, threshold, least) in [(2, 1, 2), (4, 2, 3), (16, 8, 9)] {
        let refused = Roster::new(keys(count), threshold).unwrap_err();
        assert_eq!(refused, RosterError::Minority { threshold, authorities: usize::from(count), least });
        Roster::new(keys(count), u8::try_from(least).unwrap()).unwrap();
    }
}

/// What a liar may do with a vote: to whom it gives it, and when.
#[derive(Debug, Clone, Copy)]
struct Lie {
    which: u8,
    to: usize,
    late: bool,
}

fn lies() -> impl Strategy<Value = Vec<Lie>> {
    let lie = (0..4_u8, 0..2_usize, any::<bool>()).prop_map(|(which, to, late)| Lie { which, to, late });
    proptest::collection::vec(lie, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two honest authorities and a liar, who makes up to four votes, gives each to whom it likes
    /// at the end of voting or of sighting, and signs sightings of whatever it likes: the honest
    /// ones count the same.
    #[test]
    fn a_liar_does_not_part_the_honest(lies in lies(), seen in proptest::collection::vec(0..4_u8, 0..3)) {
        let roster = roster(3, 2);
        let mut all = [(); 2].map(|()| ceremony(&roster));
        for (number, ceremony) in (0..).zip(&mut all) {
            ceremony.take_vote(Phase::Voting, &vote(&nodes(4), number), &Offered::default()).unwrap();
        }
        let votes: Vec<_> = (1..=4).map(|count| vote(&nodes(count), 2)).collect();
        all_tell(&mut all, Phase::Voting);
        // At the last moment of voting: nobody honest tells it on before the next phase.
        for lie in lies.iter().filter(|lie| !lie.late) {
            let _ = all[lie.to].take_vote(Phase::Voting, &votes[usize::from(lie.which)], &Offered::default());
        }
        for (number, ceremony) in (0..).zip(&mut all) {
            sight(ceremony, number);
        }
        let mut sighted: Vec<_> =
            seen.iter().map(|which| Digest::of_vote(&votes[usize::from(*which)])).collect();
        sighted.sort_unstable();
        sighted.dedup();
        let own = motemix_authority::vote::Sighting { round: ROUND, votes: sighted };
        let own = own.sign(&secret(2)).unwrap();
        let _ = all[0].take_sighting(Phase::Sighting, &own);
        all_tell(&mut all, Phase::Sighting);
        // At the last moment of sighting.
        for lie in lies.iter().filter(|lie| lie.late) {
            let _ = all[lie.to].take_vote(Phase::Sighting, &votes[usize::from(lie.which)], &Offered::default());
        }
        let payloads = payloads(&all);
        prop_assert!(payloads[0].is_ok());
        prop_assert_eq!(&payloads[0], &payloads[1]);
    }

    /// Whatever is lost between them, no two of three sign different documents and reach two
    /// signatures each: an honest one signs once.
    #[test]
    fn a_partition_never_makes_two_documents(heard in proptest::collection::vec(any::<bool>(), 18)) {
        let roster = roster(3, 2);
        let mut all = [(); 3].map(|()| ceremony(&roster));
        for (number, ceremony) in (0..).zip(&mut all) {
            // They have not admitted the same nodes, so what they count depends on what they heard.
            let count = 3 + number;
            ceremony.take_vote(Phase::Voting, &vote(&nodes(count), number), &Offered::default()).unwrap();
        }
        let mut heard = heard.into_iter();
        for phase in [Phase::Voting, Phase::Sighting] {
            for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
                if let Ok([from, to]) = all.get_disjoint_mut([from, to])
                    && heard.next() == Some(true)
                {
                    tell(from, to, phase);
                }
            }
            if phase == Phase::Voting {
                for (number, ceremony) in (0..).zip(&mut all) {
                    sight(ceremony, number);
                }
            }
        }
        for (number, ceremony) in (0..).zip(&mut all) {
            if let Ok(payload) = payload(ceremony) {
                ceremony.take_signed(&sign_document(&payload, &secret(number)).unwrap()).unwrap();
            }
        }
        all_tell(&mut all, Phase::Signing);
        let agreed: BTreeSet<_> = all
            .iter()
            .filter_map(Ceremony::agreed)
            .map(|agreed| SignedDocument::parse(&agreed.file).unwrap().payload().to_vec())
            .collect();
        prop_assert!(agreed.len() <= 1);
    }

    /// Bytes from anywhere are refused, and change nothing.
    #[test]
    fn nonsense_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0..4000_usize, flip in 1..=255_u8) {
        let roster = roster(3, 2);
        let mut one = ceremony(&roster);
        prop_assert!(one.take_vote(Phase::Voting, &bytes, &Offered::default()).is_err());
        prop_assert!(one.take_sighting(Phase::Voting, &bytes).is_err());
        prop_assert!(one.take_preparation(&bytes).is_err());
        prop_assert!(one.take_signed(&bytes).is_err());
        let mut changed = vote(&nodes(2), 1);
        let at = at % changed.len();
        changed[at] ^= flip;
        prop_assert!(one.take_vote(Phase::Voting, &changed, &Offered::default()).is_err());
        prop_assert!(Vote::verify(&changed, &roster).is_err());
        prop_assert_eq!(one.statements().count(), 0);
    }
}
