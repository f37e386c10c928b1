//! What a call says of itself.

use core::ffi::{CStr, c_char};

use motemix_directory::{AuthoritiesError, DocumentError, RatchetError, TopologyError};
use motemix_mote::Refusal;
use motemix_mote::store::StoreError;
use motemix_node::{EpochError, ReplyError, SendError};

macro_rules! statuses {
    ($($name:ident => $text:literal,)+) => {
        impl Status {
            const TEXTS: &'static [(Self, &'static CStr)] = &[$((Self::$name, $text),)+];
        }

        const _: () = {
            let mut number = 0;
            while number < Status::TEXTS.len() {
                assert!(Status::TEXTS[number].0 as usize == number, "the text of a status lies at its number");
                number += 1;
            }
        };
    };
}

/// What a call says. 0 is success, 1 and 2 are no errors either.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// There is nothing at present: no packet is due, no event waits, no work is left.
    Nothing = 1,
    /// The datagram went no further. The counters say why; the peer must not be told.
    Dropped = 2,
    /// A pointer that must not be null is null.
    Null = 3,
    /// A pointer is not aligned for what it points to; memory for a node needs MOTEMIX_NODE_ALIGN.
    Misaligned = 4,
    /// The memory is too small for the node, see MOTEMIX_NODE_SIZE and motemix_node_size.
    MemoryTooSmall = 5,
    /// The limits make no node: one packet, message and return at least, 16384 nodes at most.
    BadLimits = 6,
    /// This is no node: motemix_node_new did not make it, or motemix_node_end ended it.
    NotANode = 7,
    /// The node is in another call: calls came from a callback, an interrupt or a second thread.
    Busy = 8,
    /// This is no document: motemix_document_open did not succeed with it.
    NotADocument = 9,
    /// The random source failed, or gave nothing but zeros.
    RandomFailed = 10,
    /// The buffer is shorter than what goes into it: a packet, a ciphertext or a message.
    BufferTooSmall = 11,
    /// More data than MOTEMIX_DATA_LEN, or a longer network document than there is memory for.
    TooLong = 12,
    /// No number of a node.
    BadId = 13,
    /// An authority's key is unusable, is there twice, or there are too many; or the threshold is
    /// none.
    BadAuthorities = 14,
    /// The bytes are no network document.
    DocumentMalformed = 15,
    /// Too few of the authorities signed the document.
    DocumentUnsigned = 16,
    /// The document is for later.
    DocumentNotYetValid = 17,
    /// The document's time is over.
    DocumentExpired = 18,
    /// The document is older than one that was seen before.
    DocumentRolledBack = 19,
    /// The document is of a network with another profile than mote.
    DocumentProfile = 20,
    /// The document has no such node.
    UnknownNode = 21,
    /// The epoch was not prepared with its key.
    NotPrepared = 22,
    /// The epoch is not later than the current one.
    NotLater = 23,
    /// The document has another key for this node than the one prepared.
    KeyMismatch = 24,
    /// The network has more nodes than the limits allow.
    TooManyNodes = 25,
    /// The nodes make no network: a layer of mixes is empty, or there are too few for a path.
    BadNetwork = 26,
    /// No epoch has begun.
    NoEpoch = 27,
    /// As many messages are in flight as there is room for.
    Full = 28,
    /// The receiver is no other node of the network.
    UnknownReceiver = 29,
    /// The network has too few mixes besides the two ends.
    NoPath = 30,
    /// The message does not wait for a reply any more.
    NotWaiting = 31,
    /// The replay filter has no room.
    FilterFull = 32,
    /// The journal could not be written, so nothing leaves the node.
    JournalFailed = 33,
    /// Refused for a reason that has no number of its own.
    Refused = 34,
    /// This is no mote: motemix_mote_open did not make it, or motemix_mote_close ended it.
    NotAMote = 35,
    /// The node runs; this is for a mote that stands.
    Runs = 36,
    /// The mote stands; this is for one that runs.
    Stands = 37,
    /// The clock is not set.
    NoClock = 38,
    /// No authority is trusted yet.
    NoAuthorities = 39,
    /// There is no network document yet.
    NoDocument = 40,
    /// The document is of another network than the one before.
    OtherNetwork = 41,
    /// This node has another number in the document than it runs under.
    OtherId = 42,
    /// The epoch has passed: its key is gone.
    EpochPassed = 43,
    /// The epoch is further ahead of the key than it is moved at a time.
    KeyFarBehind = 44,
    /// The key was derived part of the way to the document's epoch.
    KeyMoved = 45,
    /// The flash does not do what it is asked for, or what is in it is damaged.
    FlashFailed = 46,
    /// The flash has no room.
    FlashFull = 47,
    /// The regions of the flash cannot be used.
    BadFlash = 48,
    /// There is no address yet that neighbours could send to.
    NoAddress = 49,
    /// This belongs to a message that is under way.
    UnderWay = 50,
    /// The thread in which the mote runs is not there.
    NoThread = 51,
    /// No source of random bytes was set: motemix_diet_new did not make this, or motemix_diet_end
    /// ended it.
    NotADiet = 52,
    /// The node has no identity yet.
    NoIdentity = 53,
    /// No handshake is under way here.
    NotAHandshake = 54,
    /// There is no session here.
    NotASession = 55,
    /// The bytes are too short or too long for what they should be.
    BadLength = 56,
    /// The message is of another kind.
    OtherKind = 57,
    /// A private key is zero or not below the group's order.
    BadPrivateKey = 58,
    /// A public key is no point of the curve.
    BadPublicKey = 59,
    /// A signature was not made by this key over these bytes.
    BadSignature = 60,
    /// A ciphertext was altered, or is under another key.
    BadCiphertext = 61,
    /// The message has arrived before, or is too old to tell.
    Replayed = 62,
    /// The peer's identity is not admitted.
    Stranger = 63,
    /// All message numbers of the session are used.
    Exhausted = 64,
    /// The document's nodes protect their links, and `motemix_limits.neighbours` is 0; or the
    /// document before was of the other kind, and the node runs.
    ProtectedLinks = 65,
    /// The record has no name or an unsound one, an unsound unit, or too many places.
    BadRecord = 66,
    /// The bytes are no signed reading, or no introduction of a device.
    NotAReading = 67,
    /// This mote signs no readings.
    NoReadings = 68,
    /// The message that came last has come once more, byte for byte: answer it with its receipt.
    Repeated = 69,
    /// The radio, or the thread that serves it, has ended: a mote runs, and nobody hears it.
    NoRadio = 70,
}

statuses! {
    Ok => c"done",
    Nothing => c"nothing at present",
    Dropped => c"the datagram was dropped; the counters say why",
    Null => c"a pointer is null; pass what the header asks for",
    Misaligned => c"a pointer is not aligned; align memory for a node to MOTEMIX_NODE_ALIGN",
    MemoryTooSmall => c"the memory is too small; lend MOTEMIX_NODE_SIZE bytes",
    BadLimits => c"the limits make no node; allow a packet, a message, a return and a node at least",
    NotANode => c"not a node; make it with motemix_node_new, and do not use it after motemix_node_end",
    Busy => c"the node is in another call; do not call it from what it calls back",
    NotADocument => c"not an open document; open it with motemix_document_open",
    RandomFailed => c"the random source failed; use a board's hardware generator or seed",
    BufferTooSmall => c"the buffer is too small; lend as many bytes as the header asks for",
    TooLong => c"too much data; a message carries MOTEMIX_DATA_LEN bytes, a document motemix_limits.document",
    BadId => c"not the number of a node; use the id from the network document",
    BadAuthorities => c"authority keys or threshold are unusable; compare them with the network's",
    DocumentMalformed => c"not a network document; fetch it again",
    DocumentUnsigned => c"too few authorities signed the document; check their keys, or fetch it again",
    DocumentNotYetValid => c"the document is for later; check the clock",
    DocumentExpired => c"the document has expired; fetch the current one, or check the clock",
    DocumentRolledBack => c"the document is older than one seen before; fetch the newest",
    DocumentProfile => c"the network has another profile than mote",
    UnknownNode => c"the document has no such node",
    NotPrepared => c"the epoch was not prepared; call motemix_node_prepare_epoch with its key first",
    NotLater => c"the epoch is not later than the current one",
    KeyMismatch => c"the document has another key for this node; announce this one, or use the other",
    TooManyNodes => c"the network has more nodes than the limits allow; raise motemix_limits.nodes",
    BadNetwork => c"the nodes make no network; it needs mixes in every layer",
    NoEpoch => c"no epoch has begun; call motemix_node_begin_epoch",
    Full => c"as many messages are in flight as there is room for; wait for one to end",
    UnknownReceiver => c"the receiver is no other node of the network",
    NoPath => c"the network has too few mixes besides the two ends; add mixes",
    NotWaiting => c"the message does not wait for a reply any more",
    FilterFull => c"the replay filter has no room; raise motemix_limits.replay",
    JournalFailed => c"the journal of admitted packets cannot be written; see to the flash",
    Refused => c"refused for a reason that has no number of its own",
    NotAMote => c"not a mote; make it with motemix_mote_open, and do not use it after motemix_mote_close",
    Runs => c"the node runs; stop it first",
    Stands => c"the node does not run; start it",
    NoClock => c"the clock is not set; set it, from a clock that runs on or from the network",
    NoAuthorities => c"no authority is trusted yet; give the mote the keys of the network's authorities",
    NoDocument => c"there is no network document yet; give the mote the network's",
    OtherNetwork => c"the document is of another network than the one before; stop, and trust its authorities",
    OtherId => c"this node has another number in the document; stop the node first",
    EpochPassed => c"the epoch has passed; use the document of the present one, or check the clock",
    KeyFarBehind => c"the epoch is too far ahead; ask for an earlier one, or check the clock",
    KeyMoved => c"the key was derived part of the way to the document's epoch; call again",
    FlashFailed => c"the flash does not work, or what is in it is damaged; erase it, and provision the mote anew",
    FlashFull => c"the flash is full; take messages out of it, or wait for the next epoch",
    BadFlash => c"the regions of the flash are too small; give settings four pages, tags and messages two",
    NoAddress => c"there is no address yet that neighbours could send to; see to the network interface",
    UnderWay => c"this belongs to a message that is under way; use it again when the message has ended",
    NoThread => c"the mote's thread is not there; call motemix_init, and see what it prints",
    NotADiet => c"randomness is not set; call motemix_diet_new first",
    NoIdentity => c"no identity; call motemix_diet_set_identity",
    NotAHandshake => c"no handshake is under way here",
    NotASession => c"no session is here; finish a handshake",
    BadLength => c"the length is wrong",
    OtherKind => c"a message of another kind",
    BadPrivateKey => c"not a private key",
    BadPublicKey => c"not a public key",
    BadSignature => c"the signature is wrong",
    BadCiphertext => c"altered, or under another key",
    Replayed => c"arrived before, or too old to tell",
    Stranger => c"the peer is not admitted",
    Exhausted => c"message numbers are used up; begin a handshake",
    ProtectedLinks => c"the document's nodes protect their links; allow motemix_limits.neighbours, or stop the node first",
    BadRecord => c"no record of SenML; give it a name of letters, digits and -:./_, and 18 places at most",
    NotAReading => c"not a signed reading, or not an introduction",
    NoReadings => c"this mote signs no readings; call motemix_mote_sign_readings first",
    Repeated => c"the last message once more",
    NoRadio => c"the radio has stopped; restart the board",
}

impl From<SendError> for Status {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full => Self::Full,
            SendError::TooLong { .. } => Self::TooLong,
            SendError::UnknownReceiver => Self::UnknownReceiver,
            SendError::NoPath => Self::NoPath,
            SendError::NoEpoch => Self::NoEpoch,
            _ => Self::Refused,
        }
    }
}

impl From<ReplyError> for Status {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::NotWaiting => Self::NotWaiting,
            ReplyError::TooLong => Self::TooLong,
            _ => Self::Refused,
        }
    }
}

impl From<EpochError> for Status {
    fn from(error: EpochError) -> Self {
        match error {
            EpochError::NotPrepared => Self::NotPrepared,
            EpochError::NotLater => Self::NotLater,
            EpochError::Topology(TopologyError::TooSmall { .. }) => Self::TooManyNodes,
            EpochError::Topology(_) | EpochError::Path(_) => Self::BadNetwork,
            _ => Self::Refused,
        }
    }
}

impl From<AuthoritiesError> for Status {
    fn from(_: AuthoritiesError) -> Self {
        Self::BadAuthorities
    }
}

impl From<StoreError> for Status {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Layout(_) => Self::BadFlash,
            StoreError::Full(_) | StoreError::SequenceExhausted => Self::FlashFull,
            StoreError::TooLong { .. } => Self::TooLong,
            StoreError::BufferTooShort { .. } => Self::BufferTooSmall,
            StoreError::DocumentDamaged => Self::NoDocument,
            _ => Self::FlashFailed,
        }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoClock => Self::NoClock,
            Refusal::NoTrust => Self::NoAuthorities,
            Refusal::NoDocument => Self::NoDocument,
            Refusal::Store(error) => error.into(),
            Refusal::Key(RatchetError::Passed { .. }) => Self::EpochPassed,
            Refusal::Key(RatchetError::TooFarAhead { .. }) | Refusal::KeyFarBehind { .. } => {
                Self::KeyFarBehind
            }
            Refusal::Epoch(error) => error.into(),
            Refusal::BadAuthority => Self::BadAuthorities,
            Refusal::Document(error) => error.into(),
            Refusal::OtherProfile => Self::DocumentProfile,
            Refusal::TooManyNodes { .. } => Self::TooManyNodes,
            Refusal::NotIn => Self::KeyMismatch,
            Refusal::OtherId => Self::OtherId,
            Refusal::OtherNetwork => Self::OtherNetwork,
            Refusal::OtherLinks | Refusal::UnprotectedLink => Self::ProtectedLinks,
            Refusal::ReplayFilter => Self::FilterFull,
            Refusal::KeyMoved { .. } => Self::KeyMoved,
            _ => Self::Refused,
        }
    }
}

impl From<DocumentError> for Status {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::TooFewSignatures { .. } => Self::DocumentUnsigned,
            DocumentError::NotYetValid { .. } => Self::DocumentNotYetValid,
            DocumentError::Expired { .. } => Self::DocumentExpired,
            DocumentError::RolledBack { .. } => Self::DocumentRolledBack,
            _ => Self::DocumentMalformed,
        }
    }
}

/// `Ok(())` is `MOTEMIX_STATUS_OK`.
pub(crate) fn done(result: Result<(), Status>) -> Status {
    result.err().unwrap_or(Status::Ok)
}

/// What a status means, and what to do about it. Never null; the text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn motemix_status_text(status: u8) -> *const c_char {
    let text = Status::TEXTS.get(usize::from(status)).map_or(c"not a status of motemix", |(_, text)| *text);
    text.as_ptr()
}
