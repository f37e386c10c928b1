//! How long what somebody says may be: nobody takes another's place in what is read.

use motemix_authority::evidence::MAX_EVIDENCE_LEN;
use motemix_authority::store::{Store, Taken};
use motemix_authority::vote::MAX_VOTE_LEN;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Label, STATEMENT_OVERHEAD, SignedDescriptor, SignedStatement,
    sign_statement,
};

use super::*;

/// A descriptor with fields that this version does not know, longer than any that it does.
fn long_descriptor(number: u8) -> Vec<u8> {
    // Both are Ed25519.
    let identity = AuthoritySecret::from_bytes(&[number + 100; 32]);
    let plain = descriptor(number, 1000, 4000);
    let plain = SignedStatement::parse(&plain).unwrap();
    let mut payload = plain.payload_by(&identity.public_key(), Label::Descriptor).unwrap().to_vec();
    // So many that their number takes a byte of its own, which CBOR has for no fewer.
    let (fields, more) = (payload[0] - 0xa0, 15);
    assert!(fields + more >= 24);
    payload[0] = 0xb8;
    payload.insert(1, fields + more);
    for field in 0..more {
        payload.extend([0x20 + field, 0x59, 0x04, 0x00]);
        payload.extend([0; 1024]);
    }
    let mut out = vec![0; payload.len() + STATEMENT_OVERHEAD];
    sign_statement(&mut out, Label::Descriptor, &payload, &identity).unwrap().to_vec()
}

#[test]
fn a_descriptor_that_no_vote_may_have_stops_nobody() {
    let long = long_descriptor(4);
    assert!(long.len() > MAX_DESCRIPTOR_LEN);
    assert!(SignedDescriptor::parse(&long).unwrap().verify().is_ok(), "its node did say that");
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("authority.db")).unwrap();
    let node = IdentitySecret::from_bytes(&[104; 32]).public_key();
    assert!(store.admit(&node, "node-4", Role::Endpoint).unwrap());
    assert_eq!(store.keep(&long, UnixTime(u64::MAX)).unwrap(), Taken::Stranger);
    // A store may have it from an earlier build.
    let mut all = nodes(4);
    all.push(long);
    let mut one = ceremony(&roster(3, 2));
    for by in 0..2 {
        assert_eq!(one.take_vote(Phase::Voting, &vote(&all, by), &Offered::default()), Ok(true));
    }
    assert_eq!(names_of(&payload(&one).unwrap()).into_iter().flatten().count(), 4);
}

/// Nodes that a liar makes up, until they have so many bytes.
fn invented(len: usize, from: u32) -> Vec<Vec<u8>> {
    let mix_keys: Vec<_> = (0..72).map(|one| PublicKey([one + 3; 32])).collect();
    let mut sum = 0;
    let made = (from..).map(|number| {
        let mut seed = [77; 32];
        seed[..4].copy_from_slice(&number.to_le_bytes());
        let new = NewDescriptor {
            network_name: "orchard",
            issued: UnixTime(1000),
            name: &format!("x{number}"),
            capabilities: Capabilities::of_mix(),
            addresses: &[([192, 0, 3, 1], 4000).into()],
            first_epoch: Epoch(40),
            mix_keys: &mix_keys,
        };
        let identity = IdentitySecret::from_bytes(&seed);
        new.sign(&mut [0; MAX_DESCRIPTOR_LEN], &identity).unwrap().to_vec()
    });
    made.take_while(|file| {
        sum += file.len() + 6;
        sum <= len
    })
    .collect()
}

/// All bytes that one gives to another.
fn given(ceremony: &Ceremony) -> usize {
    let said = ceremony.statements().map(|said| match said {
        Said::Sighting(file) | Said::Vote(file) | Said::EarlierVote(file) | Said::Preparation(file) => {
            file.len()
        }
    });
    said.sum::<usize>() + ceremony.signed_documents().map(<[u8]>::len).sum::<usize>()
}

#[test]
fn a_liar_with_the_longest_votes_does_not_part_the_others() {
    let roster = roster(3, 2);
    let mut all = [0, 1].map(|number| {
        let mut ceremony = ceremony(&roster);
        ceremony.take_vote(Phase::Voting, &vote(&nodes(5), number), &Offered::default()).unwrap();
        ceremony
    });
    all_tell(&mut all, Phase::Voting);
    let made_up = invented(MAX_VOTE_LEN - (64 << 10), 0);
    let mut longer = made_up.clone();
    longer.extend(invented(128 << 10, 100_000));
    let refused = all[0].take_vote(Phase::Voting, &vote(&longer, 2), &Offered::default());
    assert_eq!(refused, Err(VoteError::Malformed("length")));
    // One vote for each of them, which leaves out a node of theirs, at the last moment.
    for (left_out, ceremony) in (3..).zip(&mut all) {
        let mut lie = nodes(5);
        lie.remove(left_out);
        lie.extend(made_up.iter().cloned());
        ceremony.take_vote(Phase::Voting, &vote(&lie, 2), &Offered::default()).unwrap();
    }
    for (number, ceremony) in (0..).zip(&mut all) {
        sight(ceremony, number);
    }
    all_tell(&mut all, Phase::Sighting);
    let room = 3 * (2 * (MAX_VOTE_LEN + MAX_EVIDENCE_LEN) + MAX_VOTE_LEN);
    assert!(all.iter().all(|ceremony| given(ceremony) < room));
    let payloads = payloads(&all);
    assert_eq!(payloads[0], payloads[1]);
    assert_eq!(names_of(payloads[0].as_ref().unwrap()).into_iter().flatten().count(), 5);
}

#[test]
fn a_document_that_nobody_signed_is_not_read() {
    let mut one = ceremony(&roster(3, 2));
    for by in 0..2 {
        one.take_vote(Phase::Voting, &vote(&nodes(4), by), &Offered::default()).unwrap();
    }
    let mut file = sign_document(&payload(&one).unwrap(), &secret(2)).unwrap();
    let payload = SignedDocument::parse(&file).unwrap().payload().len();
    let middle = file.len() - payload / 2;
    file[middle..middle + 8].fill(0xff);
    let payload = SignedDocument::parse(&file).unwrap().payload();
    let read = DocumentBuilder::of_payload(&mut vec![0; 2 * file.len()], payload).map(drop);
    assert!(read.is_err(), "who reads it sees that it is none");
    assert_eq!(one.take_signed(&file), Err(VoteError::Stranger));
    assert_eq!(
        one.take_signed(&vec![0; MAX_VOTE_LEN + 1]),
        Err(VoteError::Malformed("length of a document"))
    );
}
