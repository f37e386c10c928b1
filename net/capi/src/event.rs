//! What comes out of a node, flat, for C.

use core::ptr;
use core::time::Duration;

use motemix_sphinx::geometry::MESSAGE_ID_LEN;

const _: () = assert!(MESSAGE_ID_LEN == 4);

/// What kind of event.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A message has arrived. Make it safe, then call motemix_node_reply: without a reply its
    /// sender tries again. Has `token`, `id`, `data`, `repeated`.
    Received = 0,
    /// A message without a way to reply has arrived. Has `id`, `data`.
    Delivered = 1,
    /// The receiver has a message and has replied. Has `message`, `tries`, `round_trip_us`,
    /// `elapsed_us`, `data` (the reply, empty for an acknowledgement).
    Acknowledged = 2,
    /// A message was given up after its last try; it may have arrived nevertheless. Has `message`,
    /// `tries`.
    Discarded = 3,
}

/// Something that the application should know. Fields that an event does not have are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Names a received message, for motemix_node_reply and motemix_node_refuse.
    pub token: u64,
    /// Which message of this node, as motemix_node_send numbered it.
    pub message: u64,
    /// From sending the try that came back until it came back, in microseconds.
    pub round_trip_us: u64,
    /// From motemix_node_send until the reply came back, in microseconds.
    pub elapsed_us: u64,
    /// What the message or the reply says. Points into the node's memory, and only until the next
    /// call with this node. Not null; not NUL-terminated.
    pub data: *const u8,
    /// Bytes of `data`, at most MOTEMIX_DATA_LEN.
    pub len: usize,
    /// The message's id, as its sender chose it.
    pub id: [u8; 4],
    /// What kind of event.
    pub kind: EventKind,
    /// Tries made.
    pub tries: u8,
    /// The application has replied to this message with data before, and the reply was lost: give
    /// the same reply again, and do not act on the message a second time.
    pub repeated: bool,
}

impl Event {
    fn of(kind: EventKind, data: &[u8]) -> Self {
        Self {
            token: 0,
            message: 0,
            round_trip_us: 0,
            elapsed_us: 0,
            data: ptr::from_ref(data).cast(),
            len: data.len(),
            id: [0; 4],
            kind,
            tries: 0,
            repeated: false,
        }
    }

    /// What the node tells; `None` for what has no kind here.
    pub(crate) fn of_node(event: motemix_node::Event<'_>) -> Option<Self> {
        use motemix_node::Event as Of;
        Some(match event {
            Of::Received { token, id, data, repeated } => {
                Self { token: token.to_bits(), id: id.0, repeated, ..Self::of(EventKind::Received, data) }
            }
            Of::Delivered { id, data } => Self { id: id.0, ..Self::of(EventKind::Delivered, data) },
            Of::Acknowledged { message, round_trip, elapsed, tries, reply } => Self {
                message: message.number(),
                round_trip_us: micros(round_trip),
                elapsed_us: micros(elapsed),
                tries,
                ..Self::of(EventKind::Acknowledged, reply)
            },
            Of::Discarded { message, tries } => {
                Self { message: message.number(), tries, ..Self::of(EventKind::Discarded, &[]) }
            }
            _ => {
                debug_assert!(false, "an event that C does not know");
                return None;
            }
        })
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A packet has been written to the caller's buffer.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The number of the node to send it to; motemix_document_node knows its addresses.
    pub to: u16,
    /// Its bytes: always MOTEMIX_PACKET_LEN.
    pub len: u16,
}
