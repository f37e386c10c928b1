//! Placeholder.
#![no_std]
/// A node's index in the network document of an epoch: 14 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(u16);
impl NodeId {
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
