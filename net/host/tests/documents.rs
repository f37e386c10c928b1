//! Which network document is in force, and that none comes back from the past.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use motemix_crypto::PublicKey;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, DocumentError, Draft, Epoch, NewNode, Parameters, ProfileName, Role,
    UnixTime, document_len_limit,
};
use motemix_host::NodeConfig;
use motemix_host::documents::{Documents, DocumentsError, DocumentsProblem, Later, Network};

/// An epoch lasts 100 s; epoch 1 begins at 100 s.
const EPOCH: u64 = 100;

struct Place {
    folder: tempfile::TempDir,
    authority: AuthoritySecret,
}

impl Place {
    fn new() -> Self {
        let place =
            Self { folder: tempfile::tempdir().unwrap(), authority: AuthoritySecret::from_bytes(&[7; 32]) };
        fs::create_dir(place.folder.path().join("documents")).unwrap();
        fs::create_dir(place.folder.path().join("state")).unwrap();
        place
    }

    fn config(&self) -> NodeConfig {
        let authorities = vec![self.authority.public_key().to_bytes()];
        let mut config = NodeConfig::new("mix-1", Some(0), "field", authorities, 1);
        config.listen = vec!["[::1]:41001".parse().unwrap()];
        config.documents = self.folder.path().join("documents");
        config.state = self.folder.path().join("state");
        config
    }

    fn open(&self) -> Documents {
        Documents::open(&self.config()).unwrap()
    }

    fn publish(&self, epoch: u32) {
        self.publish_as(epoch, document("field", epoch, &self.authority));
    }

    fn publish_as(&self, epoch: u32, bytes: Vec<u8>) {
        fs::write(self.folder.path().join(format!("documents/{epoch}.cbor")), bytes).unwrap();
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.folder.path().join(file)
    }
}

fn document(network_name: &str, epoch: u32, authority: &AuthoritySecret) -> Vec<u8> {
    document_from(network_name, epoch, u64::from(epoch) * EPOCH, authority)
}

fn document_from(network_name: &str, epoch: u32, begins: u64, authority: &AuthoritySecret) -> Vec<u8> {
    let mut parameters = Parameters::new(3, 3);
    parameters.mean_delay = Duration::from_millis(50);
    parameters.hop_allowance = Duration::from_millis(20);
    parameters.transmissions = 3;
    parameters.overlap = Duration::from_secs(10);
    let draft = Draft {
        network_name,
        epoch: Epoch(epoch),
        valid_after: UnixTime(begins),
        valid_until: UnixTime((begins / EPOCH + 1) * EPOCH),
        profile: ProfileName::Mote,
        parameters,
    };
    let addresses: [[SocketAddr; 1]; 2] =
        [["[::1]:41001".parse().unwrap()], ["127.0.0.1:41002".parse().unwrap()]];
    let node = |name, role, key: u8, addresses| {
        let mut mix_key = [key; 32];
        mix_key[0] = epoch as u8;
        NewNode { name, role, mix_key: PublicKey(mix_key), addresses }
    };
    let nodes = [
        node("mix-1", Role::Mix { layer: 0 }, 1, &addresses[0][..]),
        node("receiver", Role::Endpoint, 2, &addresses[1][..]),
    ];
    let mut buffer = vec![0; document_len_limit(2, 1)];
    let mut builder = DocumentBuilder::encode(&mut buffer, &draft, nodes.into_iter()).unwrap();
    builder.sign(authority).unwrap();
    builder.finish().unwrap().to_vec()
}

/// The newest document in force for a node that has the keys of all epochs.
fn current(documents: &Documents, now: UnixTime) -> Result<Network, DocumentsError> {
    documents.current(now, Epoch(0), |_| Ok(()))
}

fn at(seconds: u64) -> UnixTime {
    UnixTime(seconds)
}

#[test]
fn the_document_of_the_moment_is_picked_among_those_of_past_and_future() {
    let place = Place::new();
    for epoch in 1..=12 {
        place.publish(epoch);
    }
    fs::write(place.path("documents/README"), "not a document").unwrap();

    let network = current(&place.open(), at(9 * EPOCH + 5)).unwrap();

    assert_eq!((network.epoch, network.valid_until, &*network.name), (Epoch(9), at(1000), "field"));
    let receiver = network.find("receiver").unwrap();
    assert_eq!(receiver.get(), 1);
    assert_eq!(network.node(receiver).unwrap().addresses, ["127.0.0.1:41002".parse().unwrap()]);
    assert_eq!(network.find("nobody"), None);
    assert_eq!(network.entries().count(), 2);
}

#[test]
fn no_document_comes_back_for_an_epoch_whose_key_is_gone() {
    let place = Place::new();
    place.publish(5);
    // The file of epoch 6 was taken away, and the clock is set back.
    let refused: Result<_, DocumentsError> = place.open().current(at(5 * EPOCH), Epoch(6), |_| Ok(()));
    let error = refused.unwrap_err();
    let rolled_back = DocumentError::RolledBack { epoch: Epoch(5), newest_seen: Epoch(6) };
    assert!(matches!(error.problem, DocumentsProblem::Refused(found) if found == rolled_back), "{error}");
}

#[test]
fn a_document_that_is_refused_for_any_reason_leaves_the_older_one_in_force() {
    let place = Place::new();
    place.publish(5);
    let mut documents = place.open();
    for bytes in [document_from("field", 4_000_000_000, 5 * EPOCH, &place.authority), b"nonsense".to_vec()] {
        place.publish_as(4_000_000_000, bytes);
        let accept = |network: &Network| match network.epoch {
            Epoch(5) => Ok(()),
            _ => Err(DocumentsError { file: "key".into(), problem: DocumentsProblem::Empty }),
        };
        assert_eq!(documents.current(at(5 * EPOCH), Epoch(5), accept).unwrap().epoch, Epoch(5));
        fs::remove_file(place.path("documents/4000000000.cbor")).unwrap();
        assert_eq!(current(&documents, at(5 * EPOCH)).unwrap().epoch, Epoch(5), "nothing is remembered");
    }
    assert_eq!(documents.later(Epoch(5), None, at(5 * EPOCH)).unwrap(), Later::default());
}

#[test]
fn a_document_of_another_network_of_the_same_authority_is_refused() {
    let place = Place::new();
    place.publish(5);
    place.publish_as(6, document_from("forest", 6, 5 * EPOCH, &place.authority));
    let mut documents = place.open();
    assert_eq!(current(&documents, at(5 * EPOCH)).unwrap().epoch, Epoch(5));
    assert_eq!(documents.later(Epoch(5), None, at(5 * EPOCH)).unwrap(), Later::default());

    fs::remove_file(place.path("documents/5.cbor")).unwrap();
    let error = current(&documents, at(5 * EPOCH)).unwrap_err().to_string();
    assert!(error.contains("6.cbor: it is of the network \"forest\" and not of \"field\"; fetch"), "{error}");
}

#[test]
fn what_comes_next_is_known_before_it_begins_and_when_a_file_changes() {
    let place = Place::new();
    (5..9).for_each(|epoch| place.publish(epoch));
    let mut documents = place.open();
    let later = documents.later(Epoch(5), None, at(5 * EPOCH)).unwrap();
    let until = Some(at(9 * EPOCH));
    let upcoming = Later { next: Some((Epoch(6), at(600))), signed_until: until, ..Later::default() };
    assert_eq!(later, Later { following: 3, covered_until: until, ..upcoming });
    // The authority lets an epoch begin early.
    place.publish_as(6, document_from("field", 6, 550, &place.authority));
    let later = documents.later(Epoch(5), None, at(550)).unwrap();
    assert_eq!(
        later,
        Later {
            in_force: Some(Epoch(6)),
            next: Some((Epoch(7), at(700))),
            // Its time is that of the epoch before, so that its own has none.
            following: 1,
            covered_until: Some(at(600)),
            ..upcoming
        }
    );
    let later = documents.later(Epoch(5), Some(Epoch(6)), at(550)).unwrap();
    assert_eq!(later.in_force, None, "it was refused");
    assert_eq!((later.following, later.signed_until), (0, until), "a gap comes first");
}

#[test]
fn each_error_names_the_file_and_a_remedy() {
    let place = Place::new();
    let documents = place.open();
    let expect = |now, file: &str, words: &str| {
        let error = current(&documents, at(now)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", place.path(file).display())), "{error}");
        assert!(error.contains(words), "«{error}» without «{words}»");
    };
    expect(500, "documents", "there is no network document here; sign or fetch");

    place.publish(5);
    expect(499, "documents/5.cbor", "from 1970-01-01T00:08:20Z on");
    expect(600, "documents/5.cbor", "expired at 1970-01-01T00:10:00Z");

    fs::rename(place.path("documents/5.cbor"), place.path("documents/6.cbor")).unwrap();
    expect(500, "documents/6.cbor", "it is the document of epoch 5; name it after its epoch");

    fs::write(place.path("documents/6.cbor"), "nonsense").unwrap();
    expect(600, "documents/6.cbor", "file");

    let stranger = AuthoritySecret::from_bytes(&[8; 32]);
    fs::write(place.path("documents/6.cbor"), document("field", 6, &stranger)).unwrap();
    expect(600, "documents/6.cbor", "0 of 1 signatures");
}

#[test]
fn a_broken_document_for_later_does_not_hide_the_one_in_force() {
    let place = Place::new();
    place.publish(5);
    fs::write(place.path("documents/6.cbor"), "nonsense").unwrap();
    assert_eq!(current(&place.open(), at(5 * EPOCH)).unwrap().epoch, Epoch(5));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let place = Place::new();
    let mut config = place.config();
    config.documents = Path::new("/nowhere").into();
    let error = current(&Documents::open(&config).unwrap(), at(500)).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere: cannot read it: "), "{error}");
}
