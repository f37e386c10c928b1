//! What authorities say to each other: transcripts from nowhere, and votes and sightings that an
//! authority signed whatever they say. Nothing panics, and a round that heard it has votes of its
//! authorities alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use motemix_authority::ceremony::{Ceremony, Phase};
use motemix_authority::roster::Roster;
use motemix_authority::tally::Previous;
use motemix_authority::transcript::{Transcript, Word};
use motemix_authority::vote::Round;
use motemix_directory::{AuthoritySecret, Epoch, Label, STATEMENT_OVERHEAD, sign_statement};

fn secret(number: u8) -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[number; 32])
}

fn signed(label: Label, payload: &[u8], by: u8) -> Vec<u8> {
    let mut out = vec![0; payload.len() + STATEMENT_OVERHEAD];
    sign_statement(&mut out, label, payload, &secret(by)).expect("there is room").to_vec()
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, bytes @ ..] = bytes else { return };
    let keys = (1..=3).map(|number| secret(number).public_key()).collect();
    let roster = Roster::new(keys, 2).expect("two of three");
    let round = Round { epoch: Epoch(41), attempt: 7 };
    let mut ceremony = Ceremony::new(roster, "orchard", round);
    let mut hear = |word: Word<'_>| match word {
        Word::Sighting(file) => ceremony.take_sighting(Phase::Sighting, file),
        Word::Vote(file) => ceremony.take_vote(Phase::Voting, file),
        Word::Document(file) => ceremony.take_signed(file),
    };
    let by = 1 + kind % 4;
    match kind % 3 {
        0 => {
            for word in Transcript::read(bytes).unwrap_or_default() {
                let _ = hear(word);
            }
        }
        1 => {
            let vote = signed(Label::Vote, bytes, by);
            let taken = hear(Word::Vote(&vote));
            assert!(by <= 3 || taken.is_err(), "a stranger voted");
            assert!(!matches!(hear(Word::Vote(&vote)), Ok(true)), "a vote is new once");
        }
        _ => {
            let sighting = signed(Label::Sighting, bytes, by);
            let taken = hear(Word::Sighting(&sighting));
            assert!(by <= 3 || taken.is_err(), "a stranger saw something");
        }
    }
    let _ = ceremony.tally(&Previous::default());
    assert!(ceremony.agreed().is_none());
    assert!(ceremony.counted().0.len() <= 3);
});
