//! What becomes of documents: good ones, forged ones, old ones and malformed ones.

mod network;

use ciborium::Value;
use coset::{CborSerializable, TaggedCborSerializable};
use motemix_crypto::PublicKey;
use motemix_directory::{
    Authorities, AuthoritiesError, AuthorityKey, BuildError, DocumentBuilder, DocumentError, Entry, Epoch,
    Field, Flaw, MAX_DURATION, NewNode, Parameters, ProfileName, Role, SignedDocument, TopologyError,
    UnixTime, document_len_limit,
};
use motemix_sphinx::NodeId;
use network::*;
use proptest::prelude::*;

#[test]
fn what_authorities_write_nodes_read() {
    let file = build(&draft(), &nodes(), &[1]).unwrap();
    let document = open(&file, &[1], 1).unwrap();
    assert_eq!(document.network_name(), "test-net");
    assert_eq!(document.epoch(), Epoch(41));
    assert_eq!((document.valid_after(), document.valid_until()), (NOON, UnixTime(NOON.0 + 3600)));
    assert_eq!(document.profile(), ProfileName::Mote);
    assert_eq!(document.parameters(), draft().parameters);
    assert_eq!(document.node_count(), 8);
    assert_eq!(document.nodes().len(), 8);
    for (read, (id, written)) in document.nodes().zip((0..).zip(nodes())) {
        assert_eq!(read.id.get(), id);
        assert_eq!((read.name, read.role, read.mix_key), (&*written.name, written.role, written.mix_key));
        assert_eq!(read.addresses.iter().collect::<Vec<_>>(), written.addresses);
    }
    assert_eq!(document.find("sensor-8").unwrap().id.get(), 7);
    assert_eq!(document.find("sensor-9"), None);

    let mut entries = [Entry::default(); 10];
    let topology = document.fill_entries(&mut entries).unwrap();
    assert_eq!((topology.entries().len(), topology.layers()), (8, 3));
    assert_eq!(topology.entry(NodeId::new(3).unwrap()).unwrap().mix_key, nodes()[3].mix_key);
    let refused = document.fill_entries(&mut [Entry::default(); 7]).unwrap_err();
    assert_eq!(refused, TopologyError::TooSmall { needed: 8, lent: 7 });
}

#[test]
fn independent_readers_of_cbor_and_cose_agree() {
    let file = build(&draft(), &nodes(), &[1, 2]).unwrap();
    let Value::Array(parts) = ciborium::from_reader(&file[..]).unwrap() else { panic!() };
    let [Value::Bytes(payload), Value::Array(signatures)] = &parts[..] else { panic!() };
    assert_eq!(signatures.len(), 2);
    for (number, signature) in [1u8, 2].into_iter().zip(signatures) {
        let signature =
            coset::CoseSign1::from_tagged_slice(&Value::to_vec(signature.clone()).unwrap()).unwrap();
        assert_eq!(signature.unprotected.key_id, authority(number).public_key().id().0);
        assert_eq!(signature.payload, None);
        let key =
            ed25519_dalek::VerifyingKey::from_bytes(&authority(number).public_key().to_bytes()).unwrap();
        signature
            .verify_detached_signature(payload, b"motemix/1 network document", |signature, data| {
                key.verify_strict(data, &ed25519_dalek::Signature::from_slice(signature).unwrap())
            })
            .unwrap();
    }
    let Value::Map(fields) = ciborium::from_reader(&payload[..]).unwrap() else { panic!() };
    let keys: Vec<_> = fields.iter().map(|(key, _)| key.as_integer().unwrap()).collect();
    assert_eq!(keys, (1..=8).map(ciborium::value::Integer::from).collect::<Vec<_>>());
    assert_eq!(fields[1].1, Value::Text("test-net".into()));
    assert_eq!(fields[7].1.as_array().unwrap().len(), 8);
    // Nothing shorter exists.
    assert_eq!(Value::to_vec(Value::Array(parts.clone())).unwrap(), file);
    assert_eq!(Value::to_vec(Value::Map(fields)).unwrap(), *payload);
    assert_eq!(sign_payload(payload, 1), build(&draft(), &nodes(), &[1]).unwrap());
}

#[test]
fn an_independent_writer_makes_the_same_bytes() {
    let digits: Vec<_> = include_str!("vector.hex").split_whitespace().flat_map(str::chars).collect();
    let value = |digit: char| digit.to_digit(16).unwrap() as u8;
    let bytes: Vec<_> = digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect();
    assert_eq!(build(&draft(), &nodes(), &[1, 2]).unwrap(), bytes);
}

#[test]
fn two_of_three_authorities_are_enough() {
    let trusted = [1, 2, 3];
    for signers in [&[1u8, 2][..], &[3, 1], &[1, 2, 3]] {
        open(&build(&draft(), &nodes(), signers).unwrap(), &trusted, 2).unwrap();
    }
    // Authorities that the node does not know yet are passed over.
    open(&build(&draft(), &nodes(), &[9, 1, 8, 3]).unwrap(), &trusted, 2).unwrap();
    for (signers, valid) in [(&[1u8][..], 1), (&[9, 3], 1), (&[8, 9], 0)] {
        let refused = open(&build(&draft(), &nodes(), signers).unwrap(), &trusted, 2).unwrap_err();
        assert_eq!(refused, DocumentError::TooFewSignatures { valid, invalid: 0, needed: 2 });
    }
}

#[test]
fn an_authority_counts_once() {
    let once = build(&draft(), &nodes(), &[1]).unwrap();
    let payload_end = once.len() - 84 - 1;
    let signature = &once[payload_end + 1..];
    let twice = [&once[..payload_end], &[0x82], signature, signature].concat();
    open(&twice, &[1, 2], 1).unwrap();
    let refused = open(&twice, &[1, 2], 2).unwrap_err();
    assert_eq!(refused, DocumentError::TooFewSignatures { valid: 1, invalid: 0, needed: 2 });

    let mut out = vec![0; document_len_limit(8, 2)];
    let nodes = nodes();
    let described = nodes.iter().map(|node| NewNode {
        name: &node.name,
        role: node.role,
        mix_key: node.mix_key,
        addresses: &node.addresses,
    });
    let mut builder = DocumentBuilder::encode(&mut out, &draft(), described).unwrap();
    builder.sign(&authority(1)).unwrap();
    assert_eq!(builder.sign(&authority(1)), Err(BuildError::SignedTwice(authority(1).public_key().id())));
}

#[test]
fn signatures_made_apart_are_collected() {
    let mine = build(&draft(), &nodes(), &[1]).unwrap();
    let theirs = build(&draft(), &nodes(), &[2]).unwrap();
    let (mine, theirs) = (SignedDocument::parse(&mine).unwrap(), SignedDocument::parse(&theirs).unwrap());
    assert_eq!(mine.payload(), theirs.payload());
    let nodes = nodes();
    let described = nodes.iter().map(|node| NewNode {
        name: &node.name,
        role: node.role,
        mix_key: node.mix_key,
        addresses: &node.addresses,
    });
    let mut out = vec![0; document_len_limit(8, 2)];
    let mut builder = DocumentBuilder::encode(&mut out, &draft(), described).unwrap();
    assert_eq!(builder.payload(), mine.payload());
    assert_eq!(builder.to_be_signed().concat(), to_be_signed(mine.payload()));
    let (_, wrong) = theirs.signatures().next().unwrap();
    assert_eq!(builder.attach(&authority(1).public_key(), wrong), Err(BuildError::BadSignature));
    for (number, copy) in [(1, mine), (2, theirs)] {
        let (id, signature) = copy.signatures().next().unwrap();
        assert_eq!(id, authority(number).public_key().id());
        builder.attach(&authority(number).public_key(), signature).unwrap();
    }
    open(builder.finish().unwrap(), &[1, 2], 2).unwrap();
}

#[test]
fn a_forger_borrows_the_key_id() {
    let mut file = build(&draft(), &nodes(), &[9]).unwrap();
    let id_at = file.len() - 84 + 9;
    file[id_at..id_at + 8].copy_from_slice(&authority(1).public_key().id().0);
    let refused = open(&file, &[1], 1).unwrap_err();
    assert_eq!(refused, DocumentError::TooFewSignatures { valid: 0, invalid: 1, needed: 1 });
}

/// A signature costs a small board a tenth of a second, and a neighbour sends what it likes.
#[test]
fn bad_signatures_of_one_authority_cost_one_check() {
    let honest = build(&draft(), &nodes(), &[1, 2, 3]).unwrap();
    let one = 84;
    let end = honest.len() - 3 * one;
    let (payload, signatures) = (&honest[..end - 1], honest[end..].as_chunks::<84>().0);
    let bad = |number: usize| {
        let mut signature = signatures[number - 1];
        signature[one - 1] ^= 1;
        signature
    };
    let file = |signatures: &[[u8; 84]]| {
        [payload, &[0x80 | signatures.len() as u8], signatures.as_flattened()].concat()
    };

    let many = file(&[bad(1); 15]);
    let refused = open(&many, &[1, 2, 3], 2).unwrap_err();
    assert_eq!(refused, DocumentError::TooFewSignatures { valid: 0, invalid: 1, needed: 2 });
    // A bad one does no harm to enough good ones, and two bad ones of three are the end.
    open(&file(&[bad(1), signatures[1], signatures[2]]), &[1, 2, 3], 2).unwrap();
    let refused = open(&file(&[bad(3), bad(1), signatures[1]]), &[1, 2, 3], 2).unwrap_err();
    assert_eq!(refused, DocumentError::TooFewSignatures { valid: 0, invalid: 2, needed: 2 });
}

#[test]
fn a_signature_serves_no_other_purpose() {
    // The same key over the payload alone, as another protocol might sign it.
    use ed25519_dalek::{Signer, SigningKey};
    let mut file = build(&draft(), &nodes(), &[1]).unwrap();
    let signature = SigningKey::from_bytes(&[1; 32]).sign(&payload(&file)).to_bytes();
    let at = file.len() - 64;
    file[at..].copy_from_slice(&signature);
    assert!(matches!(open(&file, &[1], 1), Err(DocumentError::TooFewSignatures { .. })));
}

#[test]
fn authorities_that_cannot_be_used() {
    let keys = keys([1, 2, 1]);
    assert_eq!(Authorities::new(&keys, 1).unwrap_err(), AuthoritiesError::Repeated(keys[0].id()));
    assert_eq!(Authorities::new(&keys[..2], 0).unwrap_err(), AuthoritiesError::Threshold);
    assert_eq!(Authorities::new(&keys[..2], 3).unwrap_err(), AuthoritiesError::Threshold);
    assert_eq!(Authorities::new(&network::keys(0..17), 1).unwrap_err(), AuthoritiesError::TooMany);
    // The neutral element: everything is a signature by it.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    assert!(AuthorityKey::from_bytes(&neutral).is_err());
    assert!(AuthorityKey::from_bytes(&keys[0].to_bytes()).is_ok());
    assert_eq!(format!("{:?}", authority(1)), "AuthoritySecret(..)");
}

#[test]
fn a_document_has_its_time() {
    let file = build(&draft(), &nodes(), &[1]).unwrap();
    let keys = keys([1]);
    let verified =
        SignedDocument::parse(&file).unwrap().verify(&Authorities::new(&keys, 1).unwrap()).unwrap();
    let admit = |now: u64, seen: Option<u32>| {
        verified
            .clone()
            .admit(UnixTime(NOON.0 - 200 + now), seen.map(Epoch))
            .map(|document| document.epoch().0)
    };
    let from = NOON;
    let at = UnixTime(NOON.0 + 3600);
    assert_eq!(admit(199, None), Err(DocumentError::NotYetValid { from, now: UnixTime(NOON.0 - 1) }));
    assert_eq!(admit(200, None), Ok(41));
    assert_eq!(admit(3799, Some(40)), Ok(41));
    assert_eq!(admit(3800, None), Err(DocumentError::Expired { at, now: at }));
    // Read again after a restart, then rolled back.
    assert_eq!(admit(200, Some(41)), Ok(41));
    let refused = DocumentError::RolledBack { epoch: Epoch(41), newest_seen: Epoch(42) };
    assert_eq!(admit(200, Some(42)), Err(refused));

    let neighbour = |now: u64, seen: Option<u32>| {
        verified.clone().admit_neighbour(UnixTime(NOON.0 - 200 + now), seen.map(Epoch)).is_ok()
    };
    assert!(!neighbour(79, None) && neighbour(80, None));
    assert!(neighbour(3919, Some(42)) && !neighbour(3920, Some(42)));
    assert!(!neighbour(3800, Some(43)));
}

/// The flaw with which an authority's own tool refuses nodes.
fn flaw(change: impl FnOnce(&mut Vec<Node>)) -> (Field, Option<u16>, Flaw) {
    let mut nodes = nodes();
    change(&mut nodes);
    match build(&draft(), &nodes, &[1]).unwrap_err() {
        BuildError::Refused(DocumentError::Malformed { place, flaw }) => {
            (place.field, place.node.map(NodeId::get), flaw)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn nodes_that_no_network_has() {
    assert_eq!(flaw(|n| n[5].name = "mix-1".into()), (Field::NodeName, Some(5), Flaw::Duplicate));
    assert_eq!(flaw(|n| n[6].mix_key = n[2].mix_key), (Field::MixKey, Some(6), Flaw::Duplicate));
    assert_eq!(flaw(|n| n[6].mix_key = PublicKey([0; 32])), (Field::MixKey, Some(6), Flaw::WeakKey));
    assert_eq!(flaw(|n| n[6].name = "Alice".into()), (Field::NodeName, Some(6), Flaw::Name));
    assert_eq!(flaw(|n| n[6].name = "é".into()), (Field::NodeName, Some(6), Flaw::Name));
    let length = Flaw::Length { least: 1, most: 32 };
    assert_eq!(flaw(|n| n[6].name = String::new()), (Field::NodeName, Some(6), length));
    assert_eq!(flaw(|n| n[6].name = "a".repeat(33)), (Field::NodeName, Some(6), length));
    let length = Flaw::Length { least: 1, most: 2 };
    assert_eq!(flaw(|n| n[6].addresses.clear()), (Field::Addresses, Some(6), length));
    assert_eq!(flaw(|n| n[6].addresses = vec![n[0].addresses[0]; 3]), (Field::Addresses, Some(6), length));
    for address in ["0.0.0.0:1", "224.0.0.1:1", "255.255.255.255:1", "192.0.2.1:0", "[::]:1", "[ff02::1]:1"] {
        let address = vec![address.parse().unwrap()];
        assert_eq!(flaw(|n| n[6].addresses = address), (Field::Addresses, Some(6), Flaw::Address));
    }
    assert_eq!(flaw(Vec::clear), (Field::Nodes, None, Flaw::Length { least: 1, most: 16_384 }));
    let range = Flaw::Range { least: 0, most: 15 };
    assert_eq!(flaw(|n| n[5].role = Role::Mix { layer: 16 }), (Field::NodeRole, Some(5), range));
}

#[test]
fn layers_with_gaps() {
    let gap = |n: &mut Vec<Node>, layer| n.retain(|node| node.role != Role::Mix { layer });
    assert_eq!(flaw(|n| gap(n, 0)), (Field::Nodes, None, Flaw::EmptyLayer { layer: 0 }));
    assert_eq!(flaw(|n| gap(n, 1)), (Field::Nodes, None, Flaw::EmptyLayer { layer: 1 }));
    let mut fewer = nodes();
    gap(&mut fewer, 2);
    build(&draft(), &fewer, &[1]).unwrap();
    // A network without mixes is one, too: its nodes meet directly.
    build(&draft(), &nodes()[6..], &[1]).unwrap();
}

#[test]
fn drafts_that_no_network_follows() {
    type Change = fn(&mut Parameters);
    let refused: [(Field, Change); 6] = [
        (Field::MinHops, |p| p.min_hops = 0),
        (Field::MaxHops, |p| p.max_hops = 1),
        (Field::MaxHops, |p| p.max_hops = 4),
        (Field::MeanDelay, |p| p.mean_delay = MAX_DURATION + MAX_DURATION),
        (Field::Transmissions, |p| p.transmissions = 0),
        (Field::Overlap, |p| p.overlap *= 31),
    ];
    for (field, change) in refused {
        let mut draft = draft();
        change(&mut draft.parameters);
        match build(&draft, &nodes(), &[1]).unwrap_err() {
            BuildError::Refused(DocumentError::Malformed { place, flaw: Flaw::Range { .. } }) => {
                assert_eq!(place.field, field);
            }
            other => panic!("{other}"),
        }
    }
    let inexact: [(Field, Change); 3] = [
        (Field::HopAllowance, |p| p.hop_allowance /= 7),
        (Field::LoopMean, |p| p.loop_mean = Some(core::time::Duration::ZERO)),
        (Field::Overlap, |p| p.overlap /= 7),
    ];
    for (field, change) in inexact {
        let mut draft = draft();
        change(&mut draft.parameters);
        assert_eq!(build(&draft, &nodes(), &[1]), Err(BuildError::Inexact { field }));
    }
    let mut longer = draft();
    longer.profile = ProfileName::Mote5;
    longer.parameters.max_hops = 5;
    build(&longer, &nodes(), &[1]).unwrap();
    let mut empty = draft();
    empty.valid_until = empty.valid_after;
    assert!(matches!(build(&empty, &nodes(), &[1]), Err(BuildError::Refused(_))));
    assert_eq!(build(&draft(), &nodes(), &[]), Err(BuildError::NotSigned));
}

#[test]
fn only_one_encoding_is_read() {
    let good = payload(&build(&draft(), &nodes(), &[1]).unwrap());
    open(&sign_payload(&good, 1), &[1], 1).unwrap();
    assert_eq!(good[..3], [0xa8, 0x01, 0x01]);
    let with = |at: usize, remove: usize, insert: &[u8]| [&good[..at], insert, &good[at + remove..]].concat();
    // Longer forms of the map's head, a key, a value; indefinite length.
    assert_eq!(signed_flaw(&with(0, 1, &[0xb8, 8])), (Field::Payload, Flaw::NotDeterministic));
    assert_eq!(signed_flaw(&with(0, 1, &[0xbf])), (Field::Payload, Flaw::NotDeterministic));
    assert_eq!(signed_flaw(&with(1, 1, &[0x18, 1])), (Field::Version, Flaw::NotDeterministic));
    assert_eq!(signed_flaw(&with(2, 1, &[0x19, 0, 1])), (Field::Version, Flaw::NotDeterministic));
    assert_eq!(signed_flaw(&with(2, 1, &[2])), (Field::Version, Flaw::Range { least: 1, most: 1 }));
    // A key twice, one missing, one of another type.
    assert_eq!(signed_flaw(&with(3, 1, &[1])), (Field::NetworkName, Flaw::KeyOrder));
    assert_eq!(signed_flaw(&with(3, 1, &[3])), (Field::NetworkName, Flaw::Missing));
    assert_eq!(signed_flaw(&with(3, 1, &[0x61, b'2'])), (Field::NetworkName, Flaw::WrongType));
    assert_eq!(signed_flaw(&[0xa1, 1, 1]), (Field::NetworkName, Flaw::Missing));
    assert_eq!(signed_flaw(&with(good.len(), 0, &[0])), (Field::Payload, Flaw::TrailingBytes));
    assert_eq!(signed_flaw(b""), (Field::Payload, Flaw::Truncated));
}

#[test]
fn fields_of_later_versions() {
    let good = payload(&build(&draft(), &nodes(), &[1]).unwrap());
    let with = |fields: u8, more: &[u8]| [&[0xa8 + fields], &good[1..], more].concat();
    // Negative keys may be ignored, in ascending order of their encoding.
    open(&sign_payload(&with(1, b"\x20\x43new"), 1), &[1], 1).unwrap();
    open(&sign_payload(&with(2, b"\x20\x40\x38\x70\x43new"), 1), &[1], 1).unwrap();
    assert_eq!(signed_flaw(&with(2, b"\x21\x40\x20\x40")), (Field::Payload, Flaw::KeyOrder));
    assert_eq!(signed_flaw(&with(2, b"\x20\x40\x20\x40")), (Field::Payload, Flaw::KeyOrder));
    assert_eq!(signed_flaw(&with(1, b"\x20\x01")), (Field::Payload, Flaw::WrongType));
    // Others may not.
    assert_eq!(signed_flaw(&with(1, b"\x09\x40")), (Field::Payload, Flaw::UnknownCritical));
    assert_eq!(signed_flaw(&with(1, b"\x61a\x40")), (Field::Payload, Flaw::UnknownCritical));
    assert_eq!(signed_flaw(&with(1, b"\x08\x40")), (Field::Payload, Flaw::KeyOrder));
}

#[test]
fn seventeen_signatures_are_too_many() {
    let file = build(&draft(), &nodes(), &(1..=16).collect::<Vec<_>>()).unwrap();
    open(&file, &(1..=16).collect::<Vec<_>>(), 16).unwrap();
    let mut out = vec![0; 10_000];
    out[..file.len()].copy_from_slice(&file);
    let count_at = file.len() - 16 * 84 - 1;
    out[count_at] += 1;
    out.copy_within(file.len() - 84..file.len(), file.len());
    assert!(matches!(
        SignedDocument::parse(&out[..file.len() + 84]),
        Err(DocumentError::Malformed { flaw: Flaw::Length { least: 1, most: 16 }, .. })
    ));
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let mut twins = nodes();
    twins[5].name = "mix-1".into();
    let error = build(&draft(), &twins, &[1]).unwrap_err().to_string();
    assert!(error.contains("node 5, name (byte "), "{error}");
    assert!(error.ends_with("another node has the same; names and mix keys must be unique"), "{error}");
}

/// Handshakes call whoever is at an address by a number of it, so a stranger who gave a node such
/// an address would be taken for another one.
#[test]
fn the_largest_network_fits_and_is_checked() {
    // Longest names and addresses, so that the buffer's bound is put to the test.
    let mut many: Vec<_> = (0..16_384u32)
        .map(|i| {
            let mut node = node(&format!("{i:032}"), Role::Mix { layer: (i % 16) as u8 }, i as u16);
            node.addresses = vec!["[2001:db8::1]:1".parse().unwrap(), "[2001:db8::2]:2".parse().unwrap()];
            node
        })
        .collect();
    let mut longest = draft();
    let name = "n".repeat(32);
    longest.network_name = &name;
    longest.epoch = Epoch(u32::MAX);
    longest.valid_until = UnixTime(u64::MAX);
    longest.parameters.overlap = core::time::Duration::from_secs(u64::from(u32::MAX) + 1);
    let p = &mut longest.parameters;
    (p.mean_delay, p.hop_allowance, p.transmissions) = (MAX_DURATION, MAX_DURATION, 255);
    (p.loop_mean, p.drop_mean, p.payload_mean) = (Some(MAX_DURATION), Some(MAX_DURATION), Some(MAX_DURATION));
    let file = build(&longest, &many, &[1]).unwrap();
    assert_eq!(open(&file, &[1], 1).unwrap().nodes().count(), 16_384);
    many[16_383].mix_key = many[0].mix_key;
    let refused = build(&longest, &many, &[1]).unwrap_err();
    assert!(matches!(
        refused,
        BuildError::Refused(DocumentError::Malformed { place, flaw: Flaw::Duplicate })
            if place.field == Field::MixKey && place.node == NodeId::new(16_383)
    ));
    many.push(node("one-more", Role::Endpoint, 1));
    assert!(build(&longest, &many, &[1]).is_err());
}

#[test]
fn every_truncation_and_every_tail_is_refused() {
    let file = build(&draft(), &nodes(), &[1, 2]).unwrap();
    for len in 0..file.len() {
        assert!(SignedDocument::parse(&file[..len]).is_err());
    }
    let longer = [&file[..], &[0]].concat();
    assert!(matches!(
        SignedDocument::parse(&longer),
        Err(DocumentError::Malformed { flaw: Flaw::TrailingBytes, .. })
    ));
    let whole = payload(&file);
    for len in 0..whole.len() {
        assert!(matches!(
            open(&sign_payload(&whole[..len], 1), &[1], 1),
            Err(DocumentError::Malformed { .. })
        ));
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let file = build(&draft(), &nodes()[6..], &[1, 2]).unwrap();
    let mut changed = file.clone();
    for at in 0..file.len() {
        changed[at] ^= 1 << (at % 8);
        assert!(open(&changed, &[1, 2], 2).is_err(), "byte {at}");
        changed[at] = file[at];
    }
}

proptest! {
    #[test]
    fn any_flipped_byte_never_verifies(at: prop::sample::Index, flip in 1u8..) {
        let mut file = build(&draft(), &nodes(), &[1, 2]).unwrap();
        let at = at.index(file.len());
        file[at] ^= flip;
        prop_assert!(open(&file, &[1, 2], 2).is_err());
    }

    #[test]
    fn signed_nonsense_never_panics(bytes: Vec<u8>) {
        let _ = SignedDocument::parse(&bytes);
        prop_assert!(open(&sign_payload(&bytes, 1), &[1], 1).is_err());
    }

    /// Whatever is read was written in the one form: reading it gives back what makes the same
    /// bytes.
    #[test]
    fn a_payload_that_is_read_is_the_one_that_would_be_written(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut payload = payload(&build(&draft(), &nodes(), &[1]).unwrap());
        for (at, byte) in changes {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        let file = sign_payload(&payload, 1);
        let keys = keys([1]);
        let verified = SignedDocument::parse(&file).unwrap().verify(&Authorities::new(&keys, 1).unwrap());
        if let Ok(verified) = verified {
            let now = verified.valid_after();
            let document = verified.admit(now, None).unwrap();
            let nodes: Vec<_> = document.nodes().map(|n| Node {
                name: n.name.into(),
                role: n.role,
                mix_key: n.mix_key,
                addresses: n.addresses.iter().collect(),
            }).collect();
            let draft = motemix_directory::Draft {
                network_name: document.network_name(),
                epoch: document.epoch(),
                valid_after: document.valid_after(),
                valid_until: document.valid_until(),
                profile: document.profile(),
                parameters: document.parameters(),
            };
            prop_assert_eq!(build(&draft, &nodes, &[1]).unwrap(), file);
        }
    }
}
