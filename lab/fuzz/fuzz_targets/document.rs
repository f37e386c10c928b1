//! The network document: as a file from nowhere, as a payload that authorities signed whatever it
//! says, and as a document that was made. What is read has one encoding; what was changed is
//! refused.
#![cfg_attr(fuzzing, no_main)]

use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use motemix_crypto::PublicKey;
use motemix_directory::{
    Authorities, AuthoritySecret, DocumentBuilder, DocumentError, DocumentNode, Draft, Entry, Epoch,
    NetworkDocument, NewNode, Parameters, ProfileName, Role, SignedDocument, UnixTime, document_len_limit,
};
use motemix_fuzz::{Damage, fuzz_target, signed};

// The first byte says what the others are, so that real documents are seeds.
fuzz_target!(|bytes: &[u8]| match bytes {
    [0, file @ ..] => refuse_or_read(file),
    [1, payload @ ..] => read_payload(payload),
    [_, made @ ..] => {
        if let Ok(made) = Made::arbitrary(&mut Unstructured::new(made)) {
            make(&made);
        }
    }
    [] => {}
});

const SEED: [u8; 32] = [7; 32];

fn authority() -> AuthoritySecret {
    AuthoritySecret::from_bytes(&SEED)
}

/// Nobody but the seeds' authority signed it.
fn refuse_or_read(file: &[u8]) {
    let Ok(signed) = SignedDocument::parse(file) else { return };
    assert!(signed.signatures().count() > 0);
    assert!(file.windows(signed.payload().len()).any(|window| window == signed.payload()));
    let _ = open(file);
}

fn open(file: &[u8]) -> Result<NetworkDocument<'_>, DocumentError> {
    let keys = [authority().public_key()];
    let authorities = Authorities::new(&keys, 1).expect("one of one");
    let verified = SignedDocument::parse(file)?.verify(&authorities)?;
    let begin = verified.valid_after();
    verified.admit(begin, None)
}

fn read_payload(payload: &[u8]) {
    if payload.len() > usize::from(u16::MAX) {
        return;
    }
    let file = signed(b"motemix/1 network document", payload, SEED);
    let Ok(document) = open(&file) else { return };
    let again = encode_again(&document);
    let again = SignedDocument::parse(&again).expect("it was just made");
    // Extensions are skipped and not written again; nothing else may differ.
    assert!(again.payload() == payload || again.payload().len() < payload.len());
    walk(&document);
}

fn encode_again(document: &NetworkDocument<'_>) -> Vec<u8> {
    let draft = Draft {
        network_name: document.network_name(),
        epoch: document.epoch(),
        valid_after: document.valid_after(),
        valid_until: document.valid_until(),
        profile: document.profile(),
        parameters: document.parameters(),
    };
    let addresses: Vec<Vec<_>> = document.nodes().map(|node| node.addresses.iter().collect()).collect();
    let mut nodes = vec![NewNode::VACANT; document.id_count()];
    for (node, addresses) in document.nodes().zip(&addresses) {
        let DocumentNode { id, name, role, mix_key, .. } = node;
        nodes[usize::from(id.get())] = NewNode { name, role, mix_key, addresses };
    }
    let mut out = vec![0; document_len_limit(nodes.len(), 1)];
    let mut builder = DocumentBuilder::encode(&mut out, &draft, nodes.into_iter()).expect("it was read");
    builder.sign(&authority()).expect("the key is sound");
    builder.finish().expect("it is signed").to_vec()
}

fn walk(document: &NetworkDocument<'_>) {
    let mut entries = vec![Entry::default(); document.id_count()];
    let topology = document.fill_entries(&mut entries).expect("there is room for all");
    for node in document.nodes() {
        let entry = topology.entry(node.id).expect("all nodes are there");
        assert_eq!((entry.role, entry.mix_key), (node.role, node.mix_key));
        assert_eq!(document.find(node.name), Some(node));
    }
}

#[derive(Arbitrary, Debug)]
struct Made {
    name: String,
    epoch: u32,
    valid_after: u64,
    lifetime: u32,
    hops: [u8; 2],
    profile: u8,
    micros: [u32; 5],
    transmissions: u8,
    overlap: u16,
    nodes: Vec<MadeNode>,
    damage: Option<Damage>,
}

#[derive(Arbitrary, Debug)]
struct MadeNode {
    name: String,
    layer: Option<u8>,
    key: [u8; 32],
    address: SocketAddr,
}

/// What the builder writes is read, unless a byte was changed.
fn make(made: &Made) {
    let micros = made.micros.map(|micros| Duration::from_micros(u64::from(micros)));
    let [mean_delay, hop_allowance, loop_mean, drop_mean, payload_mean] = micros;
    let mean = |mean: Duration| (!mean.is_zero()).then_some(mean);
    let profiles = [ProfileName::Mote, ProfileName::Mote5, ProfileName::Host1k, ProfileName::Host2k];
    let mut parameters = Parameters::new(made.hops[0], made.hops[1]);
    parameters.mean_delay = mean_delay;
    parameters.hop_allowance = hop_allowance;
    parameters.transmissions = made.transmissions;
    parameters.loop_mean = mean(loop_mean);
    parameters.drop_mean = mean(drop_mean);
    parameters.payload_mean = mean(payload_mean);
    parameters.overlap = Duration::from_secs(u64::from(made.overlap));
    let draft = Draft {
        network_name: &made.name,
        epoch: Epoch(made.epoch),
        valid_after: UnixTime(made.valid_after),
        valid_until: UnixTime(made.valid_after.saturating_add(u64::from(made.lifetime))),
        profile: profiles[usize::from(made.profile) % profiles.len()],
        parameters,
    };
    let nodes = made.nodes.iter().map(|node| NewNode {
        name: &node.name,
        role: node.layer.map_or(Role::Endpoint, |layer| Role::Mix { layer }),
        mix_key: PublicKey(node.key),
        addresses: std::slice::from_ref(&node.address),
    });
    let mut out = vec![0; document_len_limit(made.nodes.len(), 1)];
    let Ok(mut builder) = DocumentBuilder::encode(&mut out, &draft, nodes) else { return };
    builder.sign(&authority()).expect("the key is sound");
    let mut file = builder.finish().expect("it is signed").to_vec();
    let document = open(&file).expect("nodes read what authorities make");
    assert_eq!((document.epoch(), document.parameters()), (draft.epoch, draft.parameters));
    assert_eq!(encode_again(&document), file);
    walk(&document);
    if let Some(damage) = made.damage {
        damage.apply(&mut file);
        assert!(open(&file).is_err(), "a changed document was read");
    }
}
