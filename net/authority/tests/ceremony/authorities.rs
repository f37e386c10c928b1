//! Authorities, nodes and what they say.

use motemix_authority::ceremony::{Ceremony, Offered, Phase, Said, sign_document};
use motemix_authority::evidence::Evidence;
use motemix_authority::roster::Roster;
use motemix_authority::tally::{Previous, TallyError};
use motemix_authority::vote::{Digest, NewVote, Preparation, Round};
use motemix_crypto::PublicKey;
use motemix_directory::{
    AuthoritySecret, Capabilities, Draft, Epoch, IdentitySecret, MAX_DESCRIPTOR_LEN, NewDescriptor,
    Parameters, ProfileName, Role, SignedDocument, UnixTime,
};

pub const ROUND: Round = Round { epoch: Epoch(41), attempt: 7 };

pub fn secret(number: u8) -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[number + 1; 32])
}

pub fn roster(count: u8, threshold: u8) -> Roster {
    Roster::new((0..count).map(|number| secret(number).public_key()).collect(), threshold).unwrap()
}

/// What node `number` says of itself; `words` tells descriptors of one node apart.
pub fn descriptor(number: u8, issued: u64, port: u16) -> Vec<u8> {
    let name = format!("node-{number}");
    let described = NewDescriptor {
        network_name: "orchard",
        issued: UnixTime(issued),
        name: &name,
        capabilities: Capabilities::of_mix(),
        addresses: &[([192, 0, 2, number], port).into()],
        first_epoch: Epoch(40),
        mix_keys: &[0, 1, 2].map(|later| PublicKey([number + 1 + 32 * later; 32])),
    };
    let identity = IdentitySecret::from_bytes(&[number + 100; 32]);
    described.sign(&mut [0; MAX_DESCRIPTOR_LEN], &identity).unwrap().to_vec()
}

pub fn draft() -> Draft<'static> {
    let mut parameters = Parameters::new(2, 3);
    parameters.transmissions = 4;
    Draft {
        network_name: "orchard",
        epoch: ROUND.epoch,
        valid_after: UnixTime(41 * 3600),
        valid_until: UnixTime(42 * 3600),
        profile: ProfileName::Mote,
        parameters,
    }
}

/// A vote for these nodes, the first three as mixes of one layer.
pub fn vote(nodes: &[Vec<u8>], by: u8) -> Vec<u8> {
    vote_in(ROUND, nodes, by, None)
}

/// The same in some round, with what was counted in an earlier one.
pub fn vote_in(round: Round, nodes: &[Vec<u8>], by: u8, evidence: Option<&Evidence>) -> Vec<u8> {
    let candidates = nodes.iter().enumerate().map(|(place, file)| {
        let role = if place < 3 { Role::Mix { layer: 0 } } else { Role::Endpoint };
        (role, &file[..])
    });
    let vote = NewVote {
        attempt: round.attempt,
        previous: None,
        draft: Draft { epoch: round.epoch, ..draft() },
        candidates: candidates.collect(),
        evidence,
    };
    vote.sign(&secret(by)).unwrap()
}

pub fn nodes(count: u8) -> Vec<Vec<u8>> {
    (0..count).map(|number| descriptor(number, 1000, 4000)).collect()
}

pub fn ceremony(roster: &Roster) -> Ceremony {
    Ceremony::new(roster.clone(), "orchard", ROUND)
}

/// All that one has heard, to another.
pub fn tell(from: &Ceremony, to: &mut Ceremony, phase: Phase) {
    let earlier: Vec<Vec<u8>> = from
        .statements()
        .filter_map(|said| match said {
            Said::EarlierVote(file) => Some(file.to_vec()),
            _ => None,
        })
        .collect();
    let offered = earlier.iter().map(Vec::as_slice).collect();
    for said in from.statements() {
        let _ = match said {
            Said::Sighting(file) => to.take_sighting(phase, file),
            Said::Vote(file) => to.take_vote(phase, file, &offered),
            Said::Preparation(file) => to.take_preparation(file),
            Said::EarlierVote(_) => Ok(false),
        };
    }
    for document in from.signed_documents() {
        let _ = to.take_signed(document);
    }
}

/// Everybody honest hears everybody else, as often as it takes.
pub fn all_tell(all: &mut [Ceremony], phase: Phase) {
    for _ in 0..2 {
        for from in 0..all.len() {
            for to in 0..all.len() {
                if let Ok([from, to]) = all.get_disjoint_mut([from, to]) {
                    tell(from, to, phase);
                }
            }
        }
    }
}

pub fn sight(ceremony: &mut Ceremony, by: u8) {
    let sighting = ceremony.sighting().sign(&secret(by)).unwrap();
    ceremony.take_sighting(Phase::Sighting, &sighting).unwrap();
}

/// What three of whom two sign know when all have heard all votes and sightings.
pub fn sighted() -> [Ceremony; 3] {
    let mut all = [(); 3].map(|()| ceremony(&roster(3, 2)));
    for (by, ceremony) in (0..).zip(&mut all) {
        ceremony.take_vote(Phase::Voting, &vote(&nodes(5), by), &Offered::default()).unwrap();
    }
    all_tell(&mut all, Phase::Voting);
    for (by, ceremony) in (0..).zip(&mut all) {
        sight(ceremony, by);
    }
    all_tell(&mut all, Phase::Sighting);
    all
}

pub fn names_of(payload: &[u8]) -> Vec<Option<String>> {
    let file = sign_document(payload, &secret(0)).unwrap();
    let keys = [secret(0).public_key()];
    let authorities = motemix_directory::Authorities::new(&keys, 1).unwrap();
    let document = SignedDocument::parse(&file).unwrap().verify(&authorities).unwrap();
    let then = document.valid_after();
    Previous::of(&document.admit(then, None).unwrap()).names
}

/// The payload that is counted, with ids from nowhere.
pub fn payload(ceremony: &Ceremony) -> Result<Vec<u8>, TallyError> {
    ceremony.count(|_| Some(Previous::default())).map(|counted| counted.payload)
}

/// An authority that holds rounds as the service does. What it keeps outlives them.
#[derive(Clone)]
pub struct Authority {
    pub number: u8,
    /// What nodes said last of themselves.
    pub nodes: Vec<Vec<u8>>,
    /// The payload that it promised, and what the store has of its evidence.
    pub promised: Option<(Vec<u8>, Vec<u8>)>,
    pub document: Option<Vec<u8>>,
}

impl Authority {
    pub fn new(number: u8) -> Self {
        Self { number, nodes: nodes(4), promised: None, document: None }
    }

    pub fn evidence(&self) -> Option<Evidence> {
        self.promised.as_ref().map(|(_, kept)| Evidence::from_bytes(kept).unwrap())
    }

    fn enters(&self, roster: &Roster, round: Round) -> Ceremony {
        let evidence = self.evidence();
        let vote = vote_in(round, &self.nodes, self.number, evidence.as_ref());
        let mut ceremony = Ceremony::new(roster.clone(), "orchard", round);
        let offered = evidence.iter().flat_map(Evidence::votes).collect();
        ceremony.take_vote(Phase::Voting, &vote, &offered).unwrap();
        ceremony
    }

    fn digest_of_promise(&self) -> Option<Digest> {
        self.promised.as_ref().map(|(payload, _)| Digest::of_document(payload))
    }

    fn prepares(&self, ceremony: &mut Ceremony) {
        let Ok(counted) = ceremony.count(|_| Some(Previous::default())) else { return };
        if Ceremony::may_prepare(&counted, self.digest_of_promise()) {
            let document = Digest::of_document(&counted.payload);
            prepare(ceremony, document, self.number);
        }
    }

    fn signs(&mut self, ceremony: &mut Ceremony) {
        let Ok(counted) = ceremony.count(|_| Some(Previous::default())) else { return };
        if ceremony.may_sign(&counted, self.digest_of_promise()) {
            let evidence = counted.evidence.expect("it may be promised");
            self.promised.get_or_insert_with(|| (counted.payload.clone(), evidence.to_bytes()));
            let signed = sign_document(&counted.payload, &secret(self.number)).unwrap();
            ceremony.take_signed(&signed).unwrap();
        }
    }
}

/// Says in this one's name that it counted a document.
pub fn prepare(ceremony: &mut Ceremony, document: Digest, by: u8) {
    let preparation = Preparation { round: ceremony.round(), document };
    ceremony.take_preparation(&preparation.sign(&secret(by)).unwrap()).unwrap();
}

/// One attempt, in which one authority hears another of these places in a phase if `heard` says so.
pub fn attempt(
    all: &mut [Authority],
    roster: &Roster,
    attempt: u64,
    heard: impl FnMut(Phase, usize, usize) -> bool,
) -> Vec<Ceremony> {
    attempt_beside(all, roster, attempt, heard, |_, _| ())
}

/// The same with somebody who says things to them at the last moment of each phase.
pub fn attempt_beside(
    all: &mut [Authority],
    roster: &Roster,
    attempt: u64,
    mut heard: impl FnMut(Phase, usize, usize) -> bool,
    beside: impl Fn(Phase, &mut [Ceremony]),
) -> Vec<Ceremony> {
    let count = all.len();
    let told = |phase| {
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        let pairs: Vec<_> = pairs.filter(|(from, to)| from != to && heard(phase, *from, *to)).collect();
        // What is heard is passed on.
        pairs.repeat(2)
    };
    attempt_in_order(all, roster, attempt, told, beside)
}

/// The same in which one tells another what it knows by then, in the order of these pairs.
pub fn attempt_in_order(
    all: &mut [Authority],
    roster: &Roster,
    attempt: u64,
    mut told: impl FnMut(Phase) -> Vec<(usize, usize)>,
    beside: impl Fn(Phase, &mut [Ceremony]),
) -> Vec<Ceremony> {
    let round = Round { attempt, ..ROUND };
    let mut ceremonies: Vec<_> = all.iter().map(|authority| authority.enters(roster, round)).collect();
    for phase in [Phase::Voting, Phase::Sighting, Phase::Preparing, Phase::Signing] {
        for (authority, ceremony) in all.iter_mut().zip(&mut ceremonies) {
            match phase {
                Phase::Sighting => sight(ceremony, authority.number),
                Phase::Preparing => authority.prepares(ceremony),
                Phase::Signing => authority.signs(ceremony),
                Phase::Voting | Phase::Rest => {}
            }
        }
        for (from, to) in told(phase) {
            if let Ok([from, to]) = ceremonies.get_disjoint_mut([from, to]) {
                tell(from, to, phase);
            }
        }
        beside(phase, &mut ceremonies);
    }
    for (authority, ceremony) in all.iter_mut().zip(&ceremonies) {
        authority.document = ceremony.agreed().map(|agreed| agreed.file);
    }
    ceremonies
}
