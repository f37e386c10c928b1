//! The message inside a payload: integrity tag, message id, data, padding.

use core::fmt;

use subtle::ConstantTimeEq;

use crate::geometry::{MESSAGE_ID_LEN, TAG_LEN};

const PADDING_START: u8 = 0x80;

/// The same for all tries of one message and for the reply to it. Random; receivers tell messages
/// with the same id apart by their content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(pub [u8; MESSAGE_ID_LEN]);

/// A message whose integrity tag held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// As its sender chose it.
    pub id: MessageId,
    /// The application's bytes.
    pub data: &'a [u8],
}

/// The data is longer than the profile's `data_len`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data is longer than the profile carries; split it or choose another profile")
    }
}

impl core::error::Error for TooLong {}

/// Where a message is in its payload.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    id: MessageId,
    len: usize,
}

impl Found {
    /// `None` if the tag or the padding is wrong.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        parse(payload).map(|message| Self { id: message.id, len: message.data.len() })
    }

    /// The message itself.
    pub(crate) fn message(self, payload: &[u8]) -> Message<'_> {
        Message { id: self.id, data: &payload[TAG_LEN + MESSAGE_ID_LEN..][..self.len] }
    }
}

/// Writes a message over the whole of `payload`; the data leaves room for one byte of padding.
pub(crate) fn emit(payload: &mut [u8], id: MessageId, data: &[u8]) -> Result<(), TooLong> {
    payload.fill(0);
    let (head, body) = payload.split_at_mut(TAG_LEN + MESSAGE_ID_LEN);
    let (place, padding) = body.split_at_mut_checked(data.len()).ok_or(TooLong)?;
    *padding.first_mut().ok_or(TooLong)? = PADDING_START;
    place.copy_from_slice(data);
    head[TAG_LEN..].copy_from_slice(&id.0);
    Ok(())
}

/// `None` if the tag or the padding is wrong.
pub(crate) fn parse(payload: &[u8]) -> Option<Message<'_>> {
    let (tag, rest) = payload.split_first_chunk::<TAG_LEN>()?;
    // Disclosed: whether the tag holds. A message that was changed is not replied to, but its
    // packet leaves.
    if !bool::from(tag.as_slice().ct_eq([0; TAG_LEN].as_slice())) {
        return None;
    }
    let (id, body) = rest.split_first_chunk::<MESSAGE_ID_LEN>()?;
    // Disclosed: the length of the data. The application handles it in time that depends on the
    // length.
    let end = body.iter().rposition(|byte| *byte != 0)?;
    let (data, padding) = body.split_at(end);
    (padding[0] == PADDING_START).then_some(Message { id: MessageId(*id), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut payload = [0xff; 40];
        for len in 0..=19 {
            let data = [0x80; 19];
            emit(&mut payload, MessageId([1, 2, 3, 4]), &data[..len]).unwrap();
            assert_eq!(parse(&payload).unwrap().data, &data[..len]);
        }
        assert_eq!(emit(&mut payload, MessageId([0; 4]), &[0; 20]), Err(TooLong), "no room for padding");
        assert_eq!(emit(&mut payload, MessageId([0; 4]), &[0; 21]), Err(TooLong));
    }

    #[test]
    fn a_wrong_tag_or_padding_is_refused() {
        let mut payload = [0; 40];
        assert_eq!(parse(&payload), None, "no padding at all");
        emit(&mut payload, MessageId([0; 4]), b"reading").unwrap();
        payload[27] = 0x81;
        assert_eq!(parse(&payload), None);
        emit(&mut payload, MessageId([0; 4]), b"reading").unwrap();
        payload[3] = 1;
        assert_eq!(parse(&payload), None);
    }
}
