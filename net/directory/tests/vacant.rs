//! Ids that nobody has: a node left the network, and those behind it keep theirs.

mod network;

use motemix_crypto::PublicKey;
use motemix_directory::{
    BuildError, DocumentBuilder, DocumentError, Entry, Field, Flaw, NewNode, Role, Topology,
    document_len_limit,
};
use motemix_sphinx::NodeId;
use network::{Node, authority, draft, nodes, open, payload, signed_flaw};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::HashSet;

fn id(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

/// The nodes, but for those that left.
fn build_without(nodes: &[Node], gone: &[usize]) -> Result<Vec<u8>, BuildError> {
    let mut out = vec![0; document_len_limit(nodes.len(), 1)];
    let described = nodes.iter().enumerate().map(|(index, node)| {
        let there =
            NewNode { name: &node.name, role: node.role, mix_key: node.mix_key, addresses: &node.addresses };
        if gone.contains(&index) { NewNode::VACANT } else { there }
    });
    let mut builder = DocumentBuilder::encode(&mut out, &draft(), described)?;
    builder.sign(&authority(1))?;
    builder.finish().map(<[u8]>::to_vec)
}

#[test]
fn who_stays_keeps_its_id() {
    let all = nodes();
    let file = build_without(&all, &[0, 3, 6]).unwrap();
    let document = open(&file, &[1], 1).unwrap();
    assert_eq!((document.node_count(), document.id_count()), (5, 8));
    assert_eq!(document.nodes().len(), 5);
    let ids: Vec<_> = document.nodes().map(|node| (node.id.get(), node.name.to_owned())).collect();
    let expected: Vec<_> =
        [1_u16, 2, 4, 5, 7].map(|index| (index, all[usize::from(index)].name.clone())).into();
    assert_eq!(ids, expected);
    assert_eq!(document.find("sensor-8").unwrap().id, id(7));
    assert_eq!(document.find("alice"), None);

    let mut entries = [Entry { mix_key: PublicKey([1; 32]), role: Role::Endpoint }; 8];
    assert_eq!(document.entries().collect::<Vec<_>>().len(), 8);
    let topology = document.fill_entries(&mut entries).unwrap();
    for gone in [0, 3, 6, 8] {
        assert_eq!(topology.entry(id(gone)), None);
    }
    assert_eq!(topology.entry(id(4)).unwrap().mix_key, all[4].mix_key);
    assert_eq!(topology.layers(), 3);
}

#[test]
fn no_path_leads_to_nobody() {
    let file = build_without(&nodes(), &[0, 6]).unwrap();
    let mut entries = [Entry::VACANT; 8];
    let document = open(&file, &[1], 1).unwrap();
    let topology: Topology<'_> = document.fill_entries(&mut entries).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut drawn = HashSet::new();
    for _ in 0..500 {
        drawn.insert(topology.draw_node(&mut rng, &[]).unwrap());
        let mut path = [id(0); 3];
        topology.draw_mixes(&mut rng, &mut path, id(5), id(7)).unwrap();
        drawn.extend(path);
    }
    assert_eq!(drawn, [1, 2, 3, 4, 5, 7].map(id).into());
}

/// Documents that say the same would differ.
#[test]
fn there_is_no_id_behind_the_last_node() {
    match build_without(&nodes(), &[7]) {
        Err(BuildError::Refused(DocumentError::Malformed { place, flaw })) => {
            assert_eq!((place.field, place.node, flaw), (Field::Nodes, Some(id(7)), Flaw::Missing));
        }
        other => panic!("{other:?}"),
    }
    let mut nobody = payload(&build_without(&nodes()[..1], &[]).unwrap());
    let node_len = 1 + 6 + 1 + 34 + 1 + 7;
    nobody.truncate(nobody.len() - node_len);
    nobody.push(0xf6);
    assert_eq!(signed_flaw(&nobody), (Field::Nodes, Flaw::Missing));
}

/// A layer whose last mix left is a gap.
#[test]
fn a_layer_can_be_left_without_a_mix() {
    match build_without(&nodes(), &[0, 1]) {
        Err(BuildError::Refused(DocumentError::Malformed { flaw, .. })) => {
            assert_eq!(flaw, Flaw::EmptyLayer { layer: 0 });
        }
        other => panic!("{other:?}"),
    }
}

/// What is said of a node that is there twice names the second one, by its id.
#[test]
fn errors_count_ids_and_not_nodes() {
    let mut all = nodes();
    all[5].name = all[2].name.clone();
    match build_without(&all, &[0, 3]) {
        Err(BuildError::Refused(DocumentError::Malformed { place, flaw })) => {
            assert_eq!((place.node, flaw), (Some(id(5)), Flaw::Duplicate));
        }
        other => panic!("{other:?}"),
    }
}
