//! What authorities say to each other: transcripts from nowhere, votes, sightings and preparations
//! that an authority signed whatever they say, and votes that show such votes and sightings of an earlier
//! round. Nothing panics, and a round that heard it has votes of its authorities alone.
#![cfg_attr(fuzzing, no_main)]

use motemix_authority::ceremony::{Ceremony, Offered, Phase};
use motemix_authority::evidence::Evidence;
use motemix_authority::roster::Roster;
use motemix_authority::tally::Previous;
use motemix_authority::transcript::{Transcript, Word};
use motemix_authority::vote::{NewVote, Round};
use motemix_directory::{
    AuthoritySecret, Draft, Epoch, Label, Parameters, ProfileName, STATEMENT_OVERHEAD, UnixTime,
    sign_statement,
};
use motemix_fuzz::fuzz_target;

fn secret(number: u8) -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[number; 32])
}

fn signed(label: Label, payload: &[u8], by: u8) -> Vec<u8> {
    let mut out = vec![0; payload.len() + STATEMENT_OVERHEAD];
    sign_statement(&mut out, label, payload, &secret(by)).expect("there is room").to_vec()
}

/// Evidence of what the bytes have one after the other, each with two bytes of length before it: a
/// byte says what it is and who signed it.
fn evidence(mut bytes: &[u8]) -> Evidence {
    let (mut sightings, mut votes) = (Vec::new(), Vec::new());
    while let [kind, high, low, rest @ ..] = bytes {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (payload, rest) = rest.split_at(len);
        let by = 1 + kind % 4;
        match kind / 4 % 4 {
            0 => sightings.push(signed(Label::Sighting, payload, by)),
            1 => votes.push(signed(Label::Vote, payload, by)),
            2 => sightings.push(payload.to_vec()),
            _ => votes.push(payload.to_vec()),
        }
        bytes = rest;
    }
    Evidence::new(sightings, votes)
}

fn vote(evidence: &Evidence, by: u8) -> Vec<u8> {
    let draft = Draft {
        network_name: "orchard",
        epoch: Epoch(41),
        valid_after: UnixTime(41 * 3600),
        valid_until: UnixTime(42 * 3600),
        profile: ProfileName::Mote,
        parameters: Parameters::new(2, 3),
    };
    let vote =
        NewVote { attempt: 7, previous: None, draft, candidates: Vec::new(), evidence: Some(evidence) };
    vote.sign(&secret(by)).expect("the draft is sound")
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, bytes @ ..] = bytes else { return };
    let keys = (1..=3).map(|number| secret(number).public_key()).collect();
    let roster = Roster::new(keys, 2).expect("two of three");
    let round = Round { epoch: Epoch(41), attempt: 7 };
    let mut ceremony = Ceremony::new(roster.clone(), "orchard", round);
    let words = Transcript::read(bytes).unwrap_or_default();
    let evidence = evidence(bytes);
    let earlier = words.iter().filter_map(|word| match word {
        Word::EarlierVote(file) => Some(*file),
        _ => None,
    });
    let offered: Offered<'_> = earlier.chain(evidence.votes()).collect();
    let mut hear = |word: Word<'_>| match word {
        Word::Sighting(file) => ceremony.take_sighting(Phase::Sighting, file),
        Word::Vote(file) => ceremony.take_vote(Phase::Voting, file, &offered),
        Word::Document(file) => ceremony.take_signed(file),
        Word::Preparation(file) => ceremony.take_preparation(file),
        Word::EarlierVote(_) => Ok(false),
    };
    let by = 1 + kind % 4;
    match kind % 4 {
        0 if kind / 12 % 2 == 1 => {
            let shows = hear(Word::Vote(&vote(&evidence, by)));
            let _ = hear(Word::Vote(&vote(&evidence, 1 + by % 3)));
            let sound = evidence.is_sound(round, "orchard", &roster);
            assert!(!sound || by > 3 || shows == Ok(true), "sound evidence is refused");
        }
        0 => {
            for word in words {
                let _ = hear(word);
            }
        }
        1 => {
            let vote = signed(Label::Vote, bytes, by);
            let taken = hear(Word::Vote(&vote));
            assert!(by <= 3 || taken.is_err(), "a stranger voted");
            assert!(!matches!(hear(Word::Vote(&vote)), Ok(true)), "a vote is new once");
        }
        2 => {
            let preparation = signed(Label::Preparation, bytes, by);
            let taken = hear(Word::Preparation(&preparation));
            assert!(by <= 3 || taken.is_err(), "a stranger counted something");
        }
        _ => {
            let sighting = signed(Label::Sighting, bytes, by);
            let taken = hear(Word::Sighting(&sighting));
            assert!(by <= 3 || taken.is_err(), "a stranger saw something");
        }
    }
    let _ = ceremony.bases();
    let _ = ceremony.count(|_| Some(Previous::default()));
    assert!(ceremony.agreed().is_none());
    assert!(ceremony.counted().0.len() <= 3);
});
