//! An authority that promised a document before it was started again shows the others why, in each
//! round of that epoch, over HTTP.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use motemix_authority::ceremony::{Ceremony, Phase};
use motemix_authority::config::Peer;
use motemix_authority::evidence::Evidence;
use motemix_authority::store::Store;
use motemix_authority::transcript::{Transcript, Word};
use motemix_authority::vote::{Digest, NewVote, Round, Sighting, Vote};
use motemix_authority::{AuthorityConfig, run};
use motemix_directory::{AuthoritySecret, MAX_DESCRIPTOR_LEN, UnixTime};
use motemix_host::AuthorityKeyFile;
use motemix_os::clock::unix_time;
use motemix_os::supervisor::Supervisor;
use motemix_os::web::{self, WebError};
use tokio::sync::oneshot;

const PHASE: Duration = Duration::from_millis(250);
/// A year: none ends while the story runs.
const EPOCH: Duration = Duration::from_hours(24 * 365);

fn secrets() -> [AuthoritySecret; 2] {
    [1, 2].map(|number| AuthoritySecret::from_bytes(&[number; 32]))
}

/// What the two others voted and saw in a round that is long over.
fn evidence(config: &AuthorityConfig, round: Round) -> Evidence {
    let vote = |secret: &AuthoritySecret| {
        let draft = config.draft(round.epoch).expect("a draft");
        let vote =
            NewVote { attempt: round.attempt, previous: None, draft, candidates: Vec::new(), evidence: None };
        vote.sign(secret).expect("a vote")
    };
    let votes = secrets().each_ref().map(vote);
    let mut seen: Vec<_> = votes.iter().map(|file| Digest::of_vote(file)).collect();
    seen.sort_unstable();
    let sighting = Sighting { round, votes: seen };
    let sightings = secrets().each_ref().map(|secret| sighting.sign(secret).expect("a sighting"));
    Evidence::new(sightings.to_vec(), votes)
}

/// What the authority there says in the round that is on, once it has voted.
fn heard(at: SocketAddr, round: impl Fn() -> Round) -> (Round, Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut answers = (0..2000).filter_map(|_| {
        let round = round();
        let path = format!("/rounds/{}/{}", round.epoch, round.attempt);
        let answer = runtime.block_on(web::get(&at.to_string(), &path, 1 << 20, Duration::from_mins(3)));
        thread::sleep(Duration::from_millis(20));
        answer.ok().flatten().map(|transcript| (round, transcript))
    });
    answers.next().expect("it votes")
}

/// A descriptor that is longer than a vote takes is not even read.
fn refuses_what_no_vote_may_have(at: SocketAddr) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let at = at.to_string();
    for (len, status) in [(MAX_DESCRIPTOR_LEN, 400), (MAX_DESCRIPTOR_LEN + 1, 413)] {
        let handed_in = web::post(&at, "/descriptors", vec![0; len], Duration::from_mins(3));
        let refused = runtime.block_on(handed_in).unwrap_err();
        assert!(matches!(&refused, WebError::Refused { status: said, .. } if *said == status), "{refused}");
    }
}

#[test]
fn an_authority_that_starts_again_shows_why_it_promised() {
    let place = tempfile::tempdir().unwrap();
    let key = AuthorityKeyFile::create(place.path().join("authority.key")).unwrap();
    let mut config = AuthorityConfig::new("orchard", ([127, 0, 0, 1], 0).into(), &key.public_key());
    (config.threshold, config.epoch_length, config.phase) = (2, EPOCH, PHASE);
    let peers = secrets().map(|secret| Peer { key: hex::encode(secret.public_key().to_bytes()), at: None });
    config.authorities.extend(peers);
    config.save(place.path()).unwrap();

    let epoch = config.epoch_at(UnixTime(unix_time().as_secs()));
    let promised = evidence(&config, Round { epoch, attempt: 1 });
    let store = Store::open(&place.path().join("authority.db")).unwrap();
    assert!(store.promise(epoch, Digest([7; 32]), &promised).unwrap());
    drop(store);

    let (stop, stopped) = oneshot::channel::<()>();
    let (tell, hear) = mpsc::channel();
    let dir = place.path().to_owned();
    let north = thread::spawn(move || {
        run(&dir, &Supervisor::default(), |at| tell.send(at).unwrap(), async { drop(stopped.await) })
    });
    let round_length = PHASE.as_millis() * Phase::ALL.len() as u128;
    let attempt = || u64::try_from(unix_time().as_millis() / round_length).unwrap();
    let at = hear.recv().unwrap();
    let (round, transcript) = heard(at, || Round { epoch, attempt: attempt() });
    refuses_what_no_vote_may_have(at);

    let roster = config.roster().unwrap();
    let words = Transcript::read(&transcript).unwrap();
    let earlier: Vec<_> = words
        .iter()
        .filter_map(|word| if let Word::EarlierVote(file) = word { Some(*file) } else { None })
        .collect();
    assert_eq!(earlier, promised.votes().collect::<Vec<_>>());
    let vote = words.iter().find_map(|word| if let Word::Vote(file) = word { Some(*file) } else { None });
    let vote = vote.unwrap();
    let (signer, read) = Vote::verify(vote, &roster).unwrap();
    assert_eq!((signer, read.evidence), (key.public_key(), Some(promised.reference())));
    // The others take it as it came.
    let mut theirs = Ceremony::new(roster, "orchard", round);
    assert_eq!(theirs.take_vote(Phase::Voting, vote, &earlier.into_iter().collect()), Ok(true));
    stop.send(()).unwrap();
    north.join().unwrap().unwrap();
}
