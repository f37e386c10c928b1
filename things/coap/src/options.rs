//! Options and payload as bytes (RFC 7252 §3.1): what stands behind a message's token, and what
//! OSCORE encrypts.

/// The bytes are not options and a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Numbers and values.
pub(crate) type Options = Vec<(u16, Vec<u8>)>;

const PAYLOAD_MARKER: u8 = 0xff;
/// The longest value that has a form: a length of two bytes, and 269.
const MAX_VALUE_LEN: usize = 269 + u16::MAX as usize;

/// Reads options, in the order of their numbers, and the payload. No memory is taken beyond a few
/// words for each byte.
pub(crate) fn read(mut rest: &[u8]) -> Result<(Options, Vec<u8>), Malformed> {
    let (mut options, mut number) = (Options::new(), 0_u16);
    while let Some((&first, more)) = rest.split_first() {
        if first == PAYLOAD_MARKER {
            // A marker with nothing behind it is an error (§3).
            return if more.is_empty() { Err(Malformed) } else { Ok((options, more.to_vec())) };
        }
        rest = more;
        let delta = u16::try_from(extended(first >> 4, &mut rest)?).map_err(|_| Malformed)?;
        let len = extended(first & 0x0f, &mut rest)?;
        number = number.checked_add(delta).ok_or(Malformed)?;
        let (value, more) = rest.split_at_checked(len).ok_or(Malformed)?;
        options.push((number, value.to_vec()));
        rest = more;
    }
    Ok((options, Vec::new()))
}

/// Writes options by their numbers, those of one number in the order in which they stand there, and
/// the payload. A value that is too long for any form is left out.
pub(crate) fn write(options: &[(u16, Vec<u8>)], payload: &[u8], out: &mut Vec<u8>) {
    let mut sorted: Vec<&(u16, Vec<u8>)> = options.iter().collect();
    sorted.sort_by_key(|(number, _)| *number);
    let mut before = 0;
    for (number, value) in sorted {
        if value.len() > MAX_VALUE_LEN {
            continue;
        }
        let head = out.len();
        out.push(0);
        let delta = extend(usize::from(*number - before), out);
        let len = extend(value.len(), out);
        out[head] = delta << 4 | len;
        out.extend_from_slice(value);
        before = *number;
    }
    if !payload.is_empty() {
        out.push(PAYLOAD_MARKER);
        out.extend_from_slice(payload);
    }
}

/// The four bits of a delta or a length; further bytes go behind.
fn extend(value: usize, out: &mut Vec<u8>) -> u8 {
    match value {
        0..=12 => value as u8,
        13..=268 => {
            out.push((value - 13) as u8);
            13
        }
        _ => {
            out.extend_from_slice(&((value - 269) as u16).to_be_bytes());
            14
        }
    }
}

fn extended(nibble: u8, rest: &mut &[u8]) -> Result<usize, Malformed> {
    let len = match nibble {
        0..=12 => return Ok(nibble.into()),
        13 => 1,
        14 => 2,
        _ => return Err(Malformed),
    };
    let (more, after) = rest.split_at_checked(len).ok_or(Malformed)?;
    *rest = after;
    let base = if len == 1 { 13 } else { 269 };
    Ok(more.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)) + base)
}

#[cfg(test)]
mod tests {
    use coap_lite::{CoapOption, Packet};
    use proptest::prelude::*;

    use super::*;

    fn any_options() -> impl Strategy<Value = Options> {
        prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..300)), 0..6)
    }

    fn written(options: &Options, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(options, payload, &mut out);
        out
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for wrong in [
            // Nothing behind the marker.
            &[0xff][..],
            // A delta and a length of 15.
            &[0xf0],
            &[0x0f],
            // A value, and the bytes of a length, that are not there.
            &[0x02, 1],
            &[0xd0],
            &[0xe0, 1],
            // Numbers above 65,535.
            &[0xe0, 0xff, 0xff],
            &[0xe0, 0xfe, 0xf2, 0x10],
        ] {
            assert_eq!(read(wrong), Err(Malformed), "{wrong:02x?}");
        }
    }

    #[test]
    fn a_value_without_a_form_is_left_out() {
        let options = vec![(1, vec![0; MAX_VALUE_LEN + 1]), (2, vec![7; MAX_VALUE_LEN])];
        assert_eq!(read(&written(&options, &[])), Ok((options[1..].to_vec(), vec![])));
    }

    proptest! {
        #[test]
        fn options_are_read_as_they_were_written(
            mut options in any_options(),
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = written(&options, &payload);
            options.sort_by_key(|(number, _)| *number);
            prop_assert_eq!(read(&bytes), Ok((options, payload)));
        }

        /// A codec that nobody here wrote.
        #[test]
        fn coap_lite_writes_and_reads_the_same(
            options in any_options(),
            payload in prop::collection::vec(any::<u8>(), 1..40),
        ) {
            let mut packet = Packet::new();
            for (number, value) in &options {
                packet.add_option(CoapOption::from(*number), value.clone());
            }
            packet.payload.clone_from(&payload);
            let theirs = packet.to_bytes_unlimited().expect("a message");
            let ours = written(&options, &payload);
            prop_assert_eq!(&theirs[4..], &ours[..]);
            let again = Packet::from_bytes(&[&theirs[..4], &ours].concat()).expect("a message");
            prop_assert_eq!(again.payload, payload);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok((options, payload)) = read(&bytes) {
                prop_assert_eq!(read(&written(&options, &payload)), Ok((options, payload)));
            }
        }
    }
}
