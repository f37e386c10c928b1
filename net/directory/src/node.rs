//! The nodes of a document.

use core::iter::FusedIterator;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use motemix_crypto::PublicKey;
use motemix_sphinx::NodeId;

use crate::cbor::{Full, Reader, Writer};
use crate::error::{DocumentError, Field, Flaw};
use crate::mix_key::is_sound;
use crate::types::{MAX_ADDRESSES, MAX_LAYERS, MAX_NAME_LEN, Role, is_name};

/// Keys or names compared at once with all later nodes, in `distinct`. Boards have little stack and
/// few nodes.
const WINDOW: usize = if cfg!(target_os = "none") { 8 } else { 128 };

/// A node of the network, as its authorities describe it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentNode<'a> {
    /// Its place in the document.
    pub id: NodeId,
    /// Unique in the document; 1 to 32 bytes of `[a-z0-9-]`.
    pub name: &'a str,
    /// What it does for others.
    pub role: Role,
    /// Its X25519 key of this epoch; unique in the document, canonical, not of small order.
    pub mix_key: PublicKey,
    /// Where it listens for datagrams.
    pub addresses: Addresses<'a>,
}

/// One or two addresses, the preferred one first. Unicast, port not 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses<'a> {
    /// The encoded addresses, checked.
    items: &'a [u8],
}

impl<'a> Addresses<'a> {
    /// The addresses, the preferred one first.
    pub fn iter(&self) -> impl Iterator<Item = SocketAddr> + use<'a> {
        let mut reader = Reader::new(self.items, 0, Field::Addresses);
        core::iter::from_fn(move || read_address(&mut reader).ok())
    }

    /// Where neighbours find it: its first link-local address, or else its first of IPv6, to which
    /// a link with routes may know the way.
    pub fn on_link(&self) -> Option<SocketAddrV6> {
        link_address(self.iter().filter(SocketAddr::is_ipv6))
    }

    /// By which numbers protected links tell the node from others, over sockets and on the radio,
    /// if it has one there. Two nodes of a document with such links share neither.
    pub fn link_numbers(&self) -> [Option<u64>; 2] {
        [socket_number(self), radio_number(self)]
    }

    /// Reads and checks them.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DocumentError> {
        let count = reader.array(1, MAX_ADDRESSES as u32)?;
        let items = reader.rest();
        for _ in 0..count {
            read_address(reader)?;
        }
        let (items, _) = items.split_at(items.len() - reader.rest().len());
        Ok(Self { items })
    }
}

fn read_address(reader: &mut Reader<'_>) -> Result<SocketAddr, DocumentError> {
    let bytes = reader.bytes(6, 18)?;
    let refusal = || reader.refuse(Flaw::Address);
    let (ip, port) = bytes.split_last_chunk::<2>().ok_or_else(refusal)?;
    let ip = match (<[u8; 4]>::try_from(ip), <[u8; 16]>::try_from(ip)) {
        (Ok(v4), _) => IpAddr::V4(Ipv4Addr::from(v4)),
        (_, Ok(v6)) => IpAddr::V6(Ipv6Addr::from(v6)),
        _ => return Err(refusal()),
    };
    let port = u16::from_be_bytes(*port);
    let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    if port == 0 || ip.is_unspecified() || ip.is_multicast() || broadcast {
        return Err(refusal());
    }
    Ok(SocketAddr::new(ip, port))
}

/// A node as it lies in the document.
#[derive(Clone, Copy)]
struct Raw<'a> {
    name: &'a str,
    role: Role,
    mix_key: &'a [u8; 32],
    addresses: Addresses<'a>,
}

/// What nodes are compared by; `None` for one that has nothing to compare.
type Property<'a, V> = fn(&Raw<'a>) -> Option<V>;

impl<'a> Raw<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DocumentError> {
        reader.at(Field::Nodes).array(4, 4)?;
        let name = read_name(reader.at(Field::NodeName))?;
        let role = match reader.at(Field::NodeRole).uint_or_null(u64::from(MAX_LAYERS) - 1)? {
            Some(layer) => Role::Mix { layer: layer as u8 },
            None => Role::Endpoint,
        };
        let mix_key = reader.at(Field::MixKey).bytes(32, 32)?;
        let mix_key = mix_key.first_chunk().filter(|key| is_sound(key));
        let mix_key = mix_key.ok_or_else(|| reader.refuse(Flaw::WeakKey))?;
        let addresses = Addresses::read(reader.at(Field::Addresses))?;
        Ok(Self { name, role, mix_key, addresses })
    }
}

/// The one of a node's addresses by which its neighbours over sockets call it: its first link-local
/// one, or else its first of IPv6, or else its first of IPv4, mapped into IPv6 (RFC 4291, 2.5.5.2).
pub fn link_address(addresses: impl Iterator<Item = SocketAddr>) -> Option<SocketAddrV6> {
    let (mut local, mut v6, mut v4) = (None, None, None);
    for address in addresses {
        match address {
            SocketAddr::V6(address) if address.ip().is_unicast_link_local() => {
                local = local.or(Some(address))
            }
            SocketAddr::V6(address) => v6 = v6.or(Some(address)),
            SocketAddr::V4(address) => {
                let mapped = SocketAddrV6::new(address.ip().to_ipv6_mapped(), address.port(), 0, 0);
                v4 = v4.or(Some(mapped));
            }
        }
    }
    local.or(v6).or(v4)
}

/// What handshakes call whoever is at an address, over sockets (`docs/spec/link/datagrams.md`).
pub const fn link_number(address: SocketAddrV6) -> u64 {
    let bits = address.ip().to_bits();
    (bits >> 64) as u64 ^ bits as u64 ^ (address.port() as u64) << 48
}

fn socket_number(addresses: &Addresses<'_>) -> Option<u64> {
    link_address(addresses.iter()).map(link_number)
}

/// The same on the radio, where addresses are link-local and have one port.
fn radio_number(addresses: &Addresses<'_>) -> Option<u64> {
    let address = addresses.on_link().filter(|address| address.ip().is_unicast_link_local())?;
    Some(address.ip().to_bits() as u64)
}

pub(crate) fn read_name<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DocumentError> {
    let name = reader.text(1, MAX_NAME_LEN as u32)?;
    if is_name(name.as_bytes()) { Ok(name) } else { Err(reader.refuse(Flaw::Name)) }
}

pub(crate) fn write_node(
    writer: &mut Writer<'_>,
    name: &str,
    role: Role,
    mix_key: &PublicKey,
    addresses: &[SocketAddr],
) -> Result<(), Full> {
    writer.array(4)?;
    writer.text(name)?;
    match role {
        Role::Mix { layer } => writer.uint(u64::from(layer))?,
        Role::Endpoint => writer.null()?,
    }
    writer.bytes(&mix_key.0)?;
    write_addresses(writer, addresses)
}

pub(crate) fn write_addresses(writer: &mut Writer<'_>, addresses: &[SocketAddr]) -> Result<(), Full> {
    writer.array(addresses.len())?;
    for address in addresses {
        let port = address.port().to_be_bytes();
        match address.ip() {
            IpAddr::V4(v4) => {
                writer.bytes_head(6)?;
                writer.raw(&v4.octets())?;
            }
            IpAddr::V6(v6) => {
                writer.bytes_head(18)?;
                writer.raw(&v6.octets())?;
            }
        }
        writer.raw(&port)?;
    }
    Ok(())
}

/// The nodes of a document, in the order of their ids. Not each id need have one.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    reader: Reader<'a>,
    next: u16,
    /// How many ids there are.
    ids: u16,
    /// How many nodes have one from `next` on.
    left: u16,
}

impl<'a> Nodes<'a> {
    /// Reads and checks what stands at `ids` ids: each node, that names and keys are unique, and
    /// that layers have no gap. `reader` is then behind them.
    pub(crate) fn read(reader: &mut Reader<'a>, ids: u16) -> Result<Self, DocumentError> {
        let mut nodes = Self { reader: *reader, next: 0, ids, left: 0 };
        let mut layers = 0u32;
        for index in 0..ids {
            reader.at_node(NodeId::new(index));
            if reader.at(Field::Nodes).is_null() {
                // Nobody can have the last id: documents would differ that say the same.
                if index + 1 == ids {
                    return Err(reader.refuse(Flaw::Missing));
                }
                continue;
            }
            nodes.left += 1;
            if let Role::Mix { layer } = Raw::read(reader)?.role {
                layers |= 1 << layer;
            }
        }
        reader.at_node(None);
        if layers & (layers + 1) != 0 {
            let layer = layers.trailing_ones() as u8;
            return Err(nodes.reader.refuse(Flaw::EmptyLayer { layer }));
        }
        nodes.distinct(Field::NodeName, |node| Some(node.name.as_bytes()))?;
        nodes.distinct(Field::MixKey, |node| Some(node.mix_key))?;
        Ok(nodes)
    }

    /// Refuses two nodes of which protected links would take one for the other.
    #[inline(never)]
    pub(crate) fn told_apart(&self) -> Result<(), DocumentError> {
        let numbers: [Property<'a, u64>; 2] =
            [|node| socket_number(&node.addresses), |node| radio_number(&node.addresses)];
        for number in numbers {
            let Some(twice) = self.twice(number) else { continue };
            let mut nodes = self.clone();
            let both = nodes.raw().filter(|(_, node)| number(node) == Some(twice));
            let mut both = both.filter_map(|(index, _)| NodeId::new(index));
            if let (Some(other), second) = (both.next(), both.next()) {
                let mut reader = self.reader;
                reader.at_node(second);
                return Err(reader.at(Field::Addresses).refuse(Flaw::SameNumber { other }));
            }
        }
        Ok(())
    }

    /// Refuses two nodes with the same property.
    fn distinct(&self, field: Field, property: Property<'a, &'a [u8]>) -> Result<(), DocumentError> {
        let twice = self.twice(property);
        twice.map_or(Ok(()), |value| Err(self.second_with(value, field, property)))
    }

    /// A property that two nodes share.
    ///
    /// Without an allocator: put the property of [`WINDOW`] nodes in order, look those of all later
    /// nodes up, go on to the next window. That is n² / 256 visits on a host, whoever chose the
    /// keys: half a second for both properties of 16,384 nodes, and one visit a node for up to 128.
    #[inline(never)]
    fn twice<V: Copy + Ord + Default>(&self, property: Property<'a, V>) -> Option<V> {
        let mut rest = self.clone();
        while rest.left != 0 {
            let mut window = [V::default(); WINDOW];
            let mut filled = 0;
            let mut twice = None;
            while filled < WINDOW
                && twice.is_none()
                && let Some(value) = rest.raw().find_map(|(_, node)| property(&node))
            {
                let (sorted, free) = window.split_at_mut(filled);
                match (sorted.binary_search(&value), free.first_mut()) {
                    (Err(place), Some(end)) => {
                        *end = value;
                        window[place..=filled].rotate_right(1);
                        filled += 1;
                    }
                    _ => twice = Some(value),
                }
            }
            let (window, _) = window.split_at(filled);
            let twice = twice.or_else(|| {
                let mut later = rest.clone();
                later
                    .raw()
                    .filter_map(|(_, node)| property(&node))
                    .find(|value| window.binary_search(value).is_ok())
            });
            if twice.is_some() {
                return twice;
            }
        }
        None
    }

    /// The error for the second node whose property is `value`.
    fn second_with(&self, value: &[u8], field: Field, property: Property<'a, &'a [u8]>) -> DocumentError {
        let mut nodes = self.clone();
        let second = nodes.raw().filter(|(_, node)| property(node) == Some(value)).nth(1);
        let mut reader = nodes.reader;
        reader.at_node(second.and_then(|(index, _)| NodeId::new(index)));
        reader.at(field).refuse(Flaw::Duplicate)
    }

    /// The nodes from here on, with their places.
    fn raw(&mut self) -> impl Iterator<Item = (u16, Raw<'a>)> {
        core::iter::from_fn(|| {
            while self.next < self.ids {
                let index = self.next;
                self.next += 1;
                if !self.reader.is_null() {
                    self.left = self.left.saturating_sub(1);
                    return Some((index, Raw::read(&mut self.reader).ok()?));
                }
            }
            None
        })
    }

    /// How many ids there are, whether a node has them or not.
    pub(crate) const fn ids(&self) -> u16 {
        self.ids
    }
}

impl<'a> Iterator for Nodes<'a> {
    type Item = DocumentNode<'a>;

    fn next(&mut self) -> Option<DocumentNode<'a>> {
        let (index, Raw { name, role, mix_key, addresses }) = self.raw().next()?;
        let id = NodeId::new(index)?;
        Some(DocumentNode { id, name, role, mix_key: PublicKey(*mix_key), addresses })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.left);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Nodes<'_> {}
impl FusedIterator for Nodes<'_> {}
