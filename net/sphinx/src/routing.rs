//! Hop blocks: what one hop reads about itself.

use crate::geometry::{BLOCK_LEN, HEADER_MAC_LEN, ROUTING_FIELD_LEN};

/// A node's index in the network document of an epoch: 14 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(u16);

impl NodeId {
    /// The least id.
    pub const MIN: Self = Self(0);
    /// One more than the greatest id.
    pub const LIMIT: u16 = 1 << 14;

    /// `None` if the number needs more than 14 bits.
    pub const fn new(id: u16) -> Option<Self> {
        if id < Self::LIMIT { Some(Self(id)) } else { None }
    }

    /// The id as a number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// The bytes of a hop block.
pub(crate) type Block = [u8; BLOCK_LEN];

/// What a hop is told to do. The order of the variants is that of the bits on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Wait, then send to the node named.
    Forward(NodeId),
    /// Take the message out, put the reply in, wait, send to the node named.
    TurnRound(NodeId),
    /// The path ends here, with a message.
    Deliver,
    /// The path ends here, and so does the packet.
    Drop,
    /// A header of one's own has come back.
    Yours,
}

const TURN_ROUND: u16 = 1 << 14;
const TERMINAL: u16 = 2 << 14;
const YOURS: u16 = 3 << 14;
const ARGUMENT: u16 = (1 << 14) - 1;

/// First byte of a block that says "yours"; its low six bits are free.
pub(crate) const YOURS_BYTE: u8 = (YOURS >> 8) as u8;

impl Command {
    /// The routing field, big-endian. `spare` fills the bits that "yours" leaves free.
    pub(crate) const fn emit(self, spare: u16) -> [u8; ROUTING_FIELD_LEN] {
        match self {
            Self::Forward(next) => next.0,
            Self::TurnRound(next) => TURN_ROUND | next.0,
            Self::Deliver => TERMINAL,
            Self::Drop => TERMINAL | 1,
            Self::Yours => YOURS | (spare & ARGUMENT),
        }
        .to_be_bytes()
    }

    /// `None` for a reserved argument.
    pub(crate) const fn parse(field: [u8; ROUTING_FIELD_LEN]) -> Option<Self> {
        let field = u16::from_be_bytes(field);
        let argument = field & ARGUMENT;
        // Disclosed: the command, to the node that it is for.
        match field & !ARGUMENT {
            TURN_ROUND => Some(Self::TurnRound(NodeId(argument))),
            TERMINAL => match argument {
                0 => Some(Self::Deliver),
                1 => Some(Self::Drop),
                _ => None,
            },
            YOURS => Some(Self::Yours),
            _ => Some(Self::Forward(NodeId(argument))),
        }
    }
}

/// A block from its two fields.
pub(crate) fn block(field: [u8; ROUTING_FIELD_LEN], rest: &[u8; HEADER_MAC_LEN]) -> Block {
    let mut block = [0; BLOCK_LEN];
    block[..ROUTING_FIELD_LEN].copy_from_slice(&field);
    block[ROUTING_FIELD_LEN..].copy_from_slice(rest);
    block
}

/// The two fields of a block.
pub(crate) fn split_block(block: Block) -> ([u8; ROUTING_FIELD_LEN], [u8; HEADER_MAC_LEN]) {
    let (mut field, mut rest) = ([0; ROUTING_FIELD_LEN], [0; HEADER_MAC_LEN]);
    field.copy_from_slice(&block[..ROUTING_FIELD_LEN]);
    rest.copy_from_slice(&block[ROUTING_FIELD_LEN..]);
    (field, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_one_command_or_refused() {
        let mut refused = 0;
        for field in 0..=u16::MAX {
            match Command::parse(field.to_be_bytes()) {
                Some(command) => assert_eq!(command.emit(field), field.to_be_bytes()),
                None => refused += 1,
            }
        }
        assert_eq!(refused, (1 << 14) - 2, "all arguments of terminal but two");
    }
}
