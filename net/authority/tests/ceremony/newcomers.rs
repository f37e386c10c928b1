//! Nodes that say the mix key or the address of another: whoever was there before stays.

use motemix_authority::ceremony::{Offered, Phase};
use motemix_authority::tally::{Previous, tally};
use motemix_authority::vote::NewVote;
use motemix_crypto::PublicKey;
use motemix_directory::{
    Capabilities, Epoch, IdentitySecret, MAX_DESCRIPTOR_LEN, NewDescriptor, Role, SignedDescriptor,
    SignedDocument, UnixTime,
};

use crate::authorities::*;

/// What of another's a node says is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    MixKey,
    Address,
}

/// The node whose key or address it is.
const VICTIM: u8 = 1;
/// The network before the claim: its least ids are vacant.
const BEFORE: [Option<u8>; 5] = [None, None, Some(0), Some(VICTIM), Some(2)];

/// A node of this name that claims something of the victim's. Its identity is less than the
/// victim's, as anybody can choose, or greater.
fn claimant(name: &str, claim: Claim, less: bool) -> Vec<u8> {
    let own = 30;
    let (key, host) = match claim {
        Claim::MixKey => (VICTIM + 1, own),
        Claim::Address => (own, VICTIM),
    };
    let described = NewDescriptor {
        network_name: "orchard",
        issued: UnixTime(1000),
        name,
        capabilities: Capabilities::of_mix(),
        addresses: &[([192, 0, 2, host], 4000).into()],
        first_epoch: Epoch(40),
        mix_keys: &[0, 1, 2].map(|later| PublicKey([key + 32 * later; 32])),
    };
    let victim = descriptor(VICTIM, 1000, 4000);
    let victim = SignedDescriptor::parse(&victim).unwrap().verify().unwrap().identity;
    let secrets = (0..100).map(|seed| IdentitySecret::from_bytes(&[seed; 32]));
    let identity = secrets.into_iter().find(|secret| (secret.public_key() < victim) == less).unwrap();
    described.sign(&mut [0; MAX_DESCRIPTOR_LEN], &identity).unwrap().to_vec()
}

/// Who is in the document for which three authorities voted. The first of them has not admitted the
/// node that is `passed_over`.
fn counted(
    nodes: &[Vec<u8>],
    passed_over: Option<usize>,
    protected: bool,
    previous: &Previous,
) -> Vec<Option<String>> {
    let roster = roster(3, 2);
    let mut one = ceremony(&roster);
    for by in 0..3 {
        let mut draft = draft();
        draft.parameters.protected_links = protected;
        let wanted = nodes.iter().enumerate().filter(|(node, _)| by > 0 || Some(*node) != passed_over);
        let candidates = wanted.map(|(_, file)| (Role::Mix { layer: 0 }, &file[..])).collect();
        let vote = NewVote { attempt: ROUND.attempt, previous: None, draft, candidates, evidence: None };
        let vote = vote.sign(&secret(by)).unwrap();
        one.take_vote(Phase::Voting, &vote, &Offered::default()).unwrap();
    }
    names_of(&tally(&one.counted().0, &roster, previous).unwrap())
}

/// The document before, in which these nodes were.
fn previous(nodes: &[Option<Vec<u8>>]) -> Previous {
    let described: Vec<_> = nodes
        .iter()
        .map(|file| file.as_ref().map(|file| SignedDescriptor::parse(file).unwrap().verify().unwrap()))
        .collect();
    let numbers = described.iter().map(|node| node.map_or([None; 2], |node| node.addresses.link_numbers()));
    let names = described.iter().map(|node| node.map(|node| node.name.to_owned()));
    Previous { names: names.collect(), numbers: numbers.collect() }
}

fn before() -> Previous {
    previous(&BEFORE.map(|node| node.map(|number| descriptor(number, 1000, 4000))))
}

fn has(names: &[Option<String>], name: &str) -> bool {
    names.iter().flatten().any(|other| other == name)
}

#[test]
fn a_newcomer_puts_nobody_out_whatever_it_says_and_whoever_wants_it() {
    for claim in [Claim::MixKey, Claim::Address] {
        for less in [false, true] {
            for passed_over in [None, Some(usize::from(VICTIM))] {
                let mut all = nodes(3);
                all.push(claimant("newcomer", claim, less));
                let names = counted(&all, passed_over, true, &before());
                let shown =
                    format!("{claim:?}, lesser identity: {less}, fewer want it: {passed_over:?}: {names:?}");
                assert!(has(&names, "node-1") && !has(&names, "newcomer"), "{shown}");
                assert_eq!(names.iter().flatten().count(), 3, "{shown}");
            }
        }
    }
}

/// Whoever was there before as well could say another's address and be there in its place, too.
#[test]
fn an_address_is_whose_it_was() {
    for less in [false, true] {
        let mut earlier = BEFORE.map(|node| node.map(|number| descriptor(number, 1000, 4000))).to_vec();
        let mover = claimant("mover", Claim::MixKey, less);
        earlier[0] = Some(mover);
        let mut all = nodes(3);
        all.push(claimant("mover", Claim::Address, less));
        let names = counted(&all, Some(usize::from(VICTIM)), true, &previous(&earlier));
        assert!(has(&names, "node-1") && !has(&names, "mover"), "lesser identity: {less}: {names:?}");
        // Its own address is anybody's once it has another.
        all[usize::from(VICTIM)] = descriptor(VICTIM, 1001, 4001);
        let names = counted(&all, None, true, &previous(&earlier));
        assert!(has(&names, "node-1") && has(&names, "mover"), "lesser identity: {less}: {names:?}");
    }
}

#[test]
fn of_two_newcomers_more_votes_decide_and_then_the_identity() {
    for claim in [Claim::MixKey, Claim::Address] {
        for less in [false, true] {
            let mut all = nodes(3);
            all.push(claimant("newcomer", claim, less));
            let names = counted(&all, None, true, &Previous::default());
            assert_eq!(
                (has(&names, "newcomer"), has(&names, "node-1")),
                (less, !less),
                "{claim:?}: {names:?}"
            );
            let names = counted(&all, Some(usize::from(VICTIM)), true, &Previous::default());
            assert!(has(&names, "newcomer") && !has(&names, "node-1"), "{claim:?}: {names:?}");
        }
    }
}

#[test]
fn where_links_are_not_protected_nodes_may_share_an_address() {
    let mut all = nodes(3);
    all.push(claimant("newcomer", Claim::Address, true));
    let names = counted(&all, None, false, &before());
    assert_eq!(names.iter().flatten().count(), 4, "{names:?}");
}

/// A document says by itself whose addresses there were.
#[test]
fn what_is_known_of_a_document_has_its_addresses() {
    let roster = roster(1, 1);
    let mut one = ceremony(&roster);
    one.take_vote(Phase::Voting, &vote(&nodes(2), 0), &Offered::default()).unwrap();
    let file = motemix_authority::ceremony::sign_document(&payload(&one).unwrap(), &secret(0)).unwrap();
    let authorities = roster.authorities().unwrap();
    let document = SignedDocument::parse(&file).unwrap().verify(&authorities).unwrap();
    let then = document.valid_after();
    let known = Previous::of(&document.admit(then, None).unwrap());
    for (name, numbers) in known.names.iter().zip(&known.numbers) {
        let number = name.as_ref().unwrap().strip_prefix("node-").unwrap().parse().unwrap();
        let file = descriptor(number, 1000, 4000);
        let described = SignedDescriptor::parse(&file).unwrap().verify().unwrap();
        assert_eq!(*numbers, described.addresses.link_numbers());
        assert!(numbers[0].is_some());
    }
}
