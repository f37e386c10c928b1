//! A kit of devices under one identity: Igrp, and Idev for a device of it (RFC 8387, 4.1).

use core::fmt;

use crate::identity::Identity;
use crate::key::PublicKey;
use crate::labelled::{GROUP, Hash, MEMBER};

/// The most devices of a group.
pub const MAX_MEMBERS: usize = 256;

/// Why keys are no group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupError {
    /// There are none, or more than [`MAX_MEMBERS`].
    Size,
    /// A key appears twice, or the keys are not in ascending order.
    Order,
    /// The device is not in the group.
    NotMember,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => write!(f, "a group has 1 to {MAX_MEMBERS} devices"),
            Self::Order => f.write_str("each device's key stands once in a group, in ascending order"),
            Self::NotMember => f.write_str("the device is not in the group"),
        }
    }
}

impl core::error::Error for GroupError {}

/// The keys of a group, in ascending order and each once: so it does not matter in which order
/// somebody scanned them.
#[derive(Clone, Copy, Debug)]
pub struct Group<'k>(&'k [PublicKey]);

impl<'k> Group<'k> {
    /// # Errors
    /// [`GroupError::Size`] and [`GroupError::Order`].
    pub fn new(sorted: &'k [PublicKey]) -> Result<Self, GroupError> {
        if sorted.is_empty() || sorted.len() > MAX_MEMBERS {
            return Err(GroupError::Size);
        }
        let ascends = sorted.iter().zip(sorted.iter().skip(1)).all(|(one, next)| one < next);
        if ascends { Ok(Self(sorted)) } else { Err(GroupError::Order) }
    }

    /// The same, of keys in any order, which this sorts.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of(keys: &'k mut [PublicKey]) -> Result<Self, GroupError> {
        keys.sort_unstable();
        Self::new(keys)
    }

    /// The keys, in ascending order.
    pub const fn keys(&self) -> &'k [PublicKey] {
        self.0
    }

    /// Igrp: what stands on the box.
    pub fn identity(&self) -> Identity {
        let hash = Hash::new(&GROUP).raw(&count(self.0.len()));
        Identity::from_bytes(self.0.iter().fold(hash, Hash::key).finish())
    }

    /// Idev: a device of the group, in the group.
    ///
    /// # Errors
    /// [`GroupError::NotMember`].
    pub fn member_identity(&self, device: &PublicKey) -> Result<Identity, GroupError> {
        let at = self.0.binary_search(device).map_err(|_| GroupError::NotMember)?;
        let hash = Hash::new(&MEMBER).key(device).raw(&count(self.0.len().saturating_sub(1)));
        let others = self.0.iter().enumerate().filter(|(other, _)| *other != at);
        Ok(Identity::from_bytes(others.fold(hash, |hash, (_, key)| hash.key(key)).finish()))
    }
}

/// In two bytes, big-endian: a group has at most 256 keys.
fn count(number: usize) -> [u8; 2] {
    let [.., high, low] = number.to_be_bytes();
    [high, low]
}
