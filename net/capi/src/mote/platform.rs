//! What a board or an operating system gives to a mote: callbacks and what they are called with.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::descriptor::Address;
use crate::random::Random;
use crate::status::Status;

/// Bytes of a page of a mote's flash: what is erased at once. A flash with smaller pages erases
/// several.
pub const PAGE_LEN: u32 = 4096;

/// The flash of a mote, from its address 0 on: regions of whole pages, one after the other.
///
/// Whoever reads it has the mote's keys. A call returns when what it was asked for is done, and
/// returns 0, or anything else if it failed. Addresses and lengths of writes are multiples of 4.
/// Writing clears bits, and may be asked for a second time at the same address to clear more of
/// them. What was written or erased is read back, and counts as failed if it is something else.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Flash {
    /// Reads `len` bytes at `address`.
    pub read:
        Option<unsafe extern "C" fn(context: *mut c_void, address: u32, out: *mut u8, len: usize) -> c_int>,
    /// Writes `len` bytes at `address`.
    pub write: Option<
        unsafe extern "C" fn(context: *mut c_void, address: u32, bytes: *const u8, len: usize) -> c_int,
    >,
    /// Sets all bits of `len` bytes at `address`: whole pages of MOTEMIX_PAGE_LEN.
    pub erase: Option<unsafe extern "C" fn(context: *mut c_void, address: u32, len: usize) -> c_int>,
    /// Handed to all three, and never looked at.
    pub context: *mut c_void,
    /// Pages for keys, sequence numbers, authorities and network documents: 4 or more. With 4, a
    /// document may have 1024 bytes, with 5 it may have 2176, with each further one 1152 more.
    /// The same for as long as what is in flash is needed, as are the others.
    pub settings_pages: u16,
    /// Pages for replay tags: 2 or more, of 1020 packets each.
    pub tags_pages: u16,
    /// Pages for messages that were received and not yet taken: 2 or more, of about 34 of the
    /// longest each. One of them may be of no use.
    pub messages_pages: u16,
    /// Pages for the mote's own readings that were not acknowledged: 2 or more, of about 34 each,
    /// for motemix_mote_sign_readings. 0: it signs none.
    pub readings_pages: u16,
}

/// What a mote runs on. The callbacks must not call the mote that calls them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Platform {
    /// Random bytes.
    pub random: Random,
    /// What outlives a restart.
    pub flash: Flash,
    /// Sends a UDP datagram to a neighbour, and returns 0 if the network stack took it. One that it
    /// did not take is lost, as if the air had lost it.
    pub send: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            to: *const Address,
            packet: *const u8,
            len: usize,
        ) -> c_int,
    >,
    /// Prints text, not NUL-terminated: what motemix_mote_command answers. May be null.
    pub print: Option<unsafe extern "C" fn(context: *mut c_void, text: *const u8, len: usize)>,
    /// A message is in flash, see motemix_mote_message. May be null.
    pub received: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// The receiver of message `message` has it in its flash, or on its disk. May be null.
    pub acknowledged:
        Option<unsafe extern "C" fn(context: *mut c_void, message: u64, round_trip_us: u64, tries: u8)>,
    /// Message `message` was given up after its last try, or because the node stopped; it may have
    /// arrived nevertheless. May be null.
    pub discarded: Option<unsafe extern "C" fn(context: *mut c_void, message: u64, tries: u8)>,
    /// An epoch begins: the node has turned to the next network document. May be null.
    pub epoch_begins: Option<unsafe extern "C" fn(context: *mut c_void, epoch: u32)>,
    /// A neighbour had the network document of the next epoch, which is in flash now: nobody need
    /// give it to this mote. May be null.
    pub document_came: Option<unsafe extern "C" fn(context: *mut c_void, epoch: u32)>,
    /// Somebody should see to something: what, and why. May be null.
    pub warned: Option<unsafe extern "C" fn(context: *mut c_void, warning: WarningKind, reason: Status)>,
    /// Handed to the callbacks above, and never looked at; random bytes and flash have their own.
    pub context: *mut c_void,
}

/// What somebody should see to, while the node runs.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarningKind {
    /// The network document has expired: nothing of the node's own leaves. Give it the next one.
    Expired = 0,
    /// The epoch has ended and no next one has begun: nothing is forwarded. Give it the next
    /// document.
    EpochEnded = 1,
    /// The next epoch could not begin, for this reason.
    NoNextEpoch = 2,
    /// At this rate the replay filter is full before the epoch ends.
    FilterFillsUp = 3,
    /// Packets of others were turned away, so that the replay filter lasts for the epoch.
    FilterRationed = 4,
    /// The replay filter is full: packets of others are dropped until the next epoch. Replies to
    /// own messages still come.
    FilterFull = 5,
    /// Messages cannot be kept and are turned away, for this reason: take some.
    MessagesTurnedAway = 6,
    /// A replay tag cannot be kept, for this reason: the node stops.
    TagNotKept = 7,
    /// Something that this version has no number for.
    Other = 8,
    /// The mote's own readings are dropped, for this reason: they cannot be kept, or what the
    /// sensor gave is no record.
    ReadingsDropped = 9,
    /// Loops do not come back as they should: packets are dropped or held up on their way.
    LoopsLost = 10,
    /// A neighbour's network document is refused, for this reason.
    DocumentRefused = 11,
}

impl WarningKind {
    const TEXTS: [&'static CStr; 12] = [
        c"the network document has expired, nothing of this node's own leaves; give it the next one",
        c"the epoch has ended, nothing is forwarded; give this node the next network document",
        c"the next epoch does not begin",
        c"at this rate the replay filter is full before the epoch ends: packets of others are dropped then",
        c"more packets come than the replay filter holds: some of others are dropped, replies come",
        c"the replay filter is full until the next epoch: packets of others are dropped, replies come",
        c"messages are turned away, because they cannot be kept",
        c"the node stops, because a replay tag cannot be kept",
        c"something that this version has no text for",
        c"this mote's own readings are dropped",
        c"own packets do not come back: they are dropped or held up on their way",
        c"a neighbour's network document is refused",
    ];
}

/// What a warning means. Never null; the text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn motemix_warning_text(warning: u8) -> *const c_char {
    let text = WarningKind::TEXTS.get(usize::from(warning)).copied().unwrap_or(c"not a warning of motemix");
    text.as_ptr()
}
