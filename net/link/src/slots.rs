//! Memory lent by the caller: slots, each with a buffer of the same length.

use core::ops::{Index, IndexMut};

/// The longest payload: that of the shortest packet that each link of IPv6 carries (RFC 8200, 5).
pub(crate) const MAX_PAYLOAD: usize = 1280 - 48;

/// Slots and their buffers. Whoever indexes one that is not there has made a mistake, and it
/// panics.
pub(crate) struct Slots<'s, S> {
    slots: &'s mut [S],
    /// The buffers of all slots, one after the other.
    bytes: &'s mut [u8],
    buffer_len: usize,
}

impl<'s, S> Slots<'s, S> {
    /// # Panics
    /// The bytes are not as many for each slot, or more than [`MAX_PAYLOAD`].
    pub(crate) fn new(slots: &'s mut [S], bytes: &'s mut [u8]) -> Self {
        let buffer_len = bytes.len().checked_div(slots.len()).unwrap_or(0);
        assert!(buffer_len * slots.len() == bytes.len(), "each slot has as many bytes");
        assert!(buffer_len <= MAX_PAYLOAD, "no link of IPv6 has to carry a longer datagram");
        Self { slots, bytes, buffer_len }
    }

    /// How many slots there are.
    pub(crate) const fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes in each buffer.
    pub(crate) const fn buffer_len(&self) -> usize {
        self.buffer_len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &S> {
        self.slots.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.slots.iter_mut()
    }

    pub(crate) fn position(&self, is_meant: impl Fn(&S) -> bool) -> Option<usize> {
        self.slots.iter().position(is_meant)
    }

    pub(crate) fn buffer(&self, index: usize) -> &[u8] {
        &self.bytes[index * self.buffer_len..][..self.buffer_len]
    }

    pub(crate) fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.buffer_len..][..self.buffer_len]
    }
}

impl<S> Index<usize> for Slots<'_, S> {
    type Output = S;

    fn index(&self, index: usize) -> &S {
        &self.slots[index]
    }
}

impl<S> IndexMut<usize> for Slots<'_, S> {
    fn index_mut(&mut self, index: usize) -> &mut S {
        &mut self.slots[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_a_buffer_of_its_own() {
        let (mut slots, mut bytes) = ([(); 3], [0; 6]);
        let mut slots = Slots::new(&mut slots, &mut bytes);
        for index in 0..3 {
            slots.buffer_mut(index).fill(index as u8);
        }
        assert_eq!(
            (slots.buffer(0), slots.buffer(1), slots.buffer(2)),
            (&[0, 0][..], &[1, 1][..], &[2, 2][..])
        );
    }

    #[test]
    #[should_panic(expected = "each slot has as many bytes")]
    fn bytes_that_are_left_over_are_a_mistake() {
        Slots::new(&mut [(); 3], &mut [0; 7]);
    }

    #[test]
    #[should_panic(expected = "longer datagram")]
    fn buffers_that_no_datagram_fills_are_a_mistake() {
        Slots::new(&mut [()], &mut [0; MAX_PAYLOAD + 1]);
    }
}
