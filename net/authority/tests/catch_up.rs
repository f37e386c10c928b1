//! An authority that the end of a round does not reach: what the others agreed on it takes from one
//! of them beside the rounds, while another is cut off, and it does not go on to vote alone. Time is
//! counted in the rounds that it takes part in.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use motemix_authority::ceremony::Phase;
use motemix_authority::config::Peer;
use motemix_authority::{AuthorityConfig, run};
use motemix_crypto::PublicKey;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Epoch, NewNode, Role, SignedDocument, UnixTime, document_len_limit,
};
use motemix_host::AuthorityKeyFile;
use motemix_os::clock::unix_time;
use motemix_os::supervisor::Supervisor;
use motemix_os::web::{self, Answer, Asked, Site, WebError};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

const PHASE: Duration = Duration::from_millis(250);
/// A year: none ends while the story runs.
const EPOCH: Duration = Duration::from_hours(24 * 365);
/// Epochs whose rounds end without the authority that is under test.
const EPOCHS: u32 = 3;

/// The other authority that answers: what it has, and what it was asked. It says nothing in rounds,
/// so that whoever counts on it there is alone.
#[derive(Default)]
struct South {
    documents: BTreeMap<u32, Vec<u8>>,
    fetched: Vec<u32>,
    /// The attempts at each epoch's document that the other one takes part in.
    attempts: BTreeMap<u32, Vec<u64>>,
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<South>>);

impl Heard {
    fn with<T>(&self, with: impl FnOnce(&mut South) -> T) -> T {
        with(&mut self.0.lock().expect("nobody has panicked"))
    }

    fn attempts(&self, epoch: u32) -> Vec<u64> {
        self.with(|south| south.attempts.get(&epoch).cloned().unwrap_or_default())
    }
}

impl Site for Heard {
    fn takes(&self, _: &str) -> Option<usize> {
        None
    }

    fn answer(&self, asked: Asked) -> Answer {
        let words: Vec<_> = asked.path.trim_start_matches('/').split('/').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let epoch = |word: &str| word.parse::<u32>().expect("an epoch");
        self.with(|south| match words[..] {
            ["documents"] => {
                let list: Vec<_> = south.documents.keys().map(u32::to_string).collect();
                Answer::text(200, list.join("\n"))
            }
            ["documents", of] => {
                south.fetched.push(epoch(of));
                let document = south.documents.get(&epoch(of)).cloned();
                document.map_or_else(Answer::nothing, |document| Answer::found("application/cbor", document))
            }
            ["rounds", of, attempt] => {
                let attempts = south.attempts.entry(epoch(of)).or_default();
                if attempts.last() != Some(&number(attempt)) {
                    attempts.push(number(attempt));
                }
                Answer::nothing()
            }
            _ => panic!("nobody asks for {}", asked.path),
        })
    }
}

/// Answers for as long as the test runs.
fn serve(site: Heard) -> SocketAddr {
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let listener = web::listen(([127, 0, 0, 1], 0).into()).expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
            web::serve(listener, Rc::new(site)).await;
        });
    });
    hear.recv().expect("it listens")
}

fn secret(number: u8) -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[number; 32])
}

/// The folder of the authority under test, which knows the others.
fn folder(at: &Path, others: [(AuthoritySecret, SocketAddr); 2]) -> AuthorityConfig {
    let key = AuthorityKeyFile::create(at.join("authority.key")).expect("a key");
    let mut config = AuthorityConfig::new("orchard", ([127, 0, 0, 1], 0).into(), &key.public_key());
    (config.threshold, config.epoch_length, config.phase) = (2, EPOCH, PHASE);
    config.authorities.extend(others.map(|(secret, at)| Peer {
        key: hex::encode(secret.public_key().to_bytes()),
        at: Some(at.to_string()),
    }));
    config.save(at).expect("it is written");
    config
}

/// What the two others agree on.
fn document(config: &AuthorityConfig, epoch: u32) -> Vec<u8> {
    let mixes = [("mix-1", 1), ("mix-2", 2), ("mix-3", 3)];
    let at = mixes.map(|(_, number)| [SocketAddr::from(([192, 0, 2, number], 4000))]);
    let nodes = mixes.into_iter().zip(&at).map(|((name, key), at)| NewNode {
        name,
        role: Role::Mix { layer: 0 },
        mix_key: PublicKey([key; 32]),
        addresses: at,
    });
    let draft = config.draft(Epoch(epoch)).expect("a draft");
    let mut out = vec![0; document_len_limit(mixes.len(), 2)];
    let mut builder = DocumentBuilder::encode(&mut out, &draft, nodes).expect("a document");
    for number in [1, 2] {
        builder.sign(&secret(number)).expect("a signature");
    }
    builder.finish().expect("a document").to_vec()
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < end, "not in a minute: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_authority_that_missed_the_end_of_a_round_has_its_document_before_it_would_vote_alone() {
    // Whoever is cut off takes no connection, and refuses none.
    let cut_off = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let south = Heard::default();
    let others = [(secret(1), serve(south.clone())), (secret(2), cut_off.local_addr().unwrap())];
    let place = tempfile::tempdir().unwrap();
    let config = folder(place.path(), others);
    let (stop, stopped) = oneshot::channel::<()>();
    let dir = place.path().to_owned();
    let (tell, hear) = mpsc::channel();
    let north = thread::spawn(move || {
        let started = |at| tell.send(at).unwrap();
        run(&dir, &Supervisor::default(), started, async { drop(stopped.await) })
    });
    let at = hear.recv().unwrap().to_string();

    let first = config.epoch_at(UnixTime(unix_time().as_secs())).0;
    let round = u64::try_from(PHASE.as_millis()).unwrap() * Phase::ALL.len() as u64;
    let asked = |path: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(web::get(&at, path, 1 << 16, Duration::from_secs(60)))
    };
    let is_told = || match asked("/status") {
        Ok(Some(said)) => String::from_utf8_lossy(&said).contains("documents without this authority"),
        _ => false,
    };
    for epoch in first.. {
        wait_until("it votes", || !south.attempts(epoch).is_empty());
        // From here on the round has an end of which it hears nothing.
        let agreed = document(&config, epoch);
        south.with(|south| south.documents.insert(epoch, agreed.clone()));
        let missed = *south.attempts(epoch).last().unwrap();
        let file = place.path().join(format!("documents/{epoch}.cbor"));
        wait_until("it has what the others agreed on", || file.exists());
        let had = u64::try_from(unix_time().as_millis()).unwrap();
        assert!(south.with(|south| south.fetched.contains(&epoch)));
        let [kept, theirs] = [fs::read(&file).unwrap(), agreed];
        assert_eq!(
            SignedDocument::parse(&kept).unwrap().payload(),
            SignedDocument::parse(&theirs).unwrap().payload()
        );

        wait_until("it goes on to the next epoch", || !south.attempts(epoch + 1).is_empty());
        let attempts = south.attempts(epoch);
        // Two phases of a round are not over when the next one begins. One round more is for a
        // machine that has much else to do.
        assert!(attempts.iter().all(|attempt| *attempt <= missed + 1), "{missed}, and then {attempts:?}");
        // Nor was a round begun for what it had already.
        assert!(attempts.iter().all(|attempt| attempt * round <= had), "{had}, and then {attempts:?}");
        // What the others did before they were first heard is not counted.
        if epoch + 1 >= first + EPOCHS && is_told() {
            break;
        }
        assert!(epoch < first + config.ahead, "its operator hears nothing of it");
    }
    // An authority whose clock is wrong, say, fares as this one does, and its operator has to hear of it.
    assert!(matches!(asked("/healthz"), Err(WebError::Refused { status: 503, .. })));
    let said = |path| String::from_utf8(asked(path).unwrap().unwrap()).unwrap();
    let status = said("/status");
    assert!(status.contains("the others made the last "), "{status}");
    assert!(said("/metrics").contains("motemix_authority_takes_part 0"));
    stop.send(()).unwrap();
    north.join().unwrap().unwrap();
}
