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
use motemix_host::config::{Faults, Limits};
use motemix_host::documents::{Documents, DocumentsProblem};

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
        NodeConfig {
            name: "mix-1".into(),
            id: 0,
            listen: vec!["[::1]:41001".parse().unwrap()],
            radio: None,
            key: "node.key".into(),
            documents: self.folder.path().join("documents"),
            authorities: vec![self.authority.public_key().to_bytes()],
            threshold: 1,
            state: self.folder.path().join("state"),
            metrics: None,
            limits: Limits::default(),
            faults: Faults::default(),
            readings: None,
        }
    }

    fn open(&self) -> Documents {
        Documents::open(&self.config()).unwrap()
    }

    fn publish(&self, epoch: u32) {
        let bytes = document(epoch, &self.authority);
        fs::write(self.folder.path().join(format!("documents/{epoch}.cbor")), bytes).unwrap();
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.folder.path().join(file)
    }
}

fn document(epoch: u32, authority: &AuthoritySecret) -> Vec<u8> {
    let parameters = Parameters {
        min_hops: 3,
        max_hops: 3,
        mean_delay: Duration::from_millis(50),
        hop_allowance: Duration::from_millis(20),
        transmissions: 3,
        loop_mean: None,
        drop_mean: None,
        payload_mean: None,
        overlap: Duration::from_secs(10),
    };
    let draft = Draft {
        network_name: "field",
        epoch: Epoch(epoch),
        valid_after: UnixTime(u64::from(epoch) * EPOCH),
        valid_until: UnixTime(u64::from(epoch + 1) * EPOCH),
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

    let network = place.open().current(at(9 * EPOCH + 5)).unwrap();

    assert_eq!((network.epoch, network.valid_until, &*network.name), (Epoch(9), at(1000), "field"));
    let receiver = network.find("receiver").unwrap();
    assert_eq!(receiver.get(), 1);
    assert_eq!(network.node(receiver).unwrap().addresses, ["127.0.0.1:41002".parse().unwrap()]);
    assert_eq!(network.find("nobody"), None);
    assert_eq!(network.entries().count(), 2);
}

#[test]
fn no_document_comes_back_from_the_past() {
    let place = Place::new();
    place.publish(5);
    place.publish(6);
    let mut documents = place.open();
    assert_eq!(documents.current(at(5 * EPOCH)).unwrap().epoch, Epoch(5));
    assert_eq!(documents.current(at(6 * EPOCH)).unwrap().epoch, Epoch(6));
    assert_eq!(fs::read_to_string(place.path("state/newest-epoch")).unwrap(), "6\n");

    // The newer file is taken away, and the clock is set back.
    fs::remove_file(place.path("documents/6.cbor")).unwrap();
    let mut documents = place.open();
    assert_eq!(documents.newest_seen(), Some(Epoch(6)));
    let error = documents.current(at(5 * EPOCH)).unwrap_err();
    let rolled_back = DocumentError::RolledBack { epoch: Epoch(5), newest_seen: Epoch(6) };
    assert!(matches!(error.problem, DocumentsProblem::Refused(found) if found == rolled_back), "{error}");
}

#[test]
fn each_error_names_the_file_and_a_remedy() {
    let place = Place::new();
    let mut documents = place.open();
    let mut expect = |now, file: &str, words: &str| {
        let error = documents.current(at(now)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", place.path(file).display())), "{error}");
        assert!(error.contains(words), "«{error}» without «{words}»");
    };
    expect(500, "documents", "there is no network document here; fetch");

    place.publish(5);
    expect(499, "documents/5.cbor", "valid from 500 on");
    expect(600, "documents/5.cbor", "expired at 600");

    fs::rename(place.path("documents/5.cbor"), place.path("documents/6.cbor")).unwrap();
    expect(500, "documents/6.cbor", "it is the document of epoch 5; name it after its epoch");

    fs::write(place.path("documents/6.cbor"), "nonsense").unwrap();
    expect(600, "documents/6.cbor", "file");

    let stranger = AuthoritySecret::from_bytes(&[8; 32]);
    fs::write(place.path("documents/6.cbor"), document(6, &stranger)).unwrap();
    expect(600, "documents/6.cbor", "0 of 1 signatures");
}

#[test]
fn a_broken_document_for_later_does_not_hide_the_one_in_force() {
    let place = Place::new();
    place.publish(5);
    fs::write(place.path("documents/6.cbor"), "nonsense").unwrap();
    assert_eq!(place.open().current(at(5 * EPOCH)).unwrap().epoch, Epoch(5));
}

#[test]
fn a_damaged_memory_of_the_newest_epoch_is_not_taken_for_none() {
    let place = Place::new();
    fs::write(place.path("state/newest-epoch"), "six").unwrap();
    let error = Documents::open(&place.config()).unwrap_err();
    assert!(matches!(error.problem, DocumentsProblem::NewestDamaged), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let place = Place::new();
    let config = NodeConfig { documents: Path::new("/nowhere").into(), ..place.config() };
    let error = Documents::open(&config).unwrap().current(at(500)).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere: cannot read it: "), "{error}");
}
