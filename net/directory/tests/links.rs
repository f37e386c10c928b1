//! Documents whose nodes protect their links: what says so, and whom they can tell apart.

mod network;

use motemix_directory::{BuildError, DocumentError, Field, Flaw};
use motemix_sphinx::NodeId;
use network::{Node, build, draft, nodes, open, payload, signed_flaw};

/// Each with an address of its own.
fn apart() -> Vec<Node> {
    let mut nodes = nodes();
    for (node, port) in nodes.iter_mut().zip(4000..) {
        node.addresses[0].set_port(port);
    }
    nodes
}

/// The field came later: a document without it is the same byte for byte, and there is one way to
/// say either.
#[test]
fn a_document_says_that_links_are_protected_or_nothing() {
    let nodes = apart();
    let plain = payload(&build(&draft(), &nodes, &[1]).unwrap());
    let mut draft = draft();
    draft.parameters.protected_links = true;
    let document = build(&draft, &nodes, &[1]).unwrap();
    open(&document, &[1], 1).unwrap();
    let protected = payload(&document);
    assert_eq!(protected.len(), plain.len() + 2);
    let at = plain.iter().zip(&protected).position(|(one, other)| one != other).expect("they differ");
    assert_eq!((plain[at], protected[at]), (0xa9, 0xaa), "nine parameters, and ten");
    let value = protected.iter().zip(&plain).skip(at + 1).position(|(one, other)| one != other);
    let value = at + 1 + value.expect("the last parameter") + 1;
    assert_eq!(protected[value - 1..=value], [10, 1]);
    for wrong in [0, 2, 0x17] {
        let mut wrongly = protected.clone();
        wrongly[value] = wrong;
        assert_eq!(signed_flaw(&wrongly), (Field::Links, Flaw::Range { least: 1, most: 1 }));
    }
}

#[test]
fn protected_links_refuse_two_nodes_with_one_number() {
    let mut protected = draft();
    protected.parameters.protected_links = true;
    let pairs: [[&str; 2]; 6] = [
        // The same address, as neighbours find them, and another one in front of it.
        ["[fe80::1]:61616", "[fe80::1]:61616"],
        // Halves and ports that add up to the same.
        ["[fe80::1]:61616", "[fe80::1:0:0:1]:61617"],
        ["[2001:db8::1:0:0:7]:5683", "[2001:db8::7]:5682"],
        ["[2001:db8:0:1::7]:5683", "[2001:db8:0:2::4]:5683"],
        // Without an address of IPv6 it is that of IPv4.
        ["192.0.2.9:4000", "192.0.2.9:4000"],
        // On the radio there is one port.
        ["[fe80::5]:61616", "[fe80::5]:61617"],
    ];
    for [one, other] in pairs {
        let mut twins = apart();
        twins[2].addresses = vec![one.parse().unwrap()];
        twins[7].addresses = vec![other.parse().unwrap()];
        if twins[7].addresses[0].is_ipv6() {
            twins[7].addresses.insert(0, "192.0.2.9:4000".parse().unwrap());
        }
        let error = build(&protected, &twins, &[1]).unwrap_err();
        let BuildError::Refused(DocumentError::Malformed { place, flaw }) = error else { panic!("{error}") };
        let [one, other] = [2, 7].map(|id| NodeId::new(id).unwrap());
        assert_eq!(
            (place.field, place.node, flaw),
            (Field::Addresses, Some(other), Flaw::SameNumber { other: one })
        );
        // Who has no protected links needs no numbers.
        let file = build(&draft(), &twins, &[1]).unwrap();
        assert_eq!(open(&file, &[1], 1).unwrap().node_count(), 8);
    }
    // Two with one address are told apart by anything else.
    let mut neighbours = apart();
    for (node, at) in
        neighbours.iter_mut().zip(["[fe80::1]:1", "[fe80::2]:1", "[2001:db8::1]:1", "[2001:db8::1]:2"])
    {
        node.addresses = vec![at.parse().unwrap()];
    }
    build(&protected, &neighbours, &[1]).unwrap();
    neighbours[3].addresses.insert(0, "[fe80::2]:9".parse().unwrap());
    let error = build(&protected, &neighbours, &[1]).unwrap_err().to_string();
    assert!(error.contains("node 3, addresses (byte "), "{error}");
    assert!(error.contains("protected links cannot tell it from node 1: "), "{error}");
}
